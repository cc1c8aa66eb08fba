//! The next trials learn from earlier ones how far each item goes on each system, and the load that all
//! rivals of a workload are offered.
//!
//! That load is chosen once, from the first trials of all. The rate is half of the throughput of the slowest
//! in a closed loop, so that none is overloaded for long: the cost of a response under overload differs from
//! that otherwise. Within a burst the load generator begins requests at no more than half of the rate that it
//! can, so that it is not late. Both are rounded to one digit, rates down and times up, so that runs on one
//! machine mostly offer much the same. A rate in the definition of a workload would suit one machine, and one
//! for each trial would differ between rivals. Bursts of n have a number of simultaneous connections, which a
//! fixed rate has not.
//!
//! Where the load generator or others on its processor were the limit, the measured rate is a lower bound:
//! the slowest is selected among servers without such a limit, if there are any.

use std::collections::BTreeMap;

use judge::{LoadVerdict, load_verdict};
use record::{GeneratorLevel, OfferedLevel, Outcome, Purpose};

use crate::schedule::Blocks;

/// A system that reaches at least so many times as far as another one has an n of its own: a guest, thirty
/// times slower than its host, would cut the host's sweep to a thirtieth. Others, and loads, keep equal n.
const FURTHER: u64 = 2;

/// Trials in a row that crash or hang before an item is given up: the first may be bad luck.
const TROUBLES_MAX: u32 = 3;

/// The progress of one item.
#[derive(Debug)]
pub(crate) struct Progress {
    /// How far n was planned to go, on the system with the highest limits.
    pub(crate) top: u64,
    /// The levels that are measured, where the user chose them, or the first trial of a load left some out
    /// for want of time; empty where they are those of the workload.
    pub(crate) levels: Vec<u64>,
    /// Blocks, each of one trial on every system.
    pub(crate) done: u32,
    /// The cost of each block.
    pub(crate) cost_seconds: Vec<f64>,
    pub(crate) blocks: Blocks,
    pub(crate) systems: Vec<SystemProgress>,
}

/// The progress of one item on one system.
#[derive(Debug)]
pub(crate) struct SystemProgress {
    /// How far n goes there in the time allowed, within the limits of the system.
    pub(crate) n: u64,
    /// Whether a trial has shown how far n goes in the time allowed; all others go as far.
    pub(crate) fitted: bool,
    /// Trials that crashed or hung, one after the other.
    troubles: u32,
    /// More trials are useless: the item cannot be measured here.
    pub(crate) hopeless: bool,
}

impl Progress {
    pub(crate) fn new(top: u64, systems: usize) -> Progress {
        Progress {
            top,
            levels: Vec::new(),
            done: 0,
            cost_seconds: Vec::new(),
            blocks: Blocks::new(systems),
            systems: (0..systems).map(|_| SystemProgress::new(top)).collect(),
        }
    }

    /// Median time of a block so far.
    pub(crate) fn cost(&self) -> f64 {
        let mut costs = self.cost_seconds.clone();
        costs.sort_by(f64::total_cmp);
        costs.get(costs.len() / 2).copied().unwrap_or(0.0)
    }

    /// Takes the levels that a trial held: the others are left out in all trials, so that they can be
    /// compared at each level.
    pub(crate) fn learn_levels(&mut self, outcome: &Outcome, held: &[u64], planned: &[u64]) {
        let is_whole = matches!(outcome, Outcome::Complete) && held.last() == planned.last();
        if is_whole && held.len() < planned.len() {
            self.levels = held.to_vec();
        }
    }

    /// Takes how far a system reaches. A load goes equally far everywhere, because its levels are common to
    /// all systems.
    pub(crate) fn shorten(&mut self, system: usize, reach: u64, is_load: bool) {
        let concerned = if is_load { 0..self.systems.len() } else { system..system + 1 };
        self.systems[concerned].iter_mut().for_each(|system| system.n = system.n.min(reach));
    }

    /// Gives systems that reach about as far the same n, so that their trials can be laid over each other. A
    /// slow one does not cut the sweep of one that reaches much further: the two are compared over the n of
    /// both.
    pub(crate) fn align(&mut self) {
        let mut open: Vec<&mut SystemProgress> =
            self.systems.iter_mut().filter(|system| !system.hopeless).collect();
        open.sort_by_key(|system| std::cmp::Reverse(system.n));
        let mut rest = open.as_mut_slice();
        while let Some(furthest) = rest.first().map(|system| system.n) {
            let alike = rest.partition_point(|system| system.n > furthest / FURTHER);
            let (group, others) = rest.split_at_mut(alike.max(1));
            let n = group.last().map_or(furthest, |system| system.n);
            group.iter_mut().for_each(|system| system.n = n);
            rest = others;
        }
    }

    /// No system can measure the item.
    pub(crate) fn is_hopeless(&self) -> bool {
        self.systems.iter().all(|system| system.hopeless)
    }
}

