//! One process and completion ports: Windows performs receives and sends, and reports when they are
//! complete.
//!
//! This is the model that `uring` brought to Linux: an event says that an operation is complete, not that
//! it would be possible.
//!
//! Expected: the cost of a request does not depend on the number of idle connections.

use super::definition::{Architecture, ServedBy};

pub(super) const ARCHITECTURE: Architecture = Architecture {
    name: "iocp",
    source: include_str!("iocp.rs"),
    served_by: ServedBy::Loop,
    workers: true,
    probe: || Ok(()),
    serve: Err("completion ports exist only on Windows, where servers are not implemented yet"),
};
