//! One process, one thread, and a task for each connection on the runtime of tokio: the server that is
//! written in Rust today.
//!
//! The program reads as that of a thread per connection; the compiler makes of each task a machine with
//! states, and the runtime polls it when edge-triggered epoll(7) tells of its connection. The loop, the
//! timers and the queue of tasks are the library's. Each task has a buffer of its own for input. Files are
//! read and sent as bytes.
//!
//! Expected: as `epoll`, with some more time for each request and some more memory for each connection.

use super::Architecture;

pub(super) const ARCHITECTURE: Architecture = Architecture {
    name: "tokio",
    source: include_str!("tokio.rs"),
    blocking: false,
    workers: true,
    probe: || Ok(()),
    serve: cfg_select! {
        unix => { Ok(super::tasks::serve) }
        _ => { Err("servers are not written for this system yet") }
    },
};
