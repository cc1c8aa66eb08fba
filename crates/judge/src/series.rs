//! The measurements of a series as input of statistics.

use std::borrow::Cow;

use record::{Direction, Recording, Series, SeriesKey, SeriesKind, Workload};
use stats::Sweep;

use crate::reduction::sweep_of_every;

/// The measurements of one series, trial by trial.
pub fn sweeps<'a>(recording: &'a Recording, key: &SeriesKey) -> Vec<Sweep<'a>> {
    measured(recording, key).into_iter().map(sweep).collect()
}

/// The numbers of those trials.
pub fn trials(recording: &Recording, key: &SeriesKey) -> Vec<u32> {
    measured(recording, key).iter().map(|series| series.trial).collect()
}

/// The trials of one series that have values.
pub(crate) fn measured<'a>(recording: &'a Recording, key: &SeriesKey) -> Vec<&'a Series> {
    recording.trials_of(key).iter().filter(|series| !series.values.is_empty()).collect()
}

/// The trials of a series, with the references that were timed among their values.
pub(crate) struct Referenced<'a> {
    trials: Vec<(&'a Series, Cow<'a, [f64]>)>,
    references: Vec<Vec<Sweep<'a>>>,
}

impl<'a> Referenced<'a> {
    /// Finds the references.
    pub(crate) fn new(recording: &'a Recording, trials: Vec<&'a Series>) -> Referenced<'a> {
        let references = trials.iter().map(|series| sweeps_of_references(recording, series)).collect();
        let trials = trials.into_iter().map(|series| (series, series.every_value())).collect();
        Referenced { trials, references }
    }

    /// The sweeps for statistics.
    pub(crate) fn sweeps(&self) -> Vec<Sweep<'_>> {
        let trials = self.trials.iter().zip(&self.references);
        let sweep = |(series, values)| sweep_of_every(series, values);
        trials
            .map(|((series, values), references)| sweep((*series, values)).with_controls(references))
            .collect()
    }
}

/// The references that are timed among the operations of a workload in one direction.
pub(crate) fn references(workload: &Workload, direction: Direction) -> impl Iterator<Item = &SeriesKind> {
    workload.references.iter().filter(move |kind| kind.direction == direction)
}

/// The references that were timed among the values of a series of one trial; one without values where the
/// trial lacks it.
fn sweeps_of_references<'a>(recording: &'a Recording, series: &Series) -> Vec<Sweep<'a>> {
    let workload = recording.workload(&series.workload);
    let kinds = workload.into_iter().flat_map(|workload| references(workload, series.direction));
    let of_trial = |kind: &SeriesKind| {
        let trials =
            recording.trials_of(&SeriesKey { name: kind.name.clone(), ..SeriesKey::from_series(series) });
        let place = trials.binary_search_by_key(&series.trial, |other| other.trial);
        place.map_or(Sweep::even(0, 1, &[]), |place| sweep(&trials[place]))
    };
    kinds.map(of_trial).collect()
}

/// Whether the n of a series are levels: they are listed, and each is there once.
pub(crate) fn is_of_levels(measured: &[&Series]) -> bool {
    let once = |series: &&&Series| {
        series.sizes.is_sorted_by(|a, b| a < b) && !series.sizes.is_empty() && !series.is_reduced()
    };
    !measured.is_empty() && measured.iter().all(|series| once(&series))
}

/// The measurements of one trial, or the medians that stand for them.
pub fn sweep(series: &Series) -> Sweep<'_> {
    match series.sizes.as_slice() {
        [] => Sweep::even(series.n_first, series.n_step, &series.values),
        sizes => Sweep::listed(sizes, &series.values),
    }
}

/// Whether a series is one of those that `key` names.
pub(crate) fn is_of(series: &Series, key: &SeriesKey) -> bool {
    series.name == key.name
        && series.direction == key.direction
        && series.workload == key.workload
        && series.variant == key.variant
        && series.system == key.system
}

/// The middle of some numbers; 0 when there is none.
pub fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.filter(|v| v.is_finite()).collect();
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => 0.0,
        n if n % 2 == 1 => values[n / 2],
        n => (values[n / 2 - 1] + values[n / 2]) / 2.0,
    }
}
