//! A year of nights whose changes are known, made of real runs of one machine, which count as its nights,
//! without the level of each series.
//!
//! `examples/nights.rs` makes `data/nights.csv`; `data/README.md` lists the runs. A simulated night takes a
//! whole real run, so that series keep the parts that they share, and smooths it: fewer than a hundred runs
//! would repeat themselves within a year (Silverman & Young, Biometrika 74, 1987).

use std::collections::BTreeMap;
use std::sync::LazyLock;

use fastrand::Rng;

use crate::noises::normal;
use crate::suites::response;

/// Series of a year: those of `osdyno run` on Linux, drawn from those of the real runs.
pub(crate) const SERIES: usize = 28;
/// Nights of a year.
const NIGHTS: usize = 365;
/// The size of a planted change (logarithm): 5 %.
pub(crate) const CHANGE: f64 = 0.048_790_164_169_432;
/// Nights after a boundary before a change is planted: a level must be known.
const SETTLED: usize = 20;
/// Nights between two planted changes, and behind the last one.
const APART: usize = 30;
/// A night with a neighbour costs so much more.
const NEIGHBOUR: [f64; 2] = [0.03, 0.15];
/// How often the next night has the same neighbour.
const STAYS: f64 = 0.1;
/// A series is not measured on so many nights, and none is on as many others.
const MISSING: f64 = 0.02;
/// Planted drifts per year (logarithm): 10 %.
const DRIFT: f64 = stats::YEARLY_DRIFT;
/// A compiler moves each series by this (SD of the logarithm).
const COMPILER: f64 = 0.02;
/// Levels of two machines differ by this.
const MACHINE: f64 = 0.3;
/// How often a night runs on the second processor model, where there are two.
const SECOND: f64 = 0.3;

/// The kind of a year.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct YearTruth {
    /// Its name.
    pub name: &'static str,
    /// How far the machine wanders from night to night (SD of the logarithm), and each series beside it.
    pub walks: [f64; 2],
    /// How often a neighbour comes.
    pub neighbours: f64,
    /// Processor models among which a night draws.
    pub models: usize,
    /// Whether the first machine is replaced, and the compiler changes; both are known.
    pub has_boundaries: bool,
    /// Nights with a new system that changes nothing.
    pub systems: usize,
    /// Series that drift by 10 % a year, half of them down.
    pub drifts: usize,
    /// Planted changes of 5 %, each in one series.
    pub changes: usize,
    /// How often a night takes after the real run that followed the one of the night before, so that states
    /// of the machine last; else after any run.
    pub lasting: f64,
    /// A change of all series together for good (logarithm), on the machine and not in the system.
    pub slowed: f64,
}

/// Real nights alone; with all that a year brings; with a machine that becomes slower for good; and with
/// states of the machine that last for nights.
pub const ALL: [YearTruth; 4] = [CALM, WHOLE, SLOWED, LASTING];
const CALM: YearTruth = YearTruth {
    name: "calm",
    walks: [0.0; 2],
    neighbours: 0.0,
    models: 1,
    has_boundaries: false,
    systems: 0,
    drifts: 4,
    changes: 6,
    lasting: 0.0,
    slowed: 0.0,
};
const WHOLE: YearTruth = YearTruth {
    name: "whole",
    walks: [0.001, 0.0005],
    neighbours: 0.05,
    models: 2,
    has_boundaries: true,
    systems: 12,
    ..CALM
};
const LASTING: YearTruth = YearTruth { name: "lasting", lasting: 0.5, ..WHOLE };
const SLOWED: YearTruth =
    YearTruth { name: "slowed", has_boundaries: false, models: 1, slowed: 0.06, ..WHOLE };

/// A planted change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Planted {
    /// `None` is the machine.
    pub(crate) series: Option<usize>,
    pub(crate) night: usize,
    /// Logarithm.
    pub(crate) change: f64,
}

