//! Copies from one open file to another that the kernel makes, without the bytes passing through the process.

use std::fs::File;
use std::io;

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

/// Has the target share all blocks of the source: ioctl_ficlone(2).
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

/// What the kernel takes in one call.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn bounded(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX).min(1 << 30)
}
