//! Processors for which there is no code for proofs of passwords: there is no password.

use std::io;
use std::path::Path;

use sys::Unsupported;

/// There is none.
pub(super) enum Password {}

impl Password {
    pub(super) fn of_file(_path: &Path) -> io::Result<Password> {
        Err(Unsupported("there are no proofs of passwords for this processor").into())
    }

    pub(super) fn native(&self, _nonce: &[u8]) -> Vec<u8> {
        match *self {}
    }

    pub(super) fn caching_sha2(&self, _nonce: &[u8]) -> Vec<u8> {
        match *self {}
    }
}

/// There is none.
pub(super) struct Scram<'a>(&'a Password);

impl<'a> Scram<'a> {
    pub(super) fn new(password: &'a Password) -> io::Result<Scram<'a>> {
        Ok(Scram(password))
    }

    pub(super) fn first(&self) -> String {
        match *self.0 {}
    }

    pub(super) fn last(&mut self, _of_server: &[u8]) -> io::Result<String> {
        match *self.0 {}
    }

    pub(super) fn check(&self, _of_server: &[u8]) -> io::Result<()> {
        match *self.0 {}
    }
}
