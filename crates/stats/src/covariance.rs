//! The covariance of the errors of block means, where the errors of neighbours are correlated.
//!
//! The noise of a trial may last over many n (another guest, a slow clock): then five blocks that move
//! together are no five observations. Least squares with a weight for each block alone takes a slow wave of
//! the noise for evidence, and misses a small bend beside it. Generalised least squares (Aitken, Proc. Royal
//! Society of Edinburgh 55, 1935) multiplies by the inverse covariance instead of by weights. With few trials
//! and many blocks a free covariance cannot be estimated, so it has two parameters, and only trials that show
//! them certainly replace the weights.

/// Shares of the variance of a block that it has in common with close neighbours; the rest is its own.
const SHARED: [f64; 5] = [0.3, 0.5, 0.7, 0.85, 0.95];
/// Distances on the scale of log n within which the common part falls to 1/e.
const LASTING: [f64; 6] = [0.05, 0.1, 0.2, 0.4, 0.8, 1.6];
/// A spread below this is none.
const NO_SPREAD: f64 = 1e-9;

/// The inverse covariance of the errors of block means.
#[derive(Debug)]
pub(crate) struct PrecisionMatrix {
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
    pub(crate) fn new(
        mut deviations: Vec<Vec<f64>>,
        logs: &[f64],
        weights: &[f64],
    ) -> Option<PrecisionMatrix> {
        let blocks = logs.len();
        let trials = deviations.len() as f64;
        for block in 0..blocks {
            let squares: f64 = deviations.iter().map(|row| row[block].powi(2)).sum();
            let spread = (squares / (trials - 1.0)).sqrt().max(NO_SPREAD);
            deviations.iter_mut().for_each(|row| row[block] /= spread);
        }
        let factor = |shared: f64, lasting: f64| {
            let at = |row: usize, column: usize| match row == column {
                true => 1.0,
                false => shared * (-(logs[row] - logs[column]).abs() / lasting).exp(),
            };
            let row = |row: usize| (0..=row).map(|column| at(row, column)).collect();
            CholeskyFactor::new((0..blocks).map(row).collect())
        };
        let squares = |rows: &[Vec<f64>]| -> f64 { rows.iter().map(|row| dot(row, row)).sum() };
        // Of a normal distribution, without the terms that do not depend on the parameters.
        let log_likelihood = |factor: &CholeskyFactor| -> f64 {
            let whitened: Vec<Vec<f64>> = deviations.iter().map(|row| factor.forward(row)).collect();
            -trials * factor.half_log_determinant() - squares(&whitened) / 2.0
        };
        let (log_likelihood, factor) = SHARED
            .iter()
            .flat_map(|shared| LASTING.iter().filter_map(|lasting| factor(*shared, *lasting)))
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
    pub(crate) fn times(&self, values: &[f64]) -> Vec<f64> {
        self.rows.iter().map(|row| dot(row, values)).collect()
    }

    /// The levels of stretches of blocks that fit best together, from the sum of `times` over each stretch.
    /// `None` where they cannot be told apart.
    pub(crate) fn levels(&self, stretches: &[(usize, usize)], sums: &[f64]) -> Option<Vec<f64>> {
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
    use super::*;
    use crate::simulate::normal;
    use fastrand::Rng;

    /// Of ten trials in thirty blocks; neighbours are correlated by `keep`.
    fn matrix(seed: u64, keep: f64) -> Option<PrecisionMatrix> {
        let mut rng = Rng::with_seed(seed);
        let logs: Vec<f64> = (0..30).map(|place| 0.2 * f64::from(place)).collect();
        let mut rows: Vec<Vec<f64>> = (0..10)
            .map(|_| {
                let mut state = normal(&mut rng);
                let next = |_: &f64| {
                    state = keep * state + (1.0 - keep * keep).sqrt() * normal(&mut rng);
                    state
                };
                logs.iter().map(next).collect()
            })
            .collect();
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
