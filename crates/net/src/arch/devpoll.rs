//! One process, one thread, and /dev/poll, poll(4D) of illumos and Solaris: the list of poll(2), kept by the
//! kernel; a wait returns the ready descriptors.
//!
//! It came with Solaris 7 and is the oldest of the interfaces that do not pass every connection with every
//! wait. A connection that waits for something else costs a write(2) of two entries.
//!
//! Expected: the cost of a request does not depend on the number of idle connections.

use super::{Architecture, ServedBy};
use crate::worker::Accept;

pub(super) const ARCHITECTURE: Architecture = Architecture {
    name: "devpoll",
    source: record::page!("devpoll.rs"),
    served_by: ServedBy::Loop,
    accepts: &[Accept::ReusePort, Accept::Shared],
    probe: || Ok(()),
    serve: cfg_select! {
        any(target_os = "illumos", target_os = "solaris") => {
            Ok(super::reactor::serve::<sys::event::DevPoll>)
        }
        _ => { Err("/dev/poll exists only on illumos and Solaris") }
    },
};
