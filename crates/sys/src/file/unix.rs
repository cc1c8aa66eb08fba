//! Files by open(2) and pread(2), and files below a folder, never one outside it.
//!
//! Linux checks that during path resolution: openat2(2) with `RESOLVE_BENEATH`. Links are followed as long as
//! they stay below the folder. Elsewhere, and where a sandbox forbids the call, each part of the path is
//! opened in turn and links are refused.

use std::ffi::CString;
use std::fs::{File, Metadata};
use std::io;
use std::os::fd::{AsFd, IntoRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt};

use rustix::fs::{Dir, FileType, Mode, OFlags};
use rustix::io::Errno;

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
        _ => { crate::error::unsupported("the content of a file cannot be removed from memory here", file) }
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

/// A folder; nothing outside it is opened.
#[derive(Debug)]
pub struct Root {
    folder: OwnedFd,
    /// Whether the kernel keeps the path below the folder.
    kernel_resolves: bool,
}

/// A pipe must not make the open wait for a writer, nor a terminal become ours.
const FLAGS: OFlags = OFlags::RDONLY.union(OFlags::CLOEXEC).union(OFlags::NONBLOCK).union(OFlags::NOCTTY);

impl Root {
    /// The folder of that path, with which links are followed.
    ///
    /// # Errors
    /// Those of open(2).
    pub fn new(folder: &std::path::Path) -> io::Result<Root> {
        let folder = rustix::fs::open(folder, FLAGS | OFlags::DIRECTORY, Mode::empty())?;
        let kernel_resolves = below(&folder, b".", FLAGS).is_ok();
        Ok(Root { folder, kernel_resolves })
    }

    /// Opens the regular file or the folder at a path below the folder, to be read. An empty path is the
    /// folder itself. Nothing else is opened: opening a pipe wakes its writer, and opening a device can do
    /// anything. Between stat(2) and the opening another file may take the place, so check the metadata
    /// again.
    ///
    /// # Errors
    /// Those of openat2(2), fstat(2) and openat(2); `NotFound` as well where the path would lead out of the
    /// folder or to another kind of file.
    pub fn open(&self, path: &[u8]) -> io::Result<File> {
        let path = if path.is_empty() { b"." } else { path };
        let opened = match self.kernel_resolves {
            true => look_below(&self.folder, path).and_then(|()| below(&self.folder, path, FLAGS)),
            false => walk(&self.folder, path),
        };
        match opened {
            Ok(file) => Ok(file.into()),
            // Ways out of the folder and links, which systems name differently; and sockets, which cannot be
            // opened.
            Err(Errno::XDEV | Errno::LOOP | Errno::MLINK | Errno::NXIO) => {
                Err(io::ErrorKind::NotFound.into())
            }
            Err(error) => Err(error.into()),
        }
    }
}

cfg_select! {
    any(target_os = "linux", target_os = "android") => {
        /// How often a path is resolved anew after something above it was renamed meanwhile.
        const TRIES: u32 = 8;

        /// Whether a regular file or a folder is at the path; nothing is opened for that.
        fn look_below(folder: &OwnedFd, path: &[u8]) -> Result<(), Errno> {
            let place = below(folder, path, OFlags::PATH.union(OFlags::CLOEXEC))?;
            only_served(rustix::fs::fstat(&place)?.st_mode)
        }

        fn below(folder: &OwnedFd, path: &[u8], flags: OFlags) -> Result<OwnedFd, Errno> {
            use rustix::fs::ResolveFlags;

            let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
            let mut opened = Err(Errno::AGAIN);
            for _ in 0..TRIES {
                opened = rustix::fs::openat2(folder, path, flags, Mode::empty(), resolve);
                if !matches!(opened, Err(Errno::AGAIN | Errno::INTR)) {
                    break;
                }
            }
            opened
        }
    }
    _ => {
        fn look_below(_folder: &OwnedFd, _path: &[u8]) -> Result<(), Errno> {
            Err(Errno::NOSYS)
        }

        fn below(_folder: &OwnedFd, _path: &[u8], _flags: OFlags) -> Result<OwnedFd, Errno> {
            Err(Errno::NOSYS)
        }
    }
}

/// Whether a file of this mode is served; otherwise the error of a missing file.
fn only_served(mode: rustix::fs::RawMode) -> Result<(), Errno> {
    let kind = FileType::from_raw_mode(mode);
    if kind.is_file() || kind.is_dir() { Ok(()) } else { Err(Errno::NXIO) }
}

/// Opens one part of the path after the other; no part may be a link or lead upward.
fn walk(folder: &OwnedFd, path: &[u8]) -> Result<OwnedFd, Errno> {
    if path.starts_with(b"/") {
        return Err(Errno::XDEV);
    }
    let mut parts = path.split(|byte| *byte == b'/').filter(|part| !part.is_empty()).peekable();
    let mut at = rustix::fs::openat(folder, c".", FLAGS | OFlags::DIRECTORY, Mode::empty())?;
    while let Some(part) = parts.next() {
        if part == b".." {
            return Err(Errno::XDEV);
        }
        let kind = if parts.peek().is_some() { OFlags::DIRECTORY } else { OFlags::empty() };
        if kind.is_empty() {
            let flags = rustix::fs::AtFlags::SYMLINK_NOFOLLOW;
            let mode = rustix::fs::statat(&at, part, flags)?.st_mode;
            // The open decides about links.
            if !FileType::from_raw_mode(mode).is_symlink() {
                only_served(mode)?;
            }
        }
        at = rustix::fs::openat(&at, part, FLAGS | OFlags::NOFOLLOW | kind, Mode::empty())?;
    }
    Ok(at)
}

