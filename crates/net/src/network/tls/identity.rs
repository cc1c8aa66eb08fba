//! The key and the certificate of a server, made when it starts.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use serde::{Deserialize, Serialize};

use super::certificate;
use crate::Error;

/// A key, and a certificate for it that it has signed itself: both in DER and base64, so that they can travel
/// in an order to another process.
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
        let (certificate, key) = certificate::make(name)?;
        Ok(TlsIdentity { certificate: STANDARD.encode(certificate), key: STANDARD.encode(key) })
    }

    /// As the library takes it.
    pub(super) fn read(&self) -> Result<(CertificateDer<'static>, PrivateKeyDer<'static>), Error> {
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
