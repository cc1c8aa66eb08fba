//! A line of the access log, in the combined format that every reader of such logs knows.

use std::io::Write;
use std::net::SocketAddr;

use super::date::Now;
use super::response::Answered;

/// Of each part that a client chose, so much is written.
const PART_BYTES_MAX: usize = 2048;

/// What the client said of itself.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Said<'a> {
    /// The first line of the request, or as much as there was.
    pub(super) line: &'a [u8],
    pub(super) referer: Option<&'a [u8]>,
    pub(super) user_agent: Option<&'a [u8]>,
}

/// Adds a line. Who the client is may not be known.
pub(super) fn write(
    peer: Option<SocketAddr>,
    said: Said<'_>,
    answered: Answered,
    now: &Now,
    log: &mut Vec<u8>,
) {
    // Writing to memory does not fail.
    let _ = match peer {
        Some(peer) => write!(log, "{}", peer.ip()),
        None => write!(log, "-"),
    };
    // `Sun, 06 Nov 1994 08:49:37 GMT` becomes `06/Nov/1994:08:49:37 +0000`.
    let date = &now.text;
    for part in
        [b" - - [", &date[5..7], b"/", &date[8..11], b"/", &date[12..16], b":", &date[17..25], b" +0000] "]
    {
        log.extend_from_slice(part);
    }
    quote(said.line, log);
    let _ = write!(log, " {} {} ", answered.status, answered.body_bytes);
    quote(said.referer.unwrap_or(b"-"), log);
    log.push(b' ');
    quote(said.user_agent.unwrap_or(b"-"), log);
    log.push(b'\n');
}

/// What could end the quotes or the line, or speak to a terminal, is written as `\xHH`.
fn quote(text: &[u8], log: &mut Vec<u8>) {
    log.push(b'"');
    for byte in text.iter().take(PART_BYTES_MAX) {
        match byte {
            b' '..=b'~' if !matches!(byte, b'"' | b'\\') => log.push(*byte),
            _ => drop(write!(log, "\\x{byte:02X}")),
        }
    }
    log.push(b'"');
}
