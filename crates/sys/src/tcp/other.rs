//! TCP where sockets are not descriptors: unsupported, because it is not implemented yet.

use std::fs::File;
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use super::options::{Listening, Waiting};
use crate::Unsupported;

const MISSING: Unsupported = Unsupported("servers and generators are not written for this system yet");

/// A socket that accepts connections; there is none.
#[derive(Debug)]
pub struct Listener(());

/// A connection; there is none.
#[derive(Debug)]
pub struct Connection(());

/// Calls that answer so.
macro_rules! unsupported {
    ($($name:ident($($argument:ident: $type:ty),*) -> $answer:ty;)*) => {$(
        /// Unsupported.
        ///
        /// # Errors
        /// Always.
        pub fn $name(&self, $($argument: $type),*) -> io::Result<$answer> {
            Err(MISSING.into())
        }
    )*};
}

impl Listener {
    /// Unsupported.
    ///
    /// # Errors
    /// Always.
    pub fn bind(_address: SocketAddr, _how: Listening) -> io::Result<Listener> {
        Err(MISSING.into())
    }

    unsupported! {
        address() -> SocketAddr;
        accept(_waiting: Waiting) -> Connection;
        accept_timeout(_timeout: Duration) -> ();
        send_timeout(_timeout: Duration) -> ();
    }

    /// Nothing to do.
    pub fn finish(&self) {}
}

impl Connection {
    /// Unsupported.
    ///
    /// # Errors
    /// Always.
    pub fn connect(_to: SocketAddr, _from: Option<SocketAddr>, _waiting: Waiting) -> io::Result<Connection> {
        Err(MISSING.into())
    }

    /// Unsupported.
    ///
    /// # Errors
    /// Always.
    pub fn connect_unix(_path: &Path, _waiting: Waiting) -> io::Result<Connection> {
        Err(MISSING.into())
    }

    /// Unsupported.
    ///
    /// # Errors
    /// Always.
    pub fn on_standard_input() -> io::Result<Connection> {
        Err(MISSING.into())
    }

    unsupported! {
        receive(_buffer: &mut [u8]) -> usize;
        send(_bytes: &[u8]) -> usize;
        send_and_more(_bytes: &[u8]) -> usize;
        send_pieces(_pieces: &[IoSlice<'_>]) -> usize;
        send_file(_file: &File, _offset: &mut u64, _count: usize) -> usize;
        finish_sending() -> ();
        finish_receiving() -> ();
        reset_on_close() -> ();
        receive_timeout(_timeout: Option<Duration>) -> ();
        peer() -> SocketAddr;
    }

    /// Unsupported.
    ///
    /// # Errors
    /// Always.
    pub fn into_stdio(self) -> io::Result<(Stdio, Stdio)> {
        Err(MISSING.into())
    }

    /// It has none.
    pub fn number(&self) -> i32 {
        -1
    }
}
