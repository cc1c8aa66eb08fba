//! A client of SMB 3.1.1, the protocol of Windows' shares, without a socket: enough to read a file (MS-SMB2,
//! "Server Message Block Protocol Versions 2 and 3"; MS-NLMP, "NT LAN Manager Authentication Protocol").
//!
//! - `connection` the state of a connection: numbers of messages, credits, keys; signatures and encryption;
//! - `message` requests and responses of each command;
//! - `ntlm` the authentication of users.
//!
//! One dialect, with one algorithm for each purpose, which Windows 11 and Samba since 4.15 have: SHA-512 for
//! the integrity of the negotiation, AES-128-GMAC for signatures, AES-128-GCM for encryption. No
//! input of a server causes a panic: `fuzz/fuzz_targets/smb_response.rs`.

mod connection;
pub mod message;
pub mod ntlm;
#[cfg(test)]
mod tests;

pub use connection::{Protection, SmbConnection, SmbResponse, packet_bytes};

use std::io;

/// The user that logs on.
#[derive(Clone, Debug)]
pub struct Account {
    /// Name of the user.
    pub user: String,
    /// The NT hash of the password, which is all that either side needs of it.
    pub nt_hash: [u8; 16],
}

/// A file that the server has opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenFile {
    /// The server's name for it.
    pub id: [u8; 16],
    /// How long it is.
    pub bytes: u64,
}

/// Why a connection cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SmbError {
    /// The server sent no message of the protocol, or a response to no request.
    #[error("the response is not SMB 3.1.1: {0}")]
    Malformed(&'static str),
    /// The server refused a request.
    #[error("the server refused {}: {} ({status:#010x})", command_name(*command), status_name(*status))]
    Refused {
        /// Number of the command.
        command: u16,
        /// NTSTATUS.
        status: u32,
    },
    /// A signature is wrong, or a message is not signed or encrypted that must be.
    #[error("a message of the server is not protected as it must be")]
    Forged,
    /// The server requires this, and this client lacks it.
    #[error("the server wants {0}")]
    Lacking(&'static str),
    /// The server allows no further request.
    #[error("the server allows no further request")]
    NoCredit,
}

const COMMANDS: [&str; 9] = [
    "NEGOTIATE",
    "SESSION_SETUP",
    "LOGOFF",
    "TREE_CONNECT",
    "TREE_DISCONNECT",
    "CREATE",
    "CLOSE",
    "FLUSH",
    "READ",
];

/// The names of statuses that a server of files gives (MS-ERREF, section 2.3.1).
const STATUSES: [(u32, &str); 9] = [
    (0xC000_0008, "STATUS_INVALID_HANDLE"),
    (0xC000_000D, "STATUS_INVALID_PARAMETER"),
    (0xC000_0011, "STATUS_END_OF_FILE"),
    (0xC000_0022, "STATUS_ACCESS_DENIED"),
    (0xC000_0034, "STATUS_OBJECT_NAME_NOT_FOUND"),
    (0xC000_006D, "STATUS_LOGON_FAILURE"),
    (0xC000_009A, "STATUS_INSUFFICIENT_RESOURCES"),
    (0xC000_00CC, "STATUS_BAD_NETWORK_NAME"),
    (0xC000_00BB, "STATUS_NOT_SUPPORTED"),
];

fn command_name(command: u16) -> &'static str {
    COMMANDS.get(usize::from(command)).copied().unwrap_or("a command")
}

fn status_name(status: u32) -> &'static str {
    STATUSES.iter().find(|(number, _)| *number == status).map_or("status", |(_, name)| name)
}

impl From<SmbError> for io::Error {
    fn from(error: SmbError) -> io::Error {
        let kind = match error {
            SmbError::Lacking(_) => io::ErrorKind::Unsupported,
            _ => io::ErrorKind::InvalidData,
        };
        io::Error::new(kind, error)
    }
}
