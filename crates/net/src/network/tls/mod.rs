//! TLS between a load generator and any network: the same connections, each with a handshake before its
//! first request, and with encrypted bytes. And TLS of connections that begin without it.
//!
//! - `provider` the cryptography; `settings` what is trusted, `verifier` how that is checked;
//! - `fault` what can go wrong, each under one name;
//! - `socket` one connection: rustls in front of a socket; `client` the same from a word of the protocol on;
//! - `server` the other end, without a socket; `identity` what it shows, `certificate` makes that.
//!
//! The loop of the generator is compiled for this network and for the plain one, so that plain connections
//! pay nothing.

mod certificate;
mod client;
mod fault;
mod identity;
mod provider;
mod server;
mod settings;
mod socket;
#[cfg(test)]
mod tests;
mod verifier;

use std::cell::RefCell;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection};
use sys::event::{Event, Interest};

pub use self::client::{Handshake, TlsClient, TlsConnection};
pub(crate) use self::fault::TlsFault;
pub use self::identity::TlsIdentity;
pub(crate) use self::server::{TlsServer, TlsSession};
pub(crate) use self::settings::Alpn;
pub use self::settings::TlsSettings;
use self::socket::TlsSocket;
use super::{LoadNetwork, SocketSet};
use crate::{Error, ServerAddress};

/// A network whose connections speak TLS.
pub(crate) struct TlsNetwork<N> {
    network: N,
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
    /// What was received last, before it is decrypted. One is enough: nothing stays in it.
    encrypted: Rc<RefCell<Box<[u8]>>>,
}

/// Bytes of one recv(2). A record that began before adds its own length to what they hold, and all of it
/// must fit into the buffer of the loop.
const ENCRYPTED_BYTES: usize = 46 << 10;

impl<N> TlsNetwork<N> {
    /// # Errors
    /// [`Error::Settings`] where a certificate cannot be read, [`Error::Unsupported`] where there is no
    /// cryptography.
    pub(crate) fn new(settings: &TlsSettings, protocol: Alpn, network: N) -> Result<TlsNetwork<N>, Error> {
        let (config, name) = settings.open(Some(protocol))?;
        let encrypted = Rc::new(RefCell::new(vec![0; ENCRYPTED_BYTES].into_boxed_slice()));
        Ok(TlsNetwork { network, config: Arc::new(config), name, encrypted })
    }
}

impl<N: LoadNetwork> SocketSet for TlsNetwork<N> {
    type Socket = TlsSocket<N::Socket>;

    #[inline]
    fn add(&mut self, socket: &Self::Socket, token: usize, interest: Interest) -> io::Result<()> {
        self.network.add(socket.plain(), token, interest)
    }

    #[inline]
    fn change(&mut self, socket: &Self::Socket, token: usize, interest: Interest) -> io::Result<()> {
        self.network.change(socket.plain(), token, interest)
    }

    #[inline]
    fn forget(&mut self, socket: &Self::Socket, token: usize) {
        self.network.forget(socket.plain(), token);
    }
}

impl<N: LoadNetwork> LoadNetwork for TlsNetwork<N> {
    const HAS_HANDSHAKE: bool = true;

    #[inline(always)]
    fn now_ns(&self) -> u64 {
        self.network.now_ns()
    }

    fn connect(&mut self, to: &ServerAddress, from: Option<SocketAddr>) -> io::Result<Self::Socket> {
        let socket = self.network.connect(to, from)?;
        let tls = ClientConnection::new(Arc::clone(&self.config), self.name.clone());
        let tls = tls.map_err(TlsFault::of)?;
        Ok(TlsSocket::new(socket, tls, Rc::clone(&self.encrypted)))
    }

    #[inline]
    fn wait(&mut self, events: &mut Vec<Event>, until_ns: u64) -> Result<(), Error> {
        self.network.wait(events, until_ns)
    }

    #[inline]
    fn rang(&mut self) {
        self.network.rang();
    }
}
