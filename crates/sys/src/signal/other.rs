//! Systems without signals.

use std::io;

use crate::Unsupported;

const MISSING: Unsupported = Unsupported("there are no signals on this system");

/// Unsupported.
///
/// # Errors
/// Always.
pub fn watch() -> io::Result<()> {
    Err(MISSING.into())
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
