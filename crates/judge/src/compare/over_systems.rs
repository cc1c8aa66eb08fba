//! The contenders of a load in the mean of several systems, as in the comparison of 2001, and the trend of
//! each over n.

use record::Unit;

use super::{Comparison, LevelValue, Ranking, RankingEntry};
use crate::environment;

/// Fewer levels have no trend.
const TREND_LEVELS: usize = 3;

/// The contenders of one workload in the mean of all systems.
#[derive(Clone, Debug, PartialEq)]
pub struct OverSystems {
    /// Name of the workload.
    pub workload: String,
    /// The systems.
    pub systems: Vec<String>,
    /// Each series.
    pub series: Vec<MeanSeries>,
}

/// A series in the mean of all systems.
#[derive(Clone, Debug, PartialEq)]
pub struct MeanSeries {
    /// Its name: `throughput`.
    pub name: String,
    /// The objects that n counts.
    pub grows: String,
    /// The unit of its values.
    pub unit: Unit,
    /// Each contender that has a level on all systems.
    pub contenders: Vec<MeanOfContender>,
}

/// A contender in the mean of all systems.
#[derive(Clone, Debug, PartialEq)]
pub struct MeanOfContender {
    /// Its name.
    pub name: String,
    /// Its place among the contenders.
    pub place: usize,
    /// The geometric mean over systems, at each level that it reached on all of them. It is a lower bound
    /// where one of them is.
    pub levels: Vec<LevelValue>,
}

/// The means of every workload that was compared on more than one system of the same engine: a mean of an
/// emulated processor and a real one would be that of neither.
pub fn over_systems(comparisons: &[Comparison]) -> Vec<OverSystems> {
    let mut means: Vec<OverSystems> = Vec::new();
    let mut known: Vec<(&str, &str)> = Vec::new();
    for compared in comparisons {
        let Some(group) = group(compared).filter(|group| !known.contains(group)) else { continue };
        known.push(group);
        let is_of = |other: &&Comparison| self::group(other) == Some(group);
        let all: Vec<&Comparison> = comparisons.iter().filter(is_of).collect();
        if all.len() < 2 {
            continue;
        }
        let system = |compared: &&Comparison| Some(compared.contenders.first()?.system.name.clone());
        let series: Vec<MeanSeries> =
            compared.rankings.iter().filter(|ranking| ranking.levels).filter_map(|r| mean(r, &all)).collect();
        means.push(OverSystems {
            workload: group.0.to_owned(),
            systems: all.iter().filter_map(system).collect(),
            series,
        });
    }
    means
}

/// The workload and the engine of a comparison of contenders on one system.
fn group(compared: &Comparison) -> Option<(&str, &str)> {
    Some((compared.workload.as_deref()?, environment::engine(&compared.contenders.first()?.system)))
}

/// One series, which all systems have.
fn mean(ranking: &Ranking, all: &[&Comparison]) -> Option<MeanSeries> {
    let same =
        |compared: &&Comparison| compared.rankings.iter().find(|other| other.name == ranking.name).cloned();
    let rankings: Vec<Ranking> = all.iter().map(same).collect::<Option<_>>()?;
    let contender = |entry: &RankingEntry| {
        let is_it = |other: &&RankingEntry| other.name == entry.name;
        let entries: Option<Vec<&RankingEntry>> =
            rankings.iter().map(|ranking| ranking.standings.iter().find(is_it)).collect();
        let levels = mean_levels(&entries?);
        (!levels.is_empty()).then(|| MeanOfContender { name: entry.name.clone(), place: entry.place, levels })
    };
    let mut contenders: Vec<MeanOfContender> = ranking.standings.iter().filter_map(contender).collect();
    contenders.sort_by_key(|contender| contender.place);
    let (name, grows, unit) = (ranking.name.clone(), ranking.grows.clone(), ranking.unit);
    (!contenders.is_empty()).then_some(MeanSeries { name, grows, unit, contenders })
}

