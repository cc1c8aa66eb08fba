//! A client of SFTP version 3, which every SSH server has, without a socket: enough to read a file
//! (draft-ietf-secsh-filexfer-02, "SSH File Transfer Protocol").
//!
//! [`SftpConnection`] takes and gives packets, and keeps the requests without a response. SFTP begins when
//! SSH has authenticated both sides, so nothing here is secret. No input of a server causes a panic:
//! `fuzz/fuzz_targets/sftp_response.rs`.

use std::io;
use std::ops::Range;

/// Why a connection cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SftpError {
    /// The server sent no message of the protocol, or a response to no request.
    #[error("the response is not SFTP: {0}")]
    Malformed(&'static str),
    /// The server has another version of the protocol.
    #[error("the server speaks version {0} of SFTP, not 3")]
    Version(u32),
    /// The server refused a request.
    #[error("the server refused {request}: {}", with_name(*status, message))]
    Refused {
        /// The request.
        request: &'static str,
        /// `SSH_FX_…`
        status: u32,
        /// The server's text, without control characters.
        message: String,
    },
}

/// The names of statuses, from 0 on (section 7).
const STATUSES: [&str; 9] = [
    "SSH_FX_OK",
    "SSH_FX_EOF",
    "SSH_FX_NO_SUCH_FILE",
    "SSH_FX_PERMISSION_DENIED",
    "SSH_FX_FAILURE",
    "SSH_FX_BAD_MESSAGE",
    "SSH_FX_NO_CONNECTION",
    "SSH_FX_CONNECTION_LOST",
    "SSH_FX_OP_UNSUPPORTED",
];

/// The status after its name, and the server's text if there is one.
fn with_name(status: u32, message: &str) -> String {
    let name = STATUSES.get(status as usize).copied().unwrap_or("status");
    let comma = if message.is_empty() { "" } else { ", " };
    format!("{name} ({status}){comma}{message}")
}

impl From<SftpError> for io::Error {
    fn from(error: SftpError) -> io::Error {
        io::Error::new(io::ErrorKind::InvalidData, error)
    }
}

/// The version of the protocol that every server has.
const VERSION: u32 = 3;

/// The longest handle (section 4).
const HANDLE_BYTES_MAX: usize = 256;

/// Characters of a server's text that are kept.
const MESSAGE_CHARACTERS_MAX: usize = 200;

const FLAG_READ: u32 = 1;
const ATTRIBUTE_SIZE: u32 = 1;
const STATUS_OK: u32 = 0;
const STATUS_EOF: u32 = 1;

// Numbers of requests and responses (section 3).
const INIT: u8 = 1;
const VERSION_RESPONSE: u8 = 2;
const OPEN: u8 = 3;
const CLOSE: u8 = 4;
const READ: u8 = 5;
const FSTAT: u8 = 8;
const STATUS: u8 = 101;
const HANDLE: u8 = 102;
const DATA: u8 = 103;
const ATTRS: u8 = 105;

/// A request without a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pending {
    Open,
    Size,
    Read(u32),
    Close,
}

impl Pending {
    fn name(self) -> &'static str {
        match self {
            Pending::Open => "SSH_FXP_OPEN",
            Pending::Size => "SSH_FXP_FSTAT",
            Pending::Read(_) => "SSH_FXP_READ",
            Pending::Close => "SSH_FXP_CLOSE",
        }
    }
}

/// The content of a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SftpResponse {
    /// The server speaks this version.
    Ready,
    /// The server's name for the file that it has opened.
    Opened(Vec<u8>),
    /// How long the file is.
    Bytes(u64),
    /// The response to the request to read with that number: where the piece is in the packet.
    Piece(u32, Range<usize>),
    /// The request to read with that number begins behind the end of the file.
    End(u32),
    /// The file is closed.
    Closed,
}

/// A connection, from its first packet on.
#[derive(Debug, Default)]
pub struct SftpConnection {
    is_begun: bool,
    is_ready: bool,
    next: u32,
    pending: Vec<(u32, Pending)>,
}

impl SftpConnection {
    /// A connection on which nothing was sent.
    pub fn new() -> SftpConnection {
        SftpConnection::default()
    }

