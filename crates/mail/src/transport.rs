//! What a session is spoken over: a connection as it is, or with TLS.

use std::fs::File;
use std::io::{self, ErrorKind, IoSlice};
use std::net::IpAddr;

use net::output::Sender;
use net::{TlsClient, TlsConnection};
use sys::handle::{AsHandle, Handle};
use sys::tcp::Connection;

/// A connection to a server.
pub(crate) enum Transport {
    Plain(Connection),
    Tls(Box<TlsConnection>),
    /// Only while one becomes the other.
    Changing,
}

impl Transport {
    /// Speaks TLS from now on.
    pub(crate) fn start_tls(&mut self, client: &TlsClient, to: IpAddr) -> io::Result<()> {
        match std::mem::replace(self, Transport::Changing) {
            Transport::Plain(connection) => match client.start(connection, to) {
                Ok(connection) => *self = Transport::Tls(Box::new(connection)),
                Err((connection, error)) => {
                    *self = Transport::Plain(connection);
                    return Err(error);
                }
            },
            other => *self = other,
        }
        Ok(())
    }

    pub(crate) fn handle(&self) -> Option<Handle<'_>> {
        match self {
            Transport::Plain(connection) => Some(connection.handle()),
            Transport::Tls(connection) => Some(connection.handle()),
            Transport::Changing => None,
        }
    }

    /// What came of connecting.
    pub(crate) fn connected(&self) -> io::Result<()> {
        match self {
            Transport::Plain(connection) => connection.connected(),
            _ => Ok(()),
        }
    }

    /// One recv(2); 0 is the end.
    #[inline]
    pub(crate) fn receive(&self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Transport::Plain(connection) => connection.receive(buffer),
            Transport::Tls(connection) => connection.receive(buffer),
            Transport::Changing => Err(ErrorKind::NotConnected.into()),
        }
    }

    pub(crate) fn close(self) {
        if let Transport::Tls(connection) = self {
            connection.close();
        }
    }
}

impl Sender for Transport {
    #[inline]
    fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Transport::Plain(connection) => connection.send(bytes),
            Transport::Tls(connection) => connection.send(bytes),
            Transport::Changing => Err(ErrorKind::NotConnected.into()),
        }
    }

    #[inline]
    fn send_and_more(&self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Transport::Plain(connection) => connection.send_and_more(bytes),
            other => other.send(bytes),
        }
    }

    #[inline]
    fn send_pieces(&self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        match self {
            Transport::Plain(connection) => connection.send_pieces(pieces),
            Transport::Tls(connection) => connection.send_pieces(pieces),
            Transport::Changing => Err(ErrorKind::NotConnected.into()),
        }
    }

    /// A message is never a file.
    fn send_file(&self, _file: &File, _offset: &mut u64, _count: usize) -> io::Result<usize> {
        Err(ErrorKind::Unsupported.into())
    }
}
