//! The data of a fit: the mean curve of the trials, with the weights of its errors.

use std::sync::Arc;

use crate::block::column;
use crate::centre::{Centre, influences, mean};
use crate::covariance::{PrecisionMatrix, dot};
use crate::shape::NONE;

/// The data of a fit: the mean curve of the trials in logarithms, and the trials around it.
#[derive(Clone, Debug)]
pub(crate) struct Curve {
    /// The middle n of each block.
    pub(crate) middles: Vec<f64>,
    /// The largest n of the last block.
    pub(crate) end: f64,
    /// Mean over the trials.
    pub(crate) means: Vec<f64>,
    /// 1/error² of each mean, shrunk halfway to the average of all blocks.
    pub(crate) weights: Vec<f64>,
    /// Each trial less its own mean.
    pub(crate) trials: Vec<Vec<f64>>,
    /// In place of the weights where the errors of neighbouring blocks are certainly correlated.
    precision: Option<Arc<PrecisionMatrix>>,
}

/// Errors below this share of a cost are not believed: two blocks that agree to the last digit would
/// decide everything.
const FINEST: f64 = 0.001;

impl Curve {
    /// From log medians, a row per trial, a column per block between `middles` and `end`. A missing value
    /// counts as that of the others; `systematic` is an error of each mean that more trials do not lower.
    pub(crate) fn new(rows: &[Vec<f64>], middles: &[f64], end: u64, systematic: f64) -> Curve {
        let centred = |row: &Vec<f64>| -> Vec<f64> {
            let present: Vec<f64> = row.iter().copied().filter(|value| value.is_finite()).collect();
            let level = mean(&present);
            row.iter().map(|value| value - level).collect()
        };
        let mut trials: Vec<Vec<f64>> = rows.iter().map(centred).collect();
        let centres: Vec<Centre> = (0..middles.len())
            .map(|block| {
                let unknown = Centre { value: 0.0, error: f64::INFINITY, freedom: 0.0 };
                Centre::new(&column(&trials, block)).unwrap_or(unknown)
            })
            .collect();
        for trial in &mut trials {
            for (value, centre) in trial.iter_mut().zip(&centres) {
                if !value.is_finite() {
                    *value = centre.value;
                }
            }
        }
        let squares: Vec<f64> = centres.iter().map(|centre| centre.error.powi(2).min(1.0)).collect();
        let common = mean(&squares);
        let finest = FINEST.powi(2) + systematic.powi(2);
        let weights = squares.iter().map(|square| 1.0 / (square.midpoint(common) + finest)).collect();
        let means = centres.iter().map(|centre| centre.value).collect();
        let plain =
            Curve { middles: middles.to_vec(), end: end as f64, means, weights, trials, precision: None };
        let mut deviations = plain.influential();
        for row in &mut deviations {
            row.iter_mut().zip(&plain.means).for_each(|(value, mean)| *value -= mean);
        }
        let logs: Vec<f64> = plain.middles.iter().map(|n| n.max(NONE).ln()).collect();
        let precision = PrecisionMatrix::new(deviations, &logs, &plain.weights).map(Arc::new);
        Curve { precision, ..plain }
    }

    /// The same curve upside down: a falling cost is fitted as the rise of its reciprocal.
    pub(crate) fn mirrored(&self) -> Curve {
        let negative = |values: &Vec<f64>| values.iter().map(|value| -value).collect();
        Curve {
            means: negative(&self.means),
            trials: self.trials.iter().map(negative).collect(),
            ..self.clone()
        }
    }

    /// The curve without one trial.
    pub(crate) fn without(&self, trial: usize) -> Curve {
        let rest = || self.trials.iter().enumerate().filter(|(place, _)| *place != trial);
        let at = |block: usize| mean(&rest().map(|(_, row)| row[block]).collect::<Vec<f64>>());
        Curve { means: (0..self.means.len()).map(at).collect(), ..self.clone() }
    }

    pub(crate) fn blocks(&self) -> usize {
        self.means.len()
    }

    /// The trials as they count in the trimmed means: means of these rows, drawn with repetition, follow the
    /// means of resampled trials. A trimmed mean follows the winsorised deviations over the share of the
    /// values that it keeps (Huber, Robust Statistics, 1981, §3.3). Otherwise a single disturbed trial, drawn
    /// several times, would make any shape the best.
    pub(crate) fn influential(&self) -> Vec<Vec<f64>> {
        let mut rows = vec![vec![0.0; self.blocks()]; self.trials.len()];
        for (block, middle) in self.means.iter().enumerate() {
            let values = column(&self.trials, block);
            let count = values.len() as f64;
            let kept = Centre::new(&values).map_or(1.0, |centre| (centre.freedom + 1.0) / count);
            for (row, influence) in rows.iter_mut().zip(influences(&values)) {
                row[block] = middle + influence / kept;
            }
        }
        rows
    }

    /// Values times the inverse covariance of the errors of the means.
    pub(crate) fn weighted(&self, values: &[f64]) -> Vec<f64> {
        match &self.precision {
            Some(precision) => precision.times(values),
            None => values.iter().zip(&self.weights).map(|(value, weight)| weight * value).collect(),
        }
    }
}

/// The stretches between steps.
pub(crate) struct Edges(Vec<(usize, usize)>);

impl Edges {
    pub(crate) fn new(steps: &[usize], blocks: usize) -> Edges {
        let starts = std::iter::once(0).chain(steps.iter().copied());
        let ends = steps.iter().copied().chain(std::iter::once(blocks));
        Edges(starts.zip(ends).filter(|(start, end)| start < end).collect())
    }

