//! Alarms against the truth, counted over years.

use stats::{Cluster, Decision, YearlyDrift, share_reach};

use super::rules::{YearAlarm, YearOutcome, YearRule, decides};
use super::year::{Planted, Year, YearTruth};
use crate::noises::rng;
use crate::rate::Rate;
use crate::run::in_parallel;

/// A rate of things that resemble each other within a year, as series do that share a machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RateOfYears(Vec<Rate>);

impl RateOfYears {
    fn add(&mut self, is_counted: bool) {
        if let Some(year) = self.0.last_mut() {
            year.add(is_counted);
        }
    }

    fn join(&mut self, other: &RateOfYears) {
        self.0.extend(&other.0);
    }

    /// Over all years.
    pub fn all(&self) -> Rate {
        self.0.iter().copied().sum()
    }

    /// Its 95 % interval, with years as clusters.
    pub fn interval(&self) -> (f64, f64) {
        let (all, (low, high)) = (self.all(), self.all().interval(0.05));
        let clusters = self.0.iter().map(|year| Cluster { count: year.of as f64, inside: year.count as f64 });
        let reach = share_reach(all.value(), all.of as f64, clusters).unwrap_or(1.0);
        (low.min(all.value() - reach).max(0.0), high.max(all.value() + reach).min(1.0))
    }
}

/// Counts over years.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct YearCounts {
    /// Years.
    pub years: usize,
    /// Alarms that no planted change explains.
    pub false_alarms: usize,
    /// The most false alarms of one year.
    pub worst: usize,
    /// Planted changes that were found on their night or on one of the two after it.
    pub found: Rate,
    /// The same, of series that a confirming measurement can decide.
    pub found_decidable: Rate,
    /// Planted changes that were found within 30 nights.
    pub found_late: Rate,
    /// Of these, those whose night was named to within one.
    pub right_night: Rate,
    /// Changes of the whole machine that were raised as such within 30 nights.
    pub found_machine: Rate,
    /// Nights with a run.
    pub nights: usize,
    /// Series measured again.
    pub remeasured: usize,
    /// Pairs of trials of that.
    pub pairs: usize,
    /// Drifts of 10 % a year that were found.
    pub drift_found: RateOfYears,
    /// Series without a drift, for which 10 % a year was excluded.
    pub drift_excluded: RateOfYears,
    /// Drifts that were excluded, or found where there is none.
    pub drift_wrong: RateOfYears,
    /// Intervals that hold the true drift.
    pub drift_covered: RateOfYears,
}

/// A planted change counts as found in time up to so many nights after it.
const IN_TIME: usize = 2;
/// Later alarms are no longer about it.
const LATE: usize = 30;
/// An alarm may name a night so much too early, and still be about the change.
const EARLY: usize = 14;

impl YearCounts {
    /// Adds a year.
    fn add_year(&mut self, year: &Year, outcome: &YearOutcome) {
        let is_about = |planted: &Planted, alarm: &YearAlarm| {
            planted.series == alarm.series
                && (planted.change > 0.0) == alarm.is_up
                && (planted.night..=planted.night + LATE).contains(&alarm.raised)
                && alarm.from + EARLY >= planted.night
        };
        let mut is_explained = vec![false; outcome.alarms.len()];
        for planted in &year.planted {
            let about: Vec<usize> = (0..outcome.alarms.len())
                .filter(|alarm| is_about(planted, &outcome.alarms[*alarm]))
                .collect();
            // Another machine may show it again; the same one may not.
            let machine = |place: usize| outcome.alarms[place].machine;
            let is_new = |at: usize| about[..at].iter().all(|other| machine(*other) != machine(about[at]));
            (0..about.len()).filter(|at| is_new(*at)).for_each(|at| is_explained[about[at]] = true);
            let first = about.first().map(|place| &outcome.alarms[*place]);
            self.add_planted(planted, first);
            if planted.series.is_some_and(|series| decides(year.series[series])) {
                self.found_decidable.add(first.is_some_and(|alarm| alarm.raised <= planted.night + IN_TIME));
            }
        }
        // A rule without drifts says in steps that a series drifts.
        let drift = |alarm: &YearAlarm| alarm.series.map_or(0.0, |series| year.drifts[series]);
        let is_drift = |alarm: &YearAlarm| {
            outcome.drifts.is_empty() && drift(alarm) != 0.0 && (drift(alarm) > 0.0) == alarm.is_up
        };
        let unexplained = outcome.alarms.iter().zip(&is_explained).filter(|(_, explained)| !**explained);
        let wrong = unexplained.filter(|(alarm, _)| !is_drift(alarm)).count();
        self.years += 1;
        self.false_alarms += wrong;
        self.worst = self.worst.max(wrong);
        self.nights += year.nights.len();
        self.remeasured += outcome.remeasured;
        self.pairs += outcome.pairs;
        let drifts =
            [&mut self.drift_found, &mut self.drift_excluded, &mut self.drift_wrong, &mut self.drift_covered];
        drifts.into_iter().for_each(|rate| rate.0.push(Rate::default()));
        for (drift, found) in year.drifts.iter().zip(&outcome.drifts) {
            self.add_drift(*drift, *found);
        }
    }

