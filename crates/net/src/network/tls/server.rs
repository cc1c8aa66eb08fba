//! The server's side of TLS without a socket: encrypted bytes come in and go out, so that a service which
//! offers it runs in every architecture.

use std::io::{Read, Write};
use std::sync::Arc;

use rustls::server::NoServerSessionStorage;
use rustls::{ServerConfig, ServerConnection};

use super::fault::TlsFault;
use super::identity::TlsIdentity;
use super::provider::provider;
use crate::Error;

/// What the connections of a server have in common.
#[derive(Clone)]
pub(crate) struct TlsServer(Arc<ServerConfig>);

impl TlsServer {
    /// # Errors
    /// [`Error::Unsupported`] where there is no cryptography, [`Error::Settings`] for a key that is none.
    pub(crate) fn new(identity: &TlsIdentity) -> Result<TlsServer, Error> {
        let refused = |error: rustls::Error| Error::Settings(format!("TLS cannot be set up: {error}"));
        let (certificate, key) = identity.read()?;
        let builder = ServerConfig::builder_with_provider(Arc::new(provider()?));
        let builder = builder.with_safe_default_protocol_versions().map_err(refused)?.with_no_client_auth();
        let mut config = builder.with_single_cert(vec![certificate], key).map_err(refused)?;
        // Every connection stands for another client: tickets would only take time and memory.
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
        Ok(TlsServer(Arc::new(config)))
    }

    /// A connection on which the client's handshake comes next.
    pub(crate) fn session(&self) -> Result<TlsSession, TlsFault> {
        ServerConnection::new(Arc::clone(&self.0)).map(|tls| TlsSession(Box::new(tls))).map_err(TlsFault::of)
    }
}

/// One connection.
pub(crate) struct TlsSession(Box<ServerConnection>);

impl TlsSession {
    /// Takes encrypted bytes, cut anywhere, and adds to `plain` what they say. True if the client has said
    /// that nothing follows.
    pub(crate) fn receive(&mut self, mut encrypted: &[u8], plain: &mut Vec<u8>) -> Result<bool, TlsFault> {
        let tls = &mut self.0;
        let mut has_ended = false;
        while !encrypted.is_empty() && !has_ended {
            // It takes what it has room for, and what it took is processed below.
            tls.read_tls(&mut encrypted).map_err(|_| TlsFault::Broken)?;
            let state = tls.process_new_packets().map_err(TlsFault::of)?;
            let begin = plain.len();
            plain.resize(begin + state.plaintext_bytes_to_read(), 0);
            tls.reader().read_exact(&mut plain[begin..]).map_err(|_| TlsFault::Broken)?;
            has_ended = state.peer_has_closed();
        }
        Ok(has_ended)
    }

    /// Encrypts, and adds to `encrypted` all that is to leave: also what the handshake says.
    pub(crate) fn send(&mut self, mut plain: &[u8], encrypted: &mut Vec<u8>) -> Result<(), TlsFault> {
        loop {
            while self.0.wants_write() {
                self.0.write_tls(encrypted).map_err(|_| TlsFault::Broken)?;
            }
            if plain.is_empty() {
                return Ok(());
            }
            let taken = self.0.writer().write(plain).map_err(|_| TlsFault::Broken)?;
            plain = &plain[taken..];
        }
    }

    /// Nothing follows but the word that says so.
    pub(crate) fn close(&mut self) {
        self.0.send_close_notify();
    }

    pub(crate) fn is_handshaking(&self) -> bool {
        self.0.is_handshaking()
    }
}
