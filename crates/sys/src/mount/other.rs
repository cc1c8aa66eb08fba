//! Systems where mounts belong to all processes.

use std::fs::File;
use std::io;
use std::path::Path;

use crate::Unsupported;

const REASON: Unsupported = Unsupported("a process has mounts of its own on Linux only");

/// Unsupported.
///
/// # Errors
/// Always.
pub fn own_namespace() -> io::Result<()> {
    Err(REASON.into())
}

/// Unsupported.
///
/// # Errors
/// Always.
pub fn mount(_source: &Path, _folder: &Path, _kind: &str, _options: &[String]) -> io::Result<()> {
    Err(REASON.into())
}

/// Unsupported.
///
/// # Errors
/// Always.
pub fn expect_unused(_device: &Path) -> io::Result<()> {
    Err(REASON.into())
}

/// There is none.
#[derive(Debug)]
pub enum LoopDevice {}

impl LoopDevice {
    /// Unsupported.
    ///
    /// # Errors
    /// Always.
    pub fn attach(_image: &File) -> io::Result<LoopDevice> {
        Err(REASON.into())
    }

    /// Not reached: there is no device.
    pub fn path(&self) -> &Path {
        match *self {}
    }

    /// Not reached: there is no device.
    ///
    /// # Errors
    /// None.
    pub fn is_direct(&self) -> io::Result<bool> {
        match *self {}
    }
}
