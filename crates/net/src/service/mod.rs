//! Protocols, the server's side: machines that take bytes and give bytes, and never touch a socket.
//!
//! A new service is a new file here, its `mod` line and its line in [`ALL`]. Every architecture serves it
//! unchanged.

mod busy;
mod echo;
mod http;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::output::Output;

/// Every service.
pub const ALL: &[&Service] = &[&busy::SERVICE, &echo::SERVICE, &http::SERVICE];

/// A protocol that can be served.
#[derive(Debug)]
pub struct Service {
    /// Name on the command line.
    pub name: &'static str,
    /// The text of its own file; its leading `//!` lines are the page.
    pub source: &'static str,
    /// Makes it ready.
    pub open: fn(&Settings) -> Result<Arc<dyn Machine>, Error>,
}

impl Service {
    /// The text that opens its file: what it says and what it is for.
    pub fn page(&self) -> String {
        crate::page::page(self.source)
    }

    /// The page's first sentence.
    pub fn summary(&self) -> String {
        crate::page::summary(self.source)
    }
}

/// What a service is asked to be.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// The folder that is served; nothing outside it ever is.
    pub root: Option<PathBuf>,
    /// Whether folders without an index are listed.
    pub listing: bool,
    /// The largest head of a request.
    pub head_bytes: usize,
    /// Whether sessions write the access log into [`Output::log`].
    pub log: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { root: None, listing: false, head_bytes: 16 << 10, log: false }
    }
}

/// A service that is ready; all sessions share it, over all threads.
pub trait Machine: Send + Sync {
    /// A session for a new connection. Who is at the other end is known only where somebody asked for it.
    fn session(&self, peer: Option<SocketAddr>) -> Box<dyn Session>;

    /// Whether sessions want to know who is at the other end, which costs a system call.
    fn wants_peer(&self) -> bool {
        false
    }
}

/// The server's side of one connection.
///
/// A session that is idle holds no buffers: thousands of them may be open.
pub trait Session: Send {
    /// What is said before the client has said anything.
    fn begin(&mut self, output: &mut Output) -> Flow {
        let _ = output;
        Flow::More
    }

    /// Takes input, of any length, cut anywhere, and gives what is to be answered. All of the input is taken.
    fn feed(&mut self, input: &[u8], output: &mut Output) -> Flow;

    /// The other end has finished sending; it may still receive.
    fn end(&mut self, output: &mut Output) -> Flow {
        let _ = output;
        Flow::Close
    }

    /// The client took too long in the middle of a request.
    fn too_slow(&mut self, output: &mut Output) -> Flow {
        let _ = output;
        Flow::Close
    }

    /// Where the session stands; decides which time limit holds.
    fn stage(&self) -> Stage;
}

/// What the connection is to do once the output has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Wait for more input.
    More,
    /// Close: all input was taken.
    Close,
    /// Finish sending, then take and drop input for a while before closing. A close with input unread resets
    /// the connection and may take the answer with it (RFC 9112, section 9.6).
    Linger,
}

/// Where a session stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Between requests: it may stay open and idle for long.
    Idle,
    /// In the middle of a request: the rest must come soon.
    Request,
}

/// The service of that name.
///
/// # Errors
/// [`Error::Unknown`].
pub fn find(name: &str) -> Result<&'static Service, Error> {
    ALL.iter().copied().find(|service| service.name == name).ok_or_else(|| Error::Unknown {
        kind: "service",
        name: name.to_owned(),
        known: ALL.iter().map(|service| service.name).collect::<Vec<_>>().join(", "),
    })
}
