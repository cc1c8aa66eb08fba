//! A connection of a client: its requests, and what the responses to them are.

use std::ops::Range;

use super::SftpError;
use super::packet::{Fields, READ_BYTES_MAX, Request};

/// The version of the protocol that every server has.
const VERSION: u32 = 3;

/// A handle is at most so long (section 4).
const HANDLE_BYTES_MAX: usize = 256;

/// Words of a server that are kept.
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

/// A request that is not answered yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    Open,
    Size,
    Read(u32),
    Close,
}

impl Asked {
    fn name(self) -> &'static str {
        match self {
            Asked::Open => "SSH_FXP_OPEN",
            Asked::Size => "SSH_FXP_FSTAT",
            Asked::Read(_) => "SSH_FXP_READ",
            Asked::Close => "SSH_FXP_CLOSE",
        }
    }
}

/// What a response says.
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
    /// The request to read with that number was for what is behind the end of the file.
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
    asked: Vec<(u32, Asked)>,
}

impl SftpConnection {
    /// A connection on which nothing was sent.
    pub fn new() -> SftpConnection {
        SftpConnection::default()
    }

    /// The first request: which version of the protocol is spoken.
    pub fn begin(&mut self) -> Vec<u8> {
        self.is_begun = true;
        Request::new(INIT).number(VERSION).finish()
    }

    /// Opens a file for reading.
    pub fn open(&mut self, path: &str) -> Vec<u8> {
        let (_, request) = self.ask(OPEN, Asked::Open);
        request.string(path.as_bytes()).number(FLAG_READ).number(0).finish()
    }

    /// Asks how long an open file is.
    pub fn size(&mut self, handle: &[u8]) -> Vec<u8> {
        let (_, request) = self.ask(FSTAT, Asked::Size);
        request.string(handle).finish()
    }

    /// Asks for so many bytes from that place on, [`READ_BYTES_MAX`] at most; with the number of the request.
    pub fn read(&mut self, handle: &[u8], offset: u64, bytes: u32) -> (u32, Vec<u8>) {
        let bytes = bytes.min(READ_BYTES_MAX);
        let (number, request) = self.ask(READ, Asked::Read(bytes));
        (number, request.string(handle).long(offset).number(bytes).finish())
    }

    /// Closes an open file.
    pub fn close(&mut self, handle: &[u8]) -> Vec<u8> {
        let (_, request) = self.ask(CLOSE, Asked::Close);
        request.string(handle).finish()
    }

    fn ask(&mut self, kind: u8, asked: Asked) -> (u32, Request) {
        let number = self.next;
        self.next = self.next.wrapping_add(1);
        self.asked.push((number, asked));
        (number, Request::new(kind).number(number))
    }

    /// What a packet says, without its length.
    ///
    /// # Errors
    /// What is no response to a request of this connection, or says that the server refused it. The
    /// connection cannot be used after that.
    pub fn take(&mut self, packet: &[u8]) -> Result<SftpResponse, SftpError> {
        let mut fields = Fields::of(packet);
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
        let place = self.asked.iter().position(|&(asked, _)| asked == number);
        let place = place.ok_or(SftpError::Malformed("it answered what it was not asked"))?;
        let (_, asked) = self.asked.swap_remove(place);
        match (kind, asked) {
            (HANDLE, Asked::Open) => match fields.string()? {
                handle if handle.len() > HANDLE_BYTES_MAX => {
                    Err(SftpError::Malformed("the handle of a file is too long"))
                }
                handle => Ok(SftpResponse::Opened(handle.to_vec())),
            },
            (ATTRS, Asked::Size) if fields.number()? & ATTRIBUTE_SIZE != 0 => {
                Ok(SftpResponse::Bytes(fields.long()?))
            }
            (ATTRS, Asked::Size) => Err(SftpError::Malformed("it did not say how long the file is")),
            (DATA, Asked::Read(bytes)) => {
                let piece = fields.string_place()?;
                match piece.len() <= bytes as usize {
                    true => Ok(SftpResponse::Piece(number, piece)),
                    false => Err(SftpError::Malformed("it sent more than it was asked for")),
                }
            }
            (STATUS, asked) => match (fields.number()?, asked) {
                (STATUS_EOF, Asked::Read(_)) => Ok(SftpResponse::End(number)),
                (STATUS_OK, Asked::Close) => Ok(SftpResponse::Closed),
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

/// What a server says, without what a terminal would obey.
fn words(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    text.chars().filter(|character| !character.is_control()).take(MESSAGE_CHARACTERS_MAX).collect()
}
