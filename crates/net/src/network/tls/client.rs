//! The client's side of TLS on a connection that began without it (STARTTLS, RFC 3207).

use std::cell::RefCell;
use std::io::{self, IoSlice};
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection};
use sys::event::Interest;
use sys::handle::{AsHandle, Handle};
use sys::tcp::Connection;

use super::socket::TlsSocket;
use super::{ENCRYPTED_BYTES, TlsFault, TlsSettings};
use crate::Error;
use crate::network::{Connected, Socket};
use crate::output::Sender;

/// The configuration that the connections of a client share; it belongs to one thread.
pub struct TlsClient {
    config: Arc<ClientConfig>,
    /// The name that certificates must have; `None` if any certificate will do.
    name: Option<ServerName<'static>>,
    encrypted: Rc<RefCell<Box<[u8]>>>,
}

impl TlsClient {
    /// A client for servers with those certificates; without settings any certificate will do, which protects
    /// only against passive listeners (RFC 7435).
    ///
    /// # Errors
    /// [`Error::Settings`] where a certificate cannot be read, [`Error::Unsupported`] where there is no
    /// cryptography.
    pub fn new(settings: Option<&TlsSettings>) -> Result<TlsClient, Error> {
        let anyone = TlsSettings { name: "localhost".to_owned(), cacert: None, insecure: true };
        let (config, name) = settings.unwrap_or(&anyone).open(None)?;
        let encrypted = Rc::new(RefCell::new(vec![0; ENCRYPTED_BYTES].into_boxed_slice()));
        Ok(TlsClient { config: Arc::new(config), name: settings.map(|_| name), encrypted })
    }

    /// Speaks TLS from now on; the handshake begins with [`TlsConnection::handshake`].
    ///
    /// # Errors
    /// The error of the library, with the connection as it was.
    pub fn start(
        &self,
        connection: Connection,
        to: IpAddr,
    ) -> Result<TlsConnection, (Connection, io::Error)> {
        // The address of a server is not sent: SNI has only names (RFC 6066, section 3).
        let name = self.name.clone().unwrap_or(ServerName::IpAddress(to.into()));
        match ClientConnection::new(Arc::clone(&self.config), name) {
            Ok(tls) => Ok(TlsConnection(TlsSocket::new(connection, tls, Rc::clone(&self.encrypted)))),
            Err(error) => Err((connection, TlsFault::from(error).into())),
        }
    }
}

/// How far a handshake came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handshake {
    /// Both ends speak TLS.
    Done,
    /// It goes on when the connection is ready for that.
    Waits(Interest),
}

/// A connection that speaks TLS. No call waits.
pub struct TlsConnection(TlsSocket<Connection>);

impl TlsConnection {
    /// Goes on with the handshake.
    ///
    /// # Errors
    /// Those of the connection; a certificate that is not accepted; a server that speaks something else.
    pub fn handshake(&self) -> io::Result<Handshake> {
        Ok(match self.0.connected(0)? {
            Connected::Yes { .. } => Handshake::Done,
            Connected::NotYet(interest) => Handshake::Waits(interest),
        })
    }

    /// One recv(2), decrypted; 0 is the end. The buffer must have room for 64 KiB.
    ///
    /// # Errors
    /// Those of recv(2), and a server that breaks the protocol.
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.receive(buffer)
    }

    /// Sends `close_notify`, and closes.
    pub fn close(self) {
        // An error can be ignored: nothing depends on it.
        let _ = self.0.close();
    }
}

impl AsHandle for TlsConnection {
    fn handle(&self) -> Handle<'_> {
        self.0.plain().handle()
    }
}

impl Sender for TlsConnection {
    fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        self.0.send(bytes)
    }

    fn send_and_more(&self, bytes: &[u8]) -> io::Result<usize> {
        self.0.send_and_more(bytes)
    }

    fn send_pieces(&self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        self.0.send_pieces(pieces)
    }

    fn send_file(&self, file: &std::fs::File, offset: &mut u64, count: usize) -> io::Result<usize> {
        self.0.send_file(file, offset, count)
    }
}
