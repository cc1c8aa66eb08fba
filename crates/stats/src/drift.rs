//! How much less sure neighbours in time make a mean.
//!
//! A machine drifts for minutes (temperature, neighbours, page cache), so trials that follow each other
//! resemble each other. Contrasts inside a trial do not suffer; levels do, and a comparison that takes
//! them for independent finds differences between a system and itself.

use crate::centre::{mean, pulls};

/// Batches of a run: few, so that each is longer than most drifts.
const BATCHES: usize = 5;
/// Trials that a batch needs for a mean worth the name.
const BATCH: usize = 4;
/// Correlation beyond which a run holds no more than one independent trial in forty.
const MOST: f64 = 0.95;

/// The factor by which drift raises the squared error of the centre of `levels`, which follow each
/// other in time. At least 1; the larger of two estimates, because the one sees fast and the other
/// slow drift.
pub(crate) fn inflation(levels: &[f64]) -> f64 {
    let pulls = pulls(levels);
    serial(&pulls).max(batched(&pulls)).max(1.0)
}

/// (1 + ρ) / (1 − ρ) of a first-order autoregression (Bayley & Hammersley, JRSS Suppl. 8, 1946), with
/// ρ corrected for its bias towards 0 (Marriott & Pope, Biometrika 41, 1954).
fn serial(pulls: &[f64]) -> f64 {
    let squares: f64 = pulls.iter().map(|pull| pull * pull).sum();
    let products: f64 = pulls.windows(2).map(|pair| pair[0] * pair[1]).sum();
    if squares == 0.0 {
        return 1.0;
    }
    let found = products / squares;
    let correlation = (found + (1.0 + 3.0 * found) / pulls.len() as f64).min(MOST);
    (1.0 + correlation) / (1.0 - correlation)
}

/// Variance of batch means against that of independent trials (Schmeiser, Operations Research 30, 1982).
fn batched(pulls: &[f64]) -> f64 {
    if pulls.len() < BATCHES * BATCH {
        return 1.0;
    }
    let edge = |batch: usize| batch * pulls.len() / BATCHES;
    let means: Vec<f64> = (0..BATCHES).map(|batch| mean(&pulls[edge(batch)..edge(batch + 1)])).collect();
    let (batches, trials) = (variance(&means), variance(pulls));
    if trials == 0.0 { 1.0 } else { batches * (pulls.len() / BATCHES) as f64 / trials }
}

fn variance(values: &[f64]) -> f64 {
    let middle = mean(values);
    values.iter().map(|value| (value - middle).powi(2)).sum::<f64>() / (values.len() as f64 - 1.0)
}
