//! The systems of a comparison with their numbers, and what of them must not be compared.

use std::borrow::Cow;

use record::{Direction, Recording, Series, SeriesKey};
use stats::Sweep;

use super::{Refused, Subject, WithoutNumber};
use crate::findings::{Finding, MARGIN, series};
use crate::series::sweep;
use crate::stops::{Cause, Stop};

/// A series without its system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Kind {
    pub(super) workload: String,
    pub(super) variant: String,
    name: String,
    direction: Direction,
}

impl Kind {
    fn of(key: &SeriesKey) -> Kind {
        Kind {
            workload: key.workload.clone(),
            variant: key.variant.clone(),
            name: key.name.clone(),
            direction: key.direction,
        }
    }
}

/// The measurements of one trial as costs, of which less is better: a rate is the time that one takes.
#[derive(Clone, Default)]
pub(super) struct Costs<'a> {
    series: Option<&'a Series>,
    values: Cow<'a, [f64]>,
}

impl<'a> Costs<'a> {
    /// What the generator limited says nothing of the system: it is no cost.
    fn of(series: &'a Series, finding: &Finding) -> Costs<'a> {
        let limited = |n: u64| finding.limited.as_ref().is_some_and(|limited| limited.at(n));
        let cost = |(n, value): (u64, f64)| match finding.unit.more_is_better() {
            _ if limited(n) => f64::NAN,
            true => value.recip(),
            false => value,
        };
        let values = match finding.limited.is_some() || finding.unit.more_is_better() {
            true => series.points().map(cost).collect(),
            false => Cow::Borrowed(series.values.as_slice()),
        };
        Costs { series: Some(series), values }
    }

    pub(super) fn sweep(&self) -> Sweep<'_> {
        let Some(series) = self.series else { return Sweep::even(0, 1, &[]) };
        Sweep { values: &self.values, ..sweep(series) }
    }
}

/// A subject with its numbers.
pub(super) struct Source<'a> {
    pub(super) subject: Subject,
    recording: &'a Recording,
    findings: Vec<Finding>,
    /// The numbers of all trials of its run, rising: a trial is known by its place among them.
    trials: Vec<u32>,
}

impl<'a> Source<'a> {
    pub(super) fn finding(&self, kind: &Kind) -> Option<&Finding> {
        self.findings.iter().find(|finding| Kind::of(&finding.key) == *kind)
    }

    pub(super) fn has_numbers(&self, kind: &Kind) -> bool {
        self.finding(kind).is_some_and(|finding| finding.verdict.is_some())
    }

    /// Whether its trials and those of another are pairs.
    pub(super) fn is_paired_with(&self, other: &Source<'_>) -> bool {
        std::ptr::eq(self.recording, other.recording) && self.recording.run.paired
    }

    /// The measurements of a series at the place of their trial; nothing where a trial has none.
    pub(super) fn costs(&self, finding: &Finding) -> Vec<Costs<'a>> {
        let mut costs = vec![Costs::default(); self.trials.len()];
        for series in self.recording.trials_of(&finding.key) {
            if let Ok(place) = self.trials.binary_search(&series.trial) {
                costs[place] = Costs::of(series, finding);
            }
        }
        costs
    }

    /// How trials of a series stopped short: a stop is told of one series of its workload, and meets all.
    pub(super) fn stops(&self, kind: &Kind) -> Vec<&Stop> {
        let same =
            |finding: &&Finding| finding.key.workload == kind.workload && finding.key.variant == kind.variant;
        self.findings.iter().filter(same).flat_map(|finding| &finding.stops).collect()
    }

    /// Why it has no numbers of a series; `None` if it has.
    pub(super) fn why_not(&self, kind: &Kind) -> Option<WithoutNumber> {
        if self.has_numbers(kind) {
            return None;
        }
        let stops = self.stops(kind);
        let stop = stops.iter().find(|stop| stop.cause != Cause::Allowance).or(stops.first());
        Some(WithoutNumber {
            subject: self.subject.name.clone(),
            stop: stop.map(|stop| (*stop).clone()),
            is_planned: self.finding(kind).is_some(),
        })
    }

    /// Why it has no number of any series; `None` if it has one, or nothing stopped it.
    pub(super) fn without_number(&self) -> Option<WithoutNumber> {
        if self.findings.iter().any(|finding| finding.verdict.is_some()) {
            return None;
        }
        let stop = self.findings.iter().flat_map(|finding| &finding.stops).next()?.clone();
        Some(WithoutNumber { subject: self.subject.name.clone(), stop: Some(stop), is_planned: true })
    }

    fn version(&self, workload: &str) -> Option<u32> {
        self.recording.workload(workload).map(|w| w.version)
    }
}

/// Every series of every system, with its name for a reader; names of series with numbers say most.
pub(super) fn kinds(sources: &[Source<'_>], refused: &[Refused]) -> Vec<(Kind, String)> {
    let mut kinds: Vec<(Kind, String)> = Vec::new();
    for finding in sources.iter().flat_map(|source| &source.findings) {
        let kind = Kind::of(&finding.key);
        match kinds.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, label)) if finding.measurements > 0 => label.clone_from(&finding.label),
            Some(_) => {}
            None if refused.iter().any(|refused| refused.workload == kind.workload) => {}
            None => kinds.push((kind, finding.label.clone())),
        }
    }
    kinds
}

/// Every system of every recording, judged.
pub(super) fn sources<'a>(recordings: &[(&str, &'a Recording)]) -> Vec<Source<'a>> {
    let judged = |recording| series(recording, MARGIN, false, &|_, _| true);
    let recordings = recordings.iter().map(|(name, recording)| (*name, *recording, judged(*recording)));
    of_findings(&recordings.collect::<Vec<_>>())
}

/// Every system of every recording with what was found of it.
pub(super) fn of_findings<'a>(recordings: &[(&str, &'a Recording, Vec<Finding>)]) -> Vec<Source<'a>> {
    let mut sources = Vec::new();
    for (name, recording, findings) in recordings {
        let mut trials: Vec<u32> = recording.trials.iter().map(|trial| trial.order.trial).collect();
        trials.sort_unstable();
        trials.dedup();
        // A file is known by its name, not by what kind of file it is.
        let name = name.strip_suffix(".osdyno").unwrap_or(name);
        for system in &recording.systems {
            let name = match (recording.systems.len(), recordings.len()) {
                (1, _) => name.to_string(),
                (_, 1) => system.name.clone(),
                _ => format!("{name} {}", system.name),
            };
            let subject = Subject { name, system: system.clone(), run: recording.run.clone() };
            let findings = findings.iter().filter(|f| f.key.system == system.name).cloned().collect();
            sources.push(Source { subject, recording, findings, trials: trials.clone() });
        }
    }
    sources
}

/// Workloads whose definitions differ.
pub(super) fn refused(sources: &[Source<'_>]) -> Vec<Refused> {
    let mut refused: Vec<Refused> = Vec::new();
    for workload in sources.iter().flat_map(|s| &s.recording.workloads) {
        if refused.iter().any(|refused| refused.workload == workload.name) {
            continue;
        }
        let versions: Vec<(String, u32)> = sources
            .iter()
            .filter_map(|s| Some((s.subject.name.clone(), s.version(&workload.name)?)))
            .collect();
        if versions.windows(2).any(|pair| pair[0].1 != pair[1].1) {
            refused.push(Refused { workload: workload.name.clone(), versions });
        }
    }
    refused
}
