//! Sampled trials, after those that are judged: the growing series, the n at which each is sampled, and the
//! number of samples.

use std::collections::BTreeMap;
use std::time::Duration;

use judge::{Findings, GrowthWindows};
use record::{
    Line, Outcome, ProfileOrder, ProfiledSeries, Recording, SentLine, System, Trial, TrialParameters,
};

use crate::Error;

/// How a run samples growing series.
#[derive(Clone, Debug, Default)]
pub struct BlameOptions {
    /// So many trials of each workload instead of as many as are needed.
    pub trials: Option<u32>,
    /// The run that found the growing series; `None` is the one that samples.
    pub run: Option<(Recording, Findings)>,
    /// Sample although a system is another than that of the run.
    pub anyway: bool,
}

/// Processor time from one sample to the next. Not a round number: an event at round times would be sampled
/// each time, or never.
const PERIOD_SECONDS: f64 = 97e-6;

/// An interval over fewer trials is too wide to be of use.
const TRIALS_LEAST: u32 = 8;
/// More are not worth their time.
const TRIALS_MOST: u32 = 30;
/// With so many samples where it is expensive, a share is known to a few percent.
const SAMPLES_ENOUGH: u64 = 3000;
/// How long one workload is sampled, if not for the least number of trials.
const TIME_MOST: Duration = Duration::from_secs(20);

/// A workload and variant on one system, with the series of it that grow.
pub(crate) struct Suspect {
    /// The parameters of its trials.
    pub(crate) order: TrialParameters,
    /// Trials so far.
    pub(crate) done: u32,
    /// How many it gets, if that is fixed.
    wanted: Option<u32>,
    /// Samples so far where it is expensive, for each series.
    samples: BTreeMap<usize, u64>,
    spent: Duration,
    is_hopeless: bool,
}

/// The growing series of a run, as far as they can be sampled.
pub(crate) fn suspects(recording: &Recording, findings: &Findings, options: &BlameOptions) -> Vec<Suspect> {
    let mut series: BTreeMap<[&str; 3], Vec<ProfiledSeries>> = BTreeMap::new();
    for finding in &findings.series {
        let key = &finding.key;
        if !judge::can_be_sampled(recording, key) {
            continue;
        }
        let Some(windows) = GrowthWindows::from_finding(finding) else { continue };
        let (name, direction) = (key.name.clone(), key.direction);
        let sampled = ProfiledSeries { name, direction, low: windows.low, high: windows.high };
        series.entry([&key.system, &key.workload, &key.variant]).or_default().push(sampled);
    }
    let suspect = |([system, workload, variant], series): ([&str; 3], Vec<ProfiledSeries>)| {
        let is_its = |trial: &&Trial| {
            let order = &trial.order;
            (order.system.as_str(), order.workload.as_str(), order.variant.as_str())
                == (system, workload, variant)
        };
        let went = |trial: &&Trial| {
            matches!(trial.outcome, Outcome::Complete | Outcome::Limit { .. } | Outcome::Allowance { .. })
        };
        let last = recording.trials.iter().filter(is_its).rfind(went)?;
        let number = recording.trials.iter().filter(is_its).map(|trial| trial.order.trial).max()?;
        let order = TrialParameters {
            trial: number,
            // They are for series that are judged.
            references: false,
            scratch: String::new(),
            profile: Some(Box::new(ProfileOrder { period_seconds: PERIOD_SECONDS, series })),
            ..last.order.clone()
        };
        let (done, spent, wanted) = (0, Duration::ZERO, options.trials);
        Some(Suspect { order, done, wanted, samples: BTreeMap::new(), spent, is_hopeless: false })
    };
    series.into_iter().filter_map(suspect).collect()
}

impl Suspect {
    /// The next trial, if one is wanted.
    pub(crate) fn next(&mut self, seed: u64) -> Option<TrialParameters> {
        let series = self.order.profile.as_ref().map_or(0, |profile| profile.series.len());
        let has_enough =
            (0..series).all(|place| self.samples.get(&place).is_some_and(|&all| all >= SAMPLES_ENOUGH));
        let is_over = match self.wanted {
            Some(wanted) => self.done >= wanted,
            None => {
                self.done >= TRIALS_MOST
                    || self.done >= TRIALS_LEAST && (has_enough || self.spent >= TIME_MOST)
            }
        };
        if is_over || self.is_hopeless {
            return None;
        }
        self.done += 1;
        Some(TrialParameters { trial: self.order.trial + self.done, seed, ..self.order.clone() })
    }

    /// How many trials there will be.
    pub(crate) fn trials(&self) -> u32 {
        self.wanted.unwrap_or(TRIALS_LEAST).max(self.done)
    }

    /// Takes the samples of a trial, and its duration.
    pub(crate) fn learn(&mut self, lines: &[SentLine], took: Duration) {
        self.spent += took;
        let series = self.order.profile.iter().flat_map(|profile| &profile.series);
        let places: BTreeMap<(&str, bool), usize> = series
            .enumerate()
            .map(|(place, series)| ((series.name.as_str(), series.direction == record::Direction::Up), place))
            .collect();
        for line in lines {
            match line.line() {
                Line::Trial(trial) => {
                    let went = matches!(
                        trial.outcome,
                        Outcome::Complete | Outcome::Limit { .. } | Outcome::Allowance { .. }
                    );
                    self.is_hopeless |= !went;
                }
                Line::Profile(profile) => {
                    let key = (profile.name.as_str(), profile.direction == record::Direction::Up);
                    if let Some(&place) = places.get(&key) {
                        *self.samples.entry(place).or_default() += profile.high.samples;
                    }
                }
                _ => {}
            }
        }
    }
}

/// The lines of a run that show the growth: the judged trials of the suspects.
pub(crate) fn evidence(recording: &Recording, suspects: &[Suspect]) -> Vec<SentLine> {
    let is_suspect = |[system, workload, variant]: [&str; 3]| {
        suspects.iter().any(|suspect| {
            let order = &suspect.order;
            [order.system.as_str(), order.workload.as_str(), order.variant.as_str()]
                == [system, workload, variant]
        })
    };
    let trials = recording.trials.iter().filter(|trial| {
        let order = &trial.order;
        is_suspect([&order.system, &order.workload, &order.variant])
    });
    let series = recording.series().flat_map(|(_, series)| series);
    // Every reader makes the sums again.
    let is_measured = |series: &&record::Series| {
        let kind = recording.kind(&record::SeriesKey::from_series(series));
        kind.is_none_or(|kind| kind.sum_of.is_empty())
    };
    let series =
        series.filter(is_measured).filter(|one| is_suspect([&one.system, &one.workload, &one.variant]));
    let lines = trials.cloned().map(Line::Trial).chain(series.cloned().map(Line::Series));
    lines.map(SentLine::from).collect()
}

/// The facts that change the growth between runs.
const FACTS: [&str; 5] = ["kernel.release", "kernel.version", "machine.product", "cpu.model", "cpu.online"];

/// Refuses to sample systems other than those of the run.
pub(crate) fn refuse_others(run: &Recording, systems: &[System]) -> Result<(), Error> {
    for now in systems {
        let Some(then) = run.systems.iter().find(|then| then.name == now.name) else { continue };
        for fact in FACTS {
            let [then, now] =
                [then, now].map(|system| system.environment.get(fact).map_or("", String::as_str));
            if then != now && !then.is_empty() && !now.is_empty() {
                let (fact, then, now) = (fact.to_owned(), then.to_owned(), now.to_owned());
                return Err(Error::OtherMachine { fact, then, now });
            }
        }
    }
    Ok(())
}