/// A night with a run.
#[derive(Clone, Debug)]
pub(crate) struct YearNight {
    /// Night of the year.
    pub(crate) night: usize,
    /// Processor model.
    pub(crate) model: usize,
    pub(crate) logs: Vec<Option<f64>>,
    pub(crate) starts_epoch: bool,
    pub(crate) has_new_system: bool,
}

/// A year.
pub(crate) struct Year {
    /// In order.
    pub(crate) nights: Vec<YearNight>,
    pub(crate) planted: Vec<Planted>,
    /// By series: logarithm per year.
    pub(crate) drifts: Vec<f64>,
    pub(crate) series: Vec<&'static RealSeries>,
}

/// The state of the simulation that moves from night to night.
struct Moving {
    /// By model and series.
    levels: Vec<Vec<f64>>,
    responses: Vec<f64>,
    machine: f64,
    walks: Vec<f64>,
    neighbour: f64,
    run: usize,
}

impl Year {
    pub(crate) fn new(truth: &YearTruth, rng: &mut Rng) -> Year {
        let set: &'static RealSet = &SETS[rng.usize(..SETS.len())];
        let mut places: Vec<usize> = (0..set.series.len()).collect();
        rng.shuffle(&mut places);
        let series: Vec<&RealSeries> = places.iter().take(SERIES).map(|place| &set.series[*place]).collect();
        let boundaries: Vec<usize> =
            if truth.has_boundaries { vec![rng.usize(60..180), rng.usize(180..320)] } else { Vec::new() };
        let mut drifts = vec![0.0; SERIES];
        drifts.iter_mut().take(truth.drifts).enumerate().for_each(|(at, drift)| {
            *drift = if at % 2 == 0 { DRIFT } else { -DRIFT };
        });
        let planted = plant(truth, &boundaries, rng);
        let mut year = Year { nights: Vec::new(), planted, drifts, series };
        let mut moving = Moving::new(truth, rng);
        let mut starts = vec![false; truth.models];
        for night in 0..NIGHTS {
            // The first machine is replaced, or the compiler of both changes.
            if boundaries.first() == Some(&night) {
                moving.levels[0] = levels(MACHINE, rng);
                starts[0] = true;
            } else if boundaries.last() == Some(&night) {
                let moved = levels(COMPILER, rng);
                moving.levels.iter_mut().for_each(|model| add(model, &moved));
                starts.iter_mut().for_each(|start| *start = true);
            }
            moving.next(truth, set.runs, rng);
            let model = usize::from(truth.models > 1 && rng.f64() < SECOND);
            if rng.f64() >= MISSING {
                let logs = year.logs(night, set, &moving, &moving.levels[model], rng);
                let starts_epoch = std::mem::take(&mut starts[model]);
                year.nights.push(YearNight { night, model, logs, starts_epoch, has_new_system: false });
            }
        }
        for _ in 0..truth.systems {
            let place = rng.usize(1..year.nights.len());
            year.nights[place].has_new_system = true;
        }
        year
    }

    fn logs(
        &self,
        night: usize,
        set: &RealSet,
        moving: &Moving,
        levels: &[f64],
        rng: &mut Rng,
    ) -> Vec<Option<f64>> {
        let run = moving.run;
        let machine = moving.machine + moving.neighbour + set.shared[run];
        let slowed = self.change(None, night);
        let log = |(place, series): (usize, &&RealSeries)| {
            let drift = self.drifts[place] * night as f64 / NIGHTS as f64;
            let steady = levels[place] + drift + moving.walks[place] + self.change(Some(place), night);
            let log = steady + moving.responses[place] * (machine + slowed) + series.night(rng, run);
            (rng.f64() >= MISSING).then_some(log)
        };
        self.series.iter().enumerate().map(log).collect()
    }

    /// The planted change of a series up to a night.
    pub(crate) fn change(&self, series: Option<usize>, night: usize) -> f64 {
        let before = |planted: &&Planted| planted.series == series && planted.night <= night;
        self.planted.iter().filter(before).map(|planted| planted.change).sum()
    }
}

