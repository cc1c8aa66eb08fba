//! The highest rate at which latency stays below a bound.
//!
//! A closed loop shows the approximate capacity of the server. Open loops at rates above and below follow,
//! each with arrivals of its own: a stage meets the goal or not, and a neighbour on the machine can spoil any
//! of them. So no stage decides. The rate that half of the undisturbed stages meet is estimated from all of
//! them ([`stats::threshold`]), the next stage is at the estimate, and the search ends when its interval is
//! narrow. The low end of the interval is then confirmed by a longer stage of its own.
//!
//! Latency counts from when requests were meant to start. A goal that is met although the load generator was
//! late is met by the server; if it is not met, the load generator may be the cause.

use std::time::Duration;

use record::units;
use serde::{Deserialize, Serialize};
use stats::{Attempt, threshold};

use super::level::Level;
use super::plan::Load;
use crate::Error;

/// The result of a search.
#[derive(Clone, Debug)]
pub struct Found {
    /// The goal.
    pub goal: Goal,
    /// The rate that half of the stages meet, above which most do not; `None` where no stage met the goal.
    pub rate: Option<f64>,
    /// Its 95 % interval.
    pub interval: Option<(f64, f64)>,
    /// How long stages are, unless few requests make them longer.
    pub stage_seconds: f64,
    /// Whether a longer stage at the low end of the interval, or just below, met the goal.
    pub confirmed: bool,
    /// That stage, or the last.
    pub confirmation: Level,
    /// All stages before, in their order.
    pub stages: Vec<SearchStage>,
}

/// One stage.
#[derive(Clone, Debug)]
pub struct SearchStage {
    /// Requests per second that were meant to start.
    pub rate: f64,
    /// The percentile; `None` with too few responses.
    pub seconds: Option<f64>,
    /// Its outcome.
    pub outcome: StageOutcome,
    /// Its measurements.
    pub level: Level,
}

/// The outcome of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StageOutcome {
    /// The goal was met.
    Holds,
    /// It was not.
    Fails,
    /// It was not, and the load generator was the limit: the server may meet it at higher rates.
    Limited,
}

/// Rates are tried in steps of this factor, so that a rate near the boundary is tried again and again.
const STEP: f64 = 1.02;
/// The interval is narrow when its ends are within this factor.
const NARROW: f64 = 1.08;
/// So many stages there are at least before the search ends, and at most.
const STAGES_MIN: usize = 12;
const STAGES_MAX: usize = 40;
/// So much higher is the next rate while all were met.
const RISE: f64 = 1.5;
/// The threshold is searched this far beyond the rates that were tried.
const MARGIN: f64 = 2.0;
/// How many confirmations there are at most, and how much lower the second is than the first. From then on
/// the step doubles: a longer stage meets events that are too rare for a short one.
const CONFIRMATIONS_MAX: usize = 5;
const FALL: f64 = 1.05;
/// The least length of a stage, unless the confirmation is shorter: a shorter one fits between two moments in
/// which others have the processor.
const STAGE_MIN: Duration = Duration::from_millis(500);
/// This many failed stages at a rate where the server is almost idle put the goal beyond reach.
const HOPELESS: usize = 4;
/// At this part of its capacity a server is almost idle.
const IDLE: f64 = 10.0;
/// The length of a stage in lengths of the goal: a server that falls behind by a twentieth is detected.
const GOALS: u32 = 20;

