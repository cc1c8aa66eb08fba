//! Event loops, services and clients, over real sockets.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a panic is the failure of a test")]

#[path = "../common/identity.rs"]
mod identity;
#[path = "../common/peer.rs"]
mod peer;

mod clients;
mod events;
mod http;
mod http2;
mod smtp;
mod smtp_service;
mod smtp_tls;
