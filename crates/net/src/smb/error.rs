//! What can go wrong with SMB.

use std::fmt;
use std::io;

/// Why a connection cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SmbError {
    /// What the server sent is no message of the protocol, or none that was asked for.
    Malformed(&'static str),
    /// The server did not do what it was asked for.
    Refused {
        /// Number of the command.
        command: u16,
        /// NTSTATUS.
        status: u32,
    },
    /// A signature is wrong, or what must be signed or encrypted is not.
    Forged,
    /// What the server wants, and this client has not.
    Lacking(&'static str),
    /// The server allows no further request.
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

impl fmt::Display for SmbError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            SmbError::Malformed(why) => write!(out, "the server did not answer in SMB 3.1.1: {why}"),
            SmbError::Refused { command, status } => {
                let command = COMMANDS.get(usize::from(command)).copied().unwrap_or("a command");
                let named = STATUSES.iter().find(|(number, _)| *number == status);
                let name = named.map_or("status", |(_, name)| name);
                write!(out, "the server refused {command}: {name} ({status:#010x})")
            }
            SmbError::Forged => out.write_str("a message of the server is not protected as it must be"),
            SmbError::Lacking(what) => write!(out, "the server wants {what}"),
            SmbError::NoCredit => out.write_str("the server allows no further request"),
        }
    }
}

impl std::error::Error for SmbError {}

impl From<SmbError> for io::Error {
    fn from(error: SmbError) -> io::Error {
        let kind = match error {
            SmbError::Lacking(_) => io::ErrorKind::Unsupported,
            _ => io::ErrorKind::InvalidData,
        };
        io::Error::new(kind, error)
    }
}