impl Moving {
    fn new(truth: &YearTruth, rng: &mut Rng) -> Moving {
        Moving {
            levels: (0..truth.models).map(|_| levels(MACHINE, rng)).collect(),
            responses: (0..SERIES).map(|_| response(rng)).collect(),
            machine: 0.0,
            walks: vec![0.0; SERIES],
            neighbour: 0.0,
            run: 0,
        }
    }

    fn next(&mut self, truth: &YearTruth, runs: usize, rng: &mut Rng) {
        let any = rng.usize(..runs);
        self.run = if rng.f64() < truth.lasting { (self.run + 1) % runs } else { any };
        self.machine += truth.walks[0] * normal(rng);
        self.walks.iter_mut().for_each(|walk| *walk += truth.walks[1] * normal(rng));
        if self.neighbour == 0.0 || rng.f64() >= STAYS {
            self.neighbour = if rng.f64() < truth.neighbours {
                NEIGHBOUR[0] + (NEIGHBOUR[1] - NEIGHBOUR[0]) * rng.f64()
            } else {
                0.0
            };
        }
    }
}

fn plant(truth: &YearTruth, boundaries: &[usize], rng: &mut Rng) -> Vec<Planted> {
    let mut planted: Vec<Planted> = Vec::new();
    let is_free = |night: usize, planted: &[Planted]| {
        let starts = std::iter::once(0).chain(boundaries.iter().copied());
        night + APART < NIGHTS
            && planted.iter().all(|other| other.night.abs_diff(night) >= APART)
            && starts.into_iter().all(|start| night < start || night >= start + SETTLED)
            && boundaries.iter().all(|start| night >= *start || night + APART / 2 < *start)
    };
    while planted.len() < truth.changes {
        let (night, series) = (rng.usize(..NIGHTS), truth.drifts + planted.len());
        let change = if rng.bool() { CHANGE } else { -CHANGE };
        if is_free(night, &planted) {
            planted.push(Planted { series: Some(series), night, change });
        }
    }
    if truth.slowed != 0.0 {
        let nights =
            (60..NIGHTS - 60).filter(|night| planted.iter().all(|other| other.night.abs_diff(*night) >= 15));
        let nights: Vec<usize> = nights.collect();
        let night = rng.choice(nights).unwrap_or(NIGHTS / 2);
        planted.push(Planted { series: None, night, change: truth.slowed });
    }
    planted
}

fn levels(deviation: f64, rng: &mut Rng) -> Vec<f64> {
    (0..SERIES).map(|_| deviation * normal(rng)).collect()
}

fn add(levels: &mut [f64], moved: &[f64]) {
    levels.iter_mut().zip(moved).for_each(|(level, moved)| *level += moved);
}

/// Logarithms are stored in this unit.
pub const UNIT: f64 = 0.0001;
/// The share of the variance of a night that smoothing adds, and takes from the real run.
const SMOOTH: f64 = 0.15;

static CSV: &str = include_str!("../../data/nights.csv");

/// One series over the runs of a set.
#[derive(Clone, Debug)]
pub(crate) struct RealSeries {
    /// By run: how far it lies from the series' median.
    nights: Vec<f64>,
    /// By run: how far each trial lies from the mean of its run.
    trials: Vec<Vec<f64>>,
    /// Standard deviation of `nights`.
    deviation: f64,
}

/// Runs of one machine and preset.
#[derive(Clone, Debug)]
struct RealSet {
    runs: usize,
    /// By run: the median over series of `nights`, which is not in these.
    shared: Vec<f64>,
    series: Vec<RealSeries>,
}

/// By series, and by run: the level, and the deviation of each trial.
type Parsed = BTreeMap<&'static str, BTreeMap<usize, (f64, Vec<f64>)>>;