    /// The first request: the version of the protocol.
    pub fn begin(&mut self) -> Vec<u8> {
        self.is_begun = true;
        Request::new(INIT).number(VERSION).finish()
    }

    /// Opens a file for reading.
    pub fn open(&mut self, path: &str) -> Vec<u8> {
        let (_, request) = self.ask(OPEN, Pending::Open);
        request.string(path.as_bytes()).number(FLAG_READ).number(0).finish()
    }

    /// Requests the length of an open file.
    pub fn size(&mut self, handle: &[u8]) -> Vec<u8> {
        let (_, request) = self.ask(FSTAT, Pending::Size);
        request.string(handle).finish()
    }

    /// Requests bytes from `offset` on, 32 KiB at most; also returns the number of the request.
    pub fn read(&mut self, handle: &[u8], offset: u64, bytes: u32) -> (u32, Vec<u8>) {
        let bytes = bytes.min(READ_BYTES_MAX);
        let (number, request) = self.ask(READ, Pending::Read(bytes));
        (number, request.string(handle).long(offset).number(bytes).finish())
    }

    /// Closes an open file.
    pub fn close(&mut self, handle: &[u8]) -> Vec<u8> {
        let (_, request) = self.ask(CLOSE, Pending::Close);
        request.string(handle).finish()
    }

    fn ask(&mut self, kind: u8, pending: Pending) -> (u32, Request) {
        let number = self.next;
        self.next = self.next.wrapping_add(1);
        self.pending.push((number, pending));
        (number, Request::new(kind).number(number))
    }

    /// Reads a packet, given without its length.
    ///
    /// # Errors
    /// [`SftpError::Malformed`] for a response to no request of this connection, [`SftpError::Refused`] for a
    /// refusal. The connection cannot be used after that.
    pub fn take(&mut self, packet: &[u8]) -> Result<SftpResponse, SftpError> {
        let mut fields = Fields::new(packet);
        let kind = fields.byte()?;
        let number = fields.number()?;
        if !self.is_ready {
            return match (kind, number) {
                (VERSION_RESPONSE, VERSION) if self.is_begun => {
                    self.is_ready = true;
                    Ok(SftpResponse::Ready)
                }
                (VERSION_RESPONSE, other) if self.is_begun => Err(SftpError::Version(other)),
                _ => Err(SftpError::Malformed("it began with something else than its version")),
            };
        }
        let place = self.pending.iter().position(|&(asked, _)| asked == number);
        let place = place.ok_or(SftpError::Malformed("a response to no request"))?;
        let (_, asked) = self.pending.swap_remove(place);
        match (kind, asked) {
            (HANDLE, Pending::Open) => match fields.string()? {
                handle if handle.len() > HANDLE_BYTES_MAX => {
                    Err(SftpError::Malformed("the handle of a file is too long"))
                }
                handle => Ok(SftpResponse::Opened(handle.to_vec())),
            },
            (ATTRS, Pending::Size) if fields.number()? & ATTRIBUTE_SIZE != 0 => {
                Ok(SftpResponse::Bytes(fields.long()?))
            }
            (ATTRS, Pending::Size) => Err(SftpError::Malformed("a response without the length of the file")),
            (DATA, Pending::Read(bytes)) => {
                let piece = fields.string_place()?;
                match piece.len() <= bytes as usize {
                    true => Ok(SftpResponse::Piece(number, piece)),
                    false => Err(SftpError::Malformed("a response has more than was requested")),
                }
            }
            (STATUS, asked) => match (fields.number()?, asked) {
                (STATUS_EOF, Pending::Read(_)) => Ok(SftpResponse::End(number)),
                (STATUS_OK, Pending::Close) => Ok(SftpResponse::Closed),
                (status, asked) => {
                    // Some servers send no words.
                    let message = fields.string().map(words).unwrap_or_default();
                    Err(SftpError::Refused { request: asked.name(), status, message })
                }
            },
            _ => Err(SftpError::Malformed("a response is not of the kind that was asked for")),
        }
    }
}

/// The server's text without control characters, which a terminal would obey.
fn words(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    text.chars().filter(|character| !character.is_control()).take(MESSAGE_CHARACTERS_MAX).collect()
}

