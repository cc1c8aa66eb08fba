//! What the connections of one event loop share: a buffer for input, an output, the time, and counts.
//!
//! One connection uses it at a time, and leaves the output empty: what it could not send it takes along.

use std::time::Duration;

use crate::network::milliseconds;
use crate::output::Output;
use crate::worker::{COUNTERS, Counter, Terms, write_log};

/// As much as one call of recv(2) gives at most.
const INPUT_BYTES: usize = 64 << 10;

/// The context of one loop.
pub(super) struct LoopContext<'worker> {
    pub(super) terms: Terms<'worker>,
    pub(super) input: Box<[u8]>,
    pub(super) output: Output,
    /// Whether the order to stop was given: connections end as soon as their response has left.
    pub(super) stopping: bool,
    counts: [u64; COUNTERS.len()],
    now_ms: u64,
}

impl<'worker> LoopContext<'worker> {
    pub(super) fn new(terms: Terms<'worker>) -> LoopContext<'worker> {
        LoopContext {
            terms,
            input: vec![0; INPUT_BYTES].into_boxed_slice(),
            output: Output::default(),
            stopping: false,
            counts: [0; COUNTERS.len()],
            now_ms: 0,
        }
    }

    /// A turn of the loop begins: the clock is read once for all of it.
    #[inline]
    pub(super) fn begin_turn(&mut self, now_ms: u64) {
        self.now_ms = now_ms;
    }

    /// A turn ends: what was counted and logged is handed on. Returns how many connections have ended in it.
    #[inline]
    pub(super) fn end_turn(&mut self) -> u64 {
        let ended = self.counts[Counter::Ended as usize];
        for count in ALL_COUNTERS {
            let amount = &mut self.counts[count as usize];
            if *amount > 0 {
                self.terms.counters.add(count, *amount);
                *amount = 0;
            }
        }
        if !self.output.log.is_empty() {
            write_log(self.terms.log, &mut self.output.log, self.terms.counters);
        }
        ended
    }

    /// Counts; the counters are updated at the end of the turn.
    #[inline]
    pub(super) fn count(&mut self, count: Counter, amount: u64) {
        self.counts[count as usize] += amount;
    }

    /// Since the loop began.
    #[inline]
    pub(super) fn now_ms(&self) -> u64 {
        self.now_ms
    }

    /// When a limit that begins now is over.
    #[inline]
    pub(super) fn due_ms(&self, limit: Duration) -> u64 {
        self.now_ms.saturating_add(milliseconds(limit))
    }

    /// Takes the output off the context, for a connection that has to wait. The log stays.
    pub(super) fn take_output(&mut self) -> Output {
        let mut output = std::mem::take(&mut self.output);
        self.output.log = std::mem::take(&mut output.log);
        output
    }
}

/// The order in which they are added: connections that ended in a turn were not open beside those that came
/// in it.
const ALL_COUNTERS: [Counter; COUNTERS.len()] = [
    Counter::Ended,
    Counter::Accepted,
    Counter::Refused,
    Counter::Broken,
    Counter::Slow,
    Counter::Responses,
    Counter::Received,
    Counter::Sent,
    Counter::Exhausted,
    Counter::Restarts,
    Counter::Recipients,
];
