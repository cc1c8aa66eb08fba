//! The result of a fold: segments with levels, and the ratios of changes from what is known by now.

use super::fold::HistoryFold;
use super::slope::drift;
use super::track::Track;
use super::{LEVEL_NIGHTS, LevelChange, LevelHistory, LevelSegment, SeriesLevels, YearlyDrift};
use crate::centre::{Centre, Interval, Student, exp};
use crate::drift::inflation;

/// Error rate of all intervals.
pub(super) const ALPHA: f64 = 0.05;
/// Fewer nights take their error from the noise of the series.
const FEW: usize = 6;

impl HistoryFold {
    /// The history up to the newest night.
    pub fn answer(&self) -> LevelHistory {
        let series = (0..self.logs.len()).map(|series| self.series(series)).collect();
        let changes = self.changes().iter().map(|change| self.updated(change)).collect();
        let machine_drifts = (0..self.machines.len()).map(|machine| self.machine_drift(machine)).collect();
        LevelHistory { series, machine_drifts, changes, suspected: self.suspected().to_vec() }
    }

    fn series(&self, series: usize) -> SeriesLevels {
        let machines = 0..self.machines.len();
        let starts: Vec<Vec<usize>> =
            machines.clone().map(|machine| self.starts(Some(series), machine)).collect();
        let most =
            machines.clone().max_by_key(|machine| self.ran.iter().filter(|ran| *ran == machine).count());
        let noise = most.map_or(f64::NAN, |machine| self.machines[machine].tracks[series].noise.deviation);
        let of_machine = |machine: usize| {
            let starts = &starts[machine];
            let ends = starts.iter().skip(1).copied().chain([self.days.len()]);
            starts
                .iter()
                .zip(ends)
                .filter_map(move |(first, end)| self.segment(series, machine, (*first, end)))
        };
        let track = |machine: &usize| &self.machines[*machine].tracks[series];
        let own: Vec<f64> =
            self.ran.iter().enumerate().map(|(night, machine)| track(machine).values[night]).collect();
        let segments: Vec<LevelSegment> = machines.flat_map(of_machine).collect();
        let drift = drift(&self.days, &own, &self.ran, &starts);
        let mut steady = own;
        segments.iter().for_each(|segment| self.level_with_machine(segment, &mut steady));
        SeriesLevels { segments, drift, steady, noise }
    }

    /// Adds the mean of the common part to the nights of a segment, so that they lie around its level.
    fn level_with_machine(&self, segment: &LevelSegment, steady: &mut [f64]) {
        let shared = &self.machines[segment.machine].shared.values;
        let nights = segment.first..=segment.last;
        let nights: Vec<usize> = nights
            .filter(|night| self.ran[*night] == segment.machine && steady[*night].is_finite())
            .collect();
        let part = |night: &usize| if shared[*night].is_finite() { shared[*night] } else { 0.0 };
        let mean = nights.iter().map(part).sum::<f64>() / nights.len().max(1) as f64;
        nights.iter().for_each(|night| steady[*night] += mean);
    }

    fn machine_drift(&self, machine: usize) -> Option<YearlyDrift> {
        let starts: Vec<Vec<usize>> = (0..self.machines.len())
            .map(|other| if other == machine { self.starts(None, machine) } else { Vec::new() })
            .collect();
        drift(&self.days, &self.machines[machine].shared.values, &self.ran, &starts)
    }

    /// First nights of the segments of a series, or of the common part, on a machine.
    fn starts(&self, series: Option<usize>, machine: usize) -> Vec<usize> {
        self.starts_with(machine, |change| match change.series {
            None => change.machine == machine,
            own => own == series,
        })
    }

    /// The same with the changes that are its own.
    fn starts_with(&self, machine: usize, is_own: impl Fn(&LevelChange) -> bool) -> Vec<usize> {
        let epochs = self.epochs.iter().filter(|epoch| epoch.1 == machine).map(|epoch| epoch.0);
        let first = epochs.clone().min().unwrap_or(0);
        let changes = self.changes.iter().filter(|change| is_own(change)).map(|change| change.from);
        let mut starts: Vec<usize> = epochs.chain(changes.filter(|from| *from > first)).collect();
        starts.sort_unstable();
        starts.dedup();
        starts
    }

    fn segment(&self, series: usize, machine: usize, (first, end): (usize, usize)) -> Option<LevelSegment> {
        let nights = (first..end).filter(|night| self.ran[*night] == machine);
        let logs: Vec<f64> =
            nights.map(|night| self.logs[series][night]).filter(|log| log.is_finite()).collect();
        let centre = Centre::new(&logs)?;
        let own = self.machines[machine].tracks[series].noise;
        let reach = if logs.len() < FEW {
            let noise = own.deviation.hypot(self.machines[machine].shared.noise.deviation);
            noise * Student::new(ALPHA).critical(own.freedom) / (logs.len() as f64).sqrt()
        } else {
            centre.reach(&Student::new(ALPHA)) * inflation(&logs).sqrt()
        };
        let level = Interval { value: centre.value, low: centre.value - reach, high: centre.value + reach };
        let starts_epoch = self.epochs.contains(&(first, machine));
        Some(LevelSegment { machine, first, last: end - 1, measured: logs.len(), level, starts_epoch })
    }

    /// The change with the ratio of the nights around it. Only these, because a level wanders. The common
    /// part of a new system may be the system's, and stays in, with its changes.
    fn updated(&self, change: &LevelChange) -> LevelChange {
        let machine = &self.machines[change.machine];
        let starts = self.starts(change.series, change.machine);
        let ratio = match change.series {
            None => ratio(&machine.shared, change, &starts),
            Some(series) if self.systems.contains(&(change.from, change.machine)) => {
                let own = self.starts_with(change.machine, |other| other.series == Some(series));
                ratio(&machine.tracks[series].with(&machine.shared), change, &own)
            }
            Some(series) => ratio(&machine.tracks[series], change, &starts),
        };
        let ratio = ratio.map_or(change.ratio, exp);
        LevelChange { ratio, ..*change }
    }
}

/// Between the segments of a track around a change.
fn ratio(track: &Track, change: &LevelChange, starts: &[usize]) -> Option<Interval> {
    let place = starts.iter().position(|start| *start == change.from)?;
    let before = starts[place.checked_sub(1)?];
    let end = starts.get(place + 1).copied().unwrap_or(track.values.len());
    let old = track.level(before, change.from)?;
    let new = track.level(change.from, end.min(change.from + LEVEL_NIGHTS))?;
    let error = track.noise.deviation * (old.variance + new.variance).sqrt();
    let (value, reach) = (new.log - old.log, error * Student::new(ALPHA).critical(track.noise.freedom));
    Some(Interval { value, low: value - reach, high: value + reach })
}
