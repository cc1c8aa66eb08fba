//! One process and completion ports: Windows is asked to receive and send, and tells when that is done.
//!
//! The model that `uring` brought to Linux: what is told is not that something can be done, but that it was.
//!
//! Expected: the cost of a request does not depend on how many connections are idle.

use super::Architecture;

pub(super) const ARCHITECTURE: Architecture = Architecture {
    name: "iocp",
    source: include_str!("iocp.rs"),
    blocking: false,
    workers: true,
    probe: || Ok(()),
    serve: Err("completion ports are of Windows, where servers are not measured yet"),
};
