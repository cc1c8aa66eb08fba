//! Worker processes of a server, by fork(2): how they begin, inherit, end and are killed.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::process::ExitStatusExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitStatus;

use rustix::process::{Signal, WaitOptions};

use super::platform::pid;
use crate::error::checked;

/// The exit code of a worker that panicked; no errno is that large.
pub const PANICKED: u8 = 255;

/// Forks a process that does `work` and ends with the code it returns; it is killed when its parent ends
/// first, where the system supports that. Returns its number.
///
/// The child is a copy of the calling thread alone. `work` must not need a lock that another thread may hold
/// at this moment, such as that of standard output.
///
/// # Errors
/// Those of fork(2).
pub fn fork(work: impl FnOnce() -> u8) -> io::Result<u32> {
    let own = std::process::id();
    // SAFETY: the child keeps to its own copy of the memory; the C library leaves its allocator usable in it
    // (fork(2) and pthread_atfork(3) in glibc and musl), and other locks are the caller's duty, see above.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            let code = if super::die_with(own) {
                // A panic must not unwind into the parent's frames, which are not this process's.
                catch_unwind(AssertUnwindSafe(work)).unwrap_or(PANICKED)
            } else {
                0
            };
            // SAFETY: ends the process without running what the parent registered for its own end.
            unsafe { libc::_exit(i32::from(code)) }
        }
        number => Ok(number.unsigned_abs()),
    }
}

/// Checks whether a process can be forked here: some systems and sandboxes have no fork(2).
///
/// # Errors
/// Those of fork(2).
pub fn try_fork() -> io::Result<()> {
    let number = fork(|| 0)?;
    // It ends at once, and nobody else waits for it.
    let _ = rustix::process::waitpid(pid(number), WaitOptions::empty());
    Ok(())
}

/// Forks, and goes on in both processes. Returns the number of the child, and `None` in the child, which is
/// killed when its parent ends first, where the system supports that, and should end by [`end_now`].
///
/// The child is a copy of the calling thread alone, as with [`fork`].
///
/// # Errors
/// Those of fork(2).
pub fn fork_in_two() -> io::Result<Option<u32>> {
    // SAFETY: as in `fork`.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            super::die_with_parent();
            Ok(None)
        }
        number => Ok(Some(number.unsigned_abs())),
    }
}

/// Ends the process without running what its parent registered for its own end.
pub fn end_now(code: u8) -> ! {
    // SAFETY: _exit(2) has no conditions.
    unsafe { libc::_exit(i32::from(code)) }
}

/// A child that has ended and was not reaped yet, and how; `None` when there is no such child. Does not wait.
///
/// # Errors
/// Those of waitpid(2); `ECHILD` when there are no children at all.
pub fn ended_child() -> io::Result<Option<(u32, ExitStatus)>> {
    let ended = rustix::process::wait(WaitOptions::NOHANG)?;
    Ok(ended.map(|(pid, status)| {
        (pid.as_raw_nonzero().get().unsigned_abs(), ExitStatus::from_raw(status.as_raw()))
    }))
}

/// Kills a process, by SIGKILL.
///
/// # Errors
/// Those of kill(2).
pub fn kill(process: u32) -> io::Result<()> {
    send_signal(process, Signal::KILL)
}

/// Asks a process to end at once, by SIGQUIT, but to end its own children first.
///
/// # Errors
/// Those of kill(2).
pub fn quit(process: u32) -> io::Result<()> {
    send_signal(process, Signal::QUIT)
}

/// Asks a process to end, by SIGTERM.
///
/// # Errors
/// Those of kill(2).
pub fn terminate(process: u32) -> io::Result<()> {
    send_signal(process, Signal::TERM)
}

pub(crate) fn send_signal(process: u32, signal: Signal) -> io::Result<()> {
    let process = pid(process).ok_or_else(|| io::Error::other("no process has that number"))?;
    Ok(rustix::process::kill_process(process, signal)?)
}

/// Makes programs that this process executes inherit the file, and returns its number for [`inherited`].
///
/// # Errors
/// Those of fcntl(2).
pub fn bequeath(file: &File) -> io::Result<i32> {
    rustix::io::fcntl_setfd(file, rustix::io::FdFlags::empty())?;
    Ok(file.as_raw_fd())
}

/// The file that this program inherited under that number. To be called once for each.
///
/// # Errors
/// `EBADF` when there is none.
pub fn inherited(number: i32) -> io::Result<File> {
    // SAFETY: fcntl only asks whether the number is open.
    checked(unsafe { libc::fcntl(number, libc::F_GETFD) })?;
    // SAFETY: it is open, and by the agreement with the executing program nothing else here owns it.
    Ok(unsafe { File::from_raw_fd(number) })
}
