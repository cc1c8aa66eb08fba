//! Numbers and pieces at places of a message; what lies beyond its end is an error.

use std::ops::Range;

use super::SmbError;

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
