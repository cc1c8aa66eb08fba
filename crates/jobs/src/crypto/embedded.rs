//! graviola: the same code on every system, for processors of the last ten years.

use std::io;

use graviola::aead::{AesGcm, ChaCha20Poly1305};
use graviola::hashing::{Hash, Sha256, Sha512};
use graviola::key_agreement::x25519;
use graviola::signing::{ecdsa, eddsa, rsa};

use super::{Library, MESSAGE, OTHER_MESSAGE, RECORD_BYTES, Repeat, is_digest_of_abc, nonce, proved, wrong};

/// Room for a signature of any kind.
const SIGNATURE_BYTES: usize = 512;

pub(super) struct Embedded {
    rsa: rsa::SigningKey,
    ecdsa: ecdsa::SigningKey<ecdsa::P256>,
    eddsa: eddsa::Ed25519SigningKey,
    x25519: x25519::StaticPrivateKey,
}

fn failed(error: graviola::Error) -> io::Error {
    io::Error::other(format!("graviola: {error:?}"))
}

impl Embedded {
    /// Makes the keys.
    ///
    /// # Errors
    /// Unsupported where this processor cannot execute it.
    pub(super) fn new(bits: u64) -> io::Result<Embedded> {
        if !graviola::util::is_cpu_supported() {
            let missing = "graviola needs AES, AVX2, ADX and BMI2, or on aarch64 AES, PMULL and SHA-2";
            return Err(sys::Unsupported(missing).into());
        }
        let size = match bits {
            2048 => rsa::KeySize::Rsa2048,
            3072 => rsa::KeySize::Rsa3072,
            _ => rsa::KeySize::Rsa4096,
        };
        Ok(Embedded {
            rsa: rsa::SigningKey::generate(size).map_err(failed)?,
            ecdsa: ecdsa::SigningKey::generate().map_err(failed)?,
            eddsa: eddsa::Ed25519SigningKey::generate().map_err(failed)?,
            x25519: x25519::StaticPrivateKey::new_random().map_err(failed)?,
        })
    }

    fn rsa(&self, operation: &str) -> io::Result<Repeat<'_>> {
        let (mut signature, public) = ([0; SIGNATURE_BYTES], self.rsa.public_key());
        let bytes = self.rsa.sign_pkcs1_sha256(&mut signature, MESSAGE).map_err(failed)?.len();
        let verify = move |message: &[u8]| public.verify_pkcs1_sha256(&signature[..bytes], message);
        proved(operation, verify(MESSAGE).is_ok() && verify(OTHER_MESSAGE).is_err())?;
        Ok(match operation {
            "rsa-sign" => Box::new(move || {
                self.rsa.sign_pkcs1_sha256(&mut signature, MESSAGE).map(drop).map_err(failed)
            }),
            _ => Box::new(move || verify(MESSAGE).map_err(failed)),
        })
    }

    fn ecdsa(&self, operation: &str) -> io::Result<Repeat<'_>> {
        let mut signature = [0; SIGNATURE_BYTES];
        let bytes = self.ecdsa.sign_asn1::<Sha256>(&[MESSAGE], &mut signature).map_err(failed)?.len();
        let public = self.ecdsa_public()?;
        let verify = move |message: &[u8]| public.verify_asn1::<Sha256>(&[message], &signature[..bytes]);
        proved(operation, verify(MESSAGE).is_ok() && verify(OTHER_MESSAGE).is_err())?;
        Ok(match operation {
            "ecdsa-sign" => Box::new(move || {
                self.ecdsa.sign_asn1::<Sha256>(&[MESSAGE], &mut signature).map(drop).map_err(failed)
            }),
            _ => Box::new(move || verify(MESSAGE).map_err(failed)),
        })
    }

    /// The public key is available only as the last bytes of its DER form: an uncompressed point, RFC
    /// 5480.
    fn ecdsa_public(&self) -> io::Result<ecdsa::VerifyingKey<ecdsa::P256>> {
        let mut der = [0; 256];
        let der = self.ecdsa.to_spki_der(&mut der).map_err(failed)?;
        let point = der.last_chunk::<65>().ok_or_else(|| wrong("the public key of ECDSA"))?;
        ecdsa::VerifyingKey::from_x962_uncompressed(point).map_err(failed)
    }

    fn eddsa(&self, operation: &str) -> io::Result<Repeat<'_>> {
        let (signature, public) = (self.eddsa.sign(MESSAGE), self.eddsa.public_key());
        let verify = move |message: &[u8]| public.verify(&signature, message);
        proved(operation, verify(MESSAGE).is_ok() && verify(OTHER_MESSAGE).is_err())?;
        Ok(match operation {
            "eddsa-sign" => Box::new(move || {
                std::hint::black_box(self.eddsa.sign(MESSAGE));
                Ok(())
            }),
            _ => Box::new(move || verify(MESSAGE).map_err(failed)),
        })
    }

    fn agree(&self) -> io::Result<Repeat<'_>> {
        let other = x25519::StaticPrivateKey::new_random().map_err(failed)?;
        let peer = other.public_key();
        let ours = self.x25519.diffie_hellman(&peer).map_err(failed)?;
        let theirs = other.diffie_hellman(&self.x25519.public_key()).map_err(failed)?;
        proved("x25519", ours.0 == theirs.0)?;
        Ok(Box::new(move || self.x25519.diffie_hellman(&peer).map(drop).map_err(failed)))
    }
}