/// The sets of the data, which are not comparable with each other.
static SETS: LazyLock<Vec<RealSet>> = LazyLock::new(|| {
    let mut sets: BTreeMap<&str, Parsed> = BTreeMap::new();
    for line in CSV.lines() {
        let fields: Vec<&str> = line.split(',').collect();
        let [set, series, run, level, trials] = fields[..] else { continue };
        let (Ok(run), Ok(level)) = (run.parse::<usize>(), level.parse::<f64>()) else { continue };
        let trials =
            trials.split(' ').filter_map(|trial| trial.parse::<f64>().ok()).map(|trial| UNIT * trial);
        sets.entry(set).or_default().entry(series).or_default().insert(run, (UNIT * level, trials.collect()));
    }
    sets.into_values().map(set).collect()
});

fn set(parsed: Parsed) -> RealSet {
    let runs = parsed.values().map(BTreeMap::len).max().unwrap_or(0);
    let mut series: Vec<RealSeries> = parsed.into_values().map(centred).collect();
    let shared: Vec<f64> =
        (0..runs).map(|run| median(series.iter().map(|series| series.nights[run]).collect())).collect();
    for series in &mut series {
        series.nights.iter_mut().zip(&shared).for_each(|(night, shared)| *night -= shared);
        let mean = series.nights.iter().sum::<f64>() / runs as f64;
        series.nights.iter_mut().for_each(|night| *night -= mean);
        let squares: f64 = series.nights.iter().map(|night| night * night).sum();
        series.deviation = (squares / (runs as f64 - 1.0)).sqrt();
    }
    RealSet { runs, shared, series }
}

fn centred(runs: BTreeMap<usize, (f64, Vec<f64>)>) -> RealSeries {
    let (levels, trials): (Vec<f64>, Vec<Vec<f64>>) = runs.into_values().unzip();
    let middle = median(levels.clone());
    RealSeries { nights: levels.iter().map(|level| level - middle).collect(), trials, deviation: 0.0 }
}

impl RealSeries {
    /// Its own part of a night that takes after a run, with the variance of the real ones.
    fn night(&self, rng: &mut Rng, run: usize) -> f64 {
        let runs = self.nights.len() as f64;
        let kept = ((1.0 - SMOOTH) * runs / (runs - 1.0)).sqrt();
        kept * self.nights[run] + SMOOTH.sqrt() * self.deviation * normal(rng)
    }

    /// Logarithms of so many pairs of trials that follow each other in one run.
    pub(crate) fn pairs(&self, rng: &mut Rng, count: usize) -> Vec<f64> {
        let mut pairs = Vec::with_capacity(count);
        while pairs.len() < count {
            let trials = &self.trials[rng.usize(..self.trials.len())];
            let start = rng.usize(..trials.len());
            let at = |place: usize| trials[(start + place) % trials.len()];
            let whole = trials.len() / 2;
            let pair = |pair: usize| {
                let apart = at(2 * pair) - at(2 * pair + 1);
                // Which side is measured first is random.
                if rng.bool() { apart } else { -apart }
            };
            pairs.extend((0..whole).map(pair));
        }
        pairs.truncate(count);
        pairs
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let half = values.len() / 2;
    match values.len() % 2 {
        _ if values.is_empty() => 0.0,
        1 => values[half],
        _ => values[half - 1].midpoint(values[half]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_simulated_night_spreads_as_the_real_ones() {
        let mut rng = Rng::with_seed(1);
        for set in SETS.iter() {
            assert!(set.runs >= 10 && set.series.len() >= 28, "{} {}", set.runs, set.series.len());
            for series in &set.series {
                let draw = |rng: &mut Rng| {
                    let run = rng.usize(..set.runs);
                    series.night(rng, run).powi(2)
                };
                let mean = (0..4_000).map(|_| draw(&mut rng)).sum::<f64>() / 4_000.0;
                assert!(
                    (0.9..1.1).contains(&(mean.sqrt() / series.deviation)),
                    "{mean} {}",
                    series.deviation
                );
            }
        }
    }
}
