//! One process, one thread, and a task for each connection on the tokio runtime: the usual server in Rust
//! today.
//!
//! The program is written like that of a thread per connection. The compiler turns each task into a state
//! machine, and the runtime polls it when edge-triggered epoll(7) reports its connection. The loop, the
//! timers and the task queue are those of the library. Each task has its own input buffer. Files are read
//! and sent as bytes.
//!
//! Expected: as `epoll`, with slightly more time per request and more memory per connection.

use super::{Architecture, ServedBy};
use crate::worker::Accept;

pub(super) const ARCHITECTURE: Architecture = Architecture {
    name: "tokio",
    source: include_str!("tokio.rs"),
    served_by: ServedBy::Loop,
    accepts: &[Accept::ReusePort, Accept::Shared],
    probe: || Ok(()),
    serve: Ok(super::tasks::serve),
};
