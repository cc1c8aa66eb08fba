//! The highest rate at which latency stays below a bound.
//!
//! A closed loop says about how much the server can do. Open loops at rates above and below bisect, on a
//! logarithmic scale, between the highest that held and the lowest that did not; each rate is offered up to
//! three times, and the majority decides. What was found is then confirmed by a stage of its own: the best of
//! many tries is better than it deserves.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::level::Level;
use super::plan::Load;
use crate::Error;

/// What has to hold.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Goal {
    /// The percentile, from 0 to 100.
    pub percent: f64,
    /// What it must not exceed.
    pub seconds: f64,
}

/// What was found.
#[derive(Clone, Debug)]
pub struct Found {
    /// What had to hold.
    pub goal: Goal,
    /// The highest rate that held, and was confirmed; `None` where none did.
    pub rate: Option<f64>,
    /// The stage that confirmed it, or the last that tried to.
    pub confirmation: Level,
    /// All stages before, in their order.
    pub stages: Vec<SearchStage>,
}

/// One rate that was tried.
#[derive(Clone, Debug)]
pub struct SearchStage {
    /// Requests per second that were meant to start.
    pub rate: f64,
    /// The percentile; `None` where too few were answered.
    pub seconds: Option<f64>,
    /// Whether it held.
    pub held: bool,
    /// What was measured.
    pub level: Level,
}

/// Rates closer together than this are one.
const CLOSE: f64 = 1.03;
/// So many rates are tried at most.
const RATES_MAX: usize = 16;
/// How often a confirmation may fail.
const CONFIRMATIONS_MAX: usize = 6;
/// One request in so many may fail.
const FAILURES_SHARE: f64 = 0.001;
/// A stage has so many requests beyond the percentile at least, or it says nothing.
const BEYOND_MIN: f64 = 3.0;

impl Goal {
    /// Reads `p99<=5ms`.
    ///
    /// # Errors
    /// [`Error::Settings`] says how it is written.
    pub fn parse(text: &str, duration: impl Fn(&str) -> Option<Duration>) -> Result<Goal, Error> {
        let read = || {
            let (percent, limit) = text.split_once("<=")?;
            let percent: f64 = percent.trim().strip_prefix('p')?.parse().ok()?;
            let seconds = duration(limit.trim())?.as_secs_f64();
            let sensible = (1.0..100.0).contains(&percent) && seconds > 0.0;
            sensible.then_some(Goal { percent, seconds })
        };
        read().ok_or_else(|| Error::Settings(format!("{text:?} is no goal; write it as p99<=5ms")))
    }

    /// The percentile of a level, those without a response beyond all others.
    fn seconds_of(&self, level: &Level) -> Option<f64> {
        let answered = level.latency.count as f64;
        let share = self.percent / 100.0 * (answered + level.unanswered as f64) / answered.max(1.0);
        (answered > 0.0 && share <= 1.0).then(|| level.latency.quantile(share))
    }

    /// Latency counts from when requests were meant to start, so a late generator makes it no better.
    fn holds(&self, level: &Level) -> bool {
        let failed = level.failed as f64 / level.started.max(1) as f64;
        let in_time = self.seconds_of(level).is_some_and(|seconds| seconds <= self.seconds);
        in_time && failed <= FAILURES_SHARE
    }
}

/// Looks for the highest rate. `load` has connections and schedule; its duration is that of the confirmation,
/// and stages before last a fifth of it.
///
/// # Errors
/// Those of offering.
pub fn highest(
    goal: Goal,
    load: &Load,
    mut offer: impl FnMut(&Load) -> Result<Level, Error>,
) -> Result<Found, Error> {
    let short = (load.duration / 5).max(Duration::from_millis(200));
    let closed = Load { rate: None, duration: short, warm_up: short / 5, ..load.clone() };
    let capacity = offer(&closed)?;
    let mut stages = Vec::new();
    let mut held = |rate: f64, stages: &mut Vec<SearchStage>| -> Result<bool, Error> {
        let requests = BEYOND_MIN / (1.0 - goal.percent / 100.0);
        let least = Duration::from_secs_f64((requests / rate).clamp(0.0, 60.0));
        let stage = Load { rate: Some(rate), duration: short.max(least), warm_up: short / 5, ..load.clone() };
        let (mut yes, mut no) = (0, 0);
        while yes < 2 && no < 2 {
            let level = offer(&stage)?;
            let holds = goal.holds(&level);
            stages.push(SearchStage { rate, seconds: goal.seconds_of(&level), held: holds, level });
            if holds { yes += 1 } else { no += 1 }
        }
        Ok(yes > no)
    };
    let mut bounds = Bounds { low: None, high: None };
    let mut rate = capacity.completed_per_second / 2.0;
    for _ in 0..RATES_MAX {
        if capacity.completed == 0 {
            break;
        }
        if held(rate, &mut stages)? {
            bounds.low = Some(rate)
        } else {
            bounds.high = Some(rate)
        }
        match bounds.next(capacity.completed_per_second) {
            Some(next) => rate = next,
            None => break,
        }
    }
    confirm(goal, load, bounds.low, stages, capacity, offer)
}

/// What is known of the rate.
struct Bounds {
    low: Option<f64>,
    high: Option<f64>,
}

impl Bounds {
    fn next(&self, capacity: f64) -> Option<f64> {
        match (self.low, self.high) {
            (Some(low), Some(high)) => (high / low > CLOSE).then(|| (low * high).sqrt()),
            (Some(low), None) => Some(low * 1.5),
            (None, Some(high)) => (high > capacity / 1000.0 && high > 0.5).then_some(high / 3.0),
            (None, None) => None,
        }
    }
}

fn confirm(
    goal: Goal,
    load: &Load,
    rate: Option<f64>,
    stages: Vec<SearchStage>,
    capacity: Level,
    mut offer: impl FnMut(&Load) -> Result<Level, Error>,
) -> Result<Found, Error> {
    let Some(mut rate) = rate else {
        return Ok(Found { goal, rate: None, confirmation: capacity, stages });
    };
    let mut confirmation = capacity;
    for _ in 0..CONFIRMATIONS_MAX {
        let stage = Load { rate: Some(rate), warm_up: load.duration / 10, ..load.clone() };
        confirmation = offer(&stage)?;
        if goal.holds(&confirmation) {
            return Ok(Found { goal, rate: Some(rate), confirmation, stages });
        }
        rate /= CLOSE;
    }
    Ok(Found { goal, rate: None, confirmation, stages })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goals_are_read() {
        let parse = |text: &str| {
            Goal::parse(text, |time| time.strip_suffix("ms")?.parse().ok().map(Duration::from_millis))
        };
        assert_eq!(parse("p99<=5ms").ok(), Some(Goal { percent: 99.0, seconds: 0.005 }));
        assert_eq!(parse("p99.9 <= 20ms").ok(), Some(Goal { percent: 99.9, seconds: 0.020 }));
        for wrong in ["p99<5ms", "99<=5ms", "p100<=5ms", "p99<=soon", "p99<=0ms"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn bounds_close_in() {
        let mut bounds = Bounds { low: None, high: None };
        let mut rate = 500.0;
        for _ in 0..20 {
            if rate <= 123.0 {
                bounds.low = Some(rate)
            } else {
                bounds.high = Some(rate)
            }
            match bounds.next(1000.0) {
                Some(next) => rate = next,
                None => break,
            }
        }
        let low = bounds.low.unwrap();
        assert!(low <= 123.0 && low * CLOSE > 123.0, "{low}");
    }
}
