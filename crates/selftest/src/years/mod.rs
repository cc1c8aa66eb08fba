//! Alarms over simulated years of nights, whose scatter is that of real runs.
//!
//! A year has 28 series of 365 nights on one machine: single nights with a neighbour, a speed of the machine
//! that stays high or low for some nights, costs that wander, another compiler and another machine, which are
//! known, and in some years a planted change or a slow drift. Every rule sees the same nights.

mod rules;
mod simulated;

use std::num::NonZero;
use std::sync::atomic::{AtomicU64, Ordering};

use statrs::distribution::{Beta, ContinuousCDF};
use stats::{Decision, HistorySettings};

use rules::{RULES, Rule};
use simulated::{CHANGE_AT, Year};

/// How many years, and from which seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct YearsPlan {
    /// Years without a change, and as many with one, and with a drift.
    pub years: u64,
    /// The seed of everything.
    pub seed: u64,
}

/// The alarms of one rule.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RuleCounts {
    /// Its name.
    pub name: &'static str,
    /// Alarms in years without a change, over all series together.
    pub false_alarms: u64,
    /// Years without a change.
    pub years: u64,
    /// Changes of 5 % in one series that were raised within three nights.
    pub found: u64,
    /// Changes whose night was named, to a night.
    pub named: u64,
    /// Changes that were raised, at any time.
    pub raised: u64,
    /// Planted changes.
    pub changes: u64,
    /// Series that were measured again, in years without a change.
    pub measured_again: u64,
    /// Drifts of 10 % a year that were found, and series without one for which it was excluded.
    pub drifts_decided: u64,
    /// Drifts that were missed or found where there were none.
    pub drifts_wrong: u64,
    /// Series whose drift was looked for.
    pub drifts: u64,
}

/// A figure that is promised.
#[derive(Clone, Debug, PartialEq)]
pub struct YearPromise {
    /// In words.
    pub claim: &'static str,
    /// The figure.
    pub measured: f64,
    /// Its 95 % interval.
    pub interval: (f64, f64),
    /// The bound.
    pub bound: f64,
    /// Whether the figure has to stay below the bound, and not above.
    pub is_upper: bool,
}

impl YearPromise {
    /// Whether the interval excludes that the promise is kept.
    pub fn is_missed(&self) -> bool {
        let (low, high) = self.interval;
        if self.is_upper { low > self.bound } else { high < self.bound }
    }
}

impl RuleCounts {
    fn add(&mut self, other: &RuleCounts) {
        self.false_alarms += other.false_alarms;
        self.years += other.years;
        self.found += other.found;
        self.named += other.named;
        self.raised += other.raised;
        self.changes += other.changes;
        self.measured_again += other.measured_again;
        self.drifts_decided += other.drifts_decided;
        self.drifts_wrong += other.drifts_wrong;
        self.drifts += other.drifts;
    }

    /// False alarms in a year, with the 95 % interval of a count of rare events.
    pub fn alarms_per_year(&self) -> (f64, (f64, f64)) {
        let (count, years) = (self.false_alarms as f64, self.years.max(1) as f64);
        // Byar's approximation to the interval of a Poisson count.
        let low = if count > 0.0 {
            count * (1.0 - 1.0 / (9.0 * count) - 1.96 / (3.0 * count.sqrt())).powi(3)
        } else {
            0.0
        };
        let more = count + 1.0;
        let high = more * (1.0 - 1.0 / (9.0 * more) + 1.96 / (3.0 * more.sqrt())).powi(3);
        (count / years, (low.max(0.0) / years, high / years))
    }

    /// The promises, as they were kept.
    pub fn promises(&self) -> Vec<YearPromise> {
        let (alarms, interval) = self.alarms_per_year();
        let share = |claim, count: u64, of: u64, bound| YearPromise {
            claim,
            measured: count as f64 / of.max(1) as f64,
            interval: share_interval(count, of),
            bound,
            is_upper: false,
        };
        vec![
            YearPromise {
                claim: "false alarms in a year, over all series",
                measured: alarms,
                interval,
                bound: 1.0,
                is_upper: true,
            },
            share("changes of 5 % found within three nights", self.found, self.changes, 0.95),
            share("nights of raised changes named to a night", self.named, self.raised, 0.90),
            share("drifts of 10 % a year found, or excluded", self.drifts_decided, self.drifts, 0.95),
        ]
    }
}

