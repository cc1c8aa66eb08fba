//! What a search is for: a percentile that must not exceed a time.

use record::units;
use serde::{Deserialize, Serialize};

use super::level::Level;
use crate::Error;

/// What has to hold.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Goal {
    /// The percentile, from 0 to 100.
    pub percent: f64,
    /// What it must not exceed.
    pub seconds: f64,
}

/// One request in so many may fail.
const FAILURES_SHARE: f64 = 0.001;
/// A stage has so many requests beyond the percentile at least, or it says nothing.
const BEYOND_MIN: f64 = 3.0;

impl Goal {
    /// Reads `p99<=5ms`.
    ///
    /// # Errors
    /// [`Error::Settings`] says how it is written.
    pub fn parse(text: &str) -> Result<Goal, Error> {
        let read = || {
            let (percent, limit) = text.split_once("<=")?;
            let percent: f64 = percent.trim().strip_prefix('p')?.parse().ok()?;
            let seconds = units::time(limit.trim()).ok()?.as_secs_f64();
            let sensible = (1.0..100.0).contains(&percent) && seconds > 0.0;
            sensible.then_some(Goal { percent, seconds })
        };
        read().ok_or_else(|| Error::Settings(format!("{text:?} is no goal; write it as p99<=5ms")))
    }

    /// The percentile of a level, those without a response beyond all others.
    pub(super) fn seconds_of(&self, level: &Level) -> Option<f64> {
        let answered = level.latency.count as f64;
        let share = self.percent / 100.0 * (answered + level.unanswered as f64) / answered.max(1.0);
        (answered > 0.0 && share <= 1.0).then(|| level.latency.quantile(share))
    }

    /// Latency counts from when requests were meant to start, so a late generator makes it no better.
    pub(super) fn holds(&self, level: &Level) -> bool {
        let failed = level.failed as f64 / level.started.max(1) as f64;
        let in_time = self.seconds_of(level).is_some_and(|seconds| seconds <= self.seconds);
        in_time && failed <= FAILURES_SHARE
    }

    /// Requests that a stage needs to know its percentile.
    pub(super) fn requests(&self) -> f64 {
        BEYOND_MIN / (1.0 - self.percent / 100.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goals_are_read() {
        assert_eq!(Goal::parse("p99<=5ms").ok(), Some(Goal { percent: 99.0, seconds: 0.005 }));
        assert_eq!(Goal::parse("p99.9 <= 20ms").ok(), Some(Goal { percent: 99.9, seconds: 0.020 }));
        for wrong in ["p99<5ms", "99<=5ms", "p100<=5ms", "p99<=soon", "p99<=5", "p99<=0ms"] {
            assert!(Goal::parse(wrong).is_err(), "{wrong}");
        }
    }
}
