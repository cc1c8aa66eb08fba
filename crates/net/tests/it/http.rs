//! The service `http` as a client sees it: bytes in, bytes out, cut at every place.
#![allow(clippy::unwrap_used, reason = "a panic is the failure of a test")]

mod connection;
mod descriptors;
mod files;
mod fixture;
mod properties;
mod statuses;