    /// The level of each stretch that fits best, of values that are weighted already.
    fn levels(&self, curve: &Curve, weighted: &[f64]) -> Vec<f64> {
        let sums: Vec<f64> = self.0.iter().map(|&(start, end)| weighted[start..end].iter().sum()).collect();
        let joint = curve.precision.as_ref().and_then(|precision| precision.levels(&self.0, &sums));
        joint.unwrap_or_else(|| {
            let total = |&(start, end): &(usize, usize)| curve.weights[start..end].iter().sum::<f64>();
            self.0.iter().zip(&sums).map(|(stretch, sum)| sum / total(stretch)).collect()
        })
    }

    /// Squared distance of the means from `smooth`, each stretch with its best level.
    pub(crate) fn distance(&self, curve: &Curve, smooth: &[f64]) -> f64 {
        self.distance_of(curve, &curve.means, smooth)
    }

    /// The same of other values.
    pub(crate) fn distance_of(&self, curve: &Curve, values: &[f64], smooth: &[f64]) -> f64 {
        if curve.precision.is_none() {
            return self.distance_of_independent(curve, values, smooth);
        }
        let rest: Vec<f64> = values.iter().zip(smooth).map(|(value, smooth)| value - smooth).collect();
        let weighted = curve.weighted(&rest);
        let levels = self.levels(curve, &weighted);
        let explained = |(&(start, end), level): (&(usize, usize), &f64)| -> f64 {
            level * weighted[start..end].iter().sum::<f64>()
        };
        dot(&rest, &weighted) - self.0.iter().zip(&levels).map(explained).sum::<f64>()
    }

    /// The same with weights alone, without a vector: this is most of the time of a fit.
    fn distance_of_independent(&self, curve: &Curve, values: &[f64], smooth: &[f64]) -> f64 {
        let stretch = |&(start, end): &(usize, usize)| {
            let (mut total, mut first, mut second) = (0.0, 0.0, 0.0);
            for block in start..end {
                let (weight, rest) = (curve.weights[block], values[block] - smooth[block]);
                total += weight;
                first += weight * rest;
                second += weight * rest * rest;
            }
            second - first * first / total
        };
        self.0.iter().map(stretch).sum()
    }

    /// Values less the level of their stretch.
    pub(crate) fn within(&self, curve: &Curve, values: &[f64]) -> Vec<f64> {
        let mut rest = values.to_vec();
        for (&(start, end), level) in self.0.iter().zip(self.levels(curve, &curve.weighted(values))) {
            rest[start..end].iter_mut().for_each(|value| *value -= level);
        }
        rest
    }

    /// `smooth` with the best level of each stretch.
    pub(crate) fn curve(&self, curve: &Curve, smooth: &[f64]) -> Vec<f64> {
        let rest: Vec<f64> = curve.means.iter().zip(smooth).map(|(mean, smooth)| mean - smooth).collect();
        let mut fitted = smooth.to_vec();
        for (&(start, end), level) in self.0.iter().zip(self.levels(curve, &curve.weighted(&rest))) {
            fitted[start..end].iter_mut().for_each(|value| *value += level);
        }
        fitted
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::normal;
    use fastrand::Rng;

    /// Ten trials of a constant cost in thirty blocks; neighbours are correlated by `keep`.
    fn curve(seed: u64, keep: f64) -> Curve {
        let mut rng = Rng::with_seed(seed);
        let middles: Vec<f64> = (0..30).map(|place| 100.0 * 1.2f64.powi(place)).collect();
        let rows: Vec<Vec<f64>> = (0..10)
            .map(|_| {
                let mut state = normal(&mut rng);
                let next = |_: &f64| {
                    state = keep * state + (1.0 - keep * keep).sqrt() * normal(&mut rng);
                    0.04 * state
                };
                middles.iter().map(next).collect()
            })
            .collect();
        Curve::new(&rows, &middles, 30_000, 0.0)
    }

    #[test]
    fn stretches_have_the_levels_that_fit_best() {
        for keep in [0.0, 0.6] {
            let curve = curve(5, keep);
            assert_eq!(curve.precision.is_some(), keep > 0.0);
            let edges = Edges::new(&[11], 30);
            let smooth: Vec<f64> = (0..30).map(|block| if block < 11 { 1.0 } else { -2.0 }).collect();
            let (with, without) = (edges.distance(&curve, &smooth), edges.distance(&curve, &[0.0; 30]));
            assert!((with - without).abs() < 1e-6 * with);
            let weighted = curve.weighted(&edges.within(&curve, &curve.means));
            assert!(weighted[..11].iter().sum::<f64>().abs() < 1e-6);
            assert!(weighted[11..].iter().sum::<f64>().abs() < 1e-6);
        }
    }

    #[test]
    fn a_disturbed_trial_counts_like_the_next_one() {
        let mut plain = curve(7, 0.0);
        plain.trials[4][15..].iter_mut().for_each(|value| *value += 3.0);
        let disturbed = Curve::new(&plain.trials, &plain.middles, 30_000, 0.0);
        let rows = disturbed.influential();
        for block in 0..30 {
            assert!((mean(&column(&rows, block)) - disturbed.means[block]).abs() < 1e-12);
            assert!(column(&rows, block).iter().all(|value| value.abs() < 0.5), "block {block}");
        }
    }
}
