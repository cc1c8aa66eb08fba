//! Searches before a server whose capacity is known.

use std::cell::RefCell;

use super::*;
use crate::load::Measured;
use crate::load::histogram::Times;
use crate::load::measured::Slice;
use crate::load::watch::Watch;

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

/// A server of 1 ms up to a rate, and a load generator that is late beyond another; `is_disturbed` says of a
/// stage whether a neighbour spoils it.
struct Simulated {
    slow_from: f64,
    late_from: f64,
    is_disturbed: Box<dyn FnMut() -> bool>,
}

impl Simulated {
    fn new(slow_from: f64, late_from: f64) -> Simulated {
        Simulated { slow_from, late_from, is_disturbed: Box::new(|| false) }
    }

    /// What is found for a goal of so many milliseconds, and the loads that were offered.
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

/// A tenth of all stages fails for no fault of the server: the answer stays, search after search.
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