impl Library for Embedded {
    fn prepare(&self, operation: &str) -> io::Result<Repeat<'_>> {
        match operation {
            "rsa-sign" | "rsa-verify" => self.rsa(operation),
            "ecdsa-sign" | "ecdsa-verify" => self.ecdsa(operation),
            "eddsa-sign" | "eddsa-verify" => self.eddsa(operation),
            "x25519" => self.agree(),
            "seal-aes-gcm" | "seal-chacha20" => seal(operation),
            _ => digest(operation),
        }
    }
}

/// The operations that both ciphers have, each in methods of its own.
trait Cipher: Send + 'static {
    fn seal(&self, nonce: &[u8; 12], data: &mut [u8], tag: &mut [u8; 16]);
    fn opens(&self, nonce: &[u8; 12], data: &mut [u8], tag: &[u8; 16]) -> bool;
}

impl Cipher for AesGcm {
    fn seal(&self, nonce: &[u8; 12], data: &mut [u8], tag: &mut [u8; 16]) {
        self.encrypt(nonce, &[], data, tag);
    }

    fn opens(&self, nonce: &[u8; 12], data: &mut [u8], tag: &[u8; 16]) -> bool {
        self.decrypt(nonce, &[], data, tag).is_ok()
    }
}

impl Cipher for ChaCha20Poly1305 {
    fn seal(&self, nonce: &[u8; 12], data: &mut [u8], tag: &mut [u8; 16]) {
        self.encrypt(nonce, &[], data, tag);
    }

    fn opens(&self, nonce: &[u8; 12], data: &mut [u8], tag: &[u8; 16]) -> bool {
        self.decrypt(nonce, &[], data, tag).is_ok()
    }
}

fn seal(operation: &str) -> io::Result<Repeat<'static>> {
    match operation {
        "seal-aes-gcm" => seal_with(operation, AesGcm::new(&[7; 32])),
        _ => seal_with(operation, ChaCha20Poly1305::new([7; 32])),
    }
}

fn seal_with(operation: &str, cipher: impl Cipher) -> io::Result<Repeat<'static>> {
    let (mut data, mut tag, mut number) = (vec![0; RECORD_BYTES], [0; 16], 0);
    cipher.seal(&nonce(number), &mut data, &mut tag);
    let is_sealed = data.iter().any(|&byte| byte != 0);
    let is_opened = cipher.opens(&nonce(number), &mut data, &tag);
    proved(operation, is_sealed && is_opened && data.iter().all(|&byte| byte == 0))?;
    Ok(Box::new(move || {
        number += 1;
        cipher.seal(&nonce(number), &mut data, &mut tag);
        Ok(())
    }))
}

fn digest(operation: &str) -> io::Result<Repeat<'static>> {
    let data = vec![7; RECORD_BYTES];
    let hash = if operation == "sha256" { Sha256::hash } else { Sha512::hash };
    proved(operation, is_digest_of_abc(hash(b"abc").as_ref()))?;
    Ok(Box::new(move || {
        std::hint::black_box(hash(&data));
        Ok(())
    }))
}
