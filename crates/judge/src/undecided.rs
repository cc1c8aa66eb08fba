//! Whether more trials would decide more.
//!
//! A run continues by the rule of its report: verdicts, ranking of variants and comparison of systems are
//! those of a report of the same trials.

use std::collections::BTreeSet;

use record::{Recording, SeriesKey, Workload};
use stats::{Class, Verdict};

use crate::compare::{self, Comparison, Ranking, RankingEntry};
use crate::finding::Finding;
use crate::findings::Findings;
use crate::fleet;
use crate::scaling;

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