/// Bytes of one request to read that every server answers: packets of 34,000 bytes must be possible
/// (section 3).
pub(crate) const READ_BYTES_MAX: u32 = 32 << 10;

/// The longest packet: the requested bytes, and the other fields of a packet.
const PACKET_BYTES_MAX: usize = 256 << 10;

/// The length of the packet that begins with these four bytes.
///
/// # Errors
/// [`SftpError::Malformed`] for an impossible length.
pub fn packet_bytes(length: [u8; 4]) -> Result<usize, SftpError> {
    match u32::from_be_bytes(length) as usize {
        0 => Err(SftpError::Malformed("a packet is empty")),
        bytes if bytes > PACKET_BYTES_MAX => Err(SftpError::Malformed("a packet is too long")),
        bytes => Ok(bytes),
    }
}

/// A packet under construction, behind the place of its length.
struct Request(Vec<u8>);

impl Request {
    fn new(kind: u8) -> Request {
        Request(vec![0, 0, 0, 0, kind])
    }

    fn number(mut self, number: u32) -> Request {
        self.0.extend(number.to_be_bytes());
        self
    }

    fn long(mut self, number: u64) -> Request {
        self.0.extend(number.to_be_bytes());
        self
    }

    fn string(self, bytes: &[u8]) -> Request {
        let mut with_length = self.number(bytes.len() as u32);
        with_length.0.extend(bytes);
        with_length
    }

    fn finish(mut self) -> Vec<u8> {
        let bytes = (self.0.len() - 4) as u32;
        self.0[..4].copy_from_slice(&bytes.to_be_bytes());
        self.0
    }
}

/// A packet that is read from its beginning.
struct Fields<'a> {
    packet: &'a [u8],
    at: usize,
}

