//! Messages: the header of each (MS-SMB2, sections 2.1 and 2.2.1), the bodies of requests, written, and of
//! responses, read (section 2.2). Places in a response count from the begin of its header; one beyond the end
//! is an error.

use std::ops::Range;

use super::{OpenFile, SmbError};

/// The length of a packet stands before it, in four bytes.
pub(super) const LENGTH_BYTES: usize = 4;
pub(super) const HEADER_BYTES: usize = 64;
/// Where the signature stands in the header.
pub(super) const SIGNATURE_AT: usize = 48;
pub(super) const SIGNATURE_BYTES: usize = 16;

const PROTOCOL: [u8; 4] = *b"\xfeSMB";

const FLAG_RESPONSE: u32 = 0x1;
const FLAG_SIGNED: u32 = 0x8;

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

const DIALECT: u16 = 0x0311;

const SIGNING_ENABLED: u16 = 1;
const SIGNING_REQUIRED: u16 = 2;

const CAPABILITY_LARGE: u32 = 0x4;
const CAPABILITY_ENCRYPTION: u32 = 0x40;

const SHA_512: u16 = 1;
const AES_128_GCM: u16 = 2;
const AES_GMAC: u16 = 2;

const CONTEXT_INTEGRITY: u16 = 1;
const CONTEXT_ENCRYPTION: u16 = 2;
const CONTEXT_SIGNING: u16 = 8;

const GENERIC_READ: u32 = 0x0012_0089;
const SHARED: u32 = 0x7;
const OPEN: u32 = 1;
const SEQUENTIAL_FILE: u32 = 0x4 | 0x40;
const IMPERSONATION: u32 = 2;

/// The dialect and the algorithms that this client has.
pub(super) fn negotiate(guid: [u8; 16], salt: [u8; 32]) -> Vec<u8> {
    let integrity = [&1_u16.to_le_bytes()[..], &32_u16.to_le_bytes(), &SHA_512.to_le_bytes(), &salt].concat();
    let one = |algorithm: u16| [1_u16.to_le_bytes(), algorithm.to_le_bytes()].concat();
    let contexts = [
        (CONTEXT_INTEGRITY, integrity),
        (CONTEXT_ENCRYPTION, one(AES_128_GCM)),
        (CONTEXT_SIGNING, one(AES_GMAC)),
    ];
    let mut out = Vec::new();
    for number in [36, 1, SIGNING_ENABLED, 0] {
        out.extend(number.to_le_bytes());
    }
    out.extend((CAPABILITY_LARGE | CAPABILITY_ENCRYPTION).to_le_bytes());
    out.extend(guid);
    // The only dialect ends at byte 38, and the next field begins at a multiple of 8.
    out.extend((HEADER_BYTES as u32 + 40).to_le_bytes());
    out.extend((contexts.len() as u16).to_le_bytes());
    out.extend([0; 2]);
    out.extend(DIALECT.to_le_bytes());
    for (kind, data) in contexts {
        out.resize(out.len().next_multiple_of(8), 0);
        out.extend(kind.to_le_bytes());
        out.extend((data.len() as u16).to_le_bytes());
        out.extend([0; 4]);
        out.extend(data);
    }
    out
}

/// The agreement of server and client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Negotiated {
    /// The server answers signed requests only.
    pub requires_signing: bool,
    /// Bytes of one READ at most.
    pub read_bytes_max: u32,
}

impl Negotiated {
    /// Reads a response, with its header.
    ///
    /// # Errors
    /// [`SmbError::Malformed`], or [`SmbError::Lacking`] for a requirement that this client does not meet.
    pub fn parse(message: &[u8]) -> Result<Negotiated, SmbError> {
        let body = structure(message, 65)?;
        if u16_at(body, 4)? != DIALECT {
            return Err(SmbError::Lacking("an older dialect than SMB 3.1.1"));
        }
        let (mut at, count) = (u32_at(body, 60)? as usize, u16_at(body, 6)?);
        let mut missing = vec![
            (CONTEXT_INTEGRITY, "other hashes than SHA-512"),
            (CONTEXT_SIGNING, "other signatures than AES-GMAC, as Samba before 4.15"),
            (CONTEXT_ENCRYPTION, "other ciphers than AES-128-GCM"),
        ];
        for _ in 0..count {
            let (kind, length) = (u16_at(message, at)?, usize::from(u16_at(message, at.saturating_add(2))?));
            let data = counted(message, at.saturating_add(8), length)?;
            let (place, expected) = match kind {
                CONTEXT_INTEGRITY => (4, SHA_512),
                CONTEXT_SIGNING => (2, AES_GMAC),
                CONTEXT_ENCRYPTION => (2, AES_128_GCM),
                _ => (0, 0),
            };
            if expected > 0 && u16_at(data, 0)? == 1 && u16_at(data, place)? == expected {
                missing.retain(|(missing, _)| *missing != kind);
            }
            at = at.saturating_add(8 + length).saturating_add(7) & !7;
        }
        if let Some((_, what)) = missing.first() {
            return Err(SmbError::Lacking(what));
        }
        Ok(Negotiated {
            requires_signing: u16_at(body, 2)? & SIGNING_REQUIRED != 0,
            read_bytes_max: u32_at(body, 32)?,
        })
    }
}

