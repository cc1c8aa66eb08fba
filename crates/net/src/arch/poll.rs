//! One process, one thread, and poll(2): every wait copies the list of all connections into the kernel
//! and back.
//!
//! poll(2) lacks the limit of select(2) and has the same weakness: the kernel keeps no state between two
//! calls. On Windows it is WSAPoll.
//!
//! Expected: the cost of a wait is proportional to the number of connections, ready or not. It equals
//! `epoll` where all of them are busy, and is far slower where most are idle.

use super::{Architecture, ServedBy};
use crate::worker::Accept;

pub(super) const ARCHITECTURE: Architecture = Architecture {
    name: "poll",
    source: record::page!("poll.rs"),
    served_by: ServedBy::Loop,
    accepts: &[Accept::ReusePort, Accept::Shared],
    probe: || Ok(()),
    serve: Ok(super::reactor::serve::<sys::event::Poll>),
};