impl SystemProgress {
    fn new(n: u64) -> SystemProgress {
        SystemProgress { n, fitted: false, troubles: 0, hopeless: false }
    }

    /// Takes the results of a trial for the next ones; returns the n that fits, if it has found one. `held`
    /// are the levels of a load that it measured.
    pub(crate) fn learn(&mut self, trial: &record::Trial, held: &[u64]) -> Option<u64> {
        match trial.outcome {
            // The first trial goes to the last level whatever comes of it, the others as far as it came.
            Outcome::TimedOut { .. } | Outcome::Crashed { .. } if !self.fitted && !held.is_empty() => {
                (self.fitted, self.troubles) = (true, 1);
                return held.last().copied();
            }
            // All trials of an item go equally far, so that they can be laid over each other.
            Outcome::Allowance { n } => {
                (self.fitted, self.troubles) = (true, 0);
                return Some(n.max(1));
            }
            Outcome::Unsupported { .. } | Outcome::Failed { .. } => self.hopeless = true,
            Outcome::Crashed { .. } | Outcome::TimedOut { .. } => {
                self.troubles += 1;
                self.hopeless = self.troubles >= TROUBLES_MAX;
            }
            Outcome::Complete | Outcome::Limit { .. } => (self.fitted, self.troubles) = (true, 0),
        }
        None
    }
}

/// The offered share of the smallest capacity.
const SHARE: f64 = 0.5;
/// A burst has this many times the processor time that the load generator needs.
const SPACE: f64 = 2.0;

/// By level the load that the rivals of a workload are offered on all systems, after the first trial of each.
/// Empty where none of them answered.
pub(crate) fn offered(observed: &[GeneratorLevel], workload: &str) -> Vec<OfferedLevel> {
    let mut levels: BTreeMap<u64, Vec<&GeneratorLevel>> = BTreeMap::new();
    for level in observed.iter().filter(|level| level.of.workload == workload && is_closed_loop(level)) {
        levels.entry(level.n).or_default().push(level);
    }
    levels.into_iter().filter_map(|(n, rivals)| of_level(n, &rivals)).collect()
}

fn is_closed_loop(level: &GeneratorLevel) -> bool {
    level.purpose == Purpose::Level && level.intended_per_second.is_none() && level.completed_per_second > 0.0
}

fn of_level(n: u64, rivals: &[&GeneratorLevel]) -> Option<OfferedLevel> {
    let by_rate = |a: &&&GeneratorLevel, b: &&&GeneratorLevel| {
        a.completed_per_second.total_cmp(&b.completed_per_second)
    };
    let is_limited = |level: &&&GeneratorLevel| matches!(load_verdict(level), LoadVerdict::Limited(..));
    let measured = rivals.iter().filter(|level| !is_limited(level)).min_by(by_rate);
    let slowest = measured.or_else(|| rivals.iter().min_by(by_rate))?;
    let several = rivals.iter().any(|level| level.of.system != slowest.of.system);
    let name = match several {
        true => format!("{} on {}", slowest.of.variant, slowest.of.system),
        false => slowest.of.variant.clone(),
    };
    let mut costs: Vec<f64> =
        rivals.iter().map(|level| level.cpu_share / level.completed_per_second).collect();
    costs.sort_by(f64::total_cmp);
    let generator_seconds = costs[costs.len() / 2];
    let per_second = one_digit_below(SHARE * slowest.completed_per_second);
    Some(OfferedLevel {
        n,
        per_second,
        // Bursts do not overlap.
        spacing_seconds: (1.0 / one_digit_below(1.0 / (SPACE * generator_seconds))).min(1.0 / per_second),
        slowest: name,
        slowest_per_second: slowest.completed_per_second,
        generator_seconds,
    })
}

/// The largest number with one digit that is not zero, and not above this one.
fn one_digit_below(value: f64) -> f64 {
    let decade = 10_f64.powf(value.log10().floor());
    // A number that is almost 2 because of rounding is 2.
    (value / decade + 1e-9).floor() * decade
}

#[cfg(test)]
mod tests {
    use record::TrialKey;

    use super::*;

    fn reached(progress: &Progress) -> Vec<u64> {
        progress.systems.iter().map(|system| system.n).collect()
    }

    #[test]
    fn systems_that_reach_about_as_far_go_equally_far_and_a_slow_one_cuts_nobody() {
        let aligned = |ns: &[u64], hopeless: Option<usize>| {
            let mut progress = Progress::new(20_000, ns.len());
            ns.iter().enumerate().for_each(|(system, n)| progress.shorten(system, *n, false));
            hopeless.into_iter().for_each(|place| progress.systems[place].hopeless = true);
            progress.align();
            reached(&progress)
        };
        assert_eq!(aligned(&[900, 20_000, 1_000, 19_000], None), [900, 19_000, 900, 19_000]);
        assert_eq!(aligned(&[20_000, 11_000, 9_000], None), [11_000, 11_000, 9_000]);
        assert_eq!(aligned(&[20_000, 12_000], Some(1)), [20_000, 12_000], "it is not measured any more");
        assert_eq!(aligned(&[1, 0, 1], None), [1, 0, 1]);
        assert_eq!(aligned(&[], None), [0; 0]);
    }