    fn add_drift(&mut self, truth: f64, answer: Option<YearlyDrift>) {
        let is = |wanted: Decision| answer.is_some_and(|drift| drift.decision == wanted);
        let is_right = answer.is_some_and(|drift| (drift.ratio.value > 1.0) == (truth > 0.0));
        let (found, excluded) = (is(Decision::Certain), is(Decision::Excluded));
        if truth == 0.0 {
            self.drift_excluded.add(excluded);
            self.drift_wrong.add(found);
        } else {
            self.drift_found.add(found && is_right);
            self.drift_wrong.add(excluded || found && !is_right);
        }
        let holds = |drift: YearlyDrift| (drift.ratio.low..=drift.ratio.high).contains(&truth.exp());
        self.drift_covered.add(answer.is_some_and(holds));
    }

    fn add_planted(&mut self, planted: &Planted, alarm: Option<&YearAlarm>) {
        if planted.series.is_none() {
            return self.found_machine.add(alarm.is_some());
        }
        self.found.add(alarm.is_some_and(|alarm| alarm.raised <= planted.night + IN_TIME));
        self.found_late.add(alarm.is_some());
        if let Some(alarm) = alarm {
            self.right_night.add(alarm.from.abs_diff(planted.night) <= 1);
        }
    }

    /// Adds other years.
    fn add(&mut self, other: &YearCounts) {
        self.years += other.years;
        self.false_alarms += other.false_alarms;
        self.worst = self.worst.max(other.worst);
        self.nights += other.nights;
        self.remeasured += other.remeasured;
        self.pairs += other.pairs;
        self.found.join(other.found);
        self.found_decidable.join(other.found_decidable);
        self.found_late.join(other.found_late);
        self.right_night.join(other.right_night);
        self.found_machine.join(other.found_machine);
        self.drift_found.join(&other.drift_found);
        self.drift_excluded.join(&other.drift_excluded);
        self.drift_wrong.join(&other.drift_wrong);
        self.drift_covered.join(&other.drift_covered);
    }
}

/// Simulates so many years of a kind, and counts the alarms of each rule; `done` is called for each year that
/// is finished. A year depends on the seed and its number only.
pub fn count(
    truth: &YearTruth,
    rules: &[YearRule],
    years: usize,
    seed: u64,
    done: &(dyn Fn() + Sync),
) -> Vec<YearCounts> {
    let of_year = |number: usize| {
        let year = Year::new(truth, &mut rng(seed, truth.name, number as u64));
        let of_rule = |rule: &YearRule| {
            let mut counts = YearCounts::default();
            counts.add_year(&year, &rule.outcome(&year, &mut rng(seed, rule.name, number as u64)));
            counts
        };
        let counts: Vec<YearCounts> = rules.iter().map(of_rule).collect();
        done();
        counts
    };
    let mut all = vec![YearCounts::default(); rules.len()];
    for year in &in_parallel(years, &of_year) {
        all.iter_mut().zip(year).for_each(|(counts, year)| counts.add(year));
    }
    all
}
