//! Files by open(2) and pread(2).

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, IntoRawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;

use rustix::fs::{Mode, OFlags};

use super::Free;

/// A path in the form that the system takes, made before anything is timed.
#[derive(Clone, Debug)]
pub struct Path(CString);

impl Path {
    /// As the C library takes it.
    pub(crate) fn as_c_str(&self) -> &std::ffi::CStr {
        &self.0
    }
}

impl TryFrom<&std::path::Path> for Path {
    type Error = io::Error;

    fn try_from(path: &std::path::Path) -> io::Result<Path> {
        Ok(Path(CString::new(path.as_os_str().as_bytes())?))
    }
}

/// One open(2), read-only.
///
/// # Errors
/// Those of open(2).
#[inline]
pub fn open_read(path: &Path) -> io::Result<File> {
    Ok(File::from(rustix::fs::open(path.0.as_c_str(), OFlags::RDONLY, Mode::empty())?))
}

/// One open(2) that creates the file, to be written; it must not exist.
///
/// # Errors
/// Those of open(2).
#[inline]
pub fn create_new(path: &Path) -> io::Result<File> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
    Ok(File::from(rustix::fs::open(path.0.as_c_str(), flags, Mode::from_raw_mode(0o600))?))
}

/// Opens a file that exists, to have its content written to disk.
///
/// # Errors
/// Those of open(2).
pub fn open_flush(path: &Path) -> io::Result<File> {
    open_read(path)
}

/// Opens a folder, to list it or to have its entries written to disk.
///
/// # Errors
/// Those of open(2).
pub fn open_folder(path: &std::path::Path) -> io::Result<File> {
    File::open(path)
}

/// One fsync(2) of a folder.
///
/// # Errors
/// Those of fsync(2).
#[inline]
pub fn sync_folder(folder: &File) -> io::Result<()> {
    folder.sync_all()
}

/// One rename(2).
///
/// # Errors
/// Those of rename(2).
#[inline]
pub fn rename(from: &Path, to: &Path) -> io::Result<()> {
    Ok(rustix::fs::rename(from.0.as_c_str(), to.0.as_c_str())?)
}

/// One link(2).
///
/// # Errors
/// Those of link(2).
#[inline]
pub fn link(file: &Path, name: &Path) -> io::Result<()> {
    Ok(rustix::fs::link(file.0.as_c_str(), name.0.as_c_str())?)
}

/// One unlink(2).
///
/// # Errors
/// Those of unlink(2).
#[inline]
pub fn unlink(path: &Path) -> io::Result<()> {
    Ok(rustix::fs::unlink(path.0.as_c_str())?)
}

/// One rmdir(2).
///
/// # Errors
/// Those of rmdir(2).
#[inline]
pub fn remove_folder(path: &Path) -> io::Result<()> {
    Ok(rustix::fs::rmdir(path.0.as_c_str())?)
}

/// Removes the content of the file from memory, as far as it is on the disk already: posix_fadvise(2).
/// [`Mapping::resident_pages`](crate::memory::Mapping::resident_pages) counts the rest.
///
/// # Errors
/// Those of posix_fadvise(2); unsupported where there is no such call.
pub fn evict(file: &File) -> io::Result<()> {
    cfg_select! {
        any(target_os = "linux", target_os = "android", target_os = "freebsd") => {
            Ok(rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed)?)
        }
        _ => {
            let _ = file;
            Err(crate::Unsupported("the content of a file cannot be removed from memory here").into())
        }
    }
}

/// Removes these bytes of the file from memory, as far as they are whole pages and on the disk already: one
/// posix_fadvise(2) with `POSIX_FADV_DONTNEED`.
///
/// # Errors
/// Those of posix_fadvise(2).
#[cfg(target_os = "linux")]
#[inline]
pub fn evict_range(file: &File, offset: u64, bytes: usize) -> io::Result<()> {
    let bytes = std::num::NonZeroU64::new(bytes as u64);
    Ok(rustix::fs::fadvise(file, offset, bytes, rustix::fs::Advice::DontNeed)?)
}

/// Reads by this descriptor read no page that they do not ask for: posix_fadvise(2) with
/// `POSIX_FADV_RANDOM`.
///
/// # Errors
/// Those of posix_fadvise(2).
#[cfg(target_os = "linux")]
pub fn read_nothing_ahead(file: &File) -> io::Result<()> {
    Ok(rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::Random)?)
}

/// One stat(2), whose result is not used.
///
/// # Errors
/// Those of stat(2).
#[inline]
pub fn status(path: &Path) -> io::Result<()> {
    std::hint::black_box(rustix::fs::stat(path.0.as_c_str())?);
    Ok(())
}

/// Fills `buffer` from the file at `offset`.
///
/// # Errors
/// Those of pread(2); `UnexpectedEof` when the file is shorter.
pub fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<()> {
    file.read_exact_at(buffer, offset)
}

/// One pread(2): as much as there is at the offset, up to the buffer's length; 0 at the end.
///
/// # Errors
/// Those of pread(2).
pub fn read_some_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    file.read_at(buffer, offset)
}

/// One pwrite(2), and how many bytes it wrote.
///
/// # Errors
/// Those of pwrite(2).
pub fn write_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<usize> {
    file.write_at(bytes, offset)
}

/// Standard output as a file, by another descriptor.
///
/// # Errors
/// Those of dup(2).
pub fn standard_output() -> io::Result<File> {
    io::stdout().as_fd().try_clone_to_owned().map(File::from)
}

/// Makes the file system of the folder write its dirty data to disk. Systems without syncfs(2) begin to write
/// that of all file systems.
///
/// # Errors
/// Those of open(2) and syncfs(2).
pub fn write_back(folder: &std::path::Path) -> io::Result<()> {
    cfg_select! {
        any(target_os = "linux", target_os = "android") => {
            Ok(rustix::fs::syncfs(File::open(folder)?)?)
        }
        _ => {
            let _ = folder;
            rustix::fs::sync();
            Ok(())
        }
    }
}

/// The free space on the file system of the folder, for processes other than root's.
///
/// # Errors
/// Those of statvfs(3).
pub fn free(folder: &std::path::Path) -> io::Result<Free> {
    let status = rustix::fs::statvfs(folder)?;
    let inodes = (status.f_files > 0).then_some(status.f_favail);
    Ok(Free { bytes: status.f_bavail.saturating_mul(status.f_frsize), inodes })
}

/// One close(2), with its result.
///
/// # Errors
/// Those of close(2).
#[inline]
pub fn close(file: File) -> io::Result<()> {
    let number = file.into_raw_fd();
    // SAFETY: we owned the descriptor and have just given up the only handle to it.
    Ok(unsafe { rustix::io::try_close(number) }?)
}
