//! Where a server is: at an address of a network, or at a socket in the file system.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Where a server is. As text it is `127.0.0.1:8080` or `unix:/run/server.sock`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum ServerAddress {
    /// An address of IPv4 or IPv6.
    Network(SocketAddr),
    /// A path, see unix(7).
    Unix(PathBuf),
}

impl ServerAddress {
    /// The address in a network; `None` for a path.
    pub fn network(&self) -> Option<SocketAddr> {
        match self {
            ServerAddress::Network(address) => Some(*address),
            ServerAddress::Unix(_) => None,
        }
    }
}

impl fmt::Display for ServerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ServerAddress::Network(address) => write!(f, "{address}"),
            ServerAddress::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

impl From<SocketAddr> for ServerAddress {
    fn from(address: SocketAddr) -> ServerAddress {
        ServerAddress::Network(address)
    }
}

impl From<ServerAddress> for String {
    fn from(address: ServerAddress) -> String {
        address.to_string()
    }
}

impl TryFrom<String> for ServerAddress {
    type Error = std::net::AddrParseError;

    fn try_from(text: String) -> Result<ServerAddress, Self::Error> {
        match text.strip_prefix("unix:") {
            Some(path) => Ok(ServerAddress::Unix(path.into())),
            None => text.parse().map(ServerAddress::Network),
        }
    }
}