/// Looks for the highest rate. `load` has connections and schedule; its duration is that of the confirmation,
/// and stages before last a tenth of it, or longer where few requests or a slow goal need it. `is_limited`
/// returns whether the load generator limited a level.
///
/// # Errors
/// Those of offering.
pub fn highest(
    goal: Goal,
    load: &Load,
    is_limited: impl Fn(&Level) -> bool,
    offer: impl FnMut(&Load) -> Result<Level, Error>,
) -> Result<Found, Error> {
    let slow = Duration::from_secs_f64(goal.seconds).saturating_mul(GOALS).min(load.duration);
    let short = (load.duration / 10).max(STAGE_MIN.min(load.duration)).max(slow);
    let mut search = Search { goal, load, short, is_limited, offer, offered: 0, stages: Vec::new() };
    let closed = Load { rate: None, duration: short, warm_up: short / 5, ..load.clone() };
    let capacity = search.offer(closed)?;
    if capacity.requests.completed > 0 {
        let per_second = capacity.completed_per_second;
        let lowest = (goal.requests() / short.as_secs_f64()).min(per_second / IDLE);
        while let Some(rate) = search.next(per_second, lowest) {
            search.attempt(rate)?;
        }
    }
    search.confirm(capacity)
}

/// The parameters of a search that hold for every stage.
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

    /// The rate of the next stage; `None` at the end of the search.
    fn next(&self, capacity: f64, lowest: f64) -> Option<f64> {
        let at = |rate: f64| capacity * STEP.powf((rate / capacity).log(STEP).round());
        let (lowest, count) = (at(lowest), self.stages.len());
        let highest = self.stages.iter().map(|stage| stage.rate).fold(0.0, f64::max);
        let held = self.stages.iter().filter(|stage| stage.outcome == StageOutcome::Holds).count();
        match self.estimate() {
            None => Some(at(capacity / 2.0)),
            _ if held == 0 => {
                let tried = self.stages.iter().filter(|stage| stage.rate <= lowest).count();
                (tried < HOPELESS).then_some(lowest)
            }
            _ if held == count => (count < STAGES_MAX).then(|| at(highest * RISE)),
            Some((_, (low, high))) if high / low <= NARROW && count >= STAGES_MIN => None,
            Some((rate, _)) => (count < STAGES_MAX).then(|| at(rate)),
        }
    }

    /// The estimate of the rate so far, with its interval.
    fn estimate(&self) -> Option<(f64, (f64, f64))> {
        let rates = self.stages.iter().map(|stage| stage.rate);
        let lowest = rates.clone().reduce(f64::min)?;
        let highest = rates.fold(0.0, f64::max);
        let attempt = |stage: &SearchStage| Attempt {
            level: stage.rate.ln(),
            has_held: stage.outcome == StageOutcome::Holds,
        };
        let attempts: Vec<Attempt> = self.stages.iter().map(attempt).collect();
        let found = threshold(&attempts, (lowest / MARGIN).ln(), (highest * MARGIN).ln());
        Some((found.median.exp(), (found.low.exp(), found.high.exp())))
    }

    /// One stage at this rate.
    fn attempt(&mut self, rate: f64) -> Result<(), Error> {
        let least = Duration::from_secs_f64((self.goal.requests() / rate).clamp(0.0, 60.0));
        let (duration, warm_up) = (self.short.max(least), self.short / 5);
        let level = self.offer(Load { rate: Some(rate), duration, warm_up, ..self.load.clone() })?;
        let (outcome, seconds) = (self.judge(&level), self.goal.seconds_of(&level));
        self.stages.push(SearchStage { rate, seconds, outcome, level });
        Ok(())
    }

    fn judge(&self, level: &Level) -> StageOutcome {
        match self.goal.holds(level) {
            true => StageOutcome::Holds,
            false if (self.is_limited)(level) => StageOutcome::Limited,
            false => StageOutcome::Fails,
        }
    }

    fn confirm(mut self, capacity: Level) -> Result<Found, Error> {
        let (goal, stage_seconds) = (self.goal, self.short.as_secs_f64());
        let held = self.stages.iter().any(|stage| stage.outcome == StageOutcome::Holds);
        let Some((rate, interval)) = self.estimate().filter(|_| held) else {
            let confirmation = self.stages.last().map_or(capacity, |stage| stage.level.clone());
            let (stages, confirmed) = (self.stages, false);
            let (rate, interval) = (None, None);
            return Ok(Found { goal, rate, interval, stage_seconds, confirmed, confirmation, stages });
        };
        let mut confirmation = capacity;
        let mut confirmed = false;
        let (mut low, mut fall) = (interval.0, FALL);
        for _ in 0..CONFIRMATIONS_MAX {
            let warm_up = self.load.duration / 10;
            confirmation = self.offer(Load { rate: Some(low), warm_up, ..self.load.clone() })?;
            confirmed = self.goal.holds(&confirmation);
            if confirmed {
                break;
            }
            low /= fall;
            fall *= fall;
        }
        let (rate, interval, stages) = (Some(rate), Some(interval), self.stages);
        Ok(Found { goal, rate, interval, stage_seconds, confirmed, confirmation, stages })
    }
}

