//! The interface of a library for the workload: operations that can be repeated, each proved before.

use std::io;

/// The bytes that are sealed and digested at once.
pub(super) const RECORD_BYTES: usize = 16 << 10;

/// The text that is signed.
pub(super) const MESSAGE: &[u8; 32] = b"osdyno signs these 32 bytes here";

/// One operation, ready to be repeated by one thread.
pub(super) type Repeat<'a> = Box<dyn FnMut() -> io::Result<()> + Send + 'a>;

/// A library, with its keys.
pub(super) trait Library: Sync {
    /// The operation of that name for one thread, after a proof that its result is right.
    ///
    /// # Errors
    /// The library's reason; `InvalidData` where a proof failed.
    fn prepare(&self, operation: &str) -> io::Result<Repeat<'_>>;
}

/// For a wrong result of a library.
pub(super) fn wrong(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("{what} gave a wrong result"))
}

/// Whether these are the digests of "abc": FIPS 180-4, examples of NIST.
pub(super) fn is_digest_of_abc(digest: &[u8]) -> bool {
    match digest.len() {
        32 => digest.starts_with(&[0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea]),
        64 => digest.starts_with(&[0xdd, 0xaf, 0x35, 0xa1, 0x93, 0x61, 0x7a, 0xba]),
        _ => false,
    }
}

/// As in a protocol: a nonce counts records.
pub(super) fn nonce(number: u64) -> [u8; 12] {
    let mut nonce = [0; 12];
    nonce[4..].copy_from_slice(&number.to_be_bytes());
    nonce
}
