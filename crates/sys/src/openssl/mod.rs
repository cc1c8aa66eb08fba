//! The OpenSSL of this system, libcrypto(7), as its programs use it: signatures, key agreement, sealing,
//! digests.
//!
//! The library is loaded when it is asked for: a program that is linked against it would not start where it
//! is missing, and would bring its own.

mod functions;
mod library;

pub use library::{Key, Library, Sealer};

/// A kind of key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyKind {
    /// RSA with that many bits.
    Rsa(usize),
    /// DSA with 2048 bits, and parameters of its own.
    Dsa,
    /// ECDSA on the curve P-256.
    P256,
    /// EdDSA on edwards25519.
    Ed25519,
    /// Key agreement on curve25519.
    X25519,
}

/// A cipher that seals: encrypts, and proves that nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cipher {
    /// AES-256-GCM.
    AesGcm,
    /// ChaCha20-Poly1305.
    ChaCha20Poly1305,
}

/// A digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Digest {
    /// SHA-256.
    Sha256,
    /// SHA-512.
    Sha512,
}

/// The instructions of the processor that the library may use: levels that exist for x86-64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instructions {
    /// All that the processor has.
    All,
    /// Neither AVX-512 nor the wide forms of AES and of the carry-less product.
    Avx2,
    /// SSE4.2, AES and the carry-less product: no AVX, BMI, ADX or SHA.
    Sse4,
    /// SSE2 only, which every x86-64 has.
    Sse2,
}
