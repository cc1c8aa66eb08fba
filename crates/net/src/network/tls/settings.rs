//! The server that is expected behind TLS, the certificates that are trusted, and the check of one.

use std::path::PathBuf;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{Resumption, WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use serde::{Deserialize, Serialize};

use super::provider;
use crate::Error;

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
    pub(super) fn open(&self, protocol: Option<Alpn>) -> Result<(ClientConfig, ServerName<'static>), Error> {
        let name = ServerName::try_from(self.name.clone()).map_err(|_| {
            Error::Settings(format!("{:?} is no name that a certificate can have", self.name))
        })?;
        let provider = Arc::new(provider()?);
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider));
        let builder = builder.with_safe_default_protocol_versions().map_err(refused)?;
        let verifier = self.verifier(provider)?;
        let builder = builder.dangerous().with_custom_certificate_verifier(verifier);
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

    fn verifier(&self, provider: Arc<CryptoProvider>) -> Result<Arc<dyn ServerCertVerifier>, Error> {
        if self.insecure {
            return Ok(Arc::new(Anyone(provider)));
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
        let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider);
        let verifier = verifier.build().map_err(refused)?;
        Ok(match self.cacert {
            Some(_) => Arc::new(Named { verifier, named: trusted }),
            None => verifier,
        })
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

/// Those that a file names, and those that they have signed.
#[derive(Debug)]
pub(super) struct Named {
    pub(super) verifier: Arc<WebPkiServerVerifier>,
    pub(super) named: Vec<CertificateDer<'static>>,
}

impl ServerCertVerifier for Named {
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
        let verified =
            self.verifier.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        let Err(rustls::Error::InvalidCertificate(CertificateError::Other(_))) = &verified else {
            return verified;
        };
        if !self.named.iter().any(|named| named == end_entity) {
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
        self.verifier.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.verifier.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.verifier.supported_verify_schemes()
    }
}

/// Any certificate, with any name; the server must have its key.
#[derive(Debug)]
struct Anyone(pub(super) Arc<CryptoProvider>);

impl ServerCertVerifier for Anyone {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
