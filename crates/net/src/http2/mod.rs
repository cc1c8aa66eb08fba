//! HTTP/2 as a client speaks it (RFC 9113), without a socket and without a clock: [`Http2Connection`] takes
//! bytes and gives bytes.
//!
//! - `frame` the form of what is sent; `hpack` the compression of header fields;
//! - `request` what is requested, prepared before the load begins;
//! - `connection` what belongs to all streams and what is received, `sending` what is sent, `stream` one
//!   request and its response, `part` what is handed on of it, `settings` what both ends allow each other;
//! - `fault` what can go wrong, each under one name.
//!
//! Why no library: `h2` is written for an async runtime and brings a dozen crates; `ringline-h2` and
//! `loona-hpack` copy every field of every response, bit by bit where it is compressed. A load generator
//! reads two fields of them, and its processor time is in every figure that it gives.

mod connection;
mod fault;
mod frame;
mod hpack;
mod part;
mod request;
mod sending;
mod settings;
mod stream;

pub use self::connection::Http2Connection;
pub use self::fault::{ErrorCode, Http2Fault};
pub use self::part::ResponsePart;
pub use self::request::{Request, Requests};
