//! The highest rate at which latency stays below a bound.
//!
//! A closed loop says about how much the server can do. Open loops at rates above and below bisect, on a
//! logarithmic scale, between the highest that held and the lowest that did not; each rate is offered until
//! the same came of two stages. A stage that the load generator limited says nothing of the server. What was
//! found is then confirmed by a stage of its own: the best of many tries is better than it deserves.

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
    /// The highest rate that met the goal; `None` where none did.
    pub rate: Option<f64>,
    /// Whether a stage of its own confirmed it, in which the load generator was not the limit.
    pub confirmed: bool,
    /// The stage that confirmed it, or the best that there is.
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
    /// What came of it.
    pub outcome: StageOutcome,
    /// What was measured.
    pub level: Level,
}

/// What came of a rate that was tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StageOutcome {
    /// The goal was met.
    Holds,
    /// It was not.
    Fails,
    /// The load generator was the limit, and the server may do better.
    Limited,
}

/// Rates closer together than this are one.
const CLOSE: f64 = 1.03;
/// So many rates are tried at most.
const RATES_MAX: usize = 16;
/// How often a confirmation may fail.
const CONFIRMATIONS_MAX: usize = 6;
/// One request in so many may fail.
const FAILURES_SHARE: f64 = 0.001;
/// At this part of its capacity a server is all but idle.
const IDLE: f64 = 10.0;
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
/// and stages before last a fifth of it. `is_limited` says of a level whether the load generator limited it.
///
/// # Errors
/// Those of offering.
pub fn highest(
    goal: Goal,
    load: &Load,
    is_limited: impl Fn(&Level) -> bool,
    offer: impl FnMut(&Load) -> Result<Level, Error>,
) -> Result<Found, Error> {
    let short = (load.duration / 5).max(Duration::from_millis(200));
    let mut search = Search { goal, load, short, is_limited, offer, offered: 0, stages: Vec::new() };
    let closed = Load { rate: None, duration: short, warm_up: short / 5, ..load.clone() };
    let capacity = search.offer(closed)?;
    let mut bounds = Bounds::new(capacity.completed_per_second, search.lowest(&capacity));
    for _ in 0..RATES_MAX {
        let Some(rate) = bounds.next().filter(|_| capacity.completed > 0) else { break };
        match search.outcome(rate)? {
            StageOutcome::Holds => bounds.low = Some(rate),
            StageOutcome::Fails | StageOutcome::Limited => bounds.high = Some(rate),
        }
    }
    search.confirm(bounds.low, capacity)
}

/// What a search needs at every stage.
struct Search<'a, L, O> {
    goal: Goal,
    load: &'a Load,
    short: Duration,
    is_limited: L,
    offer: O,
    /// How many loads were offered.
    offered: u64,
    stages: Vec<SearchStage>,
}

impl<L: Fn(&Level) -> bool, O: FnMut(&Load) -> Result<Level, Error>> Search<'_, L, O> {
    /// Offers a load with arrivals of its own.
    fn offer(&mut self, load: Load) -> Result<Level, Error> {
        let load = Load { number: self.offered, ..load };
        self.offered += 1;
        (self.offer)(&load)
    }

    /// Requests that a stage needs to know its percentile.
    fn requests(&self) -> f64 {
        BEYOND_MIN / (1.0 - self.goal.percent / 100.0)
    }

    /// The lowest rate that is tried: a short stage knows its percentile, and the server is almost idle.
    fn lowest(&self, capacity: &Level) -> f64 {
        let known = self.requests() / self.short.as_secs_f64();
        known.min(capacity.completed_per_second / IDLE)
    }

    /// Offers a rate until the same came of two stages.
    fn outcome(&mut self, rate: f64) -> Result<StageOutcome, Error> {
        let least = Duration::from_secs_f64((self.requests() / rate).clamp(0.0, 60.0));
        let (duration, warm_up) = (self.short.max(least), self.short / 5);
        let stage = Load { rate: Some(rate), duration, warm_up, ..self.load.clone() };
        let first = self.stages.len();
        loop {
            let level = self.offer(stage.clone())?;
            let outcome = self.judge(&level);
            let seconds = self.goal.seconds_of(&level);
            self.stages.push(SearchStage { rate, seconds, outcome, level });
            if self.stages[first..].iter().filter(|stage| stage.outcome == outcome).count() == 2 {
                return Ok(outcome);
            }
        }
    }

    /// Where the load generator was the limit, neither success nor failure is that of the server.
    fn judge(&self, level: &Level) -> StageOutcome {
        match self.goal.holds(level) {
            _ if (self.is_limited)(level) => StageOutcome::Limited,
            true => StageOutcome::Holds,
            false => StageOutcome::Fails,
        }
    }

    fn confirm(mut self, rate: Option<f64>, capacity: Level) -> Result<Found, Error> {
        let Some(mut rate) = rate else { return Ok(self.unconfirmed(capacity)) };
        let mut confirmation = capacity;
        for _ in 0..CONFIRMATIONS_MAX {
            let stage = Load { rate: Some(rate), warm_up: self.load.duration / 10, ..self.load.clone() };
            confirmation = self.offer(stage)?;
            if self.judge(&confirmation) == StageOutcome::Holds {
                let (goal, stages) = (self.goal, self.stages);
                return Ok(Found { goal, rate: Some(rate), confirmed: true, confirmation, stages });
            }
            rate /= CLOSE;
        }
        match self.judge(&confirmation) {
            StageOutcome::Limited => Ok(self.unconfirmed(confirmation)),
            _ => {
                Ok(Found { goal: self.goal, rate: None, confirmed: false, confirmation, stages: self.stages })
            }
        }
    }

    /// Latency counts from when requests were meant to start, so a goal that was met with a limited load
    /// generator is one that the server meets: the highest such rate below all that failed is what is known.
    fn unconfirmed(self, last: Level) -> Found {
        let (goal, stages) = (self.goal, self.stages);
        let failed = stages.iter().filter(|stage| stage.outcome == StageOutcome::Fails);
        let failed = failed.map(|stage| stage.rate).fold(f64::INFINITY, f64::min);
        let met = |stage: &&SearchStage| stage.rate < failed && goal.holds(&stage.level);
        let best = stages.iter().filter(met).max_by(|one, other| one.rate.total_cmp(&other.rate));
        let (rate, confirmation) = match best {
            Some(best) => (Some(best.rate), best.level.clone()),
            None => (None, last),
        };
        Found { goal, rate, confirmed: false, confirmation, stages }
    }
}

