//! One process and completion ports: Windows performs receives and sends, and reports when they are
//! complete.
//!
//! This is the model that `uring` brought to Linux: an event says that an operation is complete, not that
//! it would be possible. Windows repeats nothing by itself, so an accept or a receive is one call for each
//! connection or piece, and each receive has a buffer of its own.
//!
//! Expected: the cost of a request does not depend on the number of idle connections.

use super::{Architecture, ServedBy};

pub(super) const ARCHITECTURE: Architecture = Architecture {
    name: "iocp",
    source: record::page!("iocp.rs"),
    served_by: ServedBy::Loop,
    // The completions of a listener come to one port.
    accepts: &[],
    probe: || Ok(()),
    serve: cfg_select! {
        windows => { Ok(super::proactor::serve) }
        _ => { Err("completion ports exist only on Windows") }
    },
};
