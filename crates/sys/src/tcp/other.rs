//! TCP where sockets are no descriptors: not written yet, and says so.

use std::io;
use std::net::SocketAddr;

use super::{Listening, Waiting};
use crate::Unsupported;

const MISSING: Unsupported = Unsupported("servers and generators are not written for this system yet");

/// A socket that accepts connections.
#[derive(Debug)]
pub struct Listener(());

/// A connection.
#[derive(Debug)]
pub struct Connection(());

impl Listener {
    /// Unsupported.
    ///
    /// # Errors
    /// Always.
    pub fn bind(_address: SocketAddr, _how: Listening) -> io::Result<Listener> {
        Err(MISSING.into())
    }
}

impl Connection {
    /// Unsupported.
    ///
    /// # Errors
    /// Always.
    pub fn connect(_to: SocketAddr, _from: Option<SocketAddr>, _waiting: Waiting) -> io::Result<Connection> {
        Err(MISSING.into())
    }
}
