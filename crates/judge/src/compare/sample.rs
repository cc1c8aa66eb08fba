//! The sample of one contender in one series, before it is compared with others.

use std::borrow::Cow;
use std::collections::BTreeMap;

use record::{Recording, Series, SeriesKey, Side, System, Unit};
use stats::{Scaling, Sweep, Verdict};

use super::result::{LevelValue, OfferedLoad};
use crate::bounds::LimitedLevels;
use crate::reduction::{compared_values, sweep_of_every};
use crate::stops::Stop;

/// The sample of one contender in one series.
pub(super) struct Sample<'a> {
    /// Name of the contender.
    pub(super) name: String,
    pub(super) recording: &'a Recording,
    pub(super) system: &'a System,
    pub(super) key: SeriesKey,
    pub(super) unit: Unit,
    /// Where it was measured.
    pub(super) side: Side,
    /// Whether the run was to measure it.
    pub(super) is_planned: bool,
    /// By level, the number and the value of each trial, the numbers rising.
    pub(super) values: BTreeMap<u64, Vec<(u32, f64)>>,
    pub(super) levels: Vec<LevelValue>,
    /// Whether these are the levels of a load, and not places of a curve.
    pub(super) is_load: bool,
    pub(super) verdict: Option<Verdict>,
    /// The throughput behind a slowdown.
    pub(super) scaling: Option<Scaling>,
    pub(super) limited: Option<LimitedLevels>,
    /// By level, the load that all rivals were offered while it was measured; empty where there was none.
    pub(super) offered: BTreeMap<u64, OfferedLoad>,
    /// How its trials stopped short: at all, and in this series.
    pub(super) stops: Vec<Stop>,
    pub(super) own_stops: Vec<Stop>,
    /// When each trial that counts began, by its number.
    pub(super) started: BTreeMap<u32, f64>,
    /// The boot of each trial, by the trial's number.
    pub(super) boots: BTreeMap<u32, u32>,
    /// Smallest step of the clock where single operations were timed; 0 for a load.
    pub(super) tick_seconds: f64,
}

/// The measurements of one trial as costs, where less is better: a rate becomes the time that one takes.
#[derive(Clone, Default)]
pub(super) struct Costs<'a> {
    series: Option<&'a Series>,
    /// The boot that they are of, where boots may differ; else 0.
    pub(super) boot: u32,
    /// The levels that they stand for, where they are not all measurements.
    levels: Vec<u64>,
    values: Cow<'a, [f64]>,
}

impl Costs<'_> {
    /// The sweeps for statistics; an empty one stands for a missing trial.
    pub(super) fn sweep(&self) -> Sweep<'_> {
        let sweep = match self.series {
            Some(series) => sweep_of_every(series, &self.values),
            None => Sweep::listed(&self.levels, &self.values),
        };
        sweep.of_boot(self.boot)
    }
}

impl<'a> Sample<'a> {
    /// The levels at which it may be ranked, rising: half of its trials were there, and measured the
    /// contender, or a lower bound of its rate.
    pub(super) fn reached(&self) -> impl DoubleEndedIterator<Item = &LevelValue> {
        let trials = self.values.values().map(Vec::len).max().unwrap_or(0);
        let is_ranked = |level: &LevelValue| !level.limited || level.at_least;
        self.levels.iter().filter(move |level| is_ranked(level) && 2 * level.trials >= trials)
    }

    /// The noise floor of its series with its settings, as a share; 0 where none is known.
    pub(super) fn floor(&self) -> f64 {
        let Some(floor) = &self.system.noise_floor else { return 0.0 };
        let settings = self.recording.settings(&self.system.name, &self.key.workload);
        settings.map_or(floor.share, |settings| floor.series_share(&self.key, settings))
    }

    /// All measurements of a trial but those at some levels. Values that the generator limited are no cost of
    /// the contender.
    pub(super) fn every_n(&self, trial: u32, except: &[u64]) -> Costs<'a> {
        let trials = self.recording.trials_of(&self.key);
        let place = trials.binary_search_by_key(&trial, |series| series.trial);
        let Some(series) = place.ok().map(|place| &trials[place]) else { return Costs::default() };
        let is_rate = self.unit.more_is_better();
        let limited = |n: u64| self.limited.as_ref().is_some_and(|limited| limited.at(n));
        let values = compared_values(self.recording, series);
        if self.limited.is_none() && !is_rate && except.is_empty() {
            return Costs { series: Some(series), values, ..Costs::default() };
        }
        let sweep = sweep_of_every(series, &values);
        let cost = |(n, value): (u64, f64)| match is_rate {
            _ if limited(n) || except.contains(&n) => f64::NAN,
            true => value.recip(),
            false => value,
        };
        let points = sweep.sizes().zip(sweep.values.iter().copied());
        let values = points.map(cost).collect();
        Costs { series: Some(series), values, ..Costs::default() }
    }

    /// A trial at some levels; empty where it lacks one.
    pub(super) fn at_levels(&self, levels: &[u64], trial: u32) -> Costs<'a> {
        let at = |n: &u64| {
            let of_level = self.values.get(n)?;
            let place = of_level.binary_search_by_key(&trial, |(number, _)| *number).ok()?;
            let value = of_level[place].1;
            Some(if self.unit.more_is_better() { value.recip() } else { value })
        };
        match levels.iter().map(at).collect() {
            Some(values) => Costs { levels: levels.to_vec(), values: Cow::Owned(values), ..Costs::default() },
            None => Costs::default(),
        }
    }

    /// A trial as the geometric mean of its costs at some levels, which stands at the last of them; empty
    /// where it lacks one.
    pub(super) fn mean_of_levels(&self, levels: &[u64], trial: u32) -> Costs<'a> {
        let at_levels = self.at_levels(levels, trial).values;
        let Some(last) = levels.last().filter(|_| !at_levels.is_empty()) else { return Costs::default() };
        let mean = at_levels.iter().map(|cost| cost.ln()).sum::<f64>() / at_levels.len() as f64;
        Costs { levels: vec![*last], values: Cow::Owned(vec![mean.exp()]), ..Costs::default() }
    }
}
