//! Real runs of one machine, which count as its nights, without the level of each series.
//!
//! `examples/nights.rs` makes `data/nights.csv`; `data/README.md` lists the runs. A simulated night takes a
//! whole real run, so that series keep the parts that they share, and smooths it: fewer than a hundred runs
//! would repeat themselves within a year (Silverman & Young, Biometrika 74, 1987).

use std::collections::BTreeMap;
use std::sync::LazyLock;

use fastrand::Rng;

use crate::chance::normal;

/// Logarithms are stored in this unit.
pub const UNIT: f64 = 0.0001;
/// The share of the variance of a night that smoothing adds, and takes from the real run.
const SMOOTH: f64 = 0.15;

static CSV: &str = include_str!("../../data/nights.csv");

/// One series over the runs of a set.
#[derive(Clone, Debug)]
pub(crate) struct RealSeries {
    /// By run: how far it lies from the series' median.
    pub(crate) nights: Vec<f64>,
    /// By run: how far each trial lies from the mean of its run.
    pub(crate) trials: Vec<Vec<f64>>,
    /// Standard deviation of `nights`.
    pub(crate) deviation: f64,
}

/// Runs of one machine and preset.
#[derive(Clone, Debug)]
pub(crate) struct RealSet {
    pub(crate) runs: usize,
    /// By run: the median over series of `nights`, which is not in these.
    pub(crate) shared: Vec<f64>,
    pub(crate) series: Vec<RealSeries>,
}

/// By series, and by run: the level, and what each trial adds to it.
type Parsed = BTreeMap<&'static str, BTreeMap<usize, (f64, Vec<f64>)>>;

/// The sets of the data, which are not comparable with each other.
pub(crate) static SETS: LazyLock<Vec<RealSet>> = LazyLock::new(|| {
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
    pub(crate) fn night(&self, rng: &mut Rng, run: usize) -> f64 {
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
