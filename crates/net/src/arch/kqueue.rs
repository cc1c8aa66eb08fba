//! One process, one thread, and kqueue(2): the event interface of the BSDs and of macOS, a queue of
//! filters in the kernel.
//!
//! The kernel keeps the set, as with `epoll`. Changes are passed together with the next wait, so they
//! need no separate call.
//!
//! Expected: the cost of a request does not depend on the number of idle connections.

use super::definition::{Architecture, ServedBy};

pub(super) const ARCHITECTURE: Architecture = Architecture {
    name: "kqueue",
    source: include_str!("kqueue.rs"),
    served_by: ServedBy::Loop,
    workers: true,
    probe: || Ok(()),
    serve: Err("kqueue exists only on the BSDs and macOS, where servers are not implemented yet"),
};
