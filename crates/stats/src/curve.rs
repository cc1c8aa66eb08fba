//! The data of a fit: the mean curve of the trials, with the weights of its errors and their covariance.
//!
//! The noise of a trial may last over many n (another guest, a slow clock): then five blocks that move
//! together are no five observations. Least squares with a weight for each block alone takes a slow wave of
//! the noise for evidence, and misses a small bend beside it. Generalised least squares (Aitken, Proc. Royal
//! Society of Edinburgh 55, 1935) multiplies by the inverse covariance instead of by weights. With few trials
//! and many blocks a free covariance cannot be estimated, so it has two parameters, and only trials that show
//! them certainly replace the weights.

use std::sync::Arc;

use crate::block::{NONE, column};
use crate::centre::{Centre, influences, mean};

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
            .map(|block| Centre::new(&column(&trials, block)).unwrap_or(Centre::UNKNOWN))
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

/// Shares of the variance of a block that it has in common with close neighbours; the rest is its own.
const SHARED: [f64; 5] = [0.3, 0.5, 0.7, 0.85, 0.95];
/// Distances on the scale of log n within which the common part falls to 1/e.
const LASTING: [f64; 6] = [0.05, 0.1, 0.2, 0.4, 0.8, 1.6];
/// A spread below this is none.
const NO_SPREAD: f64 = 1e-9;

/// The inverse covariance of the errors of block means.
#[derive(Debug)]
struct PrecisionMatrix {
    rows: Vec<Vec<f64>>,
    /// Sums of all elements above and left of a place, so that a sum over a rectangle takes four of them.
    sums: Vec<Vec<f64>>,
}

impl PrecisionMatrix {
    /// From the deviations of the trials from their mean, a row per trial, at these places of log n, and from
    /// 1/error² of each mean.
    ///
    /// The correlation falls exponentially with the distance in log n, beside a part of each block by itself
    /// (the nugget: Cressie, Statistics for Spatial Data, 1993, §2.3). Both parameters are those of a grid
    /// with the greatest likelihood (Mardia and Marshall, Biometrika 71, 1984). `None` where the criterion of
    /// Schwarz prefers independent errors.
    fn new(mut deviations: Vec<Vec<f64>>, logs: &[f64], weights: &[f64]) -> Option<PrecisionMatrix> {
        let blocks = logs.len();
        let trials = deviations.len() as f64;
        for block in 0..blocks {
            let squares: f64 = deviations.iter().map(|row| row[block].powi(2)).sum();
            let spread = (squares / (trials - 1.0)).sqrt().max(NO_SPREAD);
            deviations.iter_mut().for_each(|row| row[block] /= spread);
        }
        // Correlations below the diagonal if all of the variance were shared.
        let falling = |lasting: f64| -> Vec<Vec<f64>> {
            let at = |row: usize, column: usize| (-(logs[row] - logs[column]).abs() / lasting).exp();
            (0..blocks).map(|row| (0..row).map(|column| at(row, column)).collect()).collect()
        };
        let triangles = LASTING.map(falling);
        let factor = |shared: f64, falling: &[Vec<f64>]| {
            let row = |row: &Vec<f64>| row.iter().map(|part| shared * part).chain([1.0]).collect();
            CholeskyFactor::new(falling.iter().map(row).collect())
        };
        let squares = |rows: &[Vec<f64>]| -> f64 { rows.iter().map(|row| dot(row, row)).sum() };
        // Of a normal distribution, without the terms that do not depend on the parameters.
        let log_likelihood = |factor: &CholeskyFactor| -> f64 {
            let whitened: Vec<Vec<f64>> = deviations.iter().map(|row| factor.forward(row)).collect();
            -trials * factor.half_log_determinant() - squares(&whitened) / 2.0
        };
        let (log_likelihood, factor) = SHARED
            .iter()
            .flat_map(|shared| triangles.iter().filter_map(|falling| factor(*shared, falling)))
            .map(|factor| (log_likelihood(&factor), factor))
            .max_by(|one, other| one.0.total_cmp(&other.0))?;
        let gain = log_likelihood + squares(&deviations) / 2.0;
        // Half of the criterion for two parameters more.
        (gain > (trials * blocks as f64).ln()).then(|| PrecisionMatrix::scaled(&factor, weights))
    }

    /// The inverse of a matrix of correlations, with the weights of the blocks.
    fn scaled(factor: &CholeskyFactor, weights: &[f64]) -> PrecisionMatrix {
        let blocks = weights.len();
        let rows: Vec<Vec<f64>> = (0..blocks)
            .map(|block| {
                let unit: Vec<f64> = (0..blocks).map(|other| f64::from(u8::from(other == block))).collect();
                let inverse = factor.solve(&unit);
                let scale = |(value, weight): (&f64, &f64)| value * (weight * weights[block]).sqrt();
                inverse.iter().zip(weights).map(scale).collect()
            })
            .collect();
        let mut sums = vec![vec![0.0; blocks + 1]; blocks + 1];
        for row in 0..blocks {
            for column in 0..blocks {
                sums[row + 1][column + 1] =
                    rows[row][column] + sums[row][column + 1] + sums[row + 1][column] - sums[row][column];
            }
        }
        PrecisionMatrix { rows, sums }
    }

    /// The product with a vector.
    fn times(&self, values: &[f64]) -> Vec<f64> {
        self.rows.iter().map(|row| dot(row, values)).collect()
    }

    /// The levels of stretches of blocks that fit best together, from the sum of `times` over each stretch.
    /// `None` where they cannot be told apart.
    fn levels(&self, stretches: &[(usize, usize)], sums: &[f64]) -> Option<Vec<f64>> {
        let row = |row: usize| (0..=row).map(|column| self.sum(stretches[row], stretches[column])).collect();
        let factor = CholeskyFactor::new((0..stretches.len()).map(row).collect())?;
        Some(factor.solve(sums))
    }

