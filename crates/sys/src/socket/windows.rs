//! Stream sockets on Windows: unsupported, because bare Winsock sockets are not implemented yet.

use std::io;

use super::AddressFamily;
use crate::Unsupported;

const MISSING: Unsupported = Unsupported("bare Winsock sockets are not written for Windows yet");

/// A stream socket.
#[derive(Debug)]
pub struct Socket(());

impl Socket {
    /// Unsupported.
    ///
    /// # Errors
    /// Always.
    pub fn stream(_family: AddressFamily) -> io::Result<Socket> {
        Err(MISSING.into())
    }

    /// Unsupported.
    ///
    /// # Errors
    /// Always.
    pub fn bind_any(&self, _family: AddressFamily) -> io::Result<()> {
        Err(MISSING.into())
    }

    /// Unsupported.
    ///
    /// # Errors
    /// Always.
    pub fn serve_both_families(&self) -> io::Result<()> {
        Err(MISSING.into())
    }

    /// Unsupported.
    ///
    /// # Errors
    /// Always.
    pub fn local_port(&self) -> io::Result<u16> {
        Err(MISSING.into())
    }

    /// The descriptor's number.
    pub fn number(&self) -> i32 {
        -1
    }

    /// Unsupported.
    ///
    /// # Errors
    /// Always.
    pub fn close(self) -> io::Result<()> {
        Err(MISSING.into())
    }
}
