//! One process, one thread, and queued real-time signals: the kernel sends a signal with the descriptor
//! for every change of a connection.
//!
//! sigtimedwait(2) takes the signals off the queue one by one. Linux 2.4 had this interface for many
//! connections before epoll; see fcntl(2), `F_SETSIG`. The queue is bounded (`ulimit -i`). When it is
//! full, the kernel sends one SIGIO instead, and the server must check every connection.
//!
//! Expected: the cost does not depend on idle connections, as with `epoll`, but is higher: one system
//! call for each event, four to set up a connection, and an emptied queue whenever a connection is
//! closed.

use super::{Architecture, ServedBy};
use crate::worker::Accept;

pub(super) const ARCHITECTURE: Architecture = Architecture {
    name: "sigio",
    source: record::page!("sigio.rs"),
    served_by: ServedBy::Loop,
    accepts: &[Accept::ReusePort],
    probe: || Ok(()),
    serve: cfg_select! {
        target_os = "linux" => { Ok(super::reactor::serve::<sys::event::SignalIo>) }
        _ => { Err("signals that carry a descriptor exist only on Linux") }
    },
};
