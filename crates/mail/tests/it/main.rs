//! The engine and its DNS, over real sockets.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a panic is the failure of a test")]

mod deliveries;
mod dns;
