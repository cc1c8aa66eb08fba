//! A client of SFTP version 3, which every SSH server has, without a socket: enough to read a file
//! (draft-ietf-secsh-filexfer-02, "SSH File Transfer Protocol").
//!
//! - `connection` what a connection knows: which requests are not answered yet;
//! - `packet` numbers and strings of a packet.
//!
//! SFTP begins when SSH has proved both sides, so nothing here is secret. Whatever a server sends is read
//! without a panic: `fuzz/fuzz_targets/sftp_response.rs`.

mod connection;
mod error;
mod packet;
#[cfg(test)]
mod tests;

pub use connection::{SftpConnection, SftpResponse};
pub use error::SftpError;
pub use packet::{READ_BYTES_MAX, packet_bytes};
