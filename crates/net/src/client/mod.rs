//! Clients of protocols: state machines that produce requests and check responses, without a socket.
//!
//! A new client is a new file here, its `mod` line and its line in `clients!`. The file declares the name
//! of the client, its service and its options; `load`, `list`, `explain` and the conformance table use that
//! declaration.

pub mod busy;
mod definition;
pub mod echo;
pub mod http;

pub(crate) use definition::ClientVisitor;
pub use definition::{
    Client, ClientChoice, ClientKind, ClientSettings, Endpoint, Http2Choice, Received, ResponseError,
    ResponseState,
};

use crate::Error;
use crate::options::from_value;

/// The list of clients: [`ALL`], and the way from a [`ClientChoice`] to the settings' type.
macro_rules! clients {
    ($($settings:ty),* $(,)?) => {
        /// Every client.
        pub const ALL: &[ClientKind] = &[$(ClientKind::of::<$settings>()),*];

        impl ClientChoice {
            /// Hands the settings on in their own type, so that a loop is compiled for each client.
            pub(crate) fn visit<V: ClientVisitor>(&self, visitor: V) -> Result<V::Output, Error> {
                $(if self.name == <$settings>::NAME {
                    return visitor.visit(from_value::<$settings>(&self.name, &self.settings)?);
                })*
                Err(unknown(&self.name))
            }
        }
    };
}

clients![busy::BusyClientSettings, echo::EchoClientSettings, http::HttpClientSettings];

impl ClientChoice {
    /// Whether the server closes each connection after one response, of itself or because the client
    /// requests it where `new_connections` are wanted. A client with invalid settings never does.
    pub(crate) fn server_closes(&self, new_connections: bool) -> bool {
        find(&self.name)
            .and_then(|kind| (kind.server_closes)(&self.settings, new_connections))
            .unwrap_or(false)
    }
}

/// The client of that name.
///
/// # Errors
/// [`Error::Unknown`].
pub fn find(name: &str) -> Result<&'static ClientKind, Error> {
    ALL.iter().find(|client| client.name == name).ok_or_else(|| unknown(name))
}

fn unknown(name: &str) -> Error {
    Error::Unknown {
        kind: "client",
        name: name.to_owned(),
        known: ALL.iter().map(|client| client.name).collect::<Vec<_>>().join(", "),
    }
}
