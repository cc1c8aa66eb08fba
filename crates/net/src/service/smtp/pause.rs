//! A reply that comes later.

use std::time::Duration;

use crate::service::definition::Flow;

/// What is said after a time, and what came meanwhile.
pub(super) struct Pause {
    pub(super) time: Duration,
    pub(super) reply: Vec<u8>,
    /// Commands that it answers.
    pub(super) replies: u64,
    pub(super) flow: Flow,
    pub(super) input: Vec<u8>,
}

/// What may have been received in the moment in which the pause began: more than one receive of any
/// architecture. The rest of what a client sends waits in its socket.
const INPUT_BYTES_MAX: usize = 1 << 20;

impl Pause {
    /// Keeps input for later. A server that goes on receiving all the same closes the connection.
    pub(super) fn hold(&mut self, input: &[u8]) -> Flow {
        if self.input.len() + input.len() > INPUT_BYTES_MAX {
            return Flow::Close;
        }
        self.input.extend_from_slice(input);
        Flow::More
    }
}
