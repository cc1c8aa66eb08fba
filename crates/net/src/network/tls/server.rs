//! The server's side of TLS without a socket: encrypted bytes come in and go out, so that a service with TLS
//! runs in every architecture. The key and the certificate are made when the server starts.

use std::fmt;
use std::io::{Read, Write};
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::NoServerSessionStorage;
use rustls::{ServerConfig, ServerConnection};
use serde::{Deserialize, Serialize};

use super::{TlsFault, provider};
use crate::Error;

/// The configuration that the connections of a server share.
#[derive(Clone)]
pub(crate) struct TlsServer(Arc<ServerConfig>);

impl TlsServer {
    /// # Errors
    /// [`Error::Unsupported`] where there is no cryptography, [`Error::Settings`] for an invalid key.
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
        ServerConnection::new(Arc::clone(&self.0))
            .map(|tls| TlsSession(Box::new(tls)))
            .map_err(TlsFault::from)
    }
}

pub(crate) struct TlsSession(Box<ServerConnection>);

impl TlsSession {
    /// Takes encrypted bytes, cut anywhere, and adds the decrypted ones to `plain`. True if the client has
    /// sent `close_notify`.
    pub(crate) fn receive(&mut self, mut encrypted: &[u8], plain: &mut Vec<u8>) -> Result<bool, TlsFault> {
        let tls = &mut self.0;
        let mut has_ended = false;
        while !encrypted.is_empty() && !has_ended {
            // It takes as much as it has room for, and the rest follows after processing.
            tls.read_tls(&mut encrypted).map_err(|_| TlsFault::Broken)?;
            let state = tls.process_new_packets().map_err(TlsFault::from)?;
            let begin = plain.len();
            plain.resize(begin + state.plaintext_bytes_to_read(), 0);
            tls.reader().read_exact(&mut plain[begin..]).map_err(|_| TlsFault::Broken)?;
            has_ended = state.peer_has_closed();
        }
        Ok(has_ended)
    }

    /// Encrypts, and adds to `encrypted` all output, also that of the handshake.
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

    /// Only `close_notify` follows.
    pub(crate) fn close(&mut self) {
        self.0.send_close_notify();
    }

    pub(crate) fn is_handshaking(&self) -> bool {
        self.0.is_handshaking()
    }
}

/// A key, and a certificate for it that it has signed itself: both in DER and base64, so that they can be
/// sent to another process.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TlsIdentity {
    certificate: String,
    key: String,
}

impl TlsIdentity {
    /// One for a server of that name. It is valid for thousands of years, since no client can trust it
    /// anyway.
    ///
    /// # Errors
    /// [`Error::Unsupported`] where there is no cryptography.
    pub fn new(name: &str) -> Result<TlsIdentity, Error> {
        let (certificate, key) = make_certificate(name)?;
        Ok(TlsIdentity { certificate: STANDARD.encode(certificate), key: STANDARD.encode(key) })
    }

    /// In the form of the library.
    fn read(&self) -> Result<(CertificateDer<'static>, PrivateKeyDer<'static>), Error> {
        let decode = |text: &str| {
            let refused = |error| Error::Settings(format!("a key or certificate is not base64: {error}"));
            STANDARD.decode(text).map_err(refused)
        };
        let key = PrivatePkcs8KeyDer::from(decode(&self.key)?);
        Ok((decode(&self.certificate)?.into(), key.into()))
    }
}

impl fmt::Debug for TlsIdentity {
    /// Without the key.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("TlsIdentity").field("certificate", &self.certificate).finish_non_exhaustive()
    }
}

/// The certificate and the key, in DER.
///
/// # Errors
/// [`Error::Unsupported`] where there is no cryptography.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn make_certificate(_name: &str) -> Result<(Vec<u8>, Vec<u8>), Error> {
    provider().map(|_| Default::default())
}

/// The certificate and the key, in DER.
///
/// # Errors
/// [`Error::Unsupported`] where there is no cryptography.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
fn make_certificate(name: &str) -> Result<(Vec<u8>, Vec<u8>), Error> {
    use rcgen::{CertificateParams, DnType};

    let refused = |error: rcgen::Error| Error::Settings(format!("no certificate for {name:?}: {error}"));
    provider()?;
    let key = key::Key::new().map_err(refused)?;
    let mut params = CertificateParams::new([name.to_owned()]).map_err(refused)?;
    // Another one each time: clients remember to which certificate of an issuer a number belongs.
    params.serial_number = Some(fastrand::u64(1..1 << 63).into());
    params.distinguished_name.push(DnType::CommonName, name);
    let certificate = params.self_signed(&key).map_err(refused)?;
    Ok((certificate.der().to_vec(), key.der().map_err(refused)?))
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod key {
    use graviola::hashing::Sha256;
    use graviola::signing::ecdsa::{self, P256};
    use rcgen::{Error, PKCS_ECDSA_P256_SHA256, PublicKeyData, SignatureAlgorithm, SigningKey};

    /// More than any of the structures takes that are written here.
    const DER_BYTES_MAX: usize = 256;

    pub(super) struct Key {
        private: ecdsa::SigningKey<P256>,
        /// A point of the curve, uncompressed (SEC 1, section 2.3.3).
        public: [u8; 65],
    }

    impl Key {
        pub(super) fn new() -> Result<Key, Error> {
            let private = ecdsa::SigningKey::generate().map_err(|_| Error::KeyGenerationUnavailable)?;
            let mut der = [0; DER_BYTES_MAX];
            let written = private.to_spki_der(&mut der).map_err(|_| Error::RemoteKeyError)?;
            // The point ends the structure around it.
            let public = *written.last_chunk().ok_or(Error::CouldNotParseKeyPair)?;
            Ok(Key { private, public })
        }

        pub(super) fn der(&self) -> Result<Vec<u8>, Error> {
            let mut der = [0; DER_BYTES_MAX];
            self.private.to_pkcs8_der(&mut der).map(<[u8]>::to_vec).map_err(|_| Error::RemoteKeyError)
        }
    }

    impl PublicKeyData for Key {
        fn der_bytes(&self) -> &[u8] {
            &self.public
        }

        fn algorithm(&self) -> &'static SignatureAlgorithm {
            &PKCS_ECDSA_P256_SHA256
        }
    }

    impl SigningKey for Key {
        fn sign(&self, message: &[u8]) -> Result<Vec<u8>, Error> {
            let mut signature = [0; DER_BYTES_MAX];
            let signed = self.private.sign_asn1::<Sha256>(&[message], &mut signature);
            signed.map(<[u8]>::to_vec).map_err(|_| Error::RemoteKeyError)
        }
    }
}
