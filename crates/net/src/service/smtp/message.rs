//! A message that is being taken: what the ledger says of it is computed as it comes.

use crc32fast::Hasher;

/// Of its header so much is looked at.
const HEADER_BYTES_MAX: usize = 4096;

#[derive(Debug, Default)]
pub(super) struct Message {
    bytes: u64,
    /// Only for a ledger.
    checksum: Hasher,
    header: Vec<u8>,
}

impl Message {
    /// Takes a piece, which may be cut anywhere.
    #[inline]
    pub(super) fn take(&mut self, piece: &[u8], is_recorded: bool) {
        self.bytes += piece.len() as u64;
        if is_recorded {
            self.checksum.update(piece);
            let room = HEADER_BYTES_MAX - self.header.len();
            self.header.extend_from_slice(&piece[..piece.len().min(room)]);
        }
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// CRC-32 of the message without the dots of DATA.
    pub(super) fn checksum(&self) -> u32 {
        self.checksum.clone().finalize()
    }

    /// What its header gives as Message-ID (RFC 5322, section 3.6.4), if that is in one line and among the
    /// first 4096 octets.
    pub(super) fn identifier(&self) -> Option<String> {
        const NAME: &[u8] = b"message-id:";
        let lines = self.header.split(|&byte| byte == b'\n').map(|line| line.trim_ascii_end());
        let mut header = lines.take_while(|line| !line.is_empty());
        let line =
            header.find(|line| line.get(..NAME.len()).is_some_and(|name| name.eq_ignore_ascii_case(NAME)))?;
        Some(String::from_utf8_lossy(line[NAME.len()..].trim_ascii()).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_the_same_however_it_is_cut() {
        let text = b"Subject: a\r\nmessage-ID:  <1.a@b>\r\n\r\nMessage-ID: <2@b>\r\n";
        for cut in 1..=text.len() {
            let mut message = Message::default();
            text.chunks(cut).for_each(|piece| message.take(piece, true));
            assert_eq!(message.identifier().as_deref(), Some("<1.a@b>"));
            assert_eq!((message.bytes(), message.checksum()), (text.len() as u64, crc32fast::hash(text)));
        }
    }

    #[test]
    fn a_body_has_no_identifier() {
        let mut message = Message::default();
        message.take(b"\r\nMessage-ID: <2@b>\r\n", true);
        assert_eq!(message.identifier(), None);
        message.take(&[b'a'; 3 * HEADER_BYTES_MAX], true);
        assert_eq!(message.header.len(), HEADER_BYTES_MAX);
    }
}