    #[test]
    fn a_load_goes_equally_far_everywhere() {
        let mut progress = Progress::new(1_000, 3);
        progress.shorten(1, 20, true);
        progress.shorten(2, 50, true);
        assert_eq!(reached(&progress), [20; 3]);
    }

    fn answered(system: &str, variant: &str, n: u64, per_second: f64) -> GeneratorLevel {
        GeneratorLevel {
            of: TrialKey {
                system: system.into(),
                workload: "race".into(),
                variant: variant.into(),
                trial: 1,
            },
            n,
            series: vec!["throughput".into()],
            generators: 1,
            connections: n,
            elapsed_seconds: 1.0,
            started_per_second: per_second,
            completed_per_second: per_second,
            // 31 microseconds for each.
            cpu_share: 31e-6 * per_second,
            latency_seconds_p50: Some(1e-3),
            ..GeneratorLevel::default()
        }
    }

    fn offered_in_a_race(levels: Vec<GeneratorLevel>) -> Vec<OfferedLevel> {
        offered(&levels, "race")
    }

    #[test]
    fn the_slowest_decides_at_each_level() {
        let offered = offered_in_a_race(vec![
            answered("local", "epoll", 1, 7000.0),
            answered("local", "inetd", 1, 900.0),
            answered("local", "epoll", 1000, 27_000.0),
            answered("local", "inetd", 1000, 430.0),
        ]);
        let rates: Vec<(u64, f64, &str)> =
            offered.iter().map(|level| (level.n, level.per_second, level.slowest.as_str())).collect();
        assert_eq!(rates, [(1, 400.0, "inetd"), (1000, 200.0, "inetd")]);
        assert_eq!(offered[0].slowest_per_second, 900.0);
        // 62 microseconds, which is 16 129 per second, and so 10 000.
        assert!((offered[0].spacing_seconds - 100e-6).abs() < 1e-9, "{offered:?}");
    }

    /// A rate that a saturated load generator measured is no capacity.
    #[test]
    fn a_lower_bound_is_not_the_slowest() {
        let disturbed =
            |variant| GeneratorLevel { run_delay_share: Some(0.9), ..answered("local", variant, 10, 80.0) };
        let offered = offered_in_a_race(vec![disturbed("pool"), answered("local", "inetd", 10, 900.0)]);
        assert_eq!((offered[0].slowest.as_str(), offered[0].per_second), ("inetd", 400.0));
        let offered = offered_in_a_race(vec![disturbed("pool")]);
        assert_eq!((offered[0].slowest.as_str(), offered[0].per_second), ("pool", 40.0));
    }

    #[test]
    fn an_open_loop_or_a_capacity_decides_nothing() {
        let open = GeneratorLevel { intended_per_second: Some(10.0), ..answered("local", "fork", 1, 10.0) };
        let capacity = GeneratorLevel { purpose: Purpose::Capacity, ..answered("local", "fork", 1, 10.0) };
        let none = answered("local", "pool", 1, 0.0);
        assert!(offered_in_a_race(vec![open.clone(), capacity, none]).is_empty());
        let offered = offered_in_a_race(vec![open, answered("local", "epoll", 1, 1000.0)]);
        assert_eq!((offered[0].per_second, offered[0].slowest.as_str()), (500.0, "epoll"));
    }

    #[test]
    fn all_systems_are_offered_the_same() {
        let both = vec![answered("old", "fork", 10, 3000.0), answered("new", "fork", 10, 4500.0)];
        let offered = offered_in_a_race(both);
        assert_eq!((offered[0].per_second, offered[0].slowest.as_str()), (1000.0, "fork on old"));
    }

    /// A generator that is no faster than the server would begin a burst before the last one is over.
    #[test]
    fn bursts_do_not_overlap() {
        let slow = GeneratorLevel { cpu_share: 0.9, ..answered("local", "epoll", 10, 1000.0) };
        assert_eq!(offered_in_a_race(vec![slow])[0].spacing_seconds, 1.0 / 500.0);
    }

    #[test]
    fn rates_have_one_digit() {
        for (value, expected) in
            [(1.0, 1.0), (1.99, 1.0), (2.0, 2.0), (499.9, 400.0), (0.69, 0.6), (9.9e4, 9e4)]
        {
            let digit = one_digit_below(value);
            assert!((digit / expected - 1.0).abs() < 1e-6, "{value}: {digit}");
        }
    }
}