impl<'a> Fields<'a> {
    fn new(packet: &'a [u8]) -> Fields<'a> {
        Fields { packet, at: 0 }
    }

    /// The place of the next bytes.
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

    fn byte(&mut self) -> Result<u8, SftpError> {
        Ok(u8::from_be_bytes(self.array()?))
    }

    fn number(&mut self) -> Result<u32, SftpError> {
        Ok(u32::from_be_bytes(self.array()?))
    }

    fn long(&mut self) -> Result<u64, SftpError> {
        Ok(u64::from_be_bytes(self.array()?))
    }

    /// Where the next string is.
    fn string_place(&mut self) -> Result<Range<usize>, SftpError> {
        let bytes = self.number()? as usize;
        self.place(bytes)
    }

    fn string(&mut self) -> Result<&'a [u8], SftpError> {
        let place = self.string_place()?;
        Ok(&self.packet[place])
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A packet of that kind with these fields, without its length.
    fn packet(kind: u8, fields: &[&[u8]]) -> Vec<u8> {
        [&[kind], fields.concat().as_slice()].concat()
    }

    fn number(number: u32) -> [u8; 4] {
        number.to_be_bytes()
    }

    fn string(bytes: &[u8]) -> Vec<u8> {
        [&number(bytes.len() as u32), bytes].concat()
    }

    /// A connection whose server has answered with its version, and with extensions.
    fn ready() -> SftpConnection {
        let mut connection = SftpConnection::new();
        assert_eq!(connection.begin(), [0, 0, 0, 5, 1, 0, 0, 0, 3]);
        let version = packet(2, &[&number(3), &string(b"limits@openssh.com"), &string(b"1")]);
        assert_eq!(connection.take(&version), Ok(SftpResponse::Ready));
        connection
    }

    #[test]
    fn a_file_is_read_however_the_responses_are_ordered() {
        let mut connection = ready();
        let open = connection.open("/a");
        assert_eq!(
            open,
            [&[0, 0, 0, 19, 3], &number(0)[..], &string(b"/a"), &number(1), &number(0)].concat()
        );
        let opened = connection.take(&packet(102, &[&number(0), &string(b"h")]));
        assert_eq!(opened, Ok(SftpResponse::Opened(b"h".to_vec())));
        assert_eq!(connection.size(b"h"), [&[0, 0, 0, 10, 8], &number(1)[..], &string(b"h")].concat());
        let size = packet(105, &[&number(1), &number(1), &7_u64.to_be_bytes()]);
        assert_eq!(connection.take(&size), Ok(SftpResponse::Bytes(7)));
        let (first, request) = connection.read(b"h", 0, u32::MAX);
        assert_eq!(request[14..], [&0_u64.to_be_bytes()[..], &number(READ_BYTES_MAX)].concat());
        let (second, _) = connection.read(b"h", 4, 4);
        let piece = connection.take(&packet(103, &[&number(second), &string(b"end")]));
        assert_eq!(piece, Ok(SftpResponse::Piece(second, 9..12)), "less than was asked for");
        assert_eq!(
            connection.take(&packet(101, &[&number(first), &number(1)])),
            Ok(SftpResponse::End(first))
        );
        connection.close(b"h");
        let closed = packet(101, &[&number(4), &number(0), &string(b""), &string(b"")]);
        assert_eq!(connection.take(&closed), Ok(SftpResponse::Closed));
        assert!(connection.take(&closed).is_err(), "it was answered");
    }

    #[test]
    fn a_refusal_has_the_words_of_the_server() {
        let mut connection = ready();
        connection.open("/none");
        let refused = packet(101, &[&number(0), &number(2), &string(b"No \x1b[31msuch file"), &string(b"")]);
        let refused = connection.take(&refused).expect_err("refused").to_string();
        assert_eq!(refused, "the server refused SSH_FXP_OPEN: SSH_FX_NO_SUCH_FILE (2), No [31msuch file");
        connection.open("/none");
        let wordless = connection.take(&packet(101, &[&number(1), &number(99)])).expect_err("refused");
        assert_eq!(wordless.to_string(), "the server refused SSH_FXP_OPEN: status (99)");
    }

    #[test]
    fn what_nobody_asked_for_is_refused() {
        let version = packet(2, &[&number(3)]);
        assert!(SftpConnection::new().take(&version).is_err(), "before the first request");
        let mut connection = SftpConnection::new();
        connection.begin();
        assert_eq!(connection.take(&packet(2, &[&number(6)])), Err(SftpError::Version(6)));
        assert!(ready().take(&version).is_err(), "twice");
        assert!(ready().take(&packet(102, &[&number(0), &string(b"h")])).is_err(), "unasked");
        for (wrong, why) in [
            (packet(103, &[&number(0), &string(b"abc")]), "more than"),
            (packet(102, &[&number(0), &string(b"h")]), "not of the kind"),
            (packet(103, &[&number(0), &number(u32::MAX)]), "too short"),
            (packet(101, &[&number(0)]), "too short"),
        ] {
            let mut connection = ready();
            connection.read(b"h", 0, 2);
            let error = connection.take(&wrong).expect_err(why).to_string();
            assert!(error.contains(why), "{error}");
        }
        let mut connection = ready();
        connection.open("/a");
        let long = packet(102, &[&number(0), &string(&[0; 257])]);
        assert!(connection.take(&long).is_err());
        let mut connection = ready();
        connection.size(b"h");
        assert!(connection.take(&packet(105, &[&number(0), &number(4), &number(0)])).is_err(), "no size");
        assert!(packet_bytes(number(0)).is_err() && packet_bytes(number(1 << 30)).is_err());
        assert_eq!(packet_bytes(number(34_000)), Ok(34_000));
    }

    proptest! {
        #[test]
        fn no_server_makes_a_connection_panic(
            packets in prop::collection::vec((0_u8..6, prop::collection::vec(any::<u8>(), 0..60)), 0..8),
        ) {
            let mut connection = ready();
            for (number, (choice, rest)) in packets.iter().enumerate() {
                match number % 4 {
                    0 => drop(connection.open("/a")),
                    1 => drop(connection.size(b"h")),
                    2 => drop(connection.read(b"h", 0, 8)),
                    _ => drop(connection.close(b"h")),
                }
                let kind = [2, 101, 102, 103, 105].get(usize::from(*choice)).copied();
                let packet = match kind {
                    Some(kind) => packet(kind, &[&(number as u32).to_be_bytes(), rest]),
                    None => rest.clone(),
                };
                if let Ok(SftpResponse::Piece(_, place)) = connection.take(&packet) {
                    prop_assert!(packet.get(place).is_some());
                }
            }
        }
    }
}
