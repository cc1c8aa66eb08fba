//! The cryptography of TLS: Rust, and assembler that rustc reads, for the processors of nearly all servers.

use rustls::crypto::CryptoProvider;

use crate::Error;

/// The functions that TLS is made of.
///
/// # Errors
/// [`Error::Unsupported`] says what this processor lacks.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(super) fn provider() -> Result<CryptoProvider, Error> {
    match graviola::util::is_cpu_supported() {
        true => Ok(rustls_graviola::default_provider()),
        false => Err(unsupported("this processor lacks instructions for AES, or those for large numbers")),
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(super) fn provider() -> Result<CryptoProvider, Error> {
    Err(unsupported("its cryptography is written for x86_64 and aarch64 only"))
}

fn unsupported(reason: &str) -> Error {
    Error::Unsupported { name: "TLS".to_owned(), reason: reason.to_owned() }
}
