//! Signatures and encryption of messages, and the keys for them (MS-SMB2, sections 3.1.4.1 to 3.1.4.3).

use graviola::aead::AesGcm;
use graviola::hashing::hmac::Hmac;
use graviola::hashing::{Hash, HashContext, Sha256, Sha512};

use super::SmbError;
use super::header::{HEADER_BYTES, LENGTH_BYTES, SIGNATURE_AT, SIGNATURE_BYTES, array, u32_at};

/// The protection of messages once the client has its share; before that they are signed at least.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protection {
    /// Nothing.
    None,
    /// Signatures: AES-128-GMAC.
    Signatures,
    /// Encryption: AES-128-GCM.
    Encryption,
}

/// The first bytes of an encrypted message.
const SEALED: [u8; 4] = *b"\xfdSMB";
const SEALED_HEADER_BYTES: usize = 52;
const NONCE_AT: usize = 20;
const NONCE_BYTES: usize = 12;

/// In the nonce of a signature: the server has sent it.
const OF_SERVER: u32 = 1;

/// The hash of all messages until the user is known.
#[derive(Clone, Debug)]
pub(super) struct Integrity([u8; 64]);

impl Integrity {
    pub(super) fn new() -> Integrity {
        Integrity([0; 64])
    }

    pub(super) fn add(&mut self, message: &[u8]) {
        let mut context = Sha512::new();
        context.update(&self.0);
        context.update(message);
        self.0.copy_from_slice(context.finish().as_ref());
    }

    /// A key for one purpose, from that of the session (SP800-108, counter mode).
    fn key(&self, session_key: &[u8; 16], purpose: &str) -> AesGcm {
        let mut code = Hmac::<Sha256>::new(session_key);
        code.update(1_u32.to_be_bytes());
        code.update(purpose);
        // The end of the purpose, and of the label.
        code.update([0, 0]);
        code.update(self.0);
        code.update(128_u32.to_be_bytes());
        AesGcm::new(&code.finish().as_ref()[..16])
    }
}

/// The keys of a session.
pub(super) struct Keys {
    signing: AesGcm,
    to_server: AesGcm,
    to_client: AesGcm,
    /// How many messages were encrypted.
    sealed: u64,
}

impl std::fmt::Debug for Keys {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Keys")
    }
}

impl Keys {
    pub(super) fn derive(integrity: &Integrity, session_key: &[u8; 16]) -> Keys {
        let key = |purpose| integrity.key(session_key, purpose);
        Keys {
            signing: key("SMBSigningKey"),
            to_server: key("SMBC2SCipherKey"),
            to_client: key("SMBS2CCipherKey"),
            sealed: 0,
        }
    }

    /// Signs a request in its place.
    pub(super) fn sign(&self, message: &mut [u8], id: u64) {
        let signature = self.signature(message, id, 0);
        message[SIGNATURE_AT..HEADER_BYTES].copy_from_slice(&signature);
    }

    /// Checks the signature of a response, and takes it away.
    pub(super) fn verify(&self, message: &mut [u8], id: u64) -> Result<(), SmbError> {
        let signature: [u8; SIGNATURE_BYTES] = array(message, SIGNATURE_AT)?;
        message[SIGNATURE_AT..HEADER_BYTES].fill(0);
        match self.signature(message, id, OF_SERVER) == signature {
            true => Ok(()),
            false => Err(SmbError::Forged),
        }
    }

    /// That of a message which has none.
    fn signature(&self, message: &[u8], id: u64, of: u32) -> [u8; SIGNATURE_BYTES] {
        let mut nonce = [0; NONCE_BYTES];
        nonce[..8].copy_from_slice(&id.to_le_bytes());
        nonce[8..].copy_from_slice(&of.to_le_bytes());
        let mut signature = [0; SIGNATURE_BYTES];
        self.signing.encrypt(&nonce, message, &mut [], &mut signature);
        signature
    }

    /// Encrypts the message of a packet, which becomes longer.
    pub(super) fn seal(&mut self, packet: &mut Vec<u8>, session: u64) {
        let length = (packet.len() - LENGTH_BYTES) as u32;
        self.sealed += 1;
        let mut nonce = [0; NONCE_BYTES];
        nonce[..8].copy_from_slice(&self.sealed.to_le_bytes());
        let mut header = Vec::with_capacity(SEALED_HEADER_BYTES);
        header.extend(SEALED);
        header.extend([0; SIGNATURE_BYTES]);
        header.extend(nonce);
        header.extend([0; 16 - NONCE_BYTES]);
        header.extend(length.to_le_bytes());
        header.extend([0, 0, 1, 0]);
        header.extend(session.to_le_bytes());
        let mut signature = [0; SIGNATURE_BYTES];
        self.to_server.encrypt(&nonce, &header[NONCE_AT..], &mut packet[LENGTH_BYTES..], &mut signature);
        header[4..NONCE_AT].copy_from_slice(&signature);
        packet.splice(LENGTH_BYTES..LENGTH_BYTES, header);
    }

    /// Decrypts a message in its place; where it is then.
    pub(super) fn open<'a>(&self, message: &'a mut [u8]) -> Result<&'a mut [u8], SmbError> {
        if message.len() < SEALED_HEADER_BYTES || !is_sealed(message) {
            return Err(SmbError::Forged);
        }
        let (header, content) = message.split_at_mut(SEALED_HEADER_BYTES);
        if u32_at(header, 36)? as usize != content.len() {
            return Err(SmbError::Malformed("an encrypted message has another length than it says"));
        }
        let (nonce, signature) = (array(header, NONCE_AT)?, array::<SIGNATURE_BYTES>(header, 4)?);
        let opened = self.to_client.decrypt(&nonce, &header[NONCE_AT..], content, &signature);
        opened.map_err(|_| SmbError::Forged)?;
        Ok(content)
    }
}

/// Whether a message is encrypted.
pub(super) fn is_sealed(message: &[u8]) -> bool {
    message.starts_with(&SEALED)
}
