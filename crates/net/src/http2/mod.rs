//! HTTP/2 as a client speaks it (RFC 9113), without a socket and without a clock: [`Http2Connection`] takes
//! bytes and gives bytes.
//!
//! - here are requests, prepared before the load begins, the parts of responses, and faults;
//! - `frame` the form of frames and settings; `hpack` the compression of header fields, `huffman` its code;
//! - `connection` the state that all streams share, and receiving; `stream` requests and their responses.
//!
//! Why no library: `h2` is written for an async runtime and brings a dozen crates; `ringline-h2` and
//! `loona-hpack` copy every field of every response, bit by bit where it is compressed. A load generator
//! reads two fields of them, and its processor time is in every figure that it gives.

mod connection;
mod frame;
mod hpack;
mod huffman;
mod stream;

pub use self::connection::Http2Connection;
pub(crate) use self::stream::{OF_CONNECTIONS, parse_length};

use std::fmt;
use std::io;

use self::hpack::{Blocks, TABLE_BYTES};

/// Why a request has no response, or a connection cannot be used any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, thiserror::Error)]
pub enum Http2Fault {
    /// The server speaks something else.
    #[error("no HTTP/2")]
    NotSpoken,
    /// The server has aborted the stream.
    #[error("RST_STREAM {0}")]
    Reset(ErrorCode),
    /// The server has aborted the connection.
    #[error("GOAWAY {0}")]
    GoneAway(ErrorCode),
    /// The server broke the protocol, and was sent this error.
    #[error("HTTP/2 violated: {0}")]
    Violated(ErrorCode),
}

/// The number of an error (RFC 9113, section 7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ErrorCode(pub u32);

impl ErrorCode {
    const NO_ERROR: ErrorCode = ErrorCode(0);
    const PROTOCOL_ERROR: ErrorCode = ErrorCode(1);
    const FLOW_CONTROL_ERROR: ErrorCode = ErrorCode(3);
    const FRAME_SIZE_ERROR: ErrorCode = ErrorCode(6);
    const CANCEL: ErrorCode = ErrorCode(8);
    const COMPRESSION_ERROR: ErrorCode = ErrorCode(9);
    const ENHANCE_YOUR_CALM: ErrorCode = ErrorCode(11);
}

const NAMES: [&str; 14] = [
    "NO_ERROR",
    "PROTOCOL_ERROR",
    "INTERNAL_ERROR",
    "FLOW_CONTROL_ERROR",
    "SETTINGS_TIMEOUT",
    "STREAM_CLOSED",
    "FRAME_SIZE_ERROR",
    "REFUSED_STREAM",
    "CANCEL",
    "COMPRESSION_ERROR",
    "CONNECT_ERROR",
    "ENHANCE_YOUR_CALM",
    "INADEQUATE_SECURITY",
    "HTTP_1_1_REQUIRED",
];

impl fmt::Display for ErrorCode {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match NAMES.get(self.0 as usize) {
            Some(name) => out.write_str(name),
            None => write!(out, "error {}", self.0),
        }
    }
}

impl Http2Fault {
    /// The fault that an error of a socket stands for.
    pub(crate) fn in_error(error: &io::Error) -> Option<Http2Fault> {
        error.get_ref()?.downcast_ref().copied()
    }
}

impl From<Http2Fault> for io::Error {
    fn from(fault: Http2Fault) -> io::Error {
        io::Error::new(io::ErrorKind::InvalidData, fault)
    }
}

/// The parts of a response, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResponsePart<'a> {
    /// Bytes of the response, in the form that HTTP/1.1 gives it.
    Bytes(&'a [u8]),
    /// It is complete.
    End,
    /// Nothing more comes: for this reason, or because the response was shorter than it said.
    Cut(Option<Http2Fault>),
    /// The server has not seen the request, and asks for another connection for it.
    Unprocessed,
}

/// A request: its fields, those with a colon first, and its body.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// Names in lower case, with their values.
    pub fields: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

/// The requests of a load, by their numbers.
pub struct Requests {
    requests: Vec<Prepared>,
    /// The size of the server's table that their shared fields need; 0 if it is larger than any.
    table_bytes: usize,
}

struct Prepared {
    blocks: Blocks,
    body: Vec<u8>,
    /// Whether the response has no body, whatever its fields say.
    is_head: bool,
}

impl Requests {
    /// Prepares them.
    pub fn new(requests: Vec<Request>) -> Requests {
        let fields: Vec<&[(String, String)]> = requests.iter().map(|one| one.fields.as_slice()).collect();
        let (blocks, size) = Blocks::encode(&fields);
        let is_head = |request: &Request| request.fields.contains(&(":method".to_owned(), "HEAD".to_owned()));
        let prepared = requests.iter().zip(blocks).map(|(request, blocks)| Prepared {
            blocks,
            is_head: is_head(request),
            body: request.body.clone(),
        });
        Requests { requests: prepared.collect(), table_bytes: if size > TABLE_BYTES { 0 } else { size } }
    }
}
