//! Locks of single bytes of a file, fcntl_locking(2). Locks of whole files are in std.

use std::fs::File;
use std::io;

/// The owner of a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockOwner {
    /// The process: locks of POSIX.
    Process,
    /// The open file description: OFD locks.
    OpenFile,
}

/// Locks a byte for writing, by one fcntl(2) that does not wait.
///
/// # Errors
/// Those of fcntl(2), `WouldBlock` where another owner has it; unsupported.
#[inline]
pub fn lock_byte(file: &File, owner: LockOwner, byte: u64) -> io::Result<()> {
    cfg_select! {
        target_os = "linux" => { linux::set(file, owner, byte, libc::F_WRLCK) }
        _ => { crate::error::unsupported(LINUX_ONLY, (file, owner, byte)) }
    }
}

/// Waits until the open file description has locked the byte for writing, by one fcntl(2) with
/// `F_OFD_SETLKW`. Returns whether it has: a signal may end the wait too.
///
/// # Errors
/// Those of fcntl(2); unsupported.
pub fn await_byte(file: &File, byte: u64) -> io::Result<bool> {
    cfg_select! {
        target_os = "linux" => { linux::await_byte(file, byte) }
        _ => { crate::error::unsupported(LINUX_ONLY, (file, byte)) }
    }
}

/// Unlocks a byte, by one fcntl(2).
///
/// # Errors
/// Those of fcntl(2); unsupported.
#[inline]
pub fn unlock_byte(file: &File, owner: LockOwner, byte: u64) -> io::Result<()> {
    cfg_select! {
        target_os = "linux" => { linux::set(file, owner, byte, libc::F_UNLCK) }
        _ => { crate::error::unsupported(LINUX_ONLY, (file, owner, byte)) }
    }
}

/// Whether a lock of either kind keeps this open file description from locking the byte, by one fcntl(2) with
/// `F_OFD_GETLK`.
///
/// # Errors
/// Those of fcntl(2); unsupported.
#[inline]
pub fn is_locked_for(file: &File, byte: u64) -> io::Result<bool> {
    cfg_select! {
        target_os = "linux" => { linux::is_locked_for(file, byte) }
        _ => { crate::error::unsupported(LINUX_ONLY, (file, byte)) }
    }
}

#[cfg(not(target_os = "linux"))]
const LINUX_ONLY: &str = "an owner that is no process can test locks of bytes on Linux only";

#[cfg(target_os = "linux")]
mod linux {
    use std::fs::File;
    use std::io;
    use std::os::fd::AsRawFd;

    use super::LockOwner;
    use crate::error::checked;

    #[inline]
    pub(super) fn set(file: &File, owner: LockOwner, byte: u64, kind: libc::c_int) -> io::Result<()> {
        let command = match owner {
            LockOwner::Process => libc::F_SETLK,
            LockOwner::OpenFile => libc::F_OFD_SETLK,
        };
        call(file, command, &mut one_byte(byte, kind))
    }

    pub(super) fn await_byte(file: &File, byte: u64) -> io::Result<bool> {
        match call(file, libc::F_OFD_SETLKW, &mut one_byte(byte, libc::F_WRLCK)) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(false),
            Err(error) => Err(error),
        }
    }

    #[inline]
    pub(super) fn is_locked_for(file: &File, byte: u64) -> io::Result<bool> {
        let mut lock = one_byte(byte, libc::F_WRLCK);
        call(file, libc::F_OFD_GETLK, &mut lock)?;
        Ok(libc::c_int::from(lock.l_type) != libc::F_UNLCK)
    }

    fn one_byte(byte: u64, kind: libc::c_int) -> libc::flock {
        // SAFETY: all zero is a valid `flock`: its parts are integers.
        let mut lock: libc::flock = unsafe { std::mem::zeroed() };
        lock.l_type = kind as _;
        lock.l_whence = libc::SEEK_SET as _;
        lock.l_start = byte as _;
        lock.l_len = 1;
        lock
    }

    #[inline]
    fn call(file: &File, command: libc::c_int, lock: &mut libc::flock) -> io::Result<()> {
        // SAFETY: the descriptor is open, and these commands read and write one `flock`, which lives as long
        // as the call.
        checked(unsafe { libc::fcntl(file.as_raw_fd(), command, &raw mut *lock) }).map(drop)
    }
}
