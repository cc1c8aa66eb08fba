//! One process, one thread, and io_uring(7): the kernel performs accepts, receives and sends, and reports
//! when they are complete.
//!
//! One accept, and one receive for each connection, stay submitted (multishot). The kernel puts received
//! data into buffers that it takes from a pool, so idle connections hold no buffers. All submissions of
//! an iteration are passed by the one call that also waits, and the kernel processes them only then
//! (`DEFER_TASKRUN`). Files are read and sent as bytes.
//!
//! Expected: far fewer system calls than `epoll` under load, and less time per request where system calls
//! are expensive; the same where the TCP processing of the kernel dominates. Needs Linux 6.1, and is
//! often forbidden in containers.

use super::{Architecture, ServedBy};
use crate::worker::Accept;

pub(super) const ARCHITECTURE: Architecture = Architecture {
    name: "uring",
    source: record::page!("uring.rs"),
    served_by: ServedBy::Loop,
    accepts: &[Accept::ReusePort, Accept::Shared],
    probe: cfg_select! {
        target_os = "linux" => { || sys::ring::Ring::new(sys::ring::RingSettings::default()).map(drop) }
        _ => { || Ok(()) }
    },
    serve: cfg_select! {
        target_os = "linux" => { Ok(super::proactor::serve) }
        _ => { Err("io_uring exists only on Linux") }
    },
};
