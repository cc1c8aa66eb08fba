//! One process, one thread, and io_uring(7): the kernel is asked to accept, receive and send, and tells when
//! that was done.
//!
//! One accept and one receive for each connection stay in force (multishot). What arrives is put into buffers
//! that the kernel picks from a pool, so idle connections hold none. All that a turn of the loop asks for is
//! handed over by the one call that also waits, and the kernel works on it only then (`DEFER_TASKRUN`). Files
//! are read and sent as bytes.
//!
//! Expected: far fewer system calls than `epoll` under load, and less time per request where calls are dear;
//! the same where the work of TCP is nearly all there is. Needs Linux 6.1, and is often forbidden in
//! containers.

use super::Architecture;

pub(super) const ARCHITECTURE: Architecture = Architecture {
    name: "uring",
    source: include_str!("uring.rs"),
    blocking: false,
    workers: true,
    probe: cfg_select! {
        target_os = "linux" => { || sys::ring::Ring::new(sys::ring::Settings::default()).map(drop) }
        _ => { || Ok(()) }
    },
    serve: cfg_select! {
        target_os = "linux" => { Ok(super::proactor::serve) }
        _ => { Err("io_uring is an interface of Linux") }
    },
};
