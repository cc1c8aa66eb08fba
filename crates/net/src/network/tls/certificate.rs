//! Makes a key of P-256 and a certificate that it has signed itself.

use super::provider::provider;
use crate::Error;

/// The certificate and the key, in DER.
///
/// # Errors
/// [`Error::Unsupported`] where there is no cryptography.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(super) fn make(_name: &str) -> Result<(Vec<u8>, Vec<u8>), Error> {
    provider().map(|_| Default::default())
}

/// The certificate and the key, in DER.
///
/// # Errors
/// [`Error::Unsupported`] where there is no cryptography.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(super) fn make(name: &str) -> Result<(Vec<u8>, Vec<u8>), Error> {
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
            // The point is what ends the structure around it.
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
