//! A client of SMB 3.1.1, the protocol of Windows' shares, without a socket: enough to read a file (MS-SMB2,
//! "Server Message Block Protocol Versions 2 and 3"; MS-NLMP, "NT LAN Manager Authentication Protocol").
//!
//! - `connection` what a connection knows: numbers of messages, credits, keys;
//! - `message` requests and responses of each command;
//! - `header` what every message begins with;
//! - `ntlm` how users prove who they are;
//! - `protection` signatures and encryption;
//! - `bytes` numbers at places of a message.
//!
//! One dialect, with one algorithm for each purpose, which Windows 11 and Samba since 4.15 have: SHA-512 for
//! the integrity of the negotiation, AES-128-GMAC for signatures, AES-128-GCM for encryption. Whatever a
//! server sends is read without a panic: `fuzz/fuzz_targets/smb_response.rs`.

mod bytes;
mod connection;
mod error;
mod header;
pub mod message;
pub mod ntlm;
mod protection;
#[cfg(test)]
mod tests;

pub use connection::{FRAME_BYTES_MAX, SmbConnection, SmbResponse, frame_bytes};
pub use error::SmbError;
pub use protection::Protection;

/// Who logs on.
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
