//! TLS between a load generator and any network: the same connections, each with a handshake before its
//! first request, and with encrypted bytes. And TLS of connections that begin without it.
//!
//! - here are the expected server, the certificates that are trusted and the check of one, the cryptography,
//!   and the faults, each under one name;
//! - `socket` one connection of a client: rustls in front of a socket, from its beginning or after STARTTLS;
//! - `server` the other end, without a socket, with its key and certificate.
//!
//! The loop of the generator is compiled for this network and for the plain one, so that plain connections
//! pay nothing.

mod server;
mod socket;
#[cfg(test)]
mod tests;

pub use self::server::TlsIdentity;
pub(crate) use self::server::{TlsServer, TlsSession};
pub use self::socket::{Handshake, TlsClient, TlsConnection};

use std::cell::RefCell;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{Resumption, WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    AlertDescription, CertificateError, ClientConfig, ClientConnection, DigitallySignedStruct, RootCertStore,
    SignatureScheme,
};
use serde::{Deserialize, Serialize};
use sys::event::{Event, Interest};

use self::socket::TlsSocket;
use super::{LoadNetwork, SocketSet};
use crate::{Error, ServerAddress};

/// TLS of a load.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TlsSettings {
    /// Domain or address that the certificate must have; a domain is sent too (SNI).
    pub name: String,
    /// A file of certificates in PEM: one of them is the server's, or has signed it. `None`: those that this
    /// system trusts.
    pub cacert: Option<PathBuf>,
    /// Whether any certificate will do.
    pub insecure: bool,
}

/// The protocol that is spoken inside: the only one that is announced (ALPN, RFC 7301), so that a load does
/// not depend on the server's preference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Alpn(&'static [u8]);

impl Alpn {
    pub(crate) const HTTP_1: Alpn = Alpn(b"http/1.1");
    pub(crate) const HTTP_2: Alpn = Alpn(b"h2");
}

impl TlsSettings {
    /// The configuration of every connection; without a protocol none is announced.
    fn open(&self, protocol: Option<Alpn>) -> Result<(ClientConfig, ServerName<'static>), Error> {
        let name = ServerName::try_from(self.name.clone()).map_err(|_| {
            Error::Settings(format!("{:?} is no name that a certificate can have", self.name))
        })?;
        let provider = Arc::new(provider()?);
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider));
        let builder = builder.with_safe_default_protocol_versions().map_err(refused)?;
        let verifier = self.verifier(provider)?;
        let builder = builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier));
        let mut config = builder.with_no_client_auth();
        config.alpn_protocols = protocol.into_iter().map(|protocol| protocol.0.to_vec()).collect();
        // Every connection stands for another client, which has no ticket of an earlier one.
        config.resumption = Resumption::disabled();
        Ok((config, name))
    }

    /// Whether a load can be offered with them.
    pub(crate) fn check(&self) -> Result<(), Error> {
        self.open(Some(Alpn::HTTP_1)).map(drop)
    }

    fn verifier(&self, provider: Arc<CryptoProvider>) -> Result<Verifier, Error> {
        if self.insecure {
            return Ok(Verifier { provider, trusted: None });
        }
        let trusted = match &self.cacert {
            Some(_) => self.named()?,
            None => trusted_here()?,
        };
        let mut roots = RootCertStore::empty();
        // One that cannot be read, among a hundred of a system, can only have signed other servers.
        let (read, _) = roots.add_parsable_certificates(trusted.iter().cloned());
        if read == 0 {
            return Err(Error::Settings(format!("no certificate of {} can be read", self.origin())));
        }
        let rules = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider));
        let rules = rules.build().map_err(refused)?;
        let named = if self.cacert.is_some() { trusted } else { Vec::new() };
        Ok(Verifier { provider, trusted: Some(Trusted { rules, named }) })
    }

    /// The certificates of the file.
    fn named(&self) -> Result<Vec<CertificateDer<'static>>, Error> {
        let path = self.cacert.as_deref().unwrap_or_else(|| "".as_ref());
        let refuse = |why: String| Error::Settings(format!("cannot read --cacert {}: {why}", path.display()));
        let text = std::fs::read(path).map_err(|error| refuse(error.to_string()))?;
        let certificates = CertificateDer::pem_slice_iter(&text).collect::<Result<Vec<_>, _>>();
        match certificates {
            Ok(certificates) if !certificates.is_empty() => Ok(certificates),
            _ => Err(refuse("it needs certificates in PEM, from BEGIN CERTIFICATE on".to_owned())),
        }
    }

    fn origin(&self) -> String {
        self.cacert.as_ref().map_or("this system".to_owned(), |path| path.display().to_string())
    }
}

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

