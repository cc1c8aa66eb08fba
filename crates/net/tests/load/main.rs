//! The generator against servers that behave as each test needs, and record their work. A program of its own:
//! an open loop may open more descriptors than select(2) takes, whose servers are tested in `it`.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a panic is the failure of a test")]

#[path = "../common/identity.rs"]
mod identity;
#[path = "../common/peer.rs"]
mod peer;

mod accounts;
mod clients;
mod connections;
mod failures;
mod http2;
mod loops;
mod server;
mod tls;
