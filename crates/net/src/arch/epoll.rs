//! One process, one thread, and epoll(7): the kernel keeps the set of connections and tells only of those
//! that are ready.
//!
//! The way of nearly every server on Linux. Waiting costs what is ready, not what is open; what is added or
//! changed costs a system call. Level-triggered: a connection is told of as long as there is something to do
//! on it, so one recv(2) for each event is enough, and nothing can be forgotten.
//!
//! Expected: the cost of a request does not depend on how many connections are idle.

use super::Architecture;

pub(super) const ARCHITECTURE: Architecture = Architecture {
    name: "epoll",
    source: include_str!("epoll.rs"),
    blocking: false,
    workers: true,
    probe: || Ok(()),
    serve: cfg_select! {
        target_os = "linux" => { Ok(super::reactor::serve::<sys::event::Epoll>) }
        _ => { Err("epoll is an interface of Linux") }
    },
};
