//! Files below a folder on Windows: unsupported, because they are not implemented yet.

use std::fs::{File, Metadata};
use std::io;

use crate::Unsupported;

const MISSING: Unsupported =
    Unsupported("opening only what is below a folder is not written for Windows yet");

/// A folder out of which nothing is opened.
#[derive(Debug)]
pub struct Root(());

impl Root {
    /// Unsupported.
    ///
    /// # Errors
    /// Always.
    pub fn new(_folder: &std::path::Path) -> io::Result<Root> {
        Err(MISSING.into())
    }

    /// Unsupported.
    ///
    /// # Errors
    /// Always.
    pub fn open(&self, _path: &[u8]) -> io::Result<File> {
        Err(MISSING.into())
    }
}

/// A name in a folder.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Name {
    /// The bytes of it.
    pub bytes: Vec<u8>,
    /// Whether it is known to be a folder.
    pub is_folder: bool,
}

/// Unsupported.
///
/// # Errors
/// Always.
pub fn names(_folder: &File, _max: usize) -> io::Result<Vec<Name>> {
    Err(MISSING.into())
}

/// Not known.
pub fn number(_metadata: &Metadata) -> u64 {
    0
}

/// When the file was last written to, as far as it says, in nanoseconds since 1970.
pub fn changed_ns(metadata: &Metadata) -> i128 {
    let modified = metadata.modified().ok().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
    modified.map_or(0, |time| time.as_nanos() as i128)
}
