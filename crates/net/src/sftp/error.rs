//! What can go wrong with SFTP.

use std::fmt;
use std::io;

/// Why a connection cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SftpError {
    /// What the server sent is no message of the protocol, or none that was asked for.
    Malformed(&'static str),
    /// The server has another version of the protocol.
    Version(u32),
    /// The server did not do what it was asked for.
    Refused {
        /// The request.
        request: &'static str,
        /// `SSH_FX_…`
        status: u32,
        /// In the words of the server; with nothing that a terminal obeys.
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

impl fmt::Display for SftpError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SftpError::Malformed(why) => write!(out, "the server did not answer in SFTP: {why}"),
            SftpError::Version(version) => {
                write!(out, "the server answered with version {version} of SFTP, and not with 3")
            }
            SftpError::Refused { request, status, message } => {
                let name = STATUSES.get(*status as usize).copied().unwrap_or("status");
                write!(out, "the server refused {request}: {name} ({status})")?;
                if message.is_empty() { Ok(()) } else { write!(out, ", {message}") }
            }
        }
    }
}

impl std::error::Error for SftpError {}

impl From<SftpError> for io::Error {
    fn from(error: SftpError) -> io::Error {
        io::Error::new(io::ErrorKind::InvalidData, error)
    }
}
