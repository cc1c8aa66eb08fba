//! Runs in fewer values: the median of each cell of n in place of the measurements.
//!
//! Numbers that leave a run, for a comparison or a history, are made from the reduction of each series,
//! whether the record still has its measurements or not. The verdict of a series needs all measurements, and
//! so a reduced record has the verdict itself.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};

use record::{JudgedSeries, Line, Recording, Series, SeriesKey, Trial, Unit};
use stats::{JudgeSettings, REDUCED_FROM, Sweep, Verdict, reduced_values, reduction};

use crate::finding::{Finding, looks};
use crate::findings::Findings;
use crate::series::{measured, references, sweep};

/// A value for each measurement as runs are compared by them: where the series is long, the median of its
/// cell.
pub fn compared_values<'a>(recording: &Recording, series: &'a Series) -> Cow<'a, [f64]> {
    if !is_reducible(series) {
        return Cow::Borrowed(&series.values);
    }
    if series.is_reduced() {
        return series.every_value();
    }
    reduced_values(&sweep(series), tick(recording, series)).into()
}

/// The sweep of a series with a value for each measurement.
pub fn sweep_of_every<'a>(series: &'a Series, every_value: &'a [f64]) -> Sweep<'a> {
    match series.is_reduced() {
        true => Sweep::even(series.n_first, series.n_step, every_value),
        false => sweep(series).with_values(every_value),
    }
}

/// Reduces the lines of a run, which `recording` was read from and `findings` were made of. References are
/// left out: a verdict needs them, and nothing else does. A variant of which a verdict cannot be recorded
/// keeps its measurements.
pub fn compact(
    recording: &Recording,
    findings: &Findings,
    lines: impl IntoIterator<Item = Line>,
) -> Vec<Line> {
    let run = CompactRun::new(recording, findings);
    let (mut reduced_lines, mut recorded) = (Vec::new(), HashSet::new());
    for line in lines {
        match line {
            Line::Judged(_) => {}
            Line::Series(series) => {
                recorded.insert(SeriesKey::from_series(&series));
                reduced_lines.extend(run.reduced(series).map(Line::Series));
            }
            line => reduced_lines.push(line),
        }
    }
    let mut judged = run.judged.values().cloned().map(Line::Judged);
    let mut compact = Vec::new();
    for line in reduced_lines {
        // After the definitions, before the trials: a file that is cut off has the verdicts still.
        if line.trial().is_some() || matches!(line, Line::End(_)) {
            compact.extend(judged.by_ref());
        }
        let sums = match &line {
            Line::Trial(trial) => run.sums(trial, &recorded),
            _ => Vec::new(),
        };
        compact.push(line);
        compact.extend(sums.into_iter().map(Line::Series));
    }
    compact.extend(judged);
    compact
}

/// Whether a series has so many measurements that they are reduced.
fn is_reducible(series: &Series) -> bool {
    series.is_reduced()
        || series.sizes.is_empty() && series.n_step != 0 && series.values.len() >= REDUCED_FROM
}

/// A series with the medians in place of its measurements.
fn reduced(recording: &Recording, series: &Series) -> Series {
    if series.is_reduced() || !is_reducible(series) {
        return series.clone();
    }
    let cells = reduction(&sweep(series), tick(recording, series));
    Series {
        sizes: cells.iter().map(|cell| cell.n).collect(),
        values: cells.iter().map(|cell| cell.value).collect(),
        counts: cells.iter().map(|cell| cell.count).collect(),
        ..series.clone()
    }
}

/// The smallest step of the clock of a trial for one operation; 0 where values are no times.
fn tick(recording: &Recording, series: &Series) -> f64 {
    let kind = recording.kind(&SeriesKey::from_series(series));
    if !kind.is_none_or(|kind| matches!(kind.unit, Unit::Seconds | Unit::None)) {
        return 0.0;
    }
    let clock = recording.trial_of(series).and_then(|trial| trial.clock.as_ref());
    clock.map_or(0.0, |clock| clock.tick_seconds / f64::from(series.batch.max(1)))
}

