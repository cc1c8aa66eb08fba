//! Whether more trials would decide more, and which would settle as many verdicts as possible.
//!
//! A run continues by the rule of its report: verdicts, ranking of variants and comparison of systems are
//! those of a report of the same trials.

use std::collections::{BTreeMap, BTreeSet};

use record::{Recording, SeriesKey, Trial, Workload};
use stats::{Class, Verdict};

use crate::compare::{Comparison, Ranking, RankingEntry};
use crate::finding::Finding;
use crate::findings::Findings;
use crate::series::median;
use crate::{compare, fleet, scaling};

/// Growth that is known less precisely than this, high over low, deserves more trials.
const GROWTH_SPREAD: f64 = 1.2;
/// Fewer trials decide only that a cost is flat: a growth and its shape deserve more.
const FEW: usize = 8;

/// The variant that was measured since the last look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeasuredVariant<'a> {
    /// Name of the system.
    pub system: &'a str,
    /// Name of the variant; may be empty.
    pub variant: &'a str,
}

/// The variants of one workload for which more trials may decide more. `findings` are those of the workload.
/// Verdicts and systems count where they were `measured` since the last look; rivals are ranked as a whole,
/// because each is compared with all others. With `compares` the systems are compared, which is so unless all
/// are the same system.
pub fn undecided(
    recording: &Recording,
    findings: &Findings,
    measured: &[MeasuredVariant<'_>],
    compares: bool,
) -> BTreeSet<String> {
    let is_measured = |finding: &&Finding| {
        let SeriesKey { system, variant, .. } = &finding.key;
        measured.contains(&MeasuredVariant { system, variant })
    };
    let is_awaited =
        |finding: &&Finding| !is_companion(&recording.workloads, &finding.key.workload, &finding.key.name);
    let series = || findings.series.iter().filter(is_measured).filter(is_awaited);
    let mut open: BTreeSet<String> =
        series().filter(|finding| !finding.detail).filter_map(of_verdict).collect();
    open.extend(findings.comparisons.iter().flat_map(|compared| of_variants(recording, compared)));
    match fleet::hosts(recording) {
        Some(hosts) if compares => {
            for names in hosts {
                let is_of_host = |name: &str| names.iter().any(|system| system.name == name);
                let own = series().filter(|finding| is_of_host(&finding.key.system)).cloned();
                let own: Vec<Finding> = own.collect();
                let is_measured = |name: &str| own.iter().any(|finding| finding.key.workload == name);
                if names.len() > 1 && !own.is_empty() {
                    let part = recording.part(|system, workload| is_of_host(system) && is_measured(workload));
                    open.extend(of_systems(&part, own));
                }
            }
        }
        None if compares && recording.systems.len() > 1 => {
            open.extend(of_systems(recording, series().cloned().collect()));
        }
        _ => {}
    }
    open
}

/// Whether a run waits for no verdict of this series.
pub(crate) fn is_companion(workloads: &[Workload], workload: &str, name: &str) -> bool {
    let workload = workloads.iter().find(|one| one.name == workload);
    let kind = workload.and_then(|workload| workload.series.iter().find(|kind| kind.name == name));
    kind.is_some_and(|kind| kind.companion)
}

/// The variant, where more trials could make the verdict definite or the growth precise.
fn of_verdict(finding: &Finding) -> Option<String> {
    let may_change = |verdict: &Verdict| {
        let vague = verdict.growth.high > verdict.growth.low * GROWTH_SPREAD;
        let early = verdict.trials < FEW && verdict.class != Class::Flat;
        early || vague || (verdict.class == Class::Inconclusive && verdict.trials_needed.is_some())
    };
    let is_open = match &finding.scaling {
        Some(scaling) => scaling::is_open(scaling),
        None => finding.verdict.as_ref().is_some_and(may_change),
    };
    is_open.then(|| finding.key.variant.clone())
}

/// The variants whose distance from the best is unresolved, and the best, which they are compared with.
fn of_variants(recording: &Recording, compared: &Comparison) -> BTreeSet<String> {
    let workload = compared.workload.as_deref().unwrap_or_default();
    let is_awaited = |ranking: &&Ranking| !is_companion(&recording.workloads, workload, &ranking.name);
    let rankings = compared.rankings.iter().filter(is_awaited);
    let mut open = BTreeSet::new();
    for ranking in rankings.filter(|ranking| ranking.standings.iter().any(RankingEntry::is_open)) {
        open.extend(ranking.best().map(|best| best.name.clone()));
        let undecided = ranking.standings.iter().filter(|standing| standing.is_open());
        open.extend(undecided.map(|standing| standing.name.clone()));
    }
    open
}

/// The variants with an unresolved comparison of systems.
fn of_systems(recording: &Recording, findings: Vec<Finding>) -> BTreeSet<String> {
    let Ok(comparison) = compare::of_findings(recording, findings) else { return BTreeSet::new() };
    let is_open = |ranking: &Ranking| ranking.standings.iter().any(RankingEntry::is_open);
    comparison.rankings.into_iter().filter(is_open).map(|ranking| ranking.variant).collect()
}

/// A longer time is not proposed.
const LONGEST_SECONDS: f64 = 2.0 * 3600.0;

/// The trials that would settle undecided verdicts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settlement {
    /// Trials of each of these workloads.
    pub trials: u32,
    /// The time of the whole run, rounded up to a usual number; `None` where it is not known how long trials
    /// take.
    pub seconds: Option<f64>,
    /// Whether a run of that time makes so many trials by itself.
    pub is_planned: bool,
    /// How many verdicts that settles.
    pub settles: usize,
}

