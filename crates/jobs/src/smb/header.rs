//! The header of every message (MS-SMB2, sections 2.1 and 2.2.1), and the numbers at places of a message; a
//! place beyond the end is an error.

use std::ops::Range;

use super::SmbError;

/// The length of a packet stands before it, in four bytes.
pub(super) const LENGTH_BYTES: usize = 4;
pub(super) const HEADER_BYTES: usize = 64;
/// Where the signature stands in the header.
pub(super) const SIGNATURE_AT: usize = 48;
pub(super) const SIGNATURE_BYTES: usize = 16;

pub(super) const PROTOCOL: [u8; 4] = *b"\xfeSMB";

const FLAG_RESPONSE: u32 = 0x1;
pub(super) const FLAG_SIGNED: u32 = 0x8;

/// Not the last answer to a request: another one follows.
pub(super) const STATUS_PENDING: u32 = 0x103;
pub(super) const STATUS_MORE_PROCESSING: u32 = 0xC000_0016;

/// The number of each command that is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Command {
    Negotiate = 0,
    SessionSetup = 1,
    LogOff = 2,
    TreeConnect = 3,
    TreeDisconnect = 4,
    Create = 5,
    Close = 6,
    Read = 8,
}

/// The fields of a request that differ.
#[derive(Clone, Copy, Debug)]
pub(super) struct RequestHeader {
    pub(super) command: Command,
    pub(super) charge: u16,
    pub(super) credits: u16,
    pub(super) is_signed: bool,
    pub(super) id: u64,
    pub(super) tree: u32,
    pub(super) session: u64,
}

impl RequestHeader {
    /// Appends it, without a signature.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.extend(PROTOCOL);
        out.extend((HEADER_BYTES as u16).to_le_bytes());
        out.extend(self.charge.to_le_bytes());
        out.extend([0; 4]);
        out.extend((self.command as u16).to_le_bytes());
        out.extend(self.credits.to_le_bytes());
        out.extend(if self.is_signed { FLAG_SIGNED } else { 0 }.to_le_bytes());
        out.extend([0; 4]);
        out.extend(self.id.to_le_bytes());
        out.extend([0; 4]);
        out.extend(self.tree.to_le_bytes());
        out.extend(self.session.to_le_bytes());
        out.extend([0; SIGNATURE_BYTES]);
    }
}

/// The fields of a response that count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ResponseHeader {
    pub(super) status: u32,
    pub(super) command: u16,
    pub(super) credits: u16,
    pub(super) is_signed: bool,
    pub(super) id: u64,
    pub(super) tree: u32,
    pub(super) session: u64,
}

impl ResponseHeader {
    pub(super) fn parse(message: &[u8]) -> Result<ResponseHeader, SmbError> {
        let flags = u32_at(message, 16)?;
        let is_response = array(message, 0)? == PROTOCOL
            && usize::from(u16_at(message, 4)?) == HEADER_BYTES
            && message.len() >= HEADER_BYTES
            && flags & FLAG_RESPONSE != 0;
        if !is_response {
            return Err(SmbError::Malformed("it is no response"));
        }
        if u32_at(message, 20)? != 0 {
            return Err(SmbError::Malformed("responses are chained that were not asked for together"));
        }
        Ok(ResponseHeader {
            status: u32_at(message, 8)?,
            command: u16_at(message, 12)?,
            credits: u16_at(message, 14)?,
            is_signed: flags & FLAG_SIGNED != 0,
            id: u64_at(message, 24)?,
            tree: u32_at(message, 36)?,
            session: u64_at(message, 40)?,
        })
    }
}

/// The bytes of that range.
pub(super) fn piece(bytes: &[u8], range: Range<usize>) -> Result<&[u8], SmbError> {
    bytes.get(range).ok_or(SmbError::Malformed("a message is too short"))
}

/// So many bytes from that place on.
pub(super) fn counted(bytes: &[u8], at: usize, count: usize) -> Result<&[u8], SmbError> {
    piece(bytes, at..at.saturating_add(count))
}

/// An array at that place.
pub(super) fn array<const N: usize>(bytes: &[u8], at: usize) -> Result<[u8; N], SmbError> {
    let mut array = [0; N];
    array.copy_from_slice(counted(bytes, at, N)?);
    Ok(array)
}

pub(super) fn u16_at(bytes: &[u8], at: usize) -> Result<u16, SmbError> {
    Ok(u16::from_le_bytes(array(bytes, at)?))
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> Result<u32, SmbError> {
    Ok(u32::from_le_bytes(array(bytes, at)?))
}

pub(super) fn u64_at(bytes: &[u8], at: usize) -> Result<u64, SmbError> {
    Ok(u64::from_le_bytes(array(bytes, at)?))
}

/// Text in UTF-16 with the lowest byte first.
pub(super) fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}