/// The verdict in the record, where it was made with these settings.
pub(crate) fn recorded_verdict(
    recording: &Recording,
    key: &SeriesKey,
    settings: &JudgeSettings,
) -> Option<Verdict> {
    let judged = recording.judged.get(key)?;
    let is_same = judged.margin == settings.margin && judged.looks == settings.looks && !settings.whole;
    if is_same { parse(judged) } else { None }
}

/// The verdict in the record, as far as this version can read it.
pub(crate) fn parse(judged: &JudgedSeries) -> Option<Verdict> {
    serde_json::from_value(judged.verdict.clone()).ok()
}

/// The verdicts of a run, and the lines that stay as they are.
struct CompactRun<'a> {
    recording: &'a Recording,
    judged: BTreeMap<SeriesKey, JudgedSeries>,
    /// Systems, workloads and variants that keep their measurements.
    kept: HashSet<[String; 3]>,
}

impl<'a> CompactRun<'a> {
    fn new(recording: &'a Recording, findings: &Findings) -> CompactRun<'a> {
        let mut run = CompactRun { recording, judged: BTreeMap::new(), kept: HashSet::new() };
        let is_long = |finding: &&Finding| measured(recording, &finding.key).into_iter().any(is_reducible);
        for finding in findings.series.iter().filter(is_long) {
            match judged(recording, findings, finding) {
                Some(judged) => drop(run.judged.insert(finding.key.clone(), judged)),
                None => drop(run.kept.insert(variant(&finding.key))),
            }
        }
        run.judged.retain(|key, _| !run.kept.contains(&variant(key)));
        run
    }

    /// The same series as it is kept; `None` for a reference that is left out.
    fn reduced(&self, series: Series) -> Option<Series> {
        let key = SeriesKey::from_series(&series);
        if self.kept.contains(&variant(&key)) {
            return Some(series);
        }
        let workload = self.recording.workload(&series.workload);
        let is_reference = workload
            .is_some_and(|workload| references(workload, key.direction).any(|kind| kind.name == key.name));
        if is_reference && is_reducible(&series) { None } else { Some(reduced(self.recording, &series)) }
    }

    /// The sums of a trial that are judged and not in the file: sums of medians would be others.
    fn sums(&self, trial: &Trial, recorded: &HashSet<SeriesKey>) -> Vec<Series> {
        let order = &trial.order;
        let is_its = |key: &&SeriesKey| {
            [&key.system, &key.workload, &key.variant] == [&order.system, &order.workload, &order.variant]
                && !recorded.contains(*key)
        };
        let of_trial = |key: &SeriesKey| {
            let series = self.recording.trials_of(key).iter().find(|series| series.trial == order.trial);
            series.map(|series| reduced(self.recording, series))
        };
        self.judged.keys().filter(is_its).filter_map(of_trial).collect()
    }
}

fn variant(key: &SeriesKey) -> [String; 3] {
    [&key.system, &key.workload, &key.variant].map(String::clone)
}

/// The verdict of a series for the record; `None` where it would not be read back as it is.
fn judged(recording: &Recording, findings: &Findings, finding: &Finding) -> Option<JudgedSeries> {
    let verdict = finding.verdict.as_ref()?;
    let judged = JudgedSeries {
        of: finding.key.clone(),
        by: env!("CARGO_PKG_VERSION").to_owned(),
        margin: findings.margin,
        looks: looks(&recording.run),
        verdict: serde_json::to_value(verdict).ok()?,
    };
    let is_readable = format!("{:?}", parse(&judged)?) == format!("{verdict:?}");
    let before = recording.judged.get(&finding.key).filter(|before| before.verdict == judged.verdict);
    is_readable.then(|| before.cloned().unwrap_or(judged))
}
