//! One process, one thread, and kqueue(2): the event interface of the BSDs and of macOS, a queue of
//! filters in the kernel.
//!
//! The kernel keeps the set, as with `epoll`. Input and output are two entries of it, so a connection that
//! waits for both costs two calls. kevent(2) could take all changes together with the next wait; here each
//! change is a call of its own, as with `epoll`, so that the two differ in the kernel only.
//!
//! Expected: the cost of a request does not depend on the number of idle connections.

use super::{Architecture, ServedBy};
use crate::worker::Accept;

pub(super) const ARCHITECTURE: Architecture = Architecture {
    name: "kqueue",
    source: record::page!("kqueue.rs"),
    served_by: ServedBy::Loop,
    accepts: &[Accept::ReusePort, Accept::Shared],
    probe: || Ok(()),
    serve: cfg_select! {
        any(
            target_vendor = "apple",
            target_os = "dragonfly",
            target_os = "freebsd",
            target_os = "netbsd",
            target_os = "openbsd",
        ) => { Ok(super::reactor::serve::<sys::event::Kqueue>) }
        _ => { Err("kqueue exists only on the BSDs and macOS") }
    },
};
