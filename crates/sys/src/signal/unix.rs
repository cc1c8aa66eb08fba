//! Signals by sigaction(2). Handlers only set flags. Blocking calls return `EINTR`, so that a server which is
//! told to stop does not continue to wait.

use std::io;
use std::sync::atomic::Ordering;

use rustix::process::{Pid, Signal};

use super::{REPORTS, STOP};

/// Has SIGTERM and SIGINT set the order to stop, and SIGUSR1 count the reports asked for.
///
/// # Errors
/// Those of sigaction(2).
pub fn watch() -> io::Result<()> {
    handle(&[libc::SIGTERM, libc::SIGINT, libc::SIGUSR1])
}

/// Has a nudge set the order to stop too. Not for a process that owns sockets in the sense of `F_SETOWN`:
/// there the other end can have SIGURG sent.
///
/// # Errors
/// Those of sigaction(2).
pub fn watch_nudges() -> io::Result<()> {
    handle(&[libc::SIGURG])
}

fn handle(signals: &[libc::c_int]) -> io::Result<()> {
    for &signal in signals {
        // SAFETY: a zeroed sigaction is one without flags and with an empty mask; the handler only stores
        // into atomics, which signal-safety(7) allows, and lives as long as the program.
        let answer = unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = on_signal as extern "C" fn(libc::c_int) as libc::sighandler_t;
            libc::sigaction(signal, &raw const action, std::ptr::null_mut())
        };
        if answer != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

extern "C" fn on_signal(signal: libc::c_int) {
    if signal == libc::SIGUSR1 {
        REPORTS.fetch_add(1, Ordering::Relaxed);
    } else {
        STOP.store(true, Ordering::Relaxed);
    }
}

/// Has a write beyond the limit on the size of files (`ulimit -f`) fail with EFBIG, which can be reported. By
/// default it sends SIGXFSZ, which kills without a word. Programs that are started inherit this.
pub fn ignore_file_size_signal() {
    // SAFETY: SIG_IGN is a disposition without a handler.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

/// Whether SIGHUP is ignored, as nohup(1) has it: the end of the terminal is then not to be noticed.
pub fn ignores_hangup() -> bool {
    // SAFETY: without a new action sigaction(2) only fills in the old one, for which zeroes are valid.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(libc::SIGHUP, std::ptr::null(), &raw mut action) == 0
            && action.sa_sigaction == libc::SIG_IGN
    }
}

/// Tells a process to stop.
///
/// # Errors
/// Those of kill(2).
pub fn send_stop(process: u32) -> io::Result<()> {
    send(process, Signal::TERM)
}

/// Nudges a process to stop, by SIGURG: it does nothing to one that does not watch for it, so a program that
/// has only just been executed is not killed and obeys the next one.
///
/// # Errors
/// Those of kill(2).
pub fn send_nudge(process: u32) -> io::Result<()> {
    send(process, Signal::URG)
}

fn send(process: u32, signal: Signal) -> io::Result<()> {
    let process = i32::try_from(process).ok().and_then(Pid::from_raw);
    let process = process.ok_or_else(|| io::Error::other("no process has that number"))?;
    Ok(rustix::process::kill_process(process, signal)?)
}
