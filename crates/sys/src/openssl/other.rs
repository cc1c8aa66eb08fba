//! Systems without an OpenSSL of their own.

use std::io;

use super::{Cipher, Digest, Instructions, KeyKind};
use crate::Unsupported;

const MISSING: Unsupported = Unsupported("this system has no OpenSSL of its own");

/// The library.
#[derive(Debug)]
pub struct Library(std::convert::Infallible);

impl Library {
    /// # Errors
    /// [`Unsupported`].
    pub fn load(_instructions: Instructions) -> io::Result<Library> {
        Err(MISSING.into())
    }

    /// Unreachable.
    pub fn uses_chosen_instructions(&self) -> bool {
        match self.0 {}
    }

    /// Unreachable.
    ///
    /// # Errors
    /// None.
    pub fn generate(&self, _kind: KeyKind) -> io::Result<Key<'_>> {
        match self.0 {}
    }

    /// Unreachable.
    ///
    /// # Errors
    /// None.
    pub fn sealer(&self, _cipher: Cipher, _key: &[u8; 32]) -> io::Result<Sealer<'_>> {
        match self.0 {}
    }

    /// Unreachable.
    ///
    /// # Errors
    /// None.
    pub fn digest(&self, _digest: Digest, _data: &[u8], _output: &mut [u8; 64]) -> io::Result<usize> {
        match self.0 {}
    }
}

/// A key.
#[derive(Debug)]
pub struct Key<'a>(&'a Library);

impl Key<'_> {
    /// Unreachable.
    ///
    /// # Errors
    /// None.
    pub fn sign(&self, _message: &[u8], _signature: &mut [u8]) -> io::Result<usize> {
        match self.0.0 {}
    }

    /// Unreachable.
    ///
    /// # Errors
    /// None.
    pub fn verify(&self, _message: &[u8], _signature: &[u8]) -> io::Result<bool> {
        match self.0.0 {}
    }

    /// Unreachable.
    ///
    /// # Errors
    /// None.
    pub fn agree(&self, _peer: &Key<'_>, _secret: &mut [u8]) -> io::Result<usize> {
        match self.0.0 {}
    }
}

/// A cipher with its key.
#[derive(Debug)]
pub struct Sealer<'a>(&'a Library);

impl Sealer<'_> {
    /// Unreachable.
    ///
    /// # Errors
    /// None.
    pub fn seal(&mut self, _nonce: &[u8; 12], _data: &mut [u8], _tag: &mut [u8; 16]) -> io::Result<()> {
        match self.0.0 {}
    }

    /// Unreachable.
    ///
    /// # Errors
    /// None.
    pub fn open(&mut self, _nonce: &[u8; 12], _data: &mut [u8], _tag: &[u8; 16]) -> io::Result<bool> {
        match self.0.0 {}
    }
}