/// A name in a folder.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Name {
    /// Its bytes, unchanged.
    pub bytes: Vec<u8>,
    /// Whether it is known to be a folder.
    pub is_folder: bool,
}

/// At most so many names of an open folder, in no order, without `.` and `..`.
///
/// # Errors
/// Those of reading a folder.
pub fn names(folder: &File, max: usize) -> io::Result<Vec<Name>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let bytes = entry.file_name().to_bytes();
        if matches!(bytes, b"." | b"..") {
            continue;
        }
        if names.len() == max {
            break;
        }
        let is_folder = cfg_select! {
            any(target_os = "solaris", target_os = "illumos") => { false }
            _ => { entry.file_type().is_dir() }
        };
        names.push(Name { bytes: bytes.to_vec(), is_folder });
    }
    Ok(names)
}

/// The number of the file within its file system, which a file put in its place does not share.
pub fn number(metadata: &Metadata) -> u64 {
    metadata.ino()
}

/// File system and inode number of the file at a path; both change when a file system is mounted there or
/// unmounted.
///
/// # Errors
/// Those of stat(2).
pub fn identity(path: &std::path::Path) -> io::Result<(u64, u64)> {
    std::fs::metadata(path).map(|metadata| (metadata.dev(), metadata.ino()))
}

/// When the file was last changed in any way, in nanoseconds since 1970. Programs can set the
/// time of the last write (utimensat(2)), and many do; they cannot set this one.
pub fn changed_ns(metadata: &Metadata) -> i128 {
    i128::from(metadata.ctime()) * 1_000_000_000 + i128::from(metadata.ctime_nsec())
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::unix::fs::symlink;

    use super::*;

    /// Both ways to open: by openat2(2), and part by part.
    fn roots(folder: &std::path::Path) -> Vec<Root> {
        let root = Root::new(folder).unwrap();
        let walking = Root { folder: root.folder.try_clone().unwrap(), kernel_resolves: false };
        vec![root, walking]
    }

    /// The writer of a pipe waits until it is read: a look must not end that wait.
    #[test]
    fn a_pipe_is_not_opened() {
        let folder = std::env::temp_dir().join(format!("osdyno-pipe-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let pipe = folder.join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let writer = std::thread::spawn({
            let pipe = pipe.clone();
            move || std::fs::write(pipe, "whole").unwrap()
        });
        for root in roots(&folder) {
            assert_eq!(root.open(b"pipe").unwrap_err().kind(), io::ErrorKind::NotFound);
        }
        assert_eq!(std::fs::read_to_string(&pipe).unwrap(), "whole", "nobody else has taken it");
        writer.join().unwrap();
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn nothing_outside_is_opened() {
        let folder = std::env::temp_dir().join(format!("osdyno-root-{}", std::process::id()));
        let below = folder.join("root/below");
        std::fs::create_dir_all(&below).unwrap();
        std::fs::write(folder.join("outside"), "outside").unwrap();
        std::fs::write(below.join("file"), "inside").unwrap();
        symlink(&folder, below.join("up")).unwrap();
        symlink("../../outside", below.join("out")).unwrap();
        symlink("/", below.join("top")).unwrap();
        for root in roots(&folder.join("root")) {
            let mut text = String::new();
            root.open(b"below/file").unwrap().read_to_string(&mut text).unwrap();
            assert_eq!(text, "inside");
            assert!(root.open(b"").unwrap().metadata().unwrap().is_dir());
            let paths: [&[u8]; 9] = [
                b"../outside",
                b"below/../../outside",
                b"below/out",
                b"below/up/outside",
                b"below/top/etc/passwd",
                b"/etc/passwd",
                b"/",
                b"below/file/x",
                b"missing",
            ];
            for path in paths {
                let error = root.open(path).expect_err(&String::from_utf8_lossy(path));
                let kinds = [io::ErrorKind::NotFound, io::ErrorKind::NotADirectory];
                assert!(kinds.contains(&error.kind()), "{error}");
            }
            assert!(root.open(b"below/file\0").is_err());
        }
        let all = Root::new(&below).unwrap().open(b"").unwrap();
        let mut found = names(&all, 10).unwrap();
        found.sort();
        let found: Vec<&[u8]> = found.iter().map(|name| &name.bytes[..]).collect();
        assert_eq!(found, [&b"file"[..], b"out", b"top", b"up"]);
        assert_eq!(names(&all, 2).unwrap().len(), 2);
        std::fs::remove_dir_all(folder).unwrap();
    }
}
