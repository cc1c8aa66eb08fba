//! How the throughput of several workers scales.

use record::{Processors, Recording, SeriesKey, Shape, System, Workload};
use stats::{JudgeSettings, Scaling, ScalingTrial};

use crate::series::{measured, sweep};

/// The series of a scaling: operations per second of all workers, and of the loop that shares nothing.
const RATE: &str = "rate";
const REFERENCE: &str = "reference";

/// Judges the series, if it is the throughput of a scaling.
pub(crate) fn of_series(
    recording: &Recording,
    system: &System,
    workload: &Workload,
    key: &SeriesKey,
    settings: &JudgeSettings,
) -> Option<Scaling> {
    if workload.shape != Shape::Scaling || key.name != RATE {
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
