//! The scatter of series from night to night.

use crate::median::median;

/// Distances of the last so many nights say how a series scatters.
const NIGHTS: usize = 120;
/// The other series count as much as so many nights of its own.
const PRIOR_NIGHTS: f64 = 8.0;
/// Without any night: a standard deviation as on a virtual machine among neighbours.
const UNKNOWN: f64 = 0.02;
/// The median of absolute deviations of a normal distribution, in standard deviations.
const NORMAL_MAD: f64 = 0.674_489_750_196_082;
/// Distances count up to so many robust standard deviations.
const CUT: f64 = 3.0;
/// A standard deviation with cut-off distances carries as much as this share of the nights.
const EFFICIENCY: f64 = 0.7;
/// Nights are never so alike that the next one is known.
const LEAST: f64 = 0.002;

/// The distances of one series from its segments.
#[derive(Clone, Debug, Default)]
pub(super) struct Scatter {
    distances: Vec<f64>,
}

/// The scatter of a series, moderated by the others.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    /// Standard deviation of a night.
    pub(super) deviation: f64,
    /// Degrees of freedom of that.
    pub(super) freedom: f64,
}

impl Scatter {
    pub(super) fn add(&mut self, distance: f64) {
        if self.distances.len() == NIGHTS {
            self.distances.remove(0);
        }
        self.distances.push(distance);
    }

    /// Replaces the newest distances, which were taken from a level that proved to be another.
    pub(super) fn replace(&mut self, newest: &[f64]) {
        let kept = self.distances.len().saturating_sub(newest.len());
        self.distances.truncate(kept);
        newest.iter().for_each(|distance| self.add(*distance));
    }

    fn nights(&self) -> f64 {
        self.distances.len() as f64
    }

    /// Its own standard deviation: robust, because single nights of a neighbour are no scatter of a quiet
    /// one. Squares of distances that are cut off carry the tails that a median of distances does not see
    /// (Huber's proposal 2).
    fn own(&self) -> Option<f64> {
        if self.distances.len() <= 3 {
            return None;
        }
        let mut sizes: Vec<f64> = self.distances.iter().map(|distance| distance.abs()).collect();
        let most = CUT * median(&mut sizes)? / NORMAL_MAD;
        let squares: f64 = sizes.iter().map(|size| size.min(most).powi(2)).sum();
        // One of the nights went into the level.
        Some((squares / (self.nights() - 1.0)).sqrt())
    }
}

/// The scale of each series.
pub(super) fn scales(all: &[Scatter]) -> Vec<Scale> {
    let mut known: Vec<f64> = all.iter().filter_map(Scatter::own).collect();
    let usual = median(&mut known).unwrap_or(UNKNOWN).max(LEAST);
    let scale = |scatter: &Scatter| {
        let nights = scatter.nights();
        let own = scatter.own().unwrap_or(usual);
        let weight = EFFICIENCY * nights;
        let variance = (PRIOR_NIGHTS * usual.powi(2) + weight * own.powi(2)) / (PRIOR_NIGHTS + weight);
        // A series that is noisier than usual for certain is so.
        let deviation = variance.sqrt().max(if nights >= 10.0 { own } else { 0.0 }).max(LEAST);
        Scale { deviation, freedom: (PRIOR_NIGHTS + weight).round() }
    };
    all.iter().map(scale).collect()
}

/// The correlation of successive nights, over all series; not below none.
pub(super) fn correlation(all: &[Scatter]) -> f64 {
    let (mut products, mut squares) = (0.0, 0.0);
    for scatter in all.iter().filter(|scatter| scatter.distances.len() > 3) {
        let Some(own) = scatter.own().filter(|own| *own > 0.0) else { continue };
        let clipped = |distance: &f64| (distance / own).clamp(-2.5, 2.5);
        let distances: Vec<f64> = scatter.distances.iter().map(clipped).collect();
        products += distances.windows(2).map(|pair| pair[0] * pair[1]).sum::<f64>();
        squares += distances.windows(2).map(|pair| pair[0].powi(2).midpoint(pair[1].powi(2))).sum::<f64>();
    }
    if squares > 0.0 { (products / squares).clamp(0.0, 0.8) } else { 0.0 }
}

/// The variance of a mean of so many successive nights, times their number: 1 where they are independent.
pub(super) fn inflation(correlation: f64, nights: usize) -> f64 {
    let count = nights as f64;
    let lags = (1..nights.min(30)).map(|lag| (1.0 - lag as f64 / count) * correlation.powi(lag as i32));
    1.0 + 2.0 * lags.sum::<f64>()
}
