//! Frames, of which a connection consists (RFC 9113, sections 4 and 6).

/// What a client says first (section 3.4).
pub(super) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

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
    pub(super) flags: u8,
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
pub(super) fn write_header(to: &mut Vec<u8>, kind: u8, flags: u8, stream: u32, length: usize) {
    let [_, a, b, c] = (length as u32).to_be_bytes();
    let [s, t, u, v] = stream.to_be_bytes();
    to.extend_from_slice(&[a, b, c, kind, flags, s, t, u, v]);
}

/// Adds a frame.
pub(super) fn write(to: &mut Vec<u8>, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
    write_header(to, kind, flags, stream, payload.len());
    to.extend_from_slice(payload);
}

/// The number in four bytes, without the bit that is reserved.
pub(super) fn number(bytes: [u8; 4]) -> u32 {
    u32::from_be_bytes(bytes) & 0x7fff_ffff
}
