//! Memory on Windows: file mappings are unsupported, because they are not implemented yet.

use std::fs::File;
use std::io;
use std::sync::atomic::AtomicU64;

use crate::Unsupported;

const MISSING: Unsupported = Unsupported("file mappings are not written for Windows yet");

/// The size of a page on every Windows that Rust supports.
pub fn page_bytes() -> usize {
    4096
}

/// A part of a file, mapped shared and read-only.
#[derive(Debug)]
pub struct Mapping(());

impl Mapping {
    /// Unsupported.
    ///
    /// # Errors
    /// Always.
    pub fn read_only(_file: &File, _offset: u64, _bytes: usize) -> io::Result<Mapping> {
        Err(MISSING.into())
    }

    /// The first byte.
    pub fn first_byte(&self) -> u8 {
        0
    }

    /// The byte at `offset`.
    pub fn byte(&self, _offset: usize) -> u8 {
        0
    }

    /// Removes the mapping.
    ///
    /// # Errors
    /// Always.
    pub fn unmap(self) -> io::Result<()> {
        Err(MISSING.into())
    }
}

/// Memory of this process alone.
#[derive(Debug)]
pub struct Private(());

impl Private {
    /// Unsupported.
    ///
    /// # Errors
    /// Always.
    pub fn filled(_bytes: usize, _content: u8) -> io::Result<Private> {
        Err(MISSING.into())
    }

    /// The last byte.
    pub fn last(&self) -> &u8 {
        &0
    }

    /// Gives the memory back.
    ///
    /// # Errors
    /// Always.
    pub fn unmap(self) -> io::Result<()> {
        Err(MISSING.into())
    }
}

/// Numbers that a child process writes and its parent can still read when the child has crashed.
#[derive(Debug)]
pub struct Shared(Vec<AtomicU64>);

impl Shared {
    /// Unsupported.
    ///
    /// # Errors
    /// Always.
    pub fn create(_slots: usize) -> io::Result<Shared> {
        Err(MISSING.into())
    }

    /// Unsupported.
    ///
    /// # Errors
    /// Always.
    pub fn open(_inherited: i32, _slots: usize) -> io::Result<Shared> {
        Err(MISSING.into())
    }

    /// Unsupported.
    ///
    /// # Errors
    /// Always.
    pub fn join(_inherited: i32, _slots: usize) -> io::Result<Shared> {
        Err(MISSING.into())
    }

    /// The number that `open` takes in the child.
    pub fn inheritable(&self) -> Option<i32> {
        None
    }

    /// The numbers.
    pub fn slots(&self) -> &[AtomicU64] {
        &self.0
    }
}
