//! How the throughput of several workers scales.

use record::{Recording, SeriesKey, Shape, System, Workload};
use stats::{JudgeSettings, Scaling, ScalingTrial};

use crate::environment::is_emulated;
use crate::series::{measured, sweep};

/// The series of a scaling: operations per second of all workers, and of the loop that shares nothing.
pub(crate) const RATE: &str = "rate";
const REFERENCE: &str = "reference";
/// Of each worker: by it systems are compared.
pub(crate) const SLOWDOWN: &str = "slowdown";

/// The setting that places workers, and its value for which the record has the borders.
const PLACEMENT: &str = "placement";
const SPREAD: &str = "spread";

/// A scaling goes on where this many times its trials may decide it: there are many, and some are noisy.
const MORE_TRIALS: usize = 4;

/// Why it is not judged how throughput scales.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotScaled {
    /// The processors are emulated: their speeds say nothing of real ones.
    Emulated,
    /// Only one worker was measured, on the only usable processor.
    OneProcessor,
    /// No trial has both one worker and several: levels do not count where others had the processors.
    NoSpeedup,
}

/// Judges the series, or says why not; `None` unless it is the measured throughput of a scaling.
pub(crate) fn of_series(
    recording: &Recording,
    system: &System,
    workload: &Workload,
    key: &SeriesKey,
    settings: &JudgeSettings,
) -> Option<Result<Scaling, NotScaled>> {
    if workload.shape != Shape::Scaling || key.name != RATE {
        return None;
    }
    let references = SeriesKey { name: REFERENCE.to_owned(), ..key.clone() };
    let references = measured(recording, &references);
    let rates = measured(recording, key);
    let trials = rates.iter().map(|series| {
        let points = |series| {
            let sweep = sweep(series);
            (0..sweep.values.len()).map(|place| (sweep.n(place), sweep.values[place])).collect()
        };
        let reference = references.iter().find(|reference| reference.trial == series.trial);
        ScalingTrial {
            rates: points(series),
            references: reference.map_or_else(Vec::new, |reference| points(reference)),
        }
    });
    let trials: Vec<ScalingTrial> = trials.collect();
    if trials.is_empty() {
        return None;
    }
    if is_emulated(system) {
        return Some(Err(NotScaled::Emulated));
    }
    let usable = system.workers_at_once().unwrap_or(1);
    let has_several = trials.iter().flat_map(|trial| &trial.rates).any(|(workers, _)| *workers > 1);
    if usable == 1 && !has_several {
        return Some(Err(NotScaled::OneProcessor));
    }
    let scaling = stats::scaling(&trials, usable, &borders(recording, system, key), settings);
    Some(scaling.ok_or(NotScaled::NoSpeedup))
}

/// Whether a few more trials would make it certain.
pub(crate) fn is_open(scaling: &Scaling) -> bool {
    let most = scaling.trials * MORE_TRIALS;
    scaling.trials_needed.is_some_and(|needed| needed as usize <= most)
}

/// The numbers of workers after which processors of another kind begin, where that is known.
fn borders(recording: &Recording, system: &System, key: &SeriesKey) -> Vec<u64> {
    let of_key = recording.trials.iter().map(|trial| &trial.order);
    let mut of_key = of_key.filter(|order| order.system == key.system && order.workload == key.workload);
    let is_spread = of_key.all(|order| order.settings.get(PLACEMENT).is_none_or(|value| value == SPREAD));
    let processors = system.processors.as_ref().filter(|_| is_spread);
    let borders = processors.map_or(&[][..], |processors| &processors.borders);
    borders.iter().map(|border| u64::from(border.after)).collect()
}
