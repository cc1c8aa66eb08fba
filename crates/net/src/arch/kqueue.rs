//! One process, one thread, and kqueue(2): the event interface of the BSDs and of macOS, a queue of filters
//! in the kernel.
//!
//! Like `epoll`, the kernel keeps the set; changes are handed over together with the next wait, so they cost
//! no call of their own.
//!
//! Expected: the cost of a request does not depend on how many connections are idle.

use super::Architecture;

pub(super) const ARCHITECTURE: Architecture = Architecture {
    name: "kqueue",
    source: include_str!("kqueue.rs"),
    blocking: false,
    workers: true,
    probe: || Ok(()),
    serve: Err("kqueue is of the BSDs and macOS, where servers are not measured yet"),
};
