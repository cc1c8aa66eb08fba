//! One process, one thread, and poll(2): a list of all connections goes into the kernel and back with every
//! wait.
//!
//! Without the bound of select(2), and with the same flaw: the kernel keeps nothing between two calls.
//!
//! Expected: every wait costs as much as there are connections, ready or not. The same as `epoll` where all
//! of them are busy, far behind where most are idle.

use super::Architecture;

pub(super) const ARCHITECTURE: Architecture = Architecture {
    name: "poll",
    source: include_str!("poll.rs"),
    blocking: false,
    workers: true,
    probe: || Ok(()),
    serve: cfg_select! {
        unix => { Ok(super::reactor::serve::<sys::event::Poll>) }
        _ => { Err("poll(2) is an interface of Unix") }
    },
};
