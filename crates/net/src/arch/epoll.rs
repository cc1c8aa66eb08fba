//! One process, one thread, and epoll(7): the kernel keeps the set of connections and reports those that
//! are ready.
//!
//! Nearly every server on Linux works in this way. The cost of a wait depends on the number of ready
//! connections, not of open ones. Each change of the set costs a system call. Events are level-triggered:
//! a connection is reported as long as there is something to do, so one recv(2) per event is enough and
//! no event can be missed.
//!
//! Expected: the cost of a request does not depend on the number of idle connections.

use super::{Architecture, ServedBy};
use crate::worker::Accept;

pub(super) const ARCHITECTURE: Architecture = Architecture {
    name: "epoll",
    source: record::page!("epoll.rs"),
    served_by: ServedBy::Loop,
    accepts: &Accept::ALL,
    probe: || Ok(()),
    serve: cfg_select! {
        target_os = "linux" => { Ok(super::reactor::serve::<sys::event::Epoll>) }
        _ => { Err("epoll exists only on Linux") }
    },
};
