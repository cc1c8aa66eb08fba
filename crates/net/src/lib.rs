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
mod error;
pub mod http2;
pub mod load;
mod network;
pub mod options;
pub mod output;
#[cfg(test)]
mod seeds;
pub mod server;
pub mod service;
pub mod smtp;
pub mod worker;

pub use error::Error;
pub use network::{Handshake, ServerAddress, Timer, TlsClient, TlsConnection, TlsIdentity};