/// A step of logging on.
pub(super) fn session_setup(token: &[u8]) -> Vec<u8> {
    let mut out = 25_u16.to_le_bytes().to_vec();
    out.extend([0, SIGNING_ENABLED as u8]);
    out.extend([0; 8]);
    out.extend((HEADER_BYTES as u16 + 24).to_le_bytes());
    out.extend((token.len() as u16).to_le_bytes());
    out.extend([0; 8]);
    out.extend(token);
    out
}

/// The answer to a step of logging on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetUp<'a> {
    /// The server treats the user as a guest, or as anonymous.
    pub is_guest: bool,
    /// Everything must be encrypted.
    pub wants_encryption: bool,
    /// The server's token.
    pub token: &'a [u8],
}

impl<'a> SetUp<'a> {
    /// Reads a response, with its header.
    ///
    /// # Errors
    /// [`SmbError::Malformed`].
    pub fn parse(message: &'a [u8]) -> Result<SetUp<'a>, SmbError> {
        let body = structure(message, 9)?;
        let (flags, at, length) = (u16_at(body, 2)?, u16_at(body, 4)?, u16_at(body, 6)?);
        Ok(SetUp {
            is_guest: flags & 0x3 != 0,
            wants_encryption: flags & 0x4 != 0,
            token: counted(message, usize::from(at), usize::from(length))?,
        })
    }
}

/// Connects to a share, named as `\\server\share`.
pub(super) fn tree_connect(path: &str) -> Vec<u8> {
    let path = utf16(path);
    let mut out = 9_u16.to_le_bytes().to_vec();
    out.extend([0; 2]);
    out.extend((HEADER_BYTES as u16 + 8).to_le_bytes());
    out.extend((path.len() as u16).to_le_bytes());
    out.extend(path);
    out
}

/// Whether all that concerns the share must be encrypted.
///
/// # Errors
/// [`SmbError::Malformed`].
pub fn share_wants_encryption(message: &[u8]) -> Result<bool, SmbError> {
    Ok(u32_at(structure(message, 16)?, 4)? & 0x8000 != 0)
}

/// Opens a file for reading.
pub(super) fn create(name: &str) -> Vec<u8> {
    let name = utf16(name);
    let mut out = 57_u16.to_le_bytes().to_vec();
    out.extend([0; 2]);
    out.extend(IMPERSONATION.to_le_bytes());
    out.extend([0; 16]);
    for number in [GENERIC_READ, 0, SHARED, OPEN, SEQUENTIAL_FILE] {
        out.extend(number.to_le_bytes());
    }
    out.extend((HEADER_BYTES as u16 + 56).to_le_bytes());
    out.extend((name.len() as u16).to_le_bytes());
    out.extend([0; 8]);
    out.extend(name);
    out
}

impl OpenFile {
    /// Reads the response to CREATE, with its header.
    ///
    /// # Errors
    /// [`SmbError::Malformed`].
    pub fn parse(message: &[u8]) -> Result<OpenFile, SmbError> {
        let body = structure(message, 89)?;
        Ok(OpenFile { id: array(body, 64)?, bytes: u64_at(body, 48)? })
    }
}

/// Reads a piece of a file.
pub(super) fn read(file: &OpenFile, at: u64, bytes: u32) -> Vec<u8> {
    let mut out = 49_u16.to_le_bytes().to_vec();
    out.extend([0; 2]);
    out.extend(bytes.to_le_bytes());
    out.extend(at.to_le_bytes());
    out.extend(file.id);
    // A length of 0 is an error. The last byte stands for the channel, which is not sent.
    out.extend(1_u32.to_le_bytes());
    out.extend([0; 13]);
    out
}

/// Where the piece stands in the response to READ.
///
/// # Errors
/// [`SmbError::Malformed`].
pub fn piece_read(message: &[u8]) -> Result<Range<usize>, SmbError> {
    let body = structure(message, 17)?;
    let at = usize::from(u16_at(body, 2)? & 0xff);
    let length = u32_at(body, 4)? as usize;
    counted(message, at, length)?;
    Ok(at..at + length)
}

pub(super) fn close(file: &OpenFile) -> Vec<u8> {
    [&24_u16.to_le_bytes()[..], &[0; 6], &file.id].concat()
}

/// For commands without further fields.
pub(super) fn nothing() -> Vec<u8> {
    vec![4, 0, 0, 0]
}

/// The body behind the header, which must begin with that size.
fn structure(message: &[u8], size: u16) -> Result<&[u8], SmbError> {
    let body = message.get(HEADER_BYTES..).unwrap_or_default();
    match u16_at(body, 0)? == size {
        true => Ok(body),
        false => Err(SmbError::Malformed("a response is of another size than it must be")),
    }
}