    /// The sum of the elements in the rows of one stretch and the columns of another.
    fn sum(&self, one: (usize, usize), other: (usize, usize)) -> f64 {
        let to = |row: usize| self.sums[row][other.1] - self.sums[row][other.0];
        to(one.1) - to(one.0)
    }
}

/// The lower triangle L whose product with its transpose is a symmetric matrix, L·Lᵀ.
pub(crate) struct CholeskyFactor(Vec<Vec<f64>>);

impl CholeskyFactor {
    /// From the lower triangle; `None` where the matrix is not positive definite.
    pub(crate) fn new(mut rows: Vec<Vec<f64>>) -> Option<CholeskyFactor> {
        for row in 0..rows.len() {
            for column in 0..=row {
                let (above, current) = rows.split_at(row);
                let other = if column < row { &above[column] } else { &current[0] };
                let rest = current[0][column] - dot(&current[0][..column], &other[..column]);
                rows[row][column] = if column < row {
                    rest / rows[column][column]
                } else if rest > 0.0 {
                    rest.sqrt()
                } else {
                    return None;
                };
            }
        }
        Some(CholeskyFactor(rows))
    }

    /// Half the logarithm of the determinant of the matrix.
    pub(crate) fn half_log_determinant(&self) -> f64 {
        self.0.iter().filter_map(|row| row.last()).map(|diagonal| diagonal.ln()).sum()
    }

    /// The vector whose product with the matrix is `values`.
    pub(crate) fn solve(&self, values: &[f64]) -> Vec<f64> {
        self.backward(&self.forward(values))
    }

    /// The vector whose product with L is `values`.
    fn forward(&self, values: &[f64]) -> Vec<f64> {
        let mut found: Vec<f64> = Vec::with_capacity(values.len());
        for (row, value) in self.0.iter().zip(values) {
            let rest = value - dot(&row[..found.len()], &found);
            found.push(rest / row[found.len()]);
        }
        found
    }

    /// The vector whose product with Lᵀ is `values`.
    fn backward(&self, values: &[f64]) -> Vec<f64> {
        let mut found = values.to_vec();
        for place in (0..found.len()).rev() {
            found[place] /= self.0[place][place];
            let (before, at) = found.split_at_mut(place);
            before.iter_mut().zip(&self.0[place]).for_each(|(value, factor)| *value -= factor * at[0]);
        }
        found
    }
}

/// The sum of products.
pub(crate) fn dot(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(one, other)| one * other).sum()
}

#[cfg(test)]
mod tests {
    use fastrand::Rng;

    use super::*;
    use crate::simulate::normal;

    /// Ten trials of noise in thirty blocks; neighbours are correlated by `keep`.
    fn noise(seed: u64, keep: f64) -> Vec<Vec<f64>> {
        let mut rng = Rng::with_seed(seed);
        let mut trial = || {
            let mut state = normal(&mut rng);
            let next = |_| {
                state = keep * state + (1.0 - keep * keep).sqrt() * normal(&mut rng);
                state
            };
            (0..30).map(next).collect()
        };
        (0..10).map(|_| trial()).collect()
    }

    /// Trials of a constant cost.
    fn curve(seed: u64, keep: f64) -> Curve {
        let middles: Vec<f64> = (0..30).map(|place| 100.0 * 1.2f64.powi(place)).collect();
        let mut rows = noise(seed, keep);
        rows.iter_mut().flatten().for_each(|value| *value *= 0.04);
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

    fn matrix(seed: u64, keep: f64) -> Option<PrecisionMatrix> {
        let logs: Vec<f64> = (0..30).map(|place| 0.2 * f64::from(place)).collect();
        let mut rows = noise(seed, keep);
        for block in 0..30 {
            let middle = rows.iter().map(|row| row[block]).sum::<f64>() / 10.0;
            rows.iter_mut().for_each(|row| row[block] -= middle);
        }
        PrecisionMatrix::new(rows, &logs, &[1.0; 30])
    }

    #[test]
    fn correlation_is_used_where_it_is_certain() {
        let used = |keep: f64| (0..50).filter(|seed| matrix(*seed, keep).is_some()).count();
        assert!(used(0.0) <= 1);
        assert_eq!(used(0.6), 50);
    }

    /// Between neighbours that are correlated by 0.6 the inverse is negative, and a constant weighs less than
    /// thirty independent blocks.
    #[test]
    fn the_inverse_weighs_what_blocks_have_in_common_once() {
        let matrix = matrix(3, 0.6).expect("it is certain");
        assert!((0..29).all(|block| matrix.rows[block][block + 1] < 0.0));
        // (1 − 0.6) over (1 + 0.6) for many blocks, as it is estimated.
        let share = matrix.sum((0, 30), (0, 30)) / 30.0;
        assert!((0.15..0.5).contains(&share), "{share}");
    }

    #[test]
    fn a_factor_inverts_its_matrix() {
        let rows = vec![vec![4.0], vec![2.0, 3.0], vec![1.0, 0.5, 2.0]];
        let factor = CholeskyFactor::new(rows).expect("positive definite");
        // 4a + 2b + c, 2a + 3b + c/2 and a + b/2 + 2c, of 1, 2 and 3; the determinant is 14.
        let found = factor.solve(&[11.0, 9.5, 8.0]);
        assert!(found.iter().zip([1.0, 2.0, 3.0]).all(|(found, truth)| (found - truth).abs() < 1e-12));
        assert!((factor.half_log_determinant() - 14f64.ln() / 2.0).abs() < 1e-12);
        assert!(CholeskyFactor::new(vec![vec![1.0], vec![2.0, 1.0]]).is_none());
    }
}
