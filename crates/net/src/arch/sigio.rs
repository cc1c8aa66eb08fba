//! One process, one thread, and queued real-time signals: the kernel sends a signal for every change of a
//! connection, with its descriptor, and sigtimedwait(2) takes them off the queue one by one.
//!
//! What Linux 2.4 had for many connections before epoll; see fcntl(2), `F_SETSIG`. The queue is bounded
//! (`ulimit -i`). When it is full, all that is left is one SIGIO, and the server must look at every
//! connection.
//!
//! Expected: a cost that does not depend on idle connections, as `epoll`, but more of it: one system call for
//! each event, four to set up a connection, and an emptied queue whenever one is closed.

use super::Architecture;

pub(super) const ARCHITECTURE: Architecture = Architecture {
    name: "sigio",
    source: include_str!("sigio.rs"),
    blocking: false,
    workers: true,
    probe: || Ok(()),
    serve: cfg_select! {
        target_os = "linux" => { Ok(super::reactor::serve::<sys::event::SignalIo>) }
        _ => { Err("signals that carry a descriptor are an interface of Linux") }
    },
};
