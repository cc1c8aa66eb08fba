//! Clients of protocols: state machines that produce requests and check responses, without a socket.
//!
//! A new client is a new file here, its `mod` line and its line in `clients!`. The file declares the name
//! of the client, its service and its options; `load`, `list`, `explain` and the conformance table use that
//! declaration.

pub mod busy;
pub mod echo;
pub mod http;

use clap::{ArgMatches, Args, Command};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Error;
use crate::http2::Requests;
use crate::options::{from_matches, from_value, to_value};

/// The list of clients: [`ALL`], and the way from a [`ClientChoice`] to the settings' type.
macro_rules! clients {
    ($($settings:ty),* $(,)?) => {
        /// Every client.
        pub const ALL: &[ClientKind] = &[$(ClientKind::new::<$settings>()),*];

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
    /// Whether the server closes each connection after one response, by itself or, with `new_connections`,
    /// because the client requests it. A client with invalid settings never does.
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
    Error::unknown("client", name, ALL.iter().map(|client| client.name))
}

/// The requests and the checks of a client; all connections of a generator share it.
///
/// The state of one connection is its [`Client::Session`]: small, for there may be a hundred thousand.
pub trait Client {
    /// The client's side of one connection. It holds no buffer while no response is in progress.
    type Session;

    /// Whether the server speaks first, and no request is sent.
    const SERVER_BEGINS: bool = false;

    /// A session for a new connection.
    fn session(&mut self) -> Self::Session;

    /// The next request, as it is to be sent. Empty where the server speaks first.
    fn request<'a>(&'a self, session: &'a mut Self::Session) -> &'a [u8];

    /// Takes input, cut anywhere, as the response to the oldest request that has none yet. Bytes behind a
    /// complete response are left: they belong to the next.
    ///
    /// # Errors
    /// The fault of the response, if the rest of the connection cannot be understood; it must be closed.
    fn on_input(&mut self, session: &mut Self::Session, input: &[u8]) -> Result<Received, ResponseError>;

    /// The server has closed the connection: whether that completes the response.
    ///
    /// # Errors
    /// [`ResponseError::Short`] in the middle of a response.
    fn end(&mut self, session: &mut Self::Session) -> Result<Received, ResponseError>;
}

/// The result of some input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// Bytes that were taken: all of them while the response is partial.
    pub taken: usize,
    /// The progress of the response.
    pub state: ResponseState,
    /// The fault of a complete response that was read to its end, so that the connection can be used on.
    pub error: Option<ResponseError>,
    /// The status of a complete response, where the protocol has one; else 0.
    pub status: u16,
}

impl Received {
    fn partial(taken: usize) -> Received {
        Received { taken, state: ResponseState::Partial, error: None, status: 0 }
    }
}

/// The progress of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResponseState {
    /// More has to come.
    Partial,
    /// It is complete, and another request may follow on the connection.
    Complete,
    /// It is complete, and the server will close, or has closed.
    Last,
}

/// The faults of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ResponseError {
    /// It violates the protocol.
    Malformed,
    /// The status is not one of success.
    Status(u16),
    /// The body differs from the first one, or from the one that was sent.
    Content,
    /// The connection ended in the middle of it.
    Short,
    /// Bytes came without a request.
    Unasked,
}

/// Settings of a client, with its options on the command line, and its other declarations.
pub trait ClientSettings: Default + Args + Serialize + DeserializeOwned {
    /// Name on the command line.
    const NAME: &'static str;
    /// The leading `//!` lines of its own file.
    const SOURCE: &'static str;
    /// Name of the service that it speaks to.
    const SERVICE: &'static str;

    /// The client.
    type Client: Client + 'static;

    /// A client with these settings.
    ///
    /// # Errors
    /// [`Error::Settings`] names the contradictory ones.
    fn open(&self) -> Result<Self::Client, Error>;

    /// Adds the parts of the target besides its address.
    ///
    /// # Errors
    /// [`Error::Settings`] where the target lacks a part that the client needs.
    fn aim(&mut self, target: &Endpoint) -> Result<(), Error> {
        let _ = target;
        Ok(())
    }

    /// Whether the server closes the connection after each response.
    fn server_closes(&self) -> bool {
        false
    }

    /// The requests of HTTP/2, where the client speaks it: then each of its requests is the number of one of
    /// these, as four bytes with the lowest first, and the responses come in the form of HTTP/1.1.
    ///
    /// # Errors
    /// [`Error::Settings`] names the contradictory settings.
    fn http2(&self, is_secure: bool) -> Result<Option<Http2Choice>, Error> {
        let _ = is_secure;
        Ok(None)
    }

    /// Makes the server close after each response, where the protocol can request that.
    fn request_close(&mut self) {}
}

/// The parts of a target besides its address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// The host as it was written, with the port where that is not the scheme's own.
    pub host: String,
    /// Path and query of each URL; none where an address was given, and no URL.
    pub paths: Vec<String>,
}

/// How a client speaks HTTP/2.
pub struct Http2Choice {
    /// Requests under way on a connection at once, at most.
    pub streams: usize,
    /// The requests.
    pub requests: Requests,
}

/// A client as it is listed and chosen.
#[derive(Debug)]
pub struct ClientKind {
    /// Name on the command line.
    pub name: &'static str,
    /// The leading `//!` lines of its own file.
    pub source: &'static str,
    /// Name of the service that it speaks to.
    pub service: &'static str,
    /// Adds its options to a command.
    pub options: fn(Command) -> Command,
    /// Its settings as a command line gives them.
    pub settings: fn(&ArgMatches) -> Result<Value, clap::Error>,
    aimed: fn(&Value, &Endpoint) -> Result<Value, Error>,
    server_closes: fn(&Value, bool) -> Result<bool, Error>,
}

impl ClientKind {
    const fn new<S: ClientSettings>() -> ClientKind {
        ClientKind {
            name: S::NAME,
            source: S::SOURCE,
            service: S::SERVICE,
            options: S::augment_args,
            settings: from_matches::<S>,
            aimed: |settings, target| {
                let mut settings: S = from_value(S::NAME, settings)?;
                settings.aim(target)?;
                Ok(to_value(&settings))
            },
            server_closes: |settings, is_requested| {
                let mut settings: S = from_value(S::NAME, settings)?;
                if is_requested {
                    settings.request_close();
                }
                Ok(settings.server_closes())
            },
        }
    }

    /// The text that opens its file.
    pub fn page(&self) -> String {
        record::page(self.source)
    }

    /// The page's first paragraph, as one line.
    pub fn summary(&self) -> String {
        record::summary(self.source)
    }

    /// This client with these settings, for the target.
    ///
    /// # Errors
    /// [`Error::Settings`] where settings contradict each other, or the target lacks a part that the client
    /// needs.
    pub fn choose(&self, settings: &Value, target: &Endpoint) -> Result<ClientChoice, Error> {
        let settings = (self.aimed)(settings, target)?;
        Ok(ClientChoice { name: self.name.to_owned(), settings })
    }
}

/// A client and its settings, as they are handed on and recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientChoice {
    name: String,
    settings: Value,
}

impl ClientChoice {
    /// The client of these settings.
    pub fn new<S: ClientSettings>(settings: &S) -> ClientChoice {
        ClientChoice { name: S::NAME.to_owned(), settings: to_value(settings) }
    }

    /// The client's name on the command line.
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// An operation on settings of any type.
pub(crate) trait ClientVisitor {
    /// Its result.
    type Output;

    /// Does it.
    fn visit<S: ClientSettings>(self, settings: S) -> Result<Self::Output, Error>;
}
