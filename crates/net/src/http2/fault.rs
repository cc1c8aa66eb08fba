//! What can go wrong with HTTP/2, each under one name, as failures of a load are counted.

use std::fmt;
use std::io;

/// Why a request has no response, or a connection cannot be used any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Http2Fault {
    /// The server speaks something else.
    NotSpoken,
    /// The server has given the stream up.
    Reset(ErrorCode),
    /// The server has given the connection up.
    GoneAway(ErrorCode),
    /// The server broke the protocol: what it was told.
    Violated(ErrorCode),
}

/// The number of an error (RFC 9113, section 7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ErrorCode(pub u32);

impl ErrorCode {
    pub(super) const NO_ERROR: ErrorCode = ErrorCode(0);
    pub(super) const PROTOCOL_ERROR: ErrorCode = ErrorCode(1);
    pub(super) const FLOW_CONTROL_ERROR: ErrorCode = ErrorCode(3);
    pub(super) const FRAME_SIZE_ERROR: ErrorCode = ErrorCode(6);
    pub(super) const CANCEL: ErrorCode = ErrorCode(8);
    pub(super) const COMPRESSION_ERROR: ErrorCode = ErrorCode(9);
    pub(super) const ENHANCE_YOUR_CALM: ErrorCode = ErrorCode(11);
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

impl std::error::Error for Http2Fault {}

impl fmt::Display for Http2Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Http2Fault::NotSpoken => out.write_str("no HTTP/2"),
            Http2Fault::Reset(code) => write!(out, "RST_STREAM {code}"),
            Http2Fault::GoneAway(code) => write!(out, "GOAWAY {code}"),
            Http2Fault::Violated(code) => write!(out, "HTTP/2 violated: {code}"),
        }
    }
}
