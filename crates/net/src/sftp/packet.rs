//! Packets: their length, and the numbers and strings in them; what lies beyond the end is an error.

use std::ops::Range;

use super::SftpError;

/// Bytes of one request to read that every server answers: packets of 34,000 bytes must be possible
/// (section 3).
pub const READ_BYTES_MAX: u32 = 32 << 10;

/// A packet is at most so long: what was asked for, and what else a server may send in one.
const PACKET_BYTES_MAX: usize = 256 << 10;

/// The length of the packet that begins with these four bytes.
///
/// # Errors
/// Where no packet can be so long.
pub fn packet_bytes(length: [u8; 4]) -> Result<usize, SftpError> {
    match u32::from_be_bytes(length) as usize {
        0 => Err(SftpError::Malformed("a packet is empty")),
        bytes if bytes > PACKET_BYTES_MAX => Err(SftpError::Malformed("a packet is too long")),
        bytes => Ok(bytes),
    }
}

/// A packet under construction, behind the place of its length.
pub(super) struct Request(Vec<u8>);

impl Request {
    pub(super) fn new(kind: u8) -> Request {
        Request(vec![0, 0, 0, 0, kind])
    }

    pub(super) fn number(mut self, number: u32) -> Request {
        self.0.extend(number.to_be_bytes());
        self
    }

    pub(super) fn long(mut self, number: u64) -> Request {
        self.0.extend(number.to_be_bytes());
        self
    }

    pub(super) fn string(self, bytes: &[u8]) -> Request {
        let mut with_length = self.number(bytes.len() as u32);
        with_length.0.extend(bytes);
        with_length
    }

    pub(super) fn finish(mut self) -> Vec<u8> {
        let bytes = (self.0.len() - 4) as u32;
        self.0[..4].copy_from_slice(&bytes.to_be_bytes());
        self.0
    }
}

/// A packet that is read from its beginning.
pub(super) struct Fields<'a> {
    packet: &'a [u8],
    at: usize,
}

impl<'a> Fields<'a> {
    pub(super) fn of(packet: &'a [u8]) -> Fields<'a> {
        Fields { packet, at: 0 }
    }

    /// Where the next bytes are, so many of them.
    fn place(&mut self, bytes: usize) -> Result<Range<usize>, SftpError> {
        let place = self.at..self.at.saturating_add(bytes);
        if place.end > self.packet.len() {
            return Err(SftpError::Malformed("a packet is too short"));
        }
        self.at = place.end;
        Ok(place)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], SftpError> {
        let place = self.place(N)?;
        let mut array = [0; N];
        array.copy_from_slice(&self.packet[place]);
        Ok(array)
    }

    pub(super) fn byte(&mut self) -> Result<u8, SftpError> {
        Ok(u8::from_be_bytes(self.array()?))
    }

    pub(super) fn number(&mut self) -> Result<u32, SftpError> {
        Ok(u32::from_be_bytes(self.array()?))
    }

    pub(super) fn long(&mut self) -> Result<u64, SftpError> {
        Ok(u64::from_be_bytes(self.array()?))
    }

    /// Where the next string is.
    pub(super) fn string_place(&mut self) -> Result<Range<usize>, SftpError> {
        let bytes = self.number()? as usize;
        self.place(bytes)
    }

    pub(super) fn string(&mut self) -> Result<&'a [u8], SftpError> {
        let place = self.string_place()?;
        Ok(&self.packet[place])
    }
}
