//! A line of the ledger: JSON, one for each recipient.

use std::net::SocketAddr;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;

use super::message::Message;

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
    /// The client left.
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

/// Adds a line.
pub(super) fn write(
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
