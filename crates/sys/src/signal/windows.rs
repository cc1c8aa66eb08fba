//! Windows has no signals: the console tells its programs to stop, by Ctrl-C, Ctrl-Break or its own end.

use std::io;
use std::sync::atomic::Ordering;

use windows_sys::Win32::System::Console::SetConsoleCtrlHandler;

use super::STOP;
use crate::Unsupported;

const MISSING: Unsupported = Unsupported("there are no signals on this system");

/// Has all that the console tells set the order to stop. Nobody asks for reports in this way.
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
unsafe extern "system" fn on_control(_which: u32) -> i32 {
    STOP.store(true, Ordering::Relaxed);
    // It is dealt with: no other handler ends the process.
    1
}

/// Unsupported.
///
/// # Errors
/// Always.
pub fn send_stop(_process: u32) -> io::Result<()> {
    Err(MISSING.into())
}

/// Unsupported.
///
/// # Errors
/// Always.
pub fn watch_nudges() -> io::Result<()> {
    Err(MISSING.into())
}

/// Unsupported.
///
/// # Errors
/// Always.
pub fn send_nudge(_process: u32) -> io::Result<()> {
    Err(MISSING.into())
}

/// There is no such signal.
pub fn ignore_file_size_signal() {}

/// There is no such signal.
pub fn ignores_hangup() -> bool {
    true
}
