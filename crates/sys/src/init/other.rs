//! Systems that are not booted as guests.

use std::fs::File;
use std::io;

use crate::Unsupported;

const NO_GUEST: Unsupported = Unsupported("only Linux is booted as a guest");

/// Unsupported.
///
/// # Errors
/// Always.
pub fn bring_up_loopback() -> io::Result<()> {
    Err(NO_GUEST.into())
}

/// Unsupported.
///
/// # Errors
/// Always.
pub fn open_serial_line(_path: &str) -> io::Result<File> {
    Err(NO_GUEST.into())
}

/// Unsupported.
///
/// # Errors
/// Always.
pub fn raise_descriptor_limit() -> io::Result<()> {
    Err(NO_GUEST.into())
}

/// Unsupported.
///
/// # Errors
/// Always.
pub fn set_sysctl(_key: &str, _value: &str) -> io::Result<()> {
    Err(NO_GUEST.into())
}

/// Unsupported.
pub fn power_off() -> io::Error {
    NO_GUEST.into()
}
