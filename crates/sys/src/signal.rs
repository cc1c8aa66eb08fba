//! Signals as flags, for programs that stop gracefully.

#[cfg(unix)]
pub(crate) use platform::set_handler;
pub use platform::{ignore_file_size_signal, ignores_hangup, send_nudge, send_stop, watch, watch_nudges};
#[cfg(target_os = "linux")]
pub use target::SignalTarget;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

static STOP: AtomicBool = AtomicBool::new(false);
static REPORTS: AtomicU64 = AtomicU64::new(0);

/// Whether the process was asked to stop, by SIGTERM or SIGINT, since [`watch`].
#[inline]
pub fn stop_ordered() -> bool {
    STOP.load(Ordering::Relaxed)
}

/// The same as a flag, for calls that wait until it is set.
pub fn stop_flag() -> &'static AtomicBool {
    &STOP
}

/// How often the process was asked for its counters, by SIGUSR1, since [`watch`].
#[inline]
pub fn reports_asked() -> u64 {
    REPORTS.load(Ordering::Relaxed)
}

/// Signals by sigaction(2). Handlers only set flags. Blocking calls return `EINTR`, so that a server does not
/// continue to wait when it has to stop.
#[cfg(unix)]
mod platform {
    use std::io;
    use std::sync::atomic::Ordering;

    use rustix::process::Signal;

    use super::{REPORTS, STOP};
    use crate::error::checked;

    /// Makes SIGTERM and SIGINT set the order to stop, and SIGUSR1 count the requests for reports.
    ///
    /// # Errors
    /// Those of sigaction(2).
    pub fn watch() -> io::Result<()> {
        handle(&[libc::SIGTERM, libc::SIGINT, libc::SIGUSR1])
    }

    /// Makes a nudge set the order to stop too. Not for a process that owns sockets in the sense of
    /// `F_SETOWN`: there the other end can cause a SIGURG.
    ///
    /// # Errors
    /// Those of sigaction(2).
    pub fn watch_nudges() -> io::Result<()> {
        handle(&[libc::SIGURG])
    }

    fn handle(signals: &[libc::c_int]) -> io::Result<()> {
        // SAFETY: the handler only stores into atomics.
        signals.iter().try_for_each(|&signal| unsafe { set_handler(signal, on_signal, 0) })
    }

    /// Makes a signal execute the handler, by sigaction(2), with no other signal blocked meanwhile.
    ///
    /// # Errors
    /// Those of sigaction(2).
    ///
    /// # Safety
    /// The handler does only what signal-safety(7) allows.
    pub(crate) unsafe fn set_handler(
        signal: libc::c_int,
        handler: extern "C" fn(libc::c_int),
        flags: libc::c_int,
    ) -> io::Result<()> {
        // SAFETY: a zeroed sigaction has an empty mask, and the handler lives as long as the program.
        let answer = unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_flags = flags;
            action.sa_sigaction = handler as libc::sighandler_t;
            libc::sigaction(signal, &raw const action, std::ptr::null_mut())
        };
        checked(answer).map(drop)
    }

    extern "C" fn on_signal(signal: libc::c_int) {
        if signal == libc::SIGUSR1 {
            REPORTS.fetch_add(1, Ordering::Relaxed);
        } else {
            STOP.store(true, Ordering::Relaxed);
        }
    }

    /// Makes a write beyond the limit on the size of files (`ulimit -f`) fail with EFBIG, which can be
    /// reported. By default it sends SIGXFSZ, which kills without a word. Programs that are started inherit
    /// this.
    pub fn ignore_file_size_signal() {
        // SAFETY: SIG_IGN is a disposition without a handler.
        unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
    }

    /// Whether SIGHUP is ignored, as under nohup(1): the end of the terminal then does not stop the program.
    pub fn ignores_hangup() -> bool {
        // SAFETY: without a new action sigaction(2) only fills in the old one, for which zeroes are valid.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            libc::sigaction(libc::SIGHUP, std::ptr::null(), &raw mut action) == 0
                && action.sa_sigaction == libc::SIG_IGN
        }
    }

    /// Asks a process to stop, by SIGTERM.
    ///
    /// # Errors
    /// Those of kill(2).
    pub fn send_stop(process: u32) -> io::Result<()> {
        crate::process::terminate(process)
    }

    /// Nudges a process to stop, by SIGURG: a process that does not watch for it ignores it, so a program
    /// that was executed just now is not killed, and obeys the next one.
    ///
    /// # Errors
    /// Those of kill(2).
    pub fn send_nudge(process: u32) -> io::Result<()> {
        crate::process::send_signal(process, Signal::URG)
    }
}

