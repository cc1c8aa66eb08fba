//! The clock of a worker against that of the coordinator, from round trips (Cristian 1989; RFC 5905, section
//! 8).
//!
//! The worker reads its clock at some moment of a round trip. So its offset is known to half of the delay,
//! whatever the delays there and back are, and the round trip with the smallest delay knows it best. An
//! exchange before a level and one after it bound the drift between them.

/// Round trips of an exchange.
pub(super) const ROUND_TRIPS: usize = 32;

/// The most by which two clocks can drift apart, as a share of the time: each runs at most 500 parts in a
/// million fast or slow, the limit of adjtimex(2). What is more is a step.
const DRIFT_MAX: f64 = 1e-3;

/// One round trip, by the clock of the coordinator and that of the worker.
#[derive(Clone, Copy, Debug)]
pub(super) struct RoundTrip {
    pub(super) sent_ns: u64,
    pub(super) received_ns: u64,
    pub(super) worker_ns: u64,
}

impl RoundTrip {
    fn delay_ns(&self) -> u64 {
        self.received_ns.saturating_sub(self.sent_ns)
    }

    /// The least and the largest offset that it allows.
    fn bounds(&self) -> (i64, i64) {
        let from = |coordinator_ns: u64| self.worker_ns.wrapping_sub(coordinator_ns) as i64;
        (from(self.received_ns), from(self.sent_ns))
    }
}

/// How far the clock of a worker is ahead of the coordinator's, at one moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ClockOffset {
    offset_ns: i64,
    /// The offset is off by this much at most.
    error_ns: u64,
    /// The moment, by the coordinator's clock.
    at_ns: u64,
    /// The longest delay there and back.
    pub(super) delay_max_ns: u64,
    /// How far it moved during the exchange, beyond the errors and the possible drift.
    stepped_ns: f64,
}

impl ClockOffset {
    /// The offset by the round trip with the smallest delay; `None` without round trips.
    pub(super) fn from_round_trips(trips: &[RoundTrip]) -> Option<ClockOffset> {
        let best = trips.iter().min_by_key(|trip| trip.delay_ns())?;
        let lower = trips.iter().map(|trip| trip.bounds().0).max()?;
        let upper = trips.iter().map(|trip| trip.bounds().1).min()?;
        let first_ns = trips.iter().map(|trip| trip.sent_ns).min()?;
        let last_ns = trips.iter().map(|trip| trip.received_ns).max()?;
        let (low, high) = best.bounds();
        Some(ClockOffset {
            offset_ns: low + (high - low) / 2,
            error_ns: best.delay_ns().div_ceil(2),
            at_ns: best.sent_ns + best.delay_ns() / 2,
            delay_max_ns: trips.iter().map(RoundTrip::delay_ns).max()?,
            // No clock that is steady allows all of them if this is more than nothing.
            stepped_ns: ((lower - upper) as f64 - DRIFT_MAX * (last_ns - first_ns) as f64).max(0.0),
        })
    }

    /// A moment of the coordinator by the clock of the worker.
    pub(super) fn at_worker_ns(&self, coordinator_ns: u64) -> u64 {
        coordinator_ns.wrapping_add_signed(self.offset_ns)
    }
}

/// The clock of a worker during a level, between two exchanges.
#[derive(Clone, Copy, Debug)]
pub(super) struct LevelClock {
    pub(super) before: ClockOffset,
    pub(super) after: ClockOffset,
}

impl LevelClock {
    /// How far the clock was set, at least, in an exchange or between them; `None` where it was not.
    pub(super) fn step_seconds(&self) -> Option<f64> {
        let LevelClock { before, after } = self;
        let moved_ns = after.offset_ns.wrapping_sub(before.offset_ns).unsigned_abs() as f64;
        let elapsed_ns = after.at_ns.saturating_sub(before.at_ns) as f64;
        let possible_ns = (before.error_ns + after.error_ns) as f64 + DRIFT_MAX * elapsed_ns;
        let stepped_ns = (moved_ns - possible_ns).max(before.stepped_ns).max(after.stepped_ns);
        (stepped_ns > 0.0).then_some(stepped_ns / 1e9)
    }

