//! One process, one thread, and select(2): a bit for each descriptor goes into the kernel and back with every
//! wait.
//!
//! The oldest way to serve many at once, from 4.2BSD. A set of bits has a fixed size, `FD_SETSIZE`, mostly
//! 1,024: a connection whose descriptor is not below it is closed at once, and counted as `exhausted`.
//!
//! Expected: every wait costs as much as the highest descriptor, so like `poll`, up to about 1,000
//! connections.

use super::Architecture;

pub(super) const ARCHITECTURE: Architecture = Architecture {
    name: "select",
    source: include_str!("select.rs"),
    blocking: false,
    workers: true,
    probe: || Ok(()),
    serve: cfg_select! {
        unix => { Ok(super::reactor::serve::<sys::event::Select>) }
        _ => { Err("select(2) is an interface of Unix") }
    },
};