/// The geometric mean at each level that all have.
fn mean_levels(entries: &[&RankingEntry]) -> Vec<LevelValue> {
    let Some((first, others)) = entries.split_first() else { return Vec::new() };
    let at = |level: &LevelValue| {
        let same = |other: &&RankingEntry| other.levels.iter().find(|other| other.n == level.n).copied();
        let mut all: Vec<LevelValue> = others.iter().map(same).collect::<Option<_>>()?;
        all.push(*level);
        let logs: f64 = all.iter().map(|level| level.value.ln()).sum();
        Some(LevelValue {
            n: level.n,
            value: (logs / all.len() as f64).exp(),
            trials: all.iter().map(|level| level.trials).min().unwrap_or(0),
            limited: all.iter().any(|level| level.limited),
            at_least: all.iter().any(|level| level.at_least) && all.iter().all(|l| !l.limited || l.at_least),
        })
    };
    first.levels.iter().filter_map(at).collect()
}

/// The trend over n: the power law that is nearest to the levels in logarithms, by least squares. As (n,
/// value) at the first of them and the last; `None` where there are too few.
pub fn trend(levels: &[LevelValue]) -> Option<[(f64, f64); 2]> {
    let says_something = levels.iter().filter(|level| !level.limited && level.value > 0.0 && level.n > 0);
    let points: Vec<(f64, f64)> = says_something.map(|l| ((l.n as f64).ln(), l.value.ln())).collect();
    if points.len() < TREND_LEVELS {
        return None;
    }
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / points.len() as f64;
    let middle = (mean(|point| point.0), mean(|point| point.1));
    let squares: f64 = points.iter().map(|(x, _)| (x - middle.0).powi(2)).sum();
    let products: f64 = points.iter().map(|(x, y)| (x - middle.0) * (y - middle.1)).sum();
    let at = |x: f64| (x.exp(), (middle.1 + (x - middle.0) * products / squares).exp());
    let (first, last) = (points.first()?.0, points.last()?.0);
    (squares > 0.0).then(|| [at(first), at(last)])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn level(n: u64, value: f64) -> LevelValue {
        LevelValue { n, value, trials: 5, limited: false, at_least: false }
    }

    #[test]
    fn a_power_law_is_its_own_trend() {
        let levels = [1, 10, 100, 1000].map(|n| level(n, 3e-6 * (n as f64).powf(0.5)));
        let [first, last] = trend(&levels).expect("a trend");
        let is_near = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-9;
        assert!(is_near(first.0, 1.0) && is_near(first.1, 3e-6), "{first:?}");
        assert!(is_near(last.0, 1000.0) && is_near(last.1, 3e-6 * 1000_f64.sqrt()), "{last:?}");
        // Levels that the load generator limited have no part in it.
        let mut bounded = levels;
        bounded[3] = LevelValue { limited: true, value: 1.0, ..bounded[3] };
        let [_, last] = trend(&bounded).expect("a trend");
        assert!(is_near(last.0, 100.0) && is_near(last.1, 3e-5), "{last:?}");
        assert_eq!(trend(&levels[..2]), None);
    }

    #[test]
    fn a_mean_has_the_levels_of_all() {
        let entry = |levels: &[LevelValue]| RankingEntry {
            name: "epoll".into(),
            place: 0,
            reference: Some(0),
            levels: levels.to_vec(),
            verdict: None,
            scaling: None,
            last: None,
            overall: None,
            rank: None,
            limited: None,
            stops: Vec::new(),
            note: None,
        };
        let bound = LevelValue { limited: true, at_least: true, ..level(10, 1000.0) };
        let (one, two) =
            (entry(&[level(1, 100.0), level(10, 10.0)]), entry(&[level(1, 400.0), bound, level(100, 1.0)]));
        let means = mean_levels(&[&one, &two]);
        assert_eq!(means.iter().map(|level| level.n).collect::<Vec<_>>(), [1, 10]);
        assert!((means[0].value / 200.0 - 1.0).abs() < 1e-9 && !means[0].limited, "{means:?}");
        assert!(means[1].limited && means[1].at_least, "{means:?}");
    }
}
