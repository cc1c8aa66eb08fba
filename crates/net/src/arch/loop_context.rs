//! The context that the connections of one event loop share: a buffer for input, an output, the time, counts,
//! and a timer wheel for time limits.
//!
//! One connection uses it at a time, and leaves the output empty: it takes unsent output along.

use std::time::Duration;

use crate::network::milliseconds;
use crate::output::Output;
use crate::worker::{COUNTERS, Counter, Terms, write_log};

/// The most bytes of one recv(2).
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

    /// A turn ends: counts and log are handed on. Returns how many connections have ended in it.
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

/// A timer expires up to this much late, and up to a turn of its loop later.
const TICK_SHIFT: u32 = 7;

/// Ticks of one round, about two minutes; a timer farther ahead expires once a round.
const ROUND: u32 = 1024;

/// A tick that never comes.
const NEVER: u32 = u32::MAX;

/// A tick's list that grew beyond this is not kept.
const KEPT: usize = 4096;

/// The time limits of connections: a timer wheel of coarse ticks.
///
/// A slot has at most one timer, which belongs to the slot rather than to its connection. A timer is never
/// delayed: an owner that it wakes too early arms it again. So extending a limit, which every request does,
/// costs one comparison, and connections that come and go leave nothing behind.
#[derive(Debug)]
pub(super) struct TimerWheel {
    wheel: Vec<Vec<u32>>,
    /// For each slot the tick at which it expires.
    set_for: Vec<u32>,
    /// The last tick that has expired.
    last: u32,
}

impl TimerWheel {
    pub(super) fn new() -> TimerWheel {
        TimerWheel { wheel: vec![Vec::new(); ROUND as usize], set_for: Vec::new(), last: 0 }
    }

    /// Arms the timer of the slot to expire at that time at the latest.
    #[inline]
    pub(super) fn arm(&mut self, slot: usize, due_ms: u64) {
        if slot >= self.set_for.len() {
            self.set_for.resize(slot + 1, NEVER);
        }
        let tick = u32::try_from(due_ms.div_ceil(1 << TICK_SHIFT)).unwrap_or(NEVER);
        let tick = tick.clamp(self.last + 1, self.last + ROUND);
        if tick < self.set_for[slot] {
            self.set_for[slot] = tick;
            self.wheel[(tick % ROUND) as usize].push(slot as u32);
        }
    }

    /// Adds to `slots` those whose time has come, or may have.
    pub(super) fn expire(&mut self, now_ms: u64, slots: &mut Vec<u32>) {
        let now = u32::try_from(now_ms >> TICK_SHIFT).unwrap_or(NEVER - ROUND - 1);
        while self.last < now {
            self.last += 1;
            let list = &mut self.wheel[(self.last % ROUND) as usize];
            for slot in list.drain(..) {
                let set_for = &mut self.set_for[slot as usize];
                if *set_for == self.last {
                    *set_for = NEVER;
                    slots.push(slot);
                }
            }
            if list.capacity() > KEPT {
                *list = Vec::new();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expired(timers: &mut TimerWheel, now_ms: u64) -> Vec<u32> {
        let mut slots = Vec::new();
        timers.expire(now_ms, &mut slots);
        slots
    }

    #[test]
    fn expires_once_and_never_early() {
        let mut timers = TimerWheel::new();
        timers.arm(3, 1000);
        timers.arm(3, 5000);
        assert!(expired(&mut timers, 999).is_empty());
        assert_eq!(expired(&mut timers, 1000 + 128), [3]);
        assert!(expired(&mut timers, 60_000).is_empty());
    }

    #[test]
    fn an_earlier_time_counts() {
        let mut timers = TimerWheel::new();
        timers.arm(0, 75_000);
        timers.arm(0, 2000);
        assert_eq!(expired(&mut timers, 2200), [0]);
        timers.arm(0, 80_000);
        // The timer that was armed first has no meaning any more.
        assert!(expired(&mut timers, 79_000).is_empty());
        assert_eq!(expired(&mut timers, 81_000), [0]);
    }

    #[test]
    fn what_is_far_ahead_is_looked_at_once_a_round() {
        let mut timers = TimerWheel::new();
        timers.arm(1, u64::MAX);
        assert!(expired(&mut timers, 130_000).is_empty());
        assert_eq!(expired(&mut timers, 132_000), [1]);
    }
}
