//! Runs in fewer values: the median of each cell of n in place of the measurements.
//!
//! Numbers that leave a run, for a comparison or a history, are made from the reduction of each series,
//! whether the record still has its measurements or not. The verdict of a series needs all measurements, and
//! so a reduced record has the verdict itself.

use std::borrow::Cow;

use record::{JudgedSeries, Recording, Series, SeriesKey, Unit};
use stats::{JudgeSettings, REDUCED_FROM, ReducedCell, Sweep, Verdict, reduced_values, reduction};

use crate::series::sweep;

/// Whether a series has so many measurements that they are reduced.
pub(crate) fn is_reducible(series: &Series) -> bool {
    series.is_reduced()
        || series.sizes.is_empty() && series.n_step != 0 && series.values.len() >= REDUCED_FROM
}

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

/// A series with the medians in place of its measurements.
pub(crate) fn reduced(recording: &Recording, series: &Series) -> Series {
    if series.is_reduced() || !is_reducible(series) {
        return series.clone();
    }
    let cells = cells(recording, series);
    Series {
        sizes: cells.iter().map(|cell| cell.n).collect(),
        values: cells.iter().map(|cell| cell.value).collect(),
        counts: cells.iter().map(|cell| cell.count).collect(),
        ..series.clone()
    }
}

fn cells(recording: &Recording, series: &Series) -> Vec<ReducedCell> {
    reduction(&sweep(series), tick(recording, series))
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
