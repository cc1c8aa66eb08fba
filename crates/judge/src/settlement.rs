//! The trials that would settle undecided verdicts, and their time, where it is known how long trials take.

use std::collections::BTreeMap;

use record::{Recording, Trial};
use stats::Class;

use crate::finding::Finding;
use crate::series::median;

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
