//! Frames, the units of a connection (RFC 9113, sections 4 and 6), and the settings that they carry (section
//! 6.5).

use super::ErrorCode;
use super::hpack::TABLE_BYTES;

/// The first bytes of a client (section 3.4).
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

pub(super) const HEADER_BYTES: usize = 9;
/// The longest payload, unless an end says that it takes longer ones; this one does not.
pub(super) const PAYLOAD_MAX: usize = 16 << 10;

pub(super) const DATA: u8 = 0;
pub(super) const HEADERS: u8 = 1;
pub(super) const PRIORITY: u8 = 2;
pub(super) const RST_STREAM: u8 = 3;
pub(super) const SETTINGS: u8 = 4;
pub(super) const PUSH_PROMISE: u8 = 5;
pub(super) const PING: u8 = 6;
pub(super) const GOAWAY: u8 = 7;
pub(super) const WINDOW_UPDATE: u8 = 8;
pub(super) const CONTINUATION: u8 = 9;

pub(super) const END_STREAM: u8 = 1;
pub(super) const ACK: u8 = 1;
pub(super) const END_HEADERS: u8 = 4;
pub(super) const PADDED: u8 = 8;
pub(super) const HAS_PRIORITY: u8 = 32;

/// The first nine bytes of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FrameHeader {
    pub(super) length: usize,
    pub(super) kind: u8,
    flags: u8,
    pub(super) stream: u32,
}

impl FrameHeader {
    /// `None` where there are not enough bytes.
    #[inline]
    pub(super) fn parse(bytes: &[u8]) -> Option<FrameHeader> {
        let &[a, b, c, kind, flags, s, t, u, v, ..] = bytes else { return None };
        let length = u32::from_be_bytes([0, a, b, c]) as usize;
        let stream = u32::from_be_bytes([s & 0x7f, t, u, v]);
        Some(FrameHeader { length, kind, flags, stream })
    }

    pub(super) fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

/// Adds the header of a frame.
#[inline]
fn write_header(to: &mut Vec<u8>, kind: u8, flags: u8, stream: u32, length: usize) {
    let [_, a, b, c] = (length as u32).to_be_bytes();
    let [s, t, u, v] = stream.to_be_bytes();
    to.extend_from_slice(&[a, b, c, kind, flags, s, t, u, v]);
}

pub(super) fn write(to: &mut Vec<u8>, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
    write_header(to, kind, flags, stream, payload.len());
    to.extend_from_slice(payload);
}

/// The number in four bytes, without the bit that is reserved.
pub(super) fn number(bytes: [u8; 4]) -> u32 {
    u32::from_be_bytes(bytes) & 0x7fff_ffff
}

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

/// The first frames of a client: its settings, and its large window for the connection.
pub(super) fn write_own(to: &mut Vec<u8>) {
    to.extend_from_slice(PREFACE);
    let own = [(ENABLE_PUSH, 0), (INITIAL_WINDOW_SIZE, OWN_WINDOW as u32)];
    write_header(to, SETTINGS, 0, 0, 6 * own.len());
    for (name, value) in own {
        to.extend_from_slice(&name.to_be_bytes());
        to.extend_from_slice(&value.to_be_bytes());
    }
    write(to, WINDOW_UPDATE, 0, 0, &((OWN_WINDOW - WINDOW) as u32).to_be_bytes());
}

/// The settings of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PeerSettings {
    /// The smallest table of fields that it was ever willing to keep, and the encoder uses no more.
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
    /// Applies a frame of settings; without a value in the first one, there may be any number of streams.
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
