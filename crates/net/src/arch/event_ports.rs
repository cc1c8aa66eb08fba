//! One process, one thread, and event ports: the event interface of illumos and Solaris, port_create(3C).
//!
//! An event is reported once, and the descriptor must then be associated again: one call per event that
//! `epoll` does not need.
//!
//! Expected: the cost of a request does not depend on the number of idle connections.

use super::{Architecture, ServedBy};
use crate::worker::Accept;

pub(super) const ARCHITECTURE: Architecture = Architecture {
    name: "event-ports",
    source: record::page!("event_ports.rs"),
    served_by: ServedBy::Loop,
    accepts: &[Accept::ReusePort, Accept::Shared],
    probe: || Ok(()),
    serve: cfg_select! {
        any(target_os = "illumos", target_os = "solaris") => {
            Ok(super::reactor::serve::<sys::event::EventPorts>)
        }
        _ => { Err("event ports exist only on illumos and Solaris") }
    },
};
