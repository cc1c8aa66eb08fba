//! Words that threads wait on, futex(2), without the locks that libraries build from them.

use std::io;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

use rustix::fs::Timespec;
use rustix::io::Errno;
use rustix::thread::futex;

/// Whether other processes may wait on a word too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FutexScope {
    /// The threads of this process alone: `FUTEX_PRIVATE_FLAG`.
    Process,
    /// All processes that have the memory.
    Machine,
}

impl FutexScope {
    fn flags(self) -> futex::Flags {
        match self {
            FutexScope::Process => futex::Flags::PRIVATE,
            FutexScope::Machine => futex::Flags::empty(),
        }
    }
}

/// A word, whose value is 0 until its owner changes it. It has a cache line for itself.
#[derive(Debug, Default)]
#[repr(align(64))]
pub struct FutexWord(AtomicU32);

impl FutexWord {
    /// Waits until this word, or one that the waiter was moved to, is woken: one futex(2) with `FUTEX_WAIT`.
    /// Returns whether that happened; a signal may end the wait too.
    ///
    /// # Errors
    /// Those of futex(2).
    pub fn wait(&self, scope: FutexScope) -> io::Result<bool> {
        match futex::wait(&self.0, scope.flags(), 0, None) {
            Ok(()) => Ok(true),
            Err(Errno::AGAIN | Errno::INTR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Its value, for locks that are built from it.
    #[inline]
    pub fn value(&self) -> &AtomicU32 {
        &self.0
    }

    /// Waits while the value is this one, until the word is woken, by one futex(2) with `FUTEX_WAIT`. Returns
    /// at once where the value is another one; a signal may end the wait too.
    ///
    /// # Errors
    /// Those of futex(2), `TimedOut` when nothing ended the wait for that time.
    #[inline]
    pub fn wait_while(&self, scope: FutexScope, value: u32, most: Duration) -> io::Result<()> {
        let most = Timespec::try_from(most).map_err(|_| io::ErrorKind::InvalidInput)?;
        match futex::wait(&self.0, scope.flags(), value, Some(&most)) {
            Ok(()) | Err(Errno::AGAIN | Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Wakes at most so many waiters, by one futex(2) with `FUTEX_WAKE`, and returns how many.
    ///
    /// # Errors
    /// Those of futex(2).
    #[inline]
    pub fn wake(&self, scope: FutexScope, most: u32) -> io::Result<usize> {
        Ok(futex::wake(&self.0, scope.flags(), most)?)
    }

    /// Moves at most so many waiters to another word, and wakes none, by one futex(2) with `FUTEX_REQUEUE`.
    /// Returns how many.
    ///
    /// # Errors
    /// Those of futex(2).
    #[inline]
    pub fn requeue(&self, to: &FutexWord, scope: FutexScope, most: u32) -> io::Result<usize> {
        Ok(futex::requeue(&self.0, scope.flags(), 0, most, &to.0)?)
    }
}

/// `PR_FUTEX_HASH` of linux/prctl.h and its operations, which libc does not have yet.
const FUTEX_HASH: libc::c_int = 78;
const SET_SLOTS: libc::c_ulong = 1;
const GET_SLOTS: libc::c_ulong = 2;

/// From now on the words of this process are in the hash table that all processes share, as before Linux
/// 6.16.
///
/// # Errors
/// Unsupported where the kernel has no tables of processes.
pub fn use_global_hash() -> io::Result<()> {
    const NONE: crate::Unsupported = crate::Unsupported("this kernel has no table of words for each process");
    // SAFETY: these operations take numbers only.
    let call = |operation: libc::c_ulong| unsafe {
        libc::prctl(FUTEX_HASH, operation, 0 as libc::c_ulong, 0 as libc::c_ulong)
    };
    // It is refused where the process has no table any more.
    if call(SET_SLOTS) == 0 || call(GET_SLOTS) == 0 { Ok(()) } else { Err(NONE.into()) }
}