/// The interval of a share by Clopper and Pearson (1934).
fn share_interval(count: u64, of: u64) -> (f64, f64) {
    let (hits, misses) = (count as f64, (of - count.min(of)) as f64);
    let quantile = |a: f64, b: f64, p: f64| Beta::new(a, b).map_or(f64::NAN, |beta| beta.inverse_cdf(p));
    let low = if hits > 0.0 { quantile(hits, misses + 1.0, 0.025) } else { 0.0 };
    let high = if misses > 0.0 { quantile(hits + 1.0, misses, 0.975) } else { 1.0 };
    (low, high)
}

/// Simulates years, on all processors; `done` is called after each. The rule of osdyno comes first.
pub fn years(plan: YearsPlan, done: &(dyn Fn() + Sync)) -> Vec<RuleCounts> {
    years_with(plan, &HistorySettings::default(), done)
}

/// The same with other settings of osdyno's own rule.
pub fn years_with(plan: YearsPlan, settings: &HistorySettings, done: &(dyn Fn() + Sync)) -> Vec<RuleCounts> {
    let next = AtomicU64::new(0);
    let work = || {
        let mut counts: Vec<RuleCounts> = empty();
        loop {
            let year = next.fetch_add(1, Ordering::Relaxed);
            if year >= plan.years {
                return counts;
            }
            for (counts, rule) in counts.iter_mut().zip(RULES) {
                counts.add(&of_year(rule, plan.seed, year, settings));
            }
            done();
        }
    };
    let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
    let parts: Vec<Vec<RuleCounts>> = std::thread::scope(|scope| {
        let others: Vec<_> = (1..processors).map(|_| scope.spawn(work)).collect();
        let mut parts = vec![work()];
        for other in others {
            match other.join() {
                Ok(part) => parts.push(part),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        parts
    });
    let mut all = empty();
    parts.iter().for_each(|part| all.iter_mut().zip(part).for_each(|(all, part)| all.add(part)));
    all
}

fn empty() -> Vec<RuleCounts> {
    RULES.iter().map(|rule| RuleCounts { name: rule.name, ..RuleCounts::default() }).collect()
}

/// One year without a change, some short ones with one, and one in which a series drifts.
fn of_year(rule: &Rule, seed: u64, number: u64, settings: &HistorySettings) -> RuleCounts {
    let mut counts = RuleCounts { name: rule.name, years: 1, ..RuleCounts::default() };
    let quiet = Year::quiet(seed, number);
    let alarms = (rule.alarms)(&quiet, settings);
    counts.false_alarms = alarms.raised.len() as u64;
    counts.measured_again = alarms.measured_again;
    for part in 0..CHANGES_OF_YEAR {
        let changed = Year::changed(seed, number * CHANGES_OF_YEAR + part);
        let alarms = (rule.alarms)(&changed, settings);
        let night = changed.change.map_or(0, |(_, night)| night);
        let series = changed.change.map_or(0, |(series, _)| series);
        let raised = alarms.raised.iter().find(|alarm| alarm.series == series && alarm.raised >= night);
        counts.changes += 1;
        counts.found += u64::from(raised.is_some_and(|alarm| alarm.raised < night + NIGHTS_TO_FIND));
        counts.raised += u64::from(raised.is_some());
        counts.named += u64::from(raised.is_some_and(|alarm| alarm.night.abs_diff(night) <= 1));
    }
    if let Some(drifts) = rule.drifts {
        let drifting = Year::drifting(seed, number);
        for (series, decision) in drifts(&drifting, settings).into_iter().enumerate() {
            let is_planted = drifting.drifting == Some(series);
            counts.drifts += 1;
            let expected = if is_planted { Decision::Certain } else { Decision::Excluded };
            counts.drifts_decided += u64::from(decision == expected);
            counts.drifts_wrong += u64::from(decision != expected && decision != Decision::Undecided);
        }
    }
    counts
}

/// Planted changes for each quiet year.
const CHANGES_OF_YEAR: u64 = 4;
/// A change is to be found in its night, or in one of the two after it.
const NIGHTS_TO_FIND: usize = 3;
const _: () = assert!(CHANGE_AT[0] > 2 * NIGHTS_TO_FIND);
