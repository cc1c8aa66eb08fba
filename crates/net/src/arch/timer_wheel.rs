//! Time limits of connections: a timer wheel of coarse ticks.
//!
//! A slot has at most one timer, which belongs to the slot rather than to its connection. A timer is never
//! moved back: an owner that it wakes too early arms it again. So extending a limit, which every request
//! does, costs one comparison, and connections that come and go leave nothing behind.

/// A timer expires up to this much late, and up to a turn of its loop later.
const TICK_SHIFT: u32 = 7;

/// Ticks of one round, about two minutes; what lies farther ahead expires once a round.
const ROUND: u32 = 1024;

/// A tick that never comes.
const NEVER: u32 = u32::MAX;

/// A tick's list that grew beyond this is not kept.
const KEPT: usize = 4096;

/// The timers of all slots.
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
