//! TLS between a load generator and any network: the same connections, each with a handshake before its
//! first request, and with encrypted bytes. And TLS of connections that begin without it.
//!
//! - here are the cryptography and the faults, each under one name;
//! - `settings` the certificates that are trusted, and the check of one;
//! - `socket` one connection: rustls in front of a socket; `client` the same after STARTTLS;
//! - `server` the other end, without a socket, with its key and certificate.
//!
//! The loop of the generator is compiled for this network and for the plain one, so that plain connections
//! pay nothing.

mod client;
mod server;
mod settings;
mod socket;
#[cfg(test)]
mod tests;

pub use self::client::{Handshake, TlsClient, TlsConnection};
pub use self::server::TlsIdentity;
pub(crate) use self::server::{TlsServer, TlsSession};
pub(crate) use self::settings::Alpn;
pub use self::settings::TlsSettings;

use std::cell::RefCell;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;

use rustls::crypto::CryptoProvider;
use rustls::pki_types::ServerName;
use rustls::{AlertDescription, CertificateError, ClientConfig, ClientConnection};
use sys::event::{Event, Interest};

use self::socket::TlsSocket;
use super::{LoadNetwork, SocketSet};
use crate::{Error, ServerAddress};

/// A network whose connections speak TLS.
pub(crate) struct TlsNetwork<N> {
    network: N,
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
    /// The last received bytes, before they are decrypted. One buffer is enough: nothing stays in it.
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
        let tls = tls.map_err(TlsFault::from)?;
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

/// The cryptography of TLS.
///
/// # Errors
/// [`Error::Unsupported`] names the facility that this processor lacks.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
fn provider() -> Result<CryptoProvider, Error> {
    match graviola::util::is_cpu_supported() {
        true => Ok(rustls_graviola::default_provider()),
        false => Err(unsupported("this processor lacks instructions for AES, or those for large numbers")),
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn provider() -> Result<CryptoProvider, Error> {
    Err(unsupported("its cryptography is written for x86_64 and aarch64 only"))
}

fn unsupported(reason: &str) -> Error {
    Error::Unsupported { name: "TLS".to_owned(), reason: reason.to_owned() }
}

/// Why a connection cannot be used (any more).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum TlsFault {
    /// No trusted authority has signed the certificate.
    Untrusted,
    /// Its time is over.
    Expired,
    /// Its time has not begun.
    NotYetValid,
    /// It is for other names.
    OtherName,
    /// It has another fault.
    Certificate,
    /// The server speaks something else than TLS.
    NoTls,
    /// No version or cipher that both ends have.
    Incompatible,
    /// The server sent an alert; its number (RFC 8446, section 6).
    Alert(u8),
    /// The connection ended before the handshake did.
    Unfinished,
    /// The connection ended without `close_notify`: bytes may be missing.
    Truncated,
    /// The server, or an attacker on the path, broke the protocol.
    Broken,
}

impl TlsFault {
    fn from_certificate(error: &CertificateError) -> TlsFault {
        match error {
            // An authority of that name is trusted, and has another key.
            CertificateError::BadSignature => TlsFault::Untrusted,
            // Mostly one that `openssl req -x509` made, and that was not named as trusted: see `Named`.
            CertificateError::UnknownIssuer | CertificateError::Other(_) => TlsFault::Untrusted,
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => TlsFault::Expired,
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                TlsFault::NotYetValid
            }
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                TlsFault::OtherName
            }
            _ => TlsFault::Certificate,
        }
    }

    /// The fault that an error of a socket stands for.
    pub(crate) fn in_error(error: &io::Error) -> Option<TlsFault> {
        error.get_ref()?.downcast_ref().copied()
    }
}

impl From<rustls::Error> for TlsFault {
    fn from(error: rustls::Error) -> TlsFault {
        match error {
            rustls::Error::InvalidCertificate(error) => TlsFault::from_certificate(&error),
            rustls::Error::InvalidMessage(_) => TlsFault::NoTls,
            rustls::Error::PeerIncompatible(_) | rustls::Error::NoApplicationProtocol => {
                TlsFault::Incompatible
            }
            rustls::Error::AlertReceived(alert) => TlsFault::Alert(alert.into()),
            _ => TlsFault::Broken,
        }
    }
}

impl From<TlsFault> for io::Error {
    fn from(fault: TlsFault) -> io::Error {
        let kind = match fault {
            TlsFault::Unfinished | TlsFault::Truncated => io::ErrorKind::UnexpectedEof,
            _ => io::ErrorKind::InvalidData,
        };
        io::Error::new(kind, fault)
    }
}

impl std::error::Error for TlsFault {}

impl fmt::Display for TlsFault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match *self {
            TlsFault::Alert(number) => {
                return write!(out, "TLS alert {:?}", AlertDescription::from(number));
            }
            TlsFault::Untrusted => "untrusted certificate",
            TlsFault::Expired => "expired certificate",
            TlsFault::NotYetValid => "certificate not yet valid",
            TlsFault::OtherName => "certificate for another name",
            TlsFault::Certificate => "invalid certificate",
            TlsFault::NoTls => "no TLS",
            TlsFault::Incompatible => "no TLS version or cipher in common",
            TlsFault::Unfinished => "closed during the TLS handshake",
            TlsFault::Truncated => "closed without close_notify",
            TlsFault::Broken => "TLS protocol violated",
        };
        out.write_str(name)
    }
}