/// A buffer for bytes before they are decrypted, which the connections of a thread share.
fn encrypted_buffer() -> Rc<RefCell<Box<[u8]>>> {
    Rc::new(RefCell::new(vec![0; ENCRYPTED_BYTES].into_boxed_slice()))
}

impl<N> TlsNetwork<N> {
    /// # Errors
    /// [`Error::Settings`] where a certificate cannot be read, [`Error::Unsupported`] where there is no
    /// cryptography.
    pub(crate) fn new(settings: &TlsSettings, protocol: Alpn, network: N) -> Result<TlsNetwork<N>, Error> {
        let (config, name) = settings.open(Some(protocol))?;
        Ok(TlsNetwork { network, config: Arc::new(config), name, encrypted: encrypted_buffer() })
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

/// Why a connection cannot be used (any more).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, thiserror::Error)]
pub(crate) enum TlsFault {
    /// No trusted authority has signed the certificate.
    #[error("untrusted certificate")]
    Untrusted,
    /// Its time is over.
    #[error("expired certificate")]
    Expired,
    /// Its time has not begun.
    #[error("certificate not yet valid")]
    NotYetValid,
    /// It is for other names.
    #[error("certificate for another name")]
    OtherName,
    /// It has another fault.
    #[error("invalid certificate")]
    Certificate,
    /// The server speaks something else than TLS.
    #[error("no TLS")]
    NoTls,
    /// No version or cipher that both ends have.
    #[error("no TLS version or cipher in common")]
    Incompatible,
    /// The server sent an alert; its number (RFC 8446, section 6).
    #[error("TLS alert {:?}", AlertDescription::from(*.0))]
    Alert(u8),
    /// The connection ended before the handshake did.
    #[error("closed during the TLS handshake")]
    Unfinished,
    /// The connection ended without `close_notify`: bytes may be missing.
    #[error("closed without close_notify")]
    Truncated,
    /// The server, or an attacker on the path, broke the protocol.
    #[error("TLS protocol violated")]
    Broken,
}

impl TlsFault {
    fn from_certificate(error: &CertificateError) -> TlsFault {
        match error {
            // An authority of that name is trusted, and has another key.
            CertificateError::BadSignature => TlsFault::Untrusted,
            // Mostly one that `openssl req -x509` made, and that was not named as trusted: see `Trusted`.
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

fn trusted_here() -> Result<Vec<CertificateDer<'static>>, Error> {
    let found = rustls_native_certs::load_native_certs();
    if found.certs.is_empty() {
        let text = "this system trusts no certificates (package ca-certificates on many); name those to \
                    trust with --cacert FILE, or skip verification with --insecure";
        return Err(Error::Settings(text.to_owned()));
    }
    Ok(found.certs)
}

fn refused(error: impl std::fmt::Display) -> Error {
    Error::Settings(format!("TLS cannot be set up: {error}"))
}

/// Checks the certificate of a server, which must have its key.
#[derive(Debug)]
struct Verifier {
    provider: Arc<CryptoProvider>,
    /// Without it any certificate will do, with any name.
    trusted: Option<Trusted>,
}

/// The certificates that are trusted, with those that they have signed.
#[derive(Debug)]
struct Trusted {
    rules: Arc<WebPkiServerVerifier>,
    /// Those that a file names; none where the system is asked.
    named: Vec<CertificateDer<'static>>,
}

impl ServerCertVerifier for Verifier {
    /// A certificate that `openssl req -x509` makes is one of an authority too, which the rules forbid to a
    /// server. A user that names it in the file trusts it; its time, which was checked before, and its name
    /// must be right all the same.
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let Some(Trusted { rules, named }) = &self.trusted else {
            return Ok(ServerCertVerified::assertion());
        };
        let verified = rules.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        let Err(rustls::Error::InvalidCertificate(CertificateError::Other(_))) = &verified else {
            return verified;
        };
        if !named.iter().any(|named| named == end_entity) {
            return verified;
        }
        verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
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