    /// A moment of the worker by the clock of the coordinator, in nanoseconds.
    pub(super) fn coordinator_ns(&self, worker_ns: u64) -> f64 {
        let (from, to) = (self.before, self.after);
        let (from_worker, to_worker) = (from.at_worker_ns(from.at_ns), to.at_worker_ns(to.at_ns));
        let span = to_worker.wrapping_sub(from_worker) as i64 as f64;
        let rate = if span > 0.0 { (to.at_ns - from.at_ns) as f64 / span } else { 1.0 };
        from.at_ns as f64 + worker_ns.wrapping_sub(from_worker) as i64 as f64 * rate
    }

    /// How far such a moment can be off.
    pub(super) fn error_ns(&self) -> f64 {
        self.before.error_ns.max(self.after.error_ns) as f64
    }

    pub(super) fn offset_seconds(&self) -> f64 {
        self.before.offset_ns as f64 / 1e9
    }

    /// How fast it drifted, as a share of the time.
    pub(super) fn drift(&self) -> f64 {
        let elapsed_ns = self.after.at_ns.saturating_sub(self.before.at_ns).max(1) as f64;
        (self.after.offset_ns - self.before.offset_ns) as f64 / elapsed_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;
    const AHEAD_NS: u64 = 5 * SECOND;

    /// A round trip with these delays, to a worker whose clock is ahead.
    fn trip(sent_ns: u64, there_ns: u64, back_ns: u64, ahead_ns: u64) -> RoundTrip {
        let worker_ns = sent_ns + there_ns + ahead_ns;
        RoundTrip { sent_ns, received_ns: sent_ns + there_ns + back_ns, worker_ns }
    }

    fn offset(trips: &[RoundTrip]) -> ClockOffset {
        ClockOffset::from_round_trips(trips).expect("round trips")
    }

    #[test]
    fn the_round_trip_with_the_smallest_delay_counts() {
        let trips = [trip(0, 900_000, 100, AHEAD_NS), trip(2_000_000, 40_000, 60_000, AHEAD_NS)];
        let offset = offset(&trips);
        assert_eq!((offset.error_ns, offset.delay_max_ns), (50_000, 900_100));
        assert!(offset.offset_ns.abs_diff(AHEAD_NS as i64) <= offset.error_ns, "{offset:?}");
        assert_eq!(offset.stepped_ns, 0.0);
        assert_eq!(ClockOffset::from_round_trips(&[]), None);
    }

    #[test]
    fn a_step_is_found_within_an_exchange_and_between_two() {
        let trips = |ahead_ns| [trip(0, 50, 50, AHEAD_NS), trip(1_000, 50, 50, ahead_ns)];
        let steady = offset(&trips(AHEAD_NS));
        assert_eq!(LevelClock { before: steady, after: steady }.step_seconds(), None);
        for ahead_ns in [AHEAD_NS + SECOND, AHEAD_NS - SECOND] {
            let within = LevelClock { before: steady, after: offset(&trips(ahead_ns)) };
            assert!((within.step_seconds().expect("a step") - 1.0).abs() < 0.001, "{within:?}");
            let after = offset(&[trip(600 * SECOND, 50, 50, ahead_ns)]);
            let between = LevelClock { before: steady, after }.step_seconds().expect("a step");
            assert!((between - 0.4).abs() < 0.001, "less the drift of ten minutes: {between}");
        }
    }

    #[test]
    fn moments_are_right_while_a_clock_drifts() {
        let begin_ns = 7_000;
        let drifting = |at_ns: u64| at_ns + AHEAD_NS + (at_ns - begin_ns) / 10_000;
        let exact = |at_ns: u64| RoundTrip { sent_ns: at_ns, received_ns: at_ns, worker_ns: drifting(at_ns) };
        let (before, after) = (offset(&[exact(begin_ns)]), offset(&[exact(begin_ns + 100 * SECOND)]));
        let clock = LevelClock { before, after };
        assert_eq!(clock.step_seconds(), None, "one part in ten thousand is a drift");
        assert!((clock.drift() - 1e-4).abs() < 1e-9);
        for seconds in [0, 10, 50, 100] {
            let at_ns = begin_ns + seconds * SECOND;
            let found = clock.coordinator_ns(drifting(at_ns));
            assert!((found - at_ns as f64).abs() < 10.0, "{found} for {at_ns}");
        }
    }
}
