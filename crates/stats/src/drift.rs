//! The effect of autocorrelation between trials on the error of a mean.
//!
//! A machine drifts for minutes (temperature, other guests, page cache), so consecutive trials are
//! correlated. Contrasts inside a trial are not affected. Levels are, and a comparison that treats them as
//! independent finds differences between a system and itself.

use crate::centre::{influences, mean};

/// Batches of a run: few, so that each is longer than most drifts.
const BATCHES: usize = 5;
/// The least trials of a batch.
const BATCH: usize = 4;
/// Correlation beyond which a run holds no more than one independent trial in forty.
const MOST: f64 = 0.95;
/// Standard deviations beyond which a resemblance counts: one independent pair of runs in six pays for
/// drift that it does not have, so that little drift under much noise is not taken for a difference.
const GATE: f64 = 1.0;

/// The factor by which drift raises the squared error of the centre of `levels`, which follow each other in
/// time. At least 1; the larger of two estimates, because one shows fast and the other slow drift.
pub(crate) fn inflation(levels: &[f64]) -> f64 {
    let influences = influences(levels);
    serial(&influences).max(batched(&influences)).max(1.0)
}

/// The same factor for the log ratios of pairs, which follow each other in time; 1 unless neighbours resemble
/// each other. Drift that lasts longer than a pair has cancelled already; the rest is rare, and a factor
/// estimated without drift costs a fifth of the precision.
pub(crate) fn inflation_of_pairs(ratios: &[f64]) -> f64 {
    let (products, squares) = lagged(&influences(ratios));
    if resembles(products, squares, ratios.len()) { inflation(ratios) } else { 1.0 }
}

/// Variance of the difference of two runs that comes from drift too slow to average out inside a run;
/// 0 where neighbouring trials of the two do not resemble each other.
///
/// A random walk moves twice as much from run to run as from one half of a run to the other.
pub(crate) fn wander(runs: &[Vec<f64>; 2]) -> f64 {
    let influences = runs.each_ref().map(|levels| influences(levels));
    let (products, squares) = influences
        .iter()
        .map(|influences| lagged(influences))
        .fold((0.0, 0.0), |sum, run| (sum.0 + run.0, sum.1 + run.1));
    if !resembles(products, squares, runs[0].len() + runs[1].len()) {
        return 0.0;
    }
    let halves = influences.each_ref().map(|influences| {
        let (first, second) = influences.split_at(influences.len() / 2);
        (mean(second) - mean(first)).powi(2)
    });
    halves[0] + halves[1]
}

/// Whether neighbours resemble each other more than chance makes them: the correlation of independent trials
/// has a standard deviation of 1/√trials.
fn resembles(products: f64, squares: f64, trials: usize) -> bool {
    products > GATE * squares / (trials as f64).sqrt()
}

/// (1 + ρ) / (1 − ρ) of a first-order autoregression (Bayley & Hammersley, JRSS Suppl. 8, 1946), with
/// ρ corrected for its bias towards 0 (Marriott & Pope, Biometrika 41, 1954).
fn serial(influences: &[f64]) -> f64 {
    let (products, squares) = lagged(influences);
    if squares == 0.0 {
        return 1.0;
    }
    let found = products / squares;
    let correlation = (found + (1.0 + 3.0 * found) / influences.len() as f64).min(MOST);
    (1.0 + correlation) / (1.0 - correlation)
}

/// Sum of products of neighbours, and sum of squares.
fn lagged(influences: &[f64]) -> (f64, f64) {
    let products = influences.windows(2).map(|pair| pair[0] * pair[1]).sum();
    (products, influences.iter().map(|influence| influence * influence).sum())
}

/// Variance of batch means against that of independent trials (Schmeiser, Operations Research 30, 1982).
fn batched(influences: &[f64]) -> f64 {
    if influences.len() < BATCHES * BATCH {
        return 1.0;
    }
    let edge = |batch: usize| batch * influences.len() / BATCHES;
    let means: Vec<f64> = (0..BATCHES).map(|batch| mean(&influences[edge(batch)..edge(batch + 1)])).collect();
    let (batches, trials) = (variance(&means), variance(influences));
    if trials == 0.0 { 1.0 } else { batches * (influences.len() / BATCHES) as f64 / trials }
}

fn variance(values: &[f64]) -> f64 {
    let middle = mean(values);
    values.iter().map(|value| (value - middle).powi(2)).sum::<f64>() / (values.len() as f64 - 1.0)
}