/// A percentile that must not exceed a time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Goal {
    /// Percent of the percentile.
    pub percent: f64,
    /// Its time.
    pub seconds: f64,
}

/// The share of requests that may fail.
const FAILURES_SHARE: f64 = 0.001;
/// Requests of a stage beyond the percentile; with fewer it means nothing.
const BEYOND_MIN: f64 = 3.0;

impl Goal {
    /// Reads `p99<=5ms`.
    ///
    /// # Errors
    /// [`Error::Settings`] has a correct example.
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
    fn seconds_of(&self, level: &Level) -> Option<f64> {
        let answered = level.latency.count as f64;
        let share = self.percent / 100.0 * (answered + level.requests.unanswered as f64) / answered.max(1.0);
        (answered > 0.0 && share <= 1.0).then(|| level.latency.quantile(share))
    }

    /// Latency counts from when requests were meant to start, so a late generator makes it no better.
    pub(super) fn holds(&self, level: &Level) -> bool {
        let failed = level.requests.failed as f64 / level.requests.started.max(1) as f64;
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
    use std::cell::RefCell;

    use super::*;
    use crate::load::{Measured, RequestCounts, Slice, Times};

    #[test]
    fn goals_are_read() {
        assert_eq!(Goal::parse("p99<=5ms").ok(), Some(Goal { percent: 99.0, seconds: 0.005 }));
        assert_eq!(Goal::parse("p99.9 <= 20ms").ok(), Some(Goal { percent: 99.9, seconds: 0.020 }));
        for wrong in ["p99<5ms", "99<=5ms", "p100<=5ms", "p99<=soon", "p99<=5", "p99<=0ms"] {
            assert!(Goal::parse(wrong).is_err(), "{wrong}");
        }
    }

    /// A level in which every response takes this long.
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
            requests: RequestCounts { started: completed, completed, ..RequestCounts::default() },
            slices: vec![Slice { begin_seconds: 0.0, seconds, started: completed, completed, latency }],
            ..Measured::nothing().unwrap()
        };
        Level::from_measured(load, vec![measured]).unwrap()
    }

    /// A server of 1 ms up to a rate, and a load generator that is late beyond another; `is_disturbed`
    /// returns whether a neighbour disturbs a stage.
    struct Simulated {
        slow_from: f64,
        late_from: f64,
        is_disturbed: Box<dyn FnMut() -> bool>,
    }

    impl Simulated {
        fn new(slow_from: f64, late_from: f64) -> Simulated {
            Simulated { slow_from, late_from, is_disturbed: Box::new(|| false) }
        }

        /// The result for a goal in milliseconds, and the loads that were offered.
        fn search(mut self, goal_ms: f64) -> (Found, Vec<Load>) {
            let goal = Goal { percent: 99.0, seconds: goal_ms / 1e3 };
            let offered = RefCell::new(Vec::new());
            let (slow_from, late_from) = (self.slow_from, self.late_from);
            let offer = |load: &Load| {
                offered.borrow_mut().push(load.clone());
                let rate = load.rate.unwrap_or(slow_from);
                let is_slow = rate > slow_from || (self.is_disturbed)();
                Ok(level(load, rate.min(slow_from), if is_slow { 1_000_000_000 } else { 1_000_000 }))
            };
            let is_limited = |level: &Level| level.load.rate.is_some_and(|rate| rate > late_from);
            let found = highest(goal, &Load::default(), is_limited, offer).unwrap();
            (found, offered.into_inner())
        }
    }

    #[test]
    fn the_highest_rate_is_found_with_its_interval() {
        let (found, offered) = Simulated::new(18_000.0, f64::INFINITY).search(5.0);
        let (rate, (low, high)) = (found.rate.unwrap(), found.interval.unwrap());
        assert!((17_400.0..=18_600.0).contains(&rate), "{rate}");
        assert!(low < rate && rate < high && high / low <= NARROW, "{low} to {high}");
        assert!(found.confirmed && found.confirmation.load.rate.unwrap() <= low);
        assert!(offered.len() <= 25, "{} stages of a server without noise", offered.len());
    }

    /// The goal is the server's where it is met, however late the load generator was.
    #[test]
    fn a_late_load_generator_is_no_failure_of_the_goal() {
        let (found, _) = Simulated::new(18_000.0, 0.0).search(5.0);
        let rate = found.rate.unwrap();
        assert!((17_400.0..=18_600.0).contains(&rate) && found.confirmed, "{rate}");
        let is_limited = |stage: &&SearchStage| stage.outcome == StageOutcome::Limited;
        assert!(found.stages.iter().filter(is_limited).all(|stage| stage.rate > 0.97 * rate));
        assert!(found.stages.iter().any(|stage| stage.outcome == StageOutcome::Holds));
    }

    #[test]
    fn each_stage_has_arrivals_of_its_own() {
        let (_, offered) = Simulated::new(18_000.0, f64::INFINITY).search(5.0);
        let mut numbers: Vec<u64> = offered.iter().map(|load| load.number).collect();
        numbers.dedup();
        assert_eq!(numbers.len(), offered.len());
    }

    /// A tenth of all stages fails without a fault of the server: the results of repeated searches agree.
    #[test]
    fn disturbed_stages_do_not_decide() {
        let mut answers = Vec::new();
        for seed in 0..40 {
            let mut random = fastrand::Rng::with_seed(seed);
            let is_disturbed = Box::new(move || random.u32(..10) == 0);
            let noisy = Simulated { is_disturbed, ..Simulated::new(18_000.0, f64::INFINITY) };
            answers.push(noisy.search(5.0).0.rate.unwrap());
        }
        let within = answers.iter().filter(|&&rate| (rate / 18_000.0 - 1.0).abs() < 0.15).count();
        assert!(within >= 39, "{within} of 40: {answers:?}");
    }

    /// A neighbour spoils a fifth of all stages, five in a row, and each search tries lower rates meanwhile.
    #[test]
    fn rows_of_disturbed_stages_do_not_decide() {
        let mut answers = Vec::new();
        for seed in 0..40 {
            let mut random = fastrand::Rng::with_seed(seed);
            let mut is_disturbed = random.u32(..5) == 0;
            let next = move || {
                is_disturbed ^= random.u32(..20) < if is_disturbed { 4 } else { 1 };
                is_disturbed
            };
            let noisy = Simulated { is_disturbed: Box::new(next), ..Simulated::new(18_000.0, f64::INFINITY) };
            answers.push(noisy.search(5.0).0.rate.unwrap_or(0.0));
        }
        let within = answers.iter().filter(|&&rate| (rate / 18_000.0 - 1.0).abs() < 0.15).count();
        assert!(within >= 38, "{within} of 40: {answers:?}");
    }

    #[test]
    fn a_goal_beyond_reach_ends_the_search() {
        let (found, offered) = Simulated::new(18_000.0, f64::INFINITY).search(0.5);
        assert_eq!(
            (found.rate, offered.len()),
            (None, 6),
            "the capacity, half of it, the lowest rate four times"
        );
        let (found, offered) = Simulated::new(0.0, f64::INFINITY).search(5.0);
        assert_eq!((found.rate, offered.len()), (None, 1), "no response, no search");
    }
}
