//! The remarks on the numbers, each kind in one line.

use judge::{Cause, Finding, Findings};

use crate::sentences;
use crate::words::{count, list, things};

/// All remarks, the weightier ones first.
pub(super) fn of(findings: &Findings) -> Vec<String> {
    shortened(findings).into_iter().chain(sentences::kinds_of_remarks(findings)).collect()
}

/// Where n was shortened, by workload.
fn shortened(findings: &Findings) -> Option<String> {
    let is_shortened = |finding: &&Finding| finding.stops.iter().any(|stop| stop.cause == Cause::Allowance);
    let mut names: Vec<String> = Vec::new();
    for finding in findings.series.iter().filter(is_shortened) {
        if !names.contains(&finding.key.workload) {
            names.push(finding.key.workload.clone());
        }
    }
    let said = "n was shortened to fit the time in";
    (!names.is_empty()).then(|| format!("{said} {}; {}.", list(&names), sentences::further(findings)))
}

/// The parts that are left to `--verbose`.
pub(super) fn of_verbose(findings: &Findings, details: usize) -> String {
    let verdicts = || findings.series.iter().filter_map(|finding| finding.verdict.as_ref());
    let with = |has: fn(&stats::Verdict) -> bool, what: &str| match verdicts().filter(|v| has(v)).count() {
        0 => None,
        n => Some(format!("{what} ({})", count(n as u64))),
    };
    let mut parts: Vec<String> = Vec::new();
    parts.extend(with(|v| !v.spikes.repeated.is_empty() || v.spikes.period.is_some(), "returning spikes"));
    parts.extend(with(|v| !v.modes.is_empty(), "two modes"));
    let shortened = findings.comparisons.iter().filter(|compared| !super::compared::is_shown(compared));
    let mut curves: Vec<String> = shortened.filter_map(|compared| compared.workload.clone()).collect();
    // Each system has one.
    curves.sort_unstable();
    curves.dedup();
    if !curves.is_empty() {
        parts.push(format!("a comparison of the variants of {}", list(&curves)));
    }
    let all = things(findings.series.len(), "series", "series");
    let details = match details {
        0 => String::new(),
        details => format!(" and {} of detail", count(details as u64)),
    };
    let said = if parts.is_empty() { String::new() } else { format!(", with {}", list(&parts)) };
    format!("--verbose has all {all}{details}{said}.")
}
