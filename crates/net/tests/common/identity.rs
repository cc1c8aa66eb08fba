//! Servers that can be certified: keys and certificates, made anew for each test.

#![allow(dead_code, reason = "each test needs a part of it")]

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use graviola::hashing::Sha256;
use graviola::signing::ecdsa::{self, P256};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, PKCS_ECDSA_P256_SHA256, PublicKeyData,
    SignatureAlgorithm, SigningKey,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, SupportedProtocolVersion};
use std::sync::Arc;

/// A server's certificate, and the one that clients trust.
pub(crate) struct Identity {
    certificate: CertificateDer<'static>,
    key: Vec<u8>,
    /// The file for `--cacert`.
    pub(crate) pem: String,
}

/// Whether its time has come, and has not passed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Validity {
    Now,
    Past,
    Future,
}

/// Its signer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Signed {
    /// By itself, as one of a server or, as `openssl req -x509` makes it, of an authority.
    ByItself { is_authority: bool },
    /// By an authority, which clients trust.
    ByAuthority,
}

struct Key {
    private: ecdsa::SigningKey<P256>,
    /// A point of the curve, uncompressed (SEC 1, section 2.3.3).
    public: Vec<u8>,
}

impl Key {
    fn new() -> Key {
        let private = ecdsa::SigningKey::generate().expect("a key");
        // The point is what ends the structure around it.
        let public =
            private.to_spki_der(&mut [0; 256]).expect("a key").last_chunk::<65>().expect("a point").to_vec();
        Key { private, public }
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
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, rcgen::Error> {
        let mut signature = [0; 256];
        let signed = self.private.sign_asn1::<Sha256>(&[message], &mut signature);
        Ok(signed.expect("a signature").to_vec())
    }
}

impl Identity {
    pub(crate) fn new(names: &[&str], validity: Validity, signed: Signed) -> Identity {
        let key = Key::new();
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        let mut of_server = CertificateParams::new(names).expect("names");
        let (begin, end) = match validity {
            Validity::Now => (2000, 4000),
            Validity::Past => (2000, 2001),
            Validity::Future => (3999, 4000),
        };
        of_server.serial_number = Some(1.into());
        of_server.not_before = rcgen::date_time_ymd(begin, 1, 1);
        of_server.not_after = rcgen::date_time_ymd(end, 1, 1);
        let authority = || IsCa::Ca(BasicConstraints::Unconstrained);
        let (certificate, pem) = match signed {
            Signed::ByItself { is_authority } => {
                of_server.is_ca = if is_authority { authority() } else { IsCa::NoCa };
                let certificate = of_server.self_signed(&key).expect("a certificate");
                (certificate.der().clone(), certificate.pem())
            }
            Signed::ByAuthority => {
                let mut of_authority = CertificateParams::default();
                of_authority.is_ca = authority();
                of_authority.serial_number = Some(2.into());
                let issuer = CertifiedIssuer::self_signed(of_authority, Key::new()).expect("an authority");
                let certificate = of_server.signed_by(&key, &issuer).expect("a certificate");
                (certificate.der().clone(), issuer.pem())
            }
        };
        let key = key.private.to_pkcs8_der(&mut [0; 256]).expect("a key").to_vec();
        Identity { certificate, key, pem }
    }

    /// One that is right for this machine.
    pub(crate) fn local() -> Identity {
        Identity::new(&["localhost", "127.0.0.1"], Validity::Now, Signed::ByAuthority)
    }

    /// The file of the key, for servers of others.
    pub(crate) fn key_pem(&self) -> String {
        let text = STANDARD.encode(&self.key);
        format!("-----BEGIN PRIVATE KEY-----\n{text}\n-----END PRIVATE KEY-----\n")
    }

    /// A server that shows it.
    pub(crate) fn server(&self) -> Arc<ServerConfig> {
        self.server_of(rustls::ALL_VERSIONS)
    }

    /// One that demands a certificate of its clients, which its own authority must have signed.
    pub(crate) fn demanding(&self, versions: &[&'static SupportedProtocolVersion]) -> Arc<ServerConfig> {
        let provider = Arc::new(rustls_graviola::default_provider());
        let mut roots = RootCertStore::empty();
        let authority = CertificateDer::from_pem_slice(self.pem.as_bytes()).expect("a certificate");
        roots.add(authority).expect("an authority");
        let verifier =
            WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider)).build();
        let builder = ServerConfig::builder_with_provider(provider);
        let builder = builder.with_protocol_versions(versions).expect("versions");
        let builder = builder.with_client_cert_verifier(verifier.expect("a verifier"));
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(self.key.clone()));
        Arc::new(builder.with_single_cert(vec![self.certificate.clone()], key).expect("an identity"))
    }

    /// The same, of these versions of TLS.
    pub(crate) fn server_of(&self, versions: &[&'static SupportedProtocolVersion]) -> Arc<ServerConfig> {
        let builder = ServerConfig::builder_with_provider(Arc::new(rustls_graviola::default_provider()));
        let builder = builder.with_protocol_versions(versions).expect("versions").with_no_client_auth();
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(self.key.clone()));
        let mut config = builder.with_single_cert(vec![self.certificate.clone()], key).expect("an identity");
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Arc::new(config)
    }
}
