//! Whether more trials would decide more.
//!
//! A run goes on by the rule by which its report judges: the verdicts, the ranking of rivals and the
//! comparison of systems are those that the report makes of the same trials.

use std::collections::BTreeSet;

use record::Recording;
use stats::{Answer, Class, Verdict};

use crate::compare::Comparison;
use crate::findings::{Finding, MARGIN, series};
use crate::rivals::{self, Ratio};

/// Growth that is known less precisely than this, high over low, deserves more trials.
const GROWTH_SPREAD: f64 = 1.2;

/// What has been measured since it was last asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeasuredVariant<'a> {
    /// Name of the system.
    pub system: &'a str,
    /// Name of the variant; may be empty.
    pub variant: &'a str,
}

/// The variants of which more trials may decide more, of a recording that holds one workload. Verdicts and
/// comparisons are made of what was `measured` since the last time; rivals are ranked whole, for each is set
/// against all others. With `compares` the systems are compared, as they are unless all are one and the same.
pub fn undecided(
    recording: &Recording,
    measured: &[MeasuredVariant<'_>],
    compares: bool,
) -> BTreeSet<String> {
    let is_measured = |system: &str, variant: &str| measured.contains(&MeasuredVariant { system, variant });
    let findings = series(recording, MARGIN, false, &is_measured);
    let mut open: BTreeSet<String> = findings.iter().filter_map(of_verdict).collect();
    open.extend(of_rivals(recording));
    if compares && recording.systems.len() > 1 {
        open.extend(of_systems(recording, findings));
    }
    open
}

/// The variant, where more trials could make the verdict definite or the growth precise.
fn of_verdict(finding: &Finding) -> Option<String> {
    let may_change = |verdict: &Verdict| {
        let vague = verdict.growth.high > verdict.growth.low * GROWTH_SPREAD;
        vague || (verdict.class == Class::Inconclusive && verdict.trials_needed.is_some())
    };
    finding.verdict.as_ref().is_some_and(may_change).then(|| finding.key.variant.clone())
}

/// The rivals whose distance from the best is unresolved, and the best, which they are set against.
fn of_rivals(recording: &Recording) -> BTreeSet<String> {
    let is_open = |ratio: &Ratio| ratio.answer == Answer::Unresolved && ratio.trials_needed.is_some();
    let mut open = BTreeSet::new();
    for contest in rivals::of(recording).iter().flat_map(|rivals| &rivals.contests) {
        let undecided =
            |rival: &&rivals::Rival| [&rival.last, &rival.mean].into_iter().flatten().any(is_open);
        let names = contest.rivals.iter().filter(undecided).map(|rival| rival.variant.clone());
        let before = open.len();
        open.extend(names);
        if open.len() > before {
            open.extend(contest.best().map(|best| best.variant.clone()));
        }
    }
    open
}

/// The variants of which a comparison of the systems is unresolved.
fn of_systems(recording: &Recording, findings: Vec<Finding>) -> BTreeSet<String> {
    let Ok(comparison) = Comparison::of_findings(recording, findings) else { return BTreeSet::new() };
    let is_open =
        |answer: &stats::Comparison| answer.answer == Answer::Unresolved && answer.trials_needed.is_some();
    let open = comparison.rows.into_iter().filter(|row| row.answers.iter().flatten().any(is_open));
    open.map(|row| row.variant).collect()
}
