//! Files below a folder wait for the port to Windows, and say so.

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
