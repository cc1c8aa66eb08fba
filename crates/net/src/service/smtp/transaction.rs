//! A transaction under way: its message, its line in the ledger, and a reply that comes later.

use std::net::SocketAddr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crc32fast::Hasher;
use serde::Serialize;

use crate::service::Flow;

/// The state that the end of a transaction, or a fault, needs.
#[derive(Default)]
pub(super) struct Transaction {
    pub(super) recipient_count: usize,
    /// Its address, for a greylist.
    pub(super) sender: String,
    /// Their addresses, for the ledger.
    pub(super) recipients: Vec<String>,
    /// Their domains, where a fault depends on them.
    pub(super) domains: Vec<String>,
    pub(super) message: Message,
    /// Whether a part of the message came by BDAT.
    pub(super) is_chunked: bool,
}

/// So much of its header is read.
const HEADER_BYTES_MAX: usize = 4096;

/// A message that is being received; its line in the ledger is computed meanwhile.
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

    /// The Message-ID of its header (RFC 5322, section 3.6.4), if that is in one line and among the first
    /// 4096 octets.
    pub(super) fn identifier(&self) -> Option<String> {
        const NAME: &[u8] = b"message-id:";
        let lines = self.header.split(|&byte| byte == b'\n').map(|line| line.trim_ascii_end());
        let mut header = lines.take_while(|line| !line.is_empty());
        let line =
            header.find(|line| line.get(..NAME.len()).is_some_and(|name| name.eq_ignore_ascii_case(NAME)))?;
        Some(String::from_utf8_lossy(line[NAME.len()..].trim_ascii()).into_owned())
    }
}

/// How it ended with a recipient.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum End {
    /// The reply to RCPT refused it.
    Refused,
    /// A message followed; the code is that of the reply to it.
    Message,
    /// RSET, or another command that ends a transaction, followed in place of a message.
    Reset,
    /// The client closed.
    Lost,
}

#[derive(Serialize)]
struct Line<'a> {
    /// Since 1970.
    time_seconds: f64,
    peer: Option<SocketAddr>,
    recipient: &'a str,
    domain: &'a str,
    code: u16,
    end: End,
    #[serde(skip_serializing_if = "Option::is_none")]
    message_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message_crc32: Option<String>,
}

/// Adds a line to the ledger: JSON, one for each recipient.
pub(super) fn write_ledger(
    peer: Option<SocketAddr>,
    recipient: &str,
    code: u16,
    end: End,
    message: Option<&Message>,
    log: &mut Vec<u8>,
) {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let line = Line {
        time_seconds: since.as_millis() as f64 / 1000.0,
        peer,
        recipient,
        domain: recipient.rsplit_once('@').map_or("", |(_, domain)| domain),
        code,
        end,
        message_id: message.and_then(Message::identifier),
        message_bytes: message.map(Message::bytes),
        message_crc32: message.map(|message| format!("{:08x}", message.checksum())),
    };
    // A vector takes everything, and every field can be written.
    let _ = serde_json::to_writer(&mut *log, &line);
    log.push(b'\n');
}

/// A reply that comes later, and the input until then.
pub(super) struct Pause {
    pub(super) time: Duration,
    pub(super) reply: Vec<u8>,
    /// Commands that it answers.
    pub(super) replies: u64,
    pub(super) flow: Flow,
    pub(super) input: Vec<u8>,
}

/// The most input that may have been received when the pause began: more than one receive of any
/// architecture. Later input waits in the socket.
const INPUT_BYTES_MAX: usize = 1 << 20;

impl Pause {
    /// Keeps input for later. A server that goes on receiving all the same closes the connection.
    pub(super) fn hold(&mut self, input: &[u8]) -> Flow {
        if self.input.len() + input.len() > INPUT_BYTES_MAX {
            return Flow::Close;
        }
        self.input.extend_from_slice(input);
        Flow::More
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