/// Windows has no signals: the console asks its programs to stop, by Ctrl-C, Ctrl-Break or its own end.
#[cfg(windows)]
mod platform {
    use std::io;
    use std::sync::atomic::Ordering;

    use windows_sys::Win32::System::Console::SetConsoleCtrlHandler;

    use super::STOP;

    /// Makes every event of the console set the order to stop. There are no requests for reports.
    ///
    /// # Errors
    /// Those of SetConsoleCtrlHandler.
    pub fn watch() -> io::Result<()> {
        // SAFETY: the handler only stores into an atomic, and lives as long as the program.
        match unsafe { SetConsoleCtrlHandler(Some(on_control), 1) } {
            0 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        }
    }

    /// Called in a thread of its own.
    // SAFETY: it touches no memory but an atomic.
    unsafe extern "system" fn on_control(_which: u32) -> i32 {
        STOP.store(true, Ordering::Relaxed);
        // It is dealt with: no other handler ends the process.
        1
    }

    missing! {
        "there are no signals on this system";
        pub fn send_stop(process: u32) -> io::Result<()>;
        pub fn watch_nudges() -> io::Result<()>;
        pub fn send_nudge(process: u32) -> io::Result<()>;
    }

    /// There is no such signal.
    pub fn ignore_file_size_signal() {}

    /// There is no such signal.
    pub fn ignores_hangup() -> bool {
        true
    }
}

/// Signals to one thread, whose cost is measured.
#[cfg(target_os = "linux")]
mod target {
    use std::io;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::set_handler;
    use crate::error::checked;

    /// Nothing else here uses this signal. It is not queued: while it is pending, another one is dropped.
    const SIGNAL: libc::c_int = libc::SIGUSR2;

    static IS_HANDLED: AtomicBool = AtomicBool::new(false);

    /// A thread that is sent SIGUSR2.
    #[derive(Debug)]
    pub struct SignalTarget {
        process: libc::pid_t,
        thread: libc::pid_t,
        is_blocked: bool,
    }

    impl SignalTarget {
        /// This thread, which handles the signal: one that it sends to itself before the call returns.
        ///
        /// # Errors
        /// Those of sigaction(2) and pthread_sigmask(3).
        pub fn that_handles() -> io::Result<SignalTarget> {
            SignalTarget::this_thread(false)
        }

        /// This thread, in which the signal is blocked until this is dropped, and stays pending.
        ///
        /// # Errors
        /// Those of sigaction(2) and pthread_sigmask(3).
        pub fn that_blocks() -> io::Result<SignalTarget> {
            SignalTarget::this_thread(true)
        }

        fn this_thread(is_blocked: bool) -> io::Result<SignalTarget> {
            handle()?;
            mask(if is_blocked { libc::SIG_BLOCK } else { libc::SIG_UNBLOCK })?;
            // SAFETY: getpid(2) and gettid(2) have no conditions.
            let (process, thread) = unsafe { (libc::getpid(), libc::gettid()) };
            Ok(SignalTarget { process, thread, is_blocked })
        }

        /// Sends the signal, by one tgkill(2).
        ///
        /// # Errors
        /// Those of tgkill(2).
        #[inline]
        pub fn send(&self) -> io::Result<()> {
            // SAFETY: the call takes numbers only, and the signal has a handler in this program.
            checked(unsafe { libc::syscall(libc::SYS_tgkill, self.process, self.thread, SIGNAL) }).map(drop)
        }

        /// Whether a thread of this process has handled the signal.
        pub fn is_handled() -> bool {
            IS_HANDLED.load(Ordering::Relaxed)
        }
    }

    impl Drop for SignalTarget {
        fn drop(&mut self) {
            if self.is_blocked {
                // It worked with the same arguments before.
                let _ = mask(libc::SIG_UNBLOCK);
            }
        }
    }

    fn handle() -> io::Result<()> {
        // SAFETY: the handler only accesses an atomic.
        unsafe { set_handler(SIGNAL, on_signal, libc::SA_RESTART) }
    }

    extern "C" fn on_signal(_: libc::c_int) {
        // Written once, so that threads do not take the word from each other.
        if !IS_HANDLED.load(Ordering::Relaxed) {
            IS_HANDLED.store(true, Ordering::Relaxed);
        }
    }

    fn mask(how: libc::c_int) -> io::Result<()> {
        // SAFETY: all zero is a valid `sigset_t`; it lives as long as both calls, and the old mask is not
        // requested.
        let answer = unsafe {
            let mut set: libc::sigset_t = std::mem::zeroed();
            libc::sigaddset(&raw mut set, SIGNAL);
            libc::pthread_sigmask(how, &raw const set, std::ptr::null_mut())
        };
        if answer == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(answer)) }
    }
}
