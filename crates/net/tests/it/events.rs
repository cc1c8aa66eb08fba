//! Every architecture that is driven by events, under the same table of clients: well-behaved, slow, broken,
//! many.

#![allow(clippy::unwrap_used, reason = "a panic is the failure of a test")]

mod exchange;
mod limits;
mod patience;
mod server;
