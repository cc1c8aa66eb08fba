//! Files on Windows by std.

use std::fs::File;
use std::io;
use std::os::windows::ffi::OsStrExt;
use std::os::windows::fs::{FileExt, OpenOptionsExt};
use std::os::windows::io::AsHandle;
use std::path::PathBuf;

use windows_sys::Win32::Storage::FileSystem::{FILE_FLAG_BACKUP_SEMANTICS, GetDiskFreeSpaceExW};

use crate::Unsupported;

/// A path in the form that the system takes, made before anything is timed.
#[derive(Clone, Debug)]
pub struct Path(PathBuf);

impl TryFrom<&std::path::Path> for Path {
    type Error = io::Error;

    fn try_from(path: &std::path::Path) -> io::Result<Path> {
        Ok(Path(path.to_owned()))
    }
}

/// Opens the file read-only.
///
/// # Errors
/// Those of CreateFileW.
#[inline]
pub fn open_read(path: &Path) -> io::Result<File> {
    File::open(&path.0)
}

/// One CreateFileW that creates the file, to be written; it must not exist.
///
/// # Errors
/// Those of CreateFileW.
#[inline]
pub fn create_new(path: &Path) -> io::Result<File> {
    File::create_new(&path.0)
}

/// Opens a file that exists, to have its content written to disk: FlushFileBuffers wants the right to write.
///
/// # Errors
/// Those of CreateFileW.
pub fn open_flush(path: &Path) -> io::Result<File> {
    File::options().write(true).open(&path.0)
}

/// Opens a folder, to list it.
///
/// # Errors
/// Those of CreateFileW.
pub fn open_folder(path: &std::path::Path) -> io::Result<File> {
    File::options().read(true).custom_flags(FILE_FLAG_BACKUP_SEMANTICS).open(path)
}

/// Unsupported.
///
/// # Errors
/// Always.
pub fn sync_folder(_folder: &File) -> io::Result<()> {
    Err(Unsupported("Windows does not write the entries of a folder to disk on request").into())
}

/// One rename by std: SetFileInformationByHandle, or MoveFileExW where that lacks it.
///
/// # Errors
/// Those of both.
#[inline]
pub fn rename(from: &Path, to: &Path) -> io::Result<()> {
    std::fs::rename(&from.0, &to.0)
}

/// One CreateHardLinkW.
///
/// # Errors
/// Those of CreateHardLinkW.
#[inline]
pub fn link(file: &Path, name: &Path) -> io::Result<()> {
    std::fs::hard_link(&file.0, &name.0)
}

/// One DeleteFileW.
///
/// # Errors
/// Those of DeleteFileW.
#[inline]
pub fn unlink(path: &Path) -> io::Result<()> {
    std::fs::remove_file(&path.0)
}

/// One RemoveDirectoryW.
///
/// # Errors
/// Those of RemoveDirectoryW.
pub fn remove_folder(path: &Path) -> io::Result<()> {
    std::fs::remove_dir(&path.0)
}

/// Unsupported.
///
/// # Errors
/// Always.
pub fn evict(_file: &File) -> io::Result<()> {
    Err(Unsupported("the content of a file cannot be removed from memory here").into())
}

/// Reads the metadata of a file, which are not used.
///
/// # Errors
/// Those of CreateFileW and GetFileInformationByHandle.
#[inline]
pub fn status(path: &Path) -> io::Result<()> {
    std::hint::black_box(std::fs::metadata(&path.0)?);
    Ok(())
}

/// Fills `buffer` from the file at `offset`.
///
/// # Errors
/// Those of ReadFile; `UnexpectedEof` when the file is shorter.
pub fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<()> {
    let mut done = 0;
    while done < buffer.len() {
        match file.seek_read(&mut buffer[done..], offset + done as u64)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => done += count,
        }
    }
    Ok(())
}

/// One ReadFile: as much as there is at the offset, up to the buffer's length; 0 at the end.
///
/// # Errors
/// Those of ReadFile.
pub fn read_some_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    file.seek_read(buffer, offset)
}

/// One write at the offset, and how many bytes it wrote.
///
/// # Errors
/// Those of WriteFile.
pub fn write_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<usize> {
    use std::os::windows::fs::FileExt;
    file.seek_write(bytes, offset)
}

/// Standard output as a file, by another handle.
///
/// # Errors
/// Those of DuplicateHandle.
pub fn standard_output() -> io::Result<File> {
    io::stdout().as_handle().try_clone_to_owned().map(File::from)
}

/// Nothing to do: Windows writes back a whole volume for administrators only.
///
/// # Errors
/// Never.
pub fn write_back(_folder: &std::path::Path) -> io::Result<()> {
    Ok(())
}

/// The bytes that this user may still write to the volume of the folder; NTFS makes its file records as it
/// needs them.
///
/// # Errors
/// Those of GetDiskFreeSpaceExW.
pub fn free(folder: &std::path::Path) -> io::Result<super::Free> {
    let name: Vec<u16> = folder.as_os_str().encode_wide().chain([0]).collect();
    let (mut free, unasked) = (0_u64, std::ptr::null_mut());
    // SAFETY: the name ends with a zero; it and the number outlive the call.
    match unsafe { GetDiskFreeSpaceExW(name.as_ptr(), &raw mut free, unasked, unasked) } {
        0 => Err(io::Error::last_os_error()),
        _ => Ok(super::Free { bytes: free, inodes: None }),
    }
}

/// Closes the file; std reports no result on Windows.
///
/// # Errors
/// Never.
pub fn close(file: File) -> io::Result<()> {
    drop(file);
    Ok(())
}
