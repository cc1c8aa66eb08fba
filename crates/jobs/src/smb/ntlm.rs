//! NTLMv2: users prove that they know the hash of their password (MS-NLMP, sections 2.2.1 and 3.3.2). The
//! messages stand in those of SESSION_SETUP as they are, without SPNEGO around them, as Linux sends them.

use super::message::{array, counted, piece, u16_at, u32_at, utf16};
use super::{Account, SmbError};

const SIGNATURE: [u8; 8] = *b"NTLMSSP\0";

/// Unicode; the server names itself; signatures; NTLM; version 2; keys of 128 bits. Without an exchange of
/// keys the key of the session is that of the proof.
const FLAGS: u32 = 0x1 | 0x4 | 0x10 | 0x200 | 0x8000 | 0x8_0000 | 0x2000_0000;

const AUTHENTICATE_BYTES: usize = 64;

/// The number of the server's time among its properties.
const TIMESTAMP: u16 = 7;

/// The first message.
pub(super) fn negotiate() -> Vec<u8> {
    let mut out = SIGNATURE.to_vec();
    out.extend(1_u32.to_le_bytes());
    out.extend(FLAGS.to_le_bytes());
    // No domain, and no name of this machine.
    out.extend([0; 16]);
    out
}

/// The challenge of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Challenge {
    challenge: [u8; 8],
    /// The properties of the server.
    target: Vec<u8>,
    timestamp: [u8; 8],
}

impl Challenge {
    /// Reads the second message.
    ///
    /// # Errors
    /// [`SmbError::Malformed`].
    pub fn parse(message: &[u8]) -> Result<Challenge, SmbError> {
        if array(message, 0)? != SIGNATURE || u32_at(message, 8)? != 2 {
            return Err(SmbError::Malformed("it sent no challenge"));
        }
        let (length, at) = (usize::from(u16_at(message, 40)?), u32_at(message, 44)? as usize);
        let target = counted(message, at, length)?.to_vec();
        Ok(Challenge { challenge: array(message, 24)?, timestamp: timestamp(&target)?, target })
    }

    /// The third message, and the key of the session. The client's own challenge must be random.
    pub(super) fn answer(&self, account: &Account, own: [u8; 8]) -> (Vec<u8>, [u8; 16]) {
        let identity = utf16(&account.user.to_uppercase());
        let key = hmac_md5(&account.nt_hash, &[&identity]);
        let claim =
            [&[1, 1, 0, 0, 0, 0, 0, 0][..], &self.timestamp, &own, &[0; 4], &self.target, &[0; 4]].concat();
        let proof = hmac_md5(&key, &[&self.challenge, &claim]);
        let session_key = hmac_md5(&key, &[&proof]);
        let response = [&proof[..], &claim].concat();
        let user = utf16(&account.user);
        let mut out = SIGNATURE.to_vec();
        out.extend(3_u32.to_le_bytes());
        let mut content = Vec::new();
        // The response of LAN Manager, which is none; that of NTLM; domain, user, machine, an exchanged key.
        for field in [&[0; 24][..], &response, &[], &user, &[], &[]] {
            let (length, at) = (field.len() as u16, (AUTHENTICATE_BYTES + content.len()) as u32);
            out.extend(length.to_le_bytes());
            out.extend(length.to_le_bytes());
            out.extend(at.to_le_bytes());
            content.extend_from_slice(field);
        }
        out.extend(FLAGS.to_le_bytes());
        out.extend(content);
        (out, session_key)
    }
}

/// The time among pairs of a number and a value; zeros where there is none.
fn timestamp(mut pairs: &[u8]) -> Result<[u8; 8], SmbError> {
    while !pairs.is_empty() {
        let (number, length) = (u16_at(pairs, 0)?, usize::from(u16_at(pairs, 2)?));
        match number {
            0 => break,
            TIMESTAMP => return array(pairs, 4),
            _ => pairs = piece(pairs, 4 + length..pairs.len())?,
        }
    }
    Ok([0; 8])
}

/// HMAC (RFC 2104) with MD5 (RFC 1321), for keys that are no longer than a block.
fn hmac_md5(key: &[u8; 16], pieces: &[&[u8]]) -> [u8; 16] {
    let padded = |byte: u8| {
        let mut block = [byte; 64];
        block.iter_mut().zip(key).for_each(|(padded, key)| *padded ^= key);
        block
    };
    let mut inner = md5::Context::new();
    inner.consume(padded(0x36));
    pieces.iter().for_each(|piece| inner.consume(piece));
    let mut outer = md5::Context::new();
    outer.consume(padded(0x5c));
    outer.consume(*inner.finalize());
    *outer.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 2202, section 2, tests 1 and 3.
    #[test]
    fn the_code_of_a_message_is_that_of_the_standard() {
        let hex = |code: [u8; 16]| code.map(|byte| format!("{byte:02x}")).concat();
        assert_eq!(hex(hmac_md5(&[0x0b; 16], &[b"Hi ", b"There"])), "9294727a3638bb1c13f48ef8158bfc9d");
        assert_eq!(hex(hmac_md5(&[0xaa; 16], &[&[0xdd; 50]])), "56be34521d144c88dbb8c733f0e8b3f6");
    }

    /// MS-NLMP, section 4.2.4: the user "User" of the domain "Domain" with the password "Password".
    #[test]
    fn the_key_of_the_proof_is_that_of_the_specification() {
        let hash = [164, 244, 156, 64, 101, 16, 189, 202, 182, 130, 78, 231, 195, 15, 216, 82];
        let key = hmac_md5(&hash, &[&utf16("USER"), &utf16("Domain")]);
        let expected = [12, 134, 138, 64, 59, 253, 122, 147, 163, 0, 30, 242, 46, 240, 46, 63];
        assert_eq!(key, expected);
    }

    #[test]
    fn a_challenge_is_read_to_its_end_and_no_further() {
        let mut message = SIGNATURE.to_vec();
        message.extend(2_u32.to_le_bytes());
        message.extend([0; 12]);
        message.extend(*b"12345678");
        message.extend([0; 8]);
        let pairs = [&[2, 0, 2, 0, b'X', 0][..], &[7, 0, 8, 0], &[9; 8], &[0; 4]].concat();
        message.extend((pairs.len() as u16).to_le_bytes());
        message.extend([0; 2]);
        message.extend(48_u32.to_le_bytes());
        message.extend(&pairs);
        let challenge = Challenge::parse(&message).expect("a challenge");
        assert_eq!((challenge.challenge, challenge.timestamp), (*b"12345678", [9; 8]));
        for length in 0..message.len() {
            assert!(Challenge::parse(&message[..length]).is_err(), "{length}");
        }
        let account = Account { user: "nobody".to_owned(), nt_hash: [7; 16] };
        let (answer, _) = challenge.answer(&account, [1; 8]);
        assert!(answer.ends_with(&utf16("nobody")));
    }
}
