//! The OpenSSL of this system, at a level of instructions.

use std::io;

use sys::openssl::{Cipher, Digest, Instructions, Key, KeyKind, Library as Loaded};

use super::{Library, MESSAGE, OTHER_MESSAGE, RECORD_BYTES, Repeat, is_digest_of_abc, nonce, proved, wrong};

/// Room for a signature of any kind.
const SIGNATURE_BYTES: usize = 512;

/// Loads the library for a variant.
///
/// # Errors
/// Unsupported where this system has none, or this processor no such levels.
pub(super) fn load(variant: &str) -> io::Result<Loaded> {
    Loaded::load(match variant {
        "openssl-avx2" => Instructions::Avx2,
        "openssl-sse4" => Instructions::Sse4,
        "openssl-sse2" => Instructions::Sse2,
        _ => Instructions::All,
    })
}

pub(super) struct OpenSsl<'a> {
    library: &'a Loaded,
    rsa: Key<'a>,
    dsa: Key<'a>,
    ecdsa: Key<'a>,
    eddsa: Key<'a>,
    x25519: Key<'a>,
}

impl<'a> OpenSsl<'a> {
    /// Makes the keys.
    ///
    /// # Errors
    /// The library's own reason.
    pub(super) fn new(library: &'a Loaded, bits: u64) -> io::Result<OpenSsl<'a>> {
        Ok(OpenSsl {
            library,
            rsa: library.generate(KeyKind::Rsa(bits as usize))?,
            dsa: library.generate(KeyKind::Dsa)?,
            ecdsa: library.generate(KeyKind::P256)?,
            eddsa: library.generate(KeyKind::Ed25519)?,
            x25519: library.generate(KeyKind::X25519)?,
        })
    }

    fn agree(&self) -> io::Result<Repeat<'_>> {
        let peer = self.library.generate(KeyKind::X25519)?;
        let (mut ours, mut theirs) = ([0; 32], [1; 32]);
        self.x25519.agree(&peer, &mut ours)?;
        peer.agree(&self.x25519, &mut theirs)?;
        proved("x25519", ours == theirs)?;
        Ok(Box::new(move || self.x25519.agree(&peer, &mut ours).map(drop)))
    }

    fn seal(&self, operation: &str) -> io::Result<Repeat<'_>> {
        let cipher = if operation == "seal-aes-gcm" { Cipher::AesGcm } else { Cipher::ChaCha20Poly1305 };
        let mut sealer = self.library.sealer(cipher, &[7; 32])?;
        let (mut data, mut tag, mut number) = (vec![0; RECORD_BYTES], [0; 16], 0_u64);
        sealer.seal(&nonce(number), &mut data, &mut tag)?;
        let is_sealed = data.iter().any(|&byte| byte != 0);
        let is_opened = sealer.open(&nonce(number), &mut data, &tag)?;
        proved(operation, is_sealed && is_opened && data.iter().all(|&byte| byte == 0))?;
        Ok(Box::new(move || {
            number += 1;
            sealer.seal(&nonce(number), &mut data, &mut tag)
        }))
    }

    fn digest(&self, operation: &str) -> io::Result<Repeat<'_>> {
        let digest = if operation == "sha256" { Digest::Sha256 } else { Digest::Sha512 };
        let (data, mut output) = (vec![7; RECORD_BYTES], [0; 64]);
        let bytes = self.library.digest(digest, b"abc", &mut output)?;
        proved(operation, is_digest_of_abc(&output[..bytes]))?;
        Ok(Box::new(move || self.library.digest(digest, &data, &mut output).map(drop)))
    }
}

impl Library for OpenSsl<'_> {
    fn prepare(&self, operation: &str) -> io::Result<Repeat<'_>> {
        let (kind, does) = operation.split_once('-').unwrap_or((operation, ""));
        match kind {
            "rsa" => signature(&self.rsa, does),
            "dsa" => signature(&self.dsa, does),
            "ecdsa" => signature(&self.ecdsa, does),
            "eddsa" => signature(&self.eddsa, does),
            "x25519" => self.agree(),
            "seal" => self.seal(operation),
            _ => self.digest(operation),
        }
    }
}

fn signature<'a>(key: &'a Key<'_>, does: &str) -> io::Result<Repeat<'a>> {
    let mut signature = [0; SIGNATURE_BYTES];
    let bytes = key.sign(MESSAGE, &mut signature)?;
    let of_other = key.verify(OTHER_MESSAGE, &signature[..bytes])?;
    proved("a signature", key.verify(MESSAGE, &signature[..bytes])? && !of_other)?;
    Ok(match does {
        "sign" => Box::new(move || key.sign(MESSAGE, &mut signature).map(drop)),
        _ => Box::new(move || match key.verify(MESSAGE, &signature[..bytes])? {
            true => Ok(()),
            false => Err(wrong("verifying")),
        }),
    })
}
