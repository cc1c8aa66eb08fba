//! Trials that go up and down: both ways judged together, and compared with each other.

use crate::block::log_medians;
use crate::centre::Centre;
use crate::finding::{Drift, Hysteresis};
use crate::hysteresis;
use crate::median::median;
use crate::settings::JudgeSettings;
use crate::sweep::Sweep;

/// The two ways of the trials; the first up and the first down are one trial, and so on.
pub(crate) struct Passes<'a> {
    pub(crate) up: Vec<Sweep<'a>>,
    pub(crate) down: Vec<Sweep<'a>>,
}

/// The values of both ways of one trial, by n.
pub(crate) struct Merged {
    sizes: Vec<u64>,
    values: Vec<f64>,
}

impl Merged {
    pub(crate) fn sweep(&self) -> Sweep<'_> {
        Sweep::listed(&self.sizes, &self.values)
    }
}

impl<'a> Passes<'a> {
    pub(crate) fn of(trials: &[Sweep<'a>]) -> Passes<'a> {
        let (down, up) = trials.iter().partition(|trial| trial.is_down());
        Passes { up, down }
    }

    /// Each trial with both ways in one, each way scaled so that their medians agree; `None` where all trials
    /// go the same way. What has no partner stays as it is.
    pub(crate) fn merged(&self) -> Option<Vec<Merged>> {
        if self.up.is_empty() || self.down.is_empty() {
            return None;
        }
        let trials = self.up.len().max(self.down.len());
        Some((0..trials).map(|trial| merge([self.up.get(trial), self.down.get(trial)])).collect())
    }

    /// The way down against the way up at the same n, and the change with time inside a trial.
    pub(crate) fn compare(
        &self,
        ranges: &[(u64, u64)],
        settings: &JudgeSettings,
    ) -> (Option<Hysteresis>, Option<Drift>) {
        let pairs = self.up.len().min(self.down.len());
        let rows = |trials: &[Sweep<'_>]| log_medians(&trials[..pairs], ranges, settings.tick_seconds);
        let turn = self.up.iter().filter_map(|way| way.span()).map(|(_, high)| high).max().unwrap_or(0);
        let (up, down) = (rows(&self.up), rows(&self.down));
        hysteresis::find(&up, &down, ranges, turn, settings.error_rate(), settings.seed)
    }

    /// Whether a jump of `log_ratio` at `n` is there on either way: at least half of it, for certain.
    pub(crate) fn both_jump(&self, before: (u64, u64), after: (u64, u64), log_ratio: f64) -> bool {
        [&self.up, &self.down].iter().all(|way| {
            let rows = log_medians(way, &[before, after], 0.0);
            let jumps: Vec<f64> = rows.iter().map(|row| row[1] - row[0]).collect();
            Centre::of(&jumps).is_some_and(|centre| centre.value / log_ratio >= 0.5)
        })
    }
}

fn merge(ways: [Option<&Sweep<'_>>; 2]) -> Merged {
    let level = |way: &Sweep<'_>| {
        let costs = way.values.iter().copied().filter(|value| crate::range::is_cost(*value));
        median(&mut costs.collect::<Vec<f64>>()).map_or(0.0, f64::ln)
    };
    let levels: Vec<f64> = ways.iter().flatten().map(|way| level(way)).collect();
    let common = levels.iter().sum::<f64>() / levels.len().max(1) as f64;
    let mut points: Vec<(u64, f64)> = Vec::new();
    for (way, level) in ways.iter().flatten().zip(&levels) {
        let factor = (common - level).exp();
        points.extend((0..way.values.len()).map(|place| (way.n(place), way.values[place] * factor)));
    }
    points.sort_by_key(|point| point.0);
    Merged {
        sizes: points.iter().map(|point| point.0).collect(),
        values: points.iter().map(|point| point.1).collect(),
    }
}
