//! How the throughput of several workers scales.

use record::{Processors, Recording, SeriesKey, Shape, System, Workload};
use stats::{JudgeSettings, Scaling, ScalingTrial};

use crate::environment::is_emulated;
use crate::series::{measured, sweep};

/// The series of a scaling: operations per second of all workers, and of the loop that shares nothing.
const RATE: &str = "rate";
const REFERENCE: &str = "reference";

/// Whether the series is the throughput of a scaling that is not judged: the speeds of emulated processors
/// say nothing of real ones.
pub(crate) fn is_emulated_throughput(system: &System, workload: &Workload, key: &SeriesKey) -> bool {
    is_throughput(workload, key) && is_emulated(system)
}

fn is_throughput(workload: &Workload, key: &SeriesKey) -> bool {
    workload.shape == Shape::Scaling && key.name == RATE
}

/// Judges the series, if it is the throughput of a scaling.
pub(crate) fn of_series(
    recording: &Recording,
    system: &System,
    workload: &Workload,
    key: &SeriesKey,
    settings: &JudgeSettings,
) -> Option<Scaling> {
    if !is_throughput(workload, key) || is_emulated(system) {
        return None;
    }
    let references = SeriesKey { name: REFERENCE.to_owned(), ..key.clone() };
    let references = measured(recording, &references);
    let rates = measured(recording, key).into_iter().map(|series| {
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
    let trials: Vec<ScalingTrial> = rates.collect();
    let processors = system.processors.as_ref();
    let usable = processors.map_or(1, |processors| processors.usable.len().max(1) as u64);
    let borders = processors.map_or_else(Vec::new, borders);
    stats::scaling(&trials, usable, &borders, settings)
}

fn borders(processors: &Processors) -> Vec<u64> {
    processors.borders.iter().map(|border| u64::from(border.after)).collect()
}
