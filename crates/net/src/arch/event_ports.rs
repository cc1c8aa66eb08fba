//! One process, one thread, and event ports: the event interface of illumos and Solaris, port_create(3C).
//!
//! An event is told once, and the descriptor must then be associated anew: one call for each event that
//! `epoll` does without.
//!
//! Expected: the cost of a request does not depend on how many connections are idle.

use super::Architecture;

pub(super) const ARCHITECTURE: Architecture = Architecture {
    name: "event-ports",
    source: include_str!("event_ports.rs"),
    blocking: false,
    workers: true,
    probe: || Ok(()),
    serve: Err("event ports are of illumos and Solaris, where servers are not measured yet"),
};
