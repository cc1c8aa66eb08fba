//! Files: the calls that are timed, copies made by the kernel, and access to files below the folder of a
//! server. Everything else is from std.

use std::fs::File;
use std::io;

#[cfg(target_os = "linux")]
pub mod attribute;
mod layout;
#[cfg(unix)]
#[path = "unix.rs"]
mod platform;
#[cfg(windows)]
#[path = "windows.rs"]
mod platform;
#[cfg(unix)]
mod root;
#[cfg(windows)]
#[path = "root_windows.rs"]
mod root;
mod unnamed;

pub use layout::{collapse, pieces};
pub use platform::{
    Path, close, create_new, evict, free, link, open_flush, open_folder, open_read, read_at, read_some_at,
    remove_folder, rename, standard_output, status, sync_folder, unlink, write_at, write_back,
};
#[cfg(target_os = "linux")]
pub use platform::{evict_range, read_nothing_ahead};
pub use root::{Name, Root, changed_ns, identity, names, number};
pub use unnamed::{give_name, in_memory, unnamed};

/// Free space of a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Free {
    /// Bytes.
    pub bytes: u64,
    /// Files and folders that can still be made; `None` where only the bytes limit them.
    pub inodes: Option<u64>,
}

impl Free {
    /// How many files of that size fit, each in whole blocks.
    #[must_use]
    pub fn files_of(&self, bytes: u64) -> u64 {
        let by_bytes = self.bytes / bytes.next_multiple_of(BLOCK_BYTES).max(BLOCK_BYTES);
        self.inodes.map_or(by_bytes, |inodes| inodes.min(by_bytes))
    }
}

/// The least that a file takes, on most file systems.
const BLOCK_BYTES: u64 = 4 << 10;

/// One copy_file_range(2) of at most `bytes`; returns how many were copied, 0 at the end of the source.
///
/// # Errors
/// Those of copy_file_range(2); unsupported where there is no such call.
pub fn copy_range(source: &File, target: &File, bytes: u64) -> io::Result<u64> {
    cfg_select! {
        any(target_os = "linux", target_os = "android") => {
            Ok(rustix::fs::copy_file_range(source, None, target, None, bounded(bytes))? as u64)
        }
        _ => {
            let _ = (source, target, bytes);
            Err(crate::Unsupported("copy_file_range(2) is used on Linux only").into())
        }
    }
}

/// One sendfile(2) of at most `bytes` from file to file; returns how many were copied, 0 at the end of the
/// source.
///
/// # Errors
/// Those of sendfile(2); unsupported where it writes to sockets only.
pub fn send(source: &File, target: &File, bytes: u64) -> io::Result<u64> {
    cfg_select! {
        any(target_os = "linux", target_os = "android") => {
            Ok(rustix::fs::sendfile(target, source, None, bounded(bytes))? as u64)
        }
        _ => {
            let _ = (source, target, bytes);
            Err(crate::Unsupported("sendfile(2) copies from file to file on Linux only").into())
        }
    }
}

/// Makes the target share all blocks of the source: ioctl_ficlone(2).
///
/// # Errors
/// Those of ioctl_ficlone(2), `EOPNOTSUPP` where the file system cannot; unsupported on systems without it.
pub fn share_blocks(source: &File, target: &File) -> io::Result<()> {
    cfg_select! {
        all(target_os = "linux", not(target_arch = "sparc64")) => {
            Ok(rustix::fs::ioctl_ficlone(target, source)?)
        }
        _ => {
            let _ = (source, target);
            Err(crate::Unsupported("files share blocks by FICLONE on Linux only").into())
        }
    }
}

/// Makes a symbolic link, by one symlink(2).
///
/// # Errors
/// Those of symlink(2); unsupported on Windows.
pub fn make_link(target: &std::path::Path, link: &std::path::Path) -> io::Result<()> {
    cfg_select! {
        unix => { std::os::unix::fs::symlink(target, link) }
        _ => {
            let _ = (target, link);
            Err(crate::Unsupported("symbolic links need a privilege here").into())
        }
    }
}

/// The most that the kernel takes in one call.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn bounded(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX).min(1 << 30)
}

/// Creates a file that must not exist. Its writes bypass the cache, if the file system allows it (open(2),
/// `O_DIRECT`): then buffers, offsets and lengths must be multiples of 4096.
///
/// # Errors
/// Those of open(2); unsupported.
pub fn create_direct(path: &std::path::Path) -> io::Result<File> {
    cfg_select! {
        target_os = "linux" => {
            use std::os::unix::fs::OpenOptionsExt;
            File::options().write(true).create_new(true).mode(0o600).custom_flags(libc::O_DIRECT).open(path)
        }
        _ => {
            let _ = path;
            Err(crate::Unsupported("writes past the cache are made on Linux only").into())
        }
    }
}
