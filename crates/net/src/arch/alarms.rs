//! When to look after a connection although nothing happens on it: a wheel of coarse ticks.
//!
//! A connection has at most one alarm that counts, and it belongs to the connection's place rather than to
//! the connection. An alarm is never moved back: whoever is rung too early sets it anew. So to go on waiting,
//! which every request does, costs one comparison, and connections that come and go leave nothing behind.

/// An alarm rings up to this much late, and up to a turn of its loop later.
const TICK_SHIFT: u32 = 7;

/// Ticks of one round, about two minutes; what lies farther ahead is rung once a round.
const ROUND: u32 = 1024;

/// A tick that never comes.
const NEVER: u32 = u32::MAX;

/// A tick's list that grew beyond this is not kept.
const KEPT: usize = 4096;

/// The alarms of all places.
#[derive(Debug)]
pub(super) struct Alarms {
    wheel: Vec<Vec<u32>>,
    /// For each place the tick at which it will be rung.
    set_for: Vec<u32>,
    /// The last tick that has rung.
    rung: u32,
}

impl Alarms {
    pub(super) fn new() -> Alarms {
        Alarms { wheel: vec![Vec::new(); ROUND as usize], set_for: Vec::new(), rung: 0 }
    }

    /// Has the place rung at that time at the latest.
    #[inline]
    pub(super) fn set(&mut self, place: usize, due_ms: u64) {
        if place >= self.set_for.len() {
            self.set_for.resize(place + 1, NEVER);
        }
        let tick = u32::try_from(due_ms.div_ceil(1 << TICK_SHIFT)).unwrap_or(NEVER);
        let tick = tick.clamp(self.rung + 1, self.rung + ROUND);
        if tick < self.set_for[place] {
            self.set_for[place] = tick;
            self.wheel[(tick % ROUND) as usize].push(place as u32);
        }
    }

    /// Adds to `places` those whose time has come, or may have.
    pub(super) fn ring(&mut self, now_ms: u64, places: &mut Vec<u32>) {
        let now = u32::try_from(now_ms >> TICK_SHIFT).unwrap_or(NEVER - ROUND - 1);
        while self.rung < now {
            self.rung += 1;
            let list = &mut self.wheel[(self.rung % ROUND) as usize];
            for place in list.drain(..) {
                let set_for = &mut self.set_for[place as usize];
                if *set_for == self.rung {
                    *set_for = NEVER;
                    places.push(place);
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

    fn rung(alarms: &mut Alarms, now_ms: u64) -> Vec<u32> {
        let mut places = Vec::new();
        alarms.ring(now_ms, &mut places);
        places
    }

    #[test]
    fn rings_once_and_never_early() {
        let mut alarms = Alarms::new();
        alarms.set(3, 1000);
        alarms.set(3, 5000);
        assert!(rung(&mut alarms, 999).is_empty());
        assert_eq!(rung(&mut alarms, 1000 + 128), [3]);
        assert!(rung(&mut alarms, 60_000).is_empty());
    }

    #[test]
    fn an_earlier_time_counts() {
        let mut alarms = Alarms::new();
        alarms.set(0, 75_000);
        alarms.set(0, 2000);
        assert_eq!(rung(&mut alarms, 2200), [0]);
        alarms.set(0, 80_000);
        // The alarm first set has no meaning any more.
        assert!(rung(&mut alarms, 79_000).is_empty());
        assert_eq!(rung(&mut alarms, 81_000), [0]);
    }

    #[test]
    fn what_is_far_ahead_is_looked_at_once_a_round() {
        let mut alarms = Alarms::new();
        alarms.set(1, u64::MAX);
        assert!(rung(&mut alarms, 130_000).is_empty());
        assert_eq!(rung(&mut alarms, 132_000), [1]);
    }
}