/// One verdict that more trials may settle.
struct Open<'a> {
    /// System, workload and variant, which share their trials.
    of: [&'a str; 3],
    trials: u32,
    seconds: f64,
}

/// The trials that settle as many verdicts as possible in an acceptable time; `None` where none are known to
/// settle one.
pub(crate) fn settlement<'a>(
    recording: &Recording,
    findings: impl Iterator<Item = &'a Finding>,
) -> Option<Settlement> {
    let looks = &recording.run.looks;
    let is_planned = looks.len() > 1;
    let mut open: Vec<Open<'_>> = findings.filter_map(|finding| open(recording, finding)).collect();
    open.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
    let overhead = overhead(recording);
    let elapsed = overhead.map(|(elapsed, _)| elapsed);
    let mut added: BTreeMap<[&str; 3], f64> = BTreeMap::new();
    let mut settlement: Option<Settlement> = None;
    for (i, open) in open.iter().enumerate() {
        let already = added.entry(open.of).or_default();
        *already = already.max(open.seconds);
        let total: f64 = added.values().sum();
        let seconds = overhead.map(|(elapsed, factor)| elapsed + total * factor);
        if seconds.is_some_and(|seconds| seconds > LONGEST_SECONDS.max(elapsed.unwrap_or(0.0) * 1.5)) {
            break;
        }
        let trials = open.trials.max(settlement.map_or(0, |settlement| settlement.trials));
        settlement =
            Some(Settlement { trials, seconds: seconds.map(rounded_up), is_planned, settles: i + 1 });
    }
    settlement
}

/// A verdict that trials within the plan may settle, and how long these take.
fn open<'a>(recording: &Recording, finding: &'a Finding) -> Option<Open<'a>> {
    let verdict = finding.verdict.as_ref().filter(|verdict| verdict.class == Class::Inconclusive)?;
    let needed = verdict.trials_needed?;
    let looks = &recording.run.looks;
    // A run that looks at its data decides at a look only, and never goes beyond the last one.
    let trials = match looks.len() {
        0 | 1 => needed,
        _ => looks.iter().copied().find(|look| *look >= needed)?,
    };
    let key = &finding.key;
    let of = [key.system.as_str(), &key.workload, &key.variant];
    let is_its =
        |trial: &&Trial| [&trial.order.system, &trial.order.workload, &trial.order.variant] == of.map(|s| s);
    let its = || recording.trials.iter().filter(is_its);
    let each = median(its().map(|trial| trial.elapsed_seconds));
    let more = trials.saturating_sub(u32::try_from(its().count()).unwrap_or(u32::MAX));
    Some(Open { of, trials, seconds: each * f64::from(more) })
}

/// The time of the run, and that as a multiple of the time of its trials; `None` where times were not
/// recorded.
fn overhead(recording: &Recording) -> Option<(f64, f64)> {
    let trials: f64 = recording.trials.iter().map(|trial| trial.elapsed_seconds).sum();
    let elapsed = recording.end.as_ref()?.elapsed_seconds;
    (trials > 0.0 && elapsed > 0.0).then(|| (elapsed, (elapsed / trials).max(1.0)))
}

/// Half minutes, minutes from two on, and from ten on five of them.
fn rounded_up(seconds: f64) -> f64 {
    let unit = match seconds {
        s if s <= 120.0 => 30.0,
        s if s <= 600.0 => 60.0,
        _ => 300.0,
    };
    (seconds / unit).ceil() * unit
}
