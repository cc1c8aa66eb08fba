//! Servers and load: protocols as state machines without I/O, architectures that serve them, clients, and
//! generators that drive the clients.
//!
//! - `service/` the server's side of each protocol, `client/` the other side;
//! - `arch/` one file per server architecture; each serves every service;
//! - `http2/` a connection of HTTP/2, for the client that speaks it;
//! - `smtp/` the parts that both sides of SMTP share;
//! - `load/` the generators;
//! - `network/` the layer below the loops of both, which tests can simulate;
//! - `server` sets an architecture up around a service and ends it in order.
//!
//! Must never: judge, print, write a record, or know its caller.

// Processes that fork need Unix; code that only they use is compiled everywhere all the same.
#![cfg_attr(not(unix), allow(dead_code))]

pub mod arch;
pub mod client;
pub mod http2;
pub mod load;
mod network;
pub mod options;
pub mod output;
#[cfg(test)]
#[path = "../tests/common/seeds.rs"]
mod seeds;
pub mod server;
pub mod service;
pub mod smtp;
pub mod worker;

pub use network::{Handshake, ServerAddress, Timer, TlsClient, TlsConnection, TlsIdentity};

use std::io;

/// Errors of servers and generators, one variant for each meaning: the attempt, its object, and its outcome.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No service, architecture or client of that name.
    #[error("no {kind} is called {name:?}; there are {known}")]
    Unknown {
        /// `service`, `architecture` or `client`.
        kind: &'static str,
        /// The name that was given.
        name: String,
        /// The existing names.
        known: String,
    },
    /// The system lacks a facility that it needs.
    #[error("{name} is unsupported here: {reason}")]
    Unsupported {
        /// The architecture.
        name: String,
        /// Why.
        reason: String,
    },
    /// A process with a role could not be started, has ended, or has not replied in time.
    #[error(transparent)]
    Host(#[from] host::Error),
    /// Settings are invalid, by themselves or together. The message names them and the valid ones.
    #[error("{0}")]
    Settings(String),
    /// There is no connection of that number.
    #[error("connection {number} does not exist: the generator has {connections}")]
    NoConnection {
        /// The number.
        number: usize,
        /// Connections that there are.
        connections: usize,
    },
    /// A single request failed.
    #[error("a request to {target} failed ({stage}: {cause})")]
    Request {
        /// The server.
        target: ServerAddress,
        /// The stage of the request.
        stage: &'static str,
        /// The cause.
        cause: String,
    },
    /// The load generator contradicts itself: no figure of this load can be trusted.
    #[error(
        "the load generator started {started} requests and counted {outcomes} outcomes; please report this"
    )]
    Miscounted {
        /// Requests that were started.
        started: u64,
        /// Those that were completed, failed, late or unanswered.
        outcomes: u64,
    },
    /// No generator has measured anything.
    #[error("no load generator returned a measurement")]
    NothingMeasured,
    /// The load of several generators does not count.
    #[error("the load does not count: {0}")]
    Void(crate::load::VoidReason),
    /// The user has ended the load.
    #[error("stopped")]
    Stopped,
    /// A process with a role, a server or a load generator, reports that it failed.
    #[error("{role}: {reason}")]
    Failed {
        /// "load worker 2".
        role: String,
        /// Its report.
        reason: String,
    },
    /// Two of our processes do not understand each other: they may be of different versions.
    #[error("{role} sent a message that cannot be read: {message}")]
    Protocol {
        /// The sender.
        role: String,
        /// The message, or its fault.
        message: String,
    },
    /// The system refused.
    #[error("cannot {attempted}: {error}")]
    System {
        /// "listen at 127.0.0.1:80".
        attempted: String,
        /// The error of the system.
        error: io::Error,
    },
}

impl Error {
    pub(crate) fn unknown(
        kind: &'static str,
        name: &str,
        known: impl Iterator<Item = &'static str>,
    ) -> Error {
        Error::Unknown { kind, name: name.to_owned(), known: known.collect::<Vec<_>>().join(", ") }
    }

    /// For `map_err`: names the attempt.
    pub fn at(attempted: impl Into<String>) -> impl FnOnce(io::Error) -> Error {
        let attempted = attempted.into();
        move |error| Error::System { attempted, error }
    }
}
