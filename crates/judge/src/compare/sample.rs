//! The sample of one contender in one series, before it is compared with others.
//!
//! A load has its levels. A curve, which has a value for each n, gets the levels 1, 2, 5, 10 and so on; the
//! value of a trial at a level is the median of the tenth of n below it: near enough to hide a slope, and
//! wide enough to hide a spike.

use std::borrow::Cow;
use std::collections::BTreeMap;

use record::{
    Direction, GeneratorLevel, Recording, Series, SeriesKey, Side, System, Trial, TrialParameters, Unit,
};
use stats::{Scaling, Sweep, Verdict};

use crate::bounds::{BoundsOf, LimitedLevels};
use crate::compare::{LevelValue, OfferedLoad};
use crate::generator::is_of_server;
use crate::reduction::{compared_values, sweep_of_every};
use crate::series::{is_of_levels, median};
use crate::stops::{self, Stop};

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

/// A load with more levels than these counts as a curve.
const LEVELS_MAX: usize = 512;

/// The trials of one variant.
pub(super) fn trials<'a>(
    recording: &'a Recording,
    system: &System,
    workload: &str,
    variant: &str,
) -> Vec<&'a Trial> {
    let is_of = |trial: &&Trial| {
        let TrialParameters { system: of, workload: name, variant: of_variant, .. } = &trial.order;
        (of, name.as_str(), of_variant.as_str()) == (&system.name, workload, variant)
    };
    recording.trials.iter().filter(is_of).collect()
}

/// Whether a curve has levels too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OfCurve {
    /// Every n is compared.
    EveryN,
    /// Windows of n are its levels.
    Windows,
}

/// The sample of a contender, known by the variant, in a series.
pub(super) fn sample<'a>(
    recording: &'a Recording,
    system: &'a System,
    (trials, bounds): (&[&Trial], BoundsOf<'_>),
    key: SeriesKey,
    of_curve: OfCurve,
) -> Sample<'a> {
    let has_values = |series: &&Series| !series.values.is_empty();
    let counted: Vec<&Series> = recording.trials_of(&key).iter().filter(has_values).collect();
    let is_load = is_of_levels(&counted) && counted.iter().all(|s| s.sizes.len() <= LEVELS_MAX);
    let values = match of_curve {
        _ if is_load => by_level(&counted),
        OfCurve::Windows => by_window(recording, &counted),
        OfCurve::EveryN => BTreeMap::new(),
    };
    let kind = recording.kind(&key);
    let unit = kind.map(|kind| kind.unit).unwrap_or_default();
    let levels: Vec<u64> = values.keys().copied().collect();
    let limited = bounds.not_compared(trials, &key.name, &levels);
    let limited = limited.filter(|_| !values.is_empty() && !kind.is_some_and(is_of_server));
    // As many requests as the generator could send: a lower bound of the contender's rate.
    let at_least = bounds.limited(trials, &key.name, &levels);
    let at_least = at_least.filter(|_| limited.is_some() && unit.more_is_better());
    let level = |(n, values): (&u64, &Vec<(u32, f64)>)| LevelValue {
        n: *n,
        value: median(values.iter().map(|(_, value)| *value)),
        trials: values.len(),
        limited: limited.as_ref().is_some_and(|limited| limited.at(*n)),
        at_least: at_least.as_ref().is_some_and(|at_least| at_least.at(*n)),
    };
    let offered = offered_loads(recording, trials, &key);
    let mut stops = stops::from_trials(trials, recording.end.as_ref());
    if counted.is_empty() {
        let workload = recording.workload(&key.workload);
        stops.extend(workload.and_then(|workload| stops::not_offered(workload, trials)));
    }
    let ticks = trials.iter().filter_map(|trial| trial.clock.as_ref()).map(|clock| clock.tick_seconds);
    let batch = counted.iter().map(|series| series.batch).max().unwrap_or(1).max(1);
    let is_timed = !is_load && matches!(unit, Unit::Seconds | Unit::None);
    let started = trials.iter().map(|trial| (trial.order.trial, trial.started_seconds));
    let counts = |number: &u32| counted.iter().any(|series| series.trial == *number);
    Sample {
        name: key.variant.clone(),
        recording,
        system,
        unit,
        side: kind.map(|kind| kind.side).unwrap_or_default(),
        key,
        is_planned: true,
        levels: values.iter().map(level).collect(),
        values,
        is_load,
        verdict: None,
        scaling: None,
        limited,
        offered,
        own_stops: stops.clone(),
        stops,
        boots: trials.iter().map(|trial| (trial.order.trial, trial.order.boot)).collect(),
        started: started.filter(|(number, _)| counts(number)).collect(),
        tick_seconds: if is_timed { median(ticks) / f64::from(batch) } else { 0.0 },
    }
}

/// By level the finite positive value of each trial.
fn by_level(all: &[&Series]) -> BTreeMap<u64, Vec<(u32, f64)>> {
    let mut levels: BTreeMap<u64, Vec<(u32, f64)>> = BTreeMap::new();
    for series in all {
        for (n, value) in series.points() {
            if is_value(value) {
                levels.entry(n).or_default().push((series.trial, value));
            }
        }
    }
    levels
}

fn is_value(value: f64) -> bool {
    value.is_finite() && value > 0.0
}

/// By level the median of each trial of a curve in the tenth of n below it, where it has all of these n.
fn by_window(recording: &Recording, all: &[&Series]) -> BTreeMap<u64, Vec<(u32, f64)>> {
    let mut levels: BTreeMap<u64, Vec<(u32, f64)>> = BTreeMap::new();
    for series in all {
        let values = compared_values(recording, series);
        let sweep = sweep_of_every(series, &values);
        let ends = [0, sweep.values.len().saturating_sub(1)].map(|place| sweep.n(place));
        let (low, high) = (ends[0].min(ends[1]), ends[0].max(ends[1]));
        // The cold n at the start of a curve and after its turn are left out as in a verdict.
        let (start, end) = stats::steady_range(high, series.direction == Direction::Down);
        let decades = (0..19).map(|power| 10_u64.pow(power));
        let steps = decades.flat_map(|decade| [1, 2, 5].map(|step| decade.saturating_mul(step)));
        for level in steps.filter(|level| *level >= start && *level - 1 <= end) {
            let from = level - (level / 10).max(1);
            let mut values =
                sweep.within(from, level - 1).iter().copied().filter(|value| is_value(*value)).peekable();
            if from >= low && values.peek().is_some() {
                levels.entry(level).or_default().push((series.trial, median(values)));
            }
        }
    }
    levels
}

/// By level, the load that all rivals were offered while a series was measured; empty where there was none.
fn offered_loads(recording: &Recording, trials: &[&Trial], key: &SeriesKey) -> BTreeMap<u64, OfferedLoad> {
    // A measurement of a closed loop does not depend on the rate that is offered later.
    let is_closed_loop = |level: &GeneratorLevel| {
        let of = [&level.of.system, &level.of.workload, &level.of.variant];
        let is_of = of == [&key.system, &key.workload, &key.variant] && level.intended_per_second.is_none();
        is_of && (level.series.is_empty() || level.series.contains(&key.name))
    };
    if recording.generators.iter().any(is_closed_loop) {
        return BTreeMap::new();
    }
    let offered = trials.iter().flat_map(|trial| &trial.order.offered);
    let load = |level: &record::OfferedLevel| OfferedLoad {
        per_second: level.per_second,
        spacing_seconds: level.spacing_seconds,
    };
    offered.map(|level| (level.n, load(level))).collect()
}