/// What is known of the rate.
struct Bounds {
    capacity: f64,
    lowest: f64,
    low: Option<f64>,
    high: Option<f64>,
}

impl Bounds {
    fn new(capacity: f64, lowest: f64) -> Bounds {
        Bounds { capacity, lowest, low: None, high: None }
    }

    /// The rate to try next. After a first failure it is the lowest: a goal that fails there is beyond reach.
    fn next(&self) -> Option<f64> {
        match (self.low, self.high) {
            (Some(low), Some(high)) => (high / low > CLOSE).then(|| (low * high).sqrt()),
            (Some(low), None) => Some(low * 1.5),
            (None, Some(high)) => (high > self.lowest).then_some(self.lowest),
            (None, None) => Some(self.capacity / 2.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::load::Measured;
    use crate::load::histogram::Times;
    use crate::load::measured::Slice;
    use crate::load::watch::Watch;

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

    /// A level in which every response takes so long.
    fn level(load: &Load, per_second: f64, latency_ns: u64) -> Level {
        let times = || Times::new().unwrap();
        let mut latency = times();
        (0..1000).for_each(|_| latency.record(latency_ns));
        let completed = (per_second * load.duration.as_secs_f64()) as u64;
        let seconds = load.duration.as_secs_f64();
        let measured = Measured {
            connections: load.connections,
            elapsed_seconds: seconds,
            intended: load.rate.map(|_| completed),
            started: completed,
            completed,
            failed: 0,
            timed_out: 0,
            late: 0,
            unanswered: 0,
            connected: 0,
            sent_bytes: 0,
            received_bytes: 0,
            service: times(),
            lag: times(),
            lateness: times(),
            connect: times(),
            handshake: times(),
            slices: vec![Slice { begin_seconds: 0.0, seconds, started: completed, completed, latency }],
            failures: Vec::new(),
            statuses: Default::default(),
            watch: Watch::default(),
        };
        Level::of(load, vec![measured]).unwrap()
    }

    /// A server of 1 ms that does so many requests a second at most, and a load generator that keeps up to a
    /// rate: what is found for a goal of so many milliseconds, and after how many stages.
    fn search(capacity: f64, generator: f64, goal_ms: f64) -> (Found, usize) {
        let goal = Goal { percent: 99.0, seconds: goal_ms / 1e3 };
        let offered = Cell::new(0);
        let offer = |load: &Load| {
            offered.set(offered.get() + 1);
            let rate = load.rate.unwrap_or(capacity);
            let slow = if rate > capacity * 0.9 { 1_000_000_000 } else { 1_000_000 };
            Ok(level(load, rate.min(capacity), slow))
        };
        let is_limited = |level: &Level| level.load.rate.is_some_and(|rate| rate > generator);
        let found = highest(goal, &Load::default(), is_limited, offer).unwrap();
        (found, offered.get())
    }

    #[test]
    fn the_highest_rate_is_found() {
        let (found, _) = search(20_000.0, f64::INFINITY, 5.0);
        let rate = found.rate.unwrap();
        assert!((17_400.0..=18_000.0).contains(&rate), "{rate}");
    }

    #[test]
    fn nothing_is_confirmed_that_the_load_generator_limited() {
        let (found, _) = search(20_000.0, 12_000.0, 5.0);
        let rate = found.rate.unwrap();
        assert!((11_600.0..=12_000.0).contains(&rate), "{rate}");
        let lowest_above = found.stages.iter().filter(|stage| stage.rate > rate);
        assert!(lowest_above.clone().count() > 0);
        assert!(lowest_above.clone().all(|stage| stage.outcome == StageOutcome::Limited));
        assert!(found.confirmed);
        let (found, _) = search(20_000.0, 0.0, 5.0);
        assert_eq!((found.rate, found.confirmed), (Some(10_000.0), false), "half the capacity met the goal");
    }

    #[test]
    fn a_goal_beyond_reach_ends_the_search() {
        let (found, offered) = search(20_000.0, f64::INFINITY, 0.5);
        assert_eq!((found.rate, offered), (None, 5), "the capacity, half of it twice, the lowest rate twice");
        assert_eq!(search(0.0, f64::INFINITY, 5.0).1, 1, "no response, no search");
    }
}
