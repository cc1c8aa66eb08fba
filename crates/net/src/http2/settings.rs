//! What the two ends allow each other (RFC 9113, section 6.5).

use super::fault::ErrorCode;
use super::frame::{self, PAYLOAD_MAX};
use super::hpack::TABLE_BYTES;

const HEADER_TABLE_SIZE: u16 = 1;
const ENABLE_PUSH: u16 = 2;
const MAX_CONCURRENT_STREAMS: u16 = 3;
const INITIAL_WINDOW_SIZE: u16 = 4;
const MAX_FRAME_SIZE: u16 = 5;

/// The largest window (section 6.9.1).
pub(super) const WINDOW_MAX: i64 = (1 << 31) - 1;
/// The window that both ends begin with.
pub(super) const WINDOW: i64 = 65_535;
/// Bytes that the server may send ahead, on a stream and on the connection. Everything is read at once, so a
/// smaller window would measure itself.
pub(super) const OWN_WINDOW: i64 = (1 << 30) - 1;
/// Streams at once, until the server says how many (section 6.5.2 recommends no less).
const STREAMS: u32 = 100;

/// What a client sends first, and its large window for the connection.
pub(super) fn write_own(to: &mut Vec<u8>) {
    to.extend_from_slice(frame::PREFACE);
    let own = [(ENABLE_PUSH, 0), (INITIAL_WINDOW_SIZE, OWN_WINDOW as u32)];
    frame::write_header(to, frame::SETTINGS, 0, 0, 6 * own.len());
    for (name, value) in own {
        to.extend_from_slice(&name.to_be_bytes());
        to.extend_from_slice(&value.to_be_bytes());
    }
    frame::write(to, frame::WINDOW_UPDATE, 0, 0, &((OWN_WINDOW - WINDOW) as u32).to_be_bytes());
}

/// What the server allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PeerSettings {
    /// The smallest table of fields that it was ever willing to keep, which is all of it that is used.
    pub(super) table_bytes: usize,
    pub(super) streams_max: u32,
    pub(super) window: i64,
    pub(super) payload_max: usize,
}

impl Default for PeerSettings {
    fn default() -> PeerSettings {
        PeerSettings {
            table_bytes: TABLE_BYTES,
            streams_max: STREAMS,
            window: WINDOW,
            payload_max: PAYLOAD_MAX,
        }
    }
}

impl PeerSettings {
    /// What a frame changes; without a word in the first one, there may be any number of streams.
    pub(super) fn read(&mut self, payload: &[u8], is_first: bool) -> Result<(), ErrorCode> {
        if !payload.len().is_multiple_of(6) {
            return Err(ErrorCode::FRAME_SIZE_ERROR);
        }
        if is_first {
            self.streams_max = u32::MAX;
        }
        for setting in payload.chunks_exact(6) {
            let &[a, b, v, w, x, y] = setting else { continue };
            let value = u32::from_be_bytes([v, w, x, y]);
            match u16::from_be_bytes([a, b]) {
                HEADER_TABLE_SIZE => self.table_bytes = self.table_bytes.min(value as usize),
                ENABLE_PUSH if value != 0 => return Err(ErrorCode::PROTOCOL_ERROR),
                MAX_CONCURRENT_STREAMS => self.streams_max = value,
                INITIAL_WINDOW_SIZE if i64::from(value) > WINDOW_MAX => {
                    return Err(ErrorCode::FLOW_CONTROL_ERROR);
                }
                INITIAL_WINDOW_SIZE => self.window = i64::from(value),
                MAX_FRAME_SIZE if !(PAYLOAD_MAX as u32..1 << 24).contains(&value) => {
                    return Err(ErrorCode::PROTOCOL_ERROR);
                }
                MAX_FRAME_SIZE => self.payload_max = value as usize,
                _ => {}
            }
        }
        Ok(())
    }
}
