//! The newest nights of a segment against those before them.

use super::CLIP;
use super::scale::{Scale, inflation};
use crate::median::weighted_median;

/// A night of one series, without the distance that all series have in common.
#[derive(Clone, Copy, Debug)]
pub(super) struct Value {
    pub(super) night: usize,
    pub(super) day: f64,
    pub(super) log_cost: f64,
    /// The distance that all series had in common: with it, the cost is as it was measured.
    pub(super) shared: f64,
    /// At most 1; less in a night in which all series scatter.
    pub(super) weight: f64,
}

/// A mean with its variance, in squares of a standard deviation of a night.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mean {
    pub(super) value: f64,
    pub(super) variance: f64,
}

/// The nights before a window that say what was usual.
const BEFORE_MOST: usize = 40;
/// With fewer nights before it nothing is a change.
pub(super) const BEFORE_LEAST: usize = 5;
/// A step must be so many units of the log likelihood better than a line, which is a slow drift.
const STEP_OVER_LINE: f64 = 3.0;

/// A possible change: the new nights against those before.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    /// Nights in the window.
    pub(super) count: usize,
    /// Difference of the log costs.
    pub(super) difference: f64,
    /// Its standard error.
    pub(super) error: f64,
}

impl Candidate {
    pub(super) fn distance(&self) -> f64 {
        self.difference.abs() / self.error
    }
}

/// The robust mean of some nights: distances from the median count up to [`CLIP`] standard deviations.
pub(super) fn mean(values: &[Value], scale: Scale, correlation: f64) -> Option<Mean> {
    let mut pairs: Vec<(f64, f64)> = values.iter().map(|one| (one.log_cost, one.weight)).collect();
    let middle = weighted_median(&mut pairs)?;
    let reach = CLIP / 1.6 * scale.deviation;
    let total: f64 = values.iter().map(|one| one.weight).sum();
    let clipped = |one: &Value| one.weight * (one.log_cost - middle).clamp(-reach, reach);
    let value = middle + values.iter().map(clipped).sum::<f64>() / total;
    Some(Mean { value, variance: inflation(correlation, values.len()) / total })
}

/// The newest `count` nights against those before them; `level` where these are too few.
pub(super) fn candidate(values: &[Value], count: usize, scale: Scale, correlation: f64) -> Option<Candidate> {
    let split = values.len().checked_sub(count)?;
    if split < BEFORE_LEAST {
        return None;
    }
    let before = mean(&values[split.saturating_sub(BEFORE_MOST)..split], scale, correlation)?;
    let window = &values[split..];
    let total: f64 = window.iter().map(|one| one.weight).sum();
    // Each night by itself counts no more than so many deviations: two nights of a neighbour are no change.
    let reach = CLIP * scale.deviation;
    let distance = |one: &Value| one.weight * (one.log_cost - before.value).clamp(-reach, reach);
    let clipped = window.iter().map(distance).sum::<f64>() / total;
    let variance = inflation(correlation, count) / total + before.variance;
    Some(Candidate { count, difference: clipped, error: scale.deviation * variance.sqrt() })
}

/// Whether a step before the newest `count` nights explains them better than a line does.
pub(super) fn is_step(values: &[Value], count: usize, scale: Scale) -> bool {
    let split = values.len() - count;
    let all = &values[split.saturating_sub(BEFORE_MOST)..];
    let (before, after) = all.split_at(split.min(BEFORE_MOST));
    let of_step = squares_around_mean(before) + squares_around_mean(after);
    // Both have two parameters, and the step the place of its change, which was looked for.
    let gain = (squares_around_line(all) - of_step) / (2.0 * scale.deviation.powi(2));
    gain >= STEP_OVER_LINE
}

/// The change of the newest nights as it is reported: without clipping, because it is real.
pub(super) fn difference(
    values: &[Value],
    count: usize,
    scale: Scale,
    correlation: f64,
) -> Option<Candidate> {
    let split = values.len().checked_sub(count)?;
    let before = mean(&values[split.saturating_sub(BEFORE_MOST)..split], scale, correlation)?;
    let after = mean(&values[split..], scale, correlation)?;
    let error = scale.deviation * (before.variance + after.variance).sqrt();
    Some(Candidate { count, difference: after.value - before.value, error })
}

/// The likeliest number of new nights, of those that `counts` allows.
pub(super) fn likeliest(values: &[Value], counts: impl Iterator<Item = usize>) -> Option<usize> {
    let cost = |count: usize| {
        let split = values.len().checked_sub(count).filter(|split| *split > 0)?;
        let before = &values[split.saturating_sub(BEFORE_MOST)..split];
        // The same nights for each number of new ones, so that the sums can be compared.
        let from = values.len().saturating_sub(BEFORE_MOST);
        let before = if from < split { &values[from..split] } else { before };
        Some((squares_around_mean(before) + squares_around_mean(&values[split..]), count))
    };
    counts.filter_map(cost).min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, count)| count)
}

fn squares_around_mean(values: &[Value]) -> f64 {
    let total: f64 = values.iter().map(|one| one.weight).sum();
    if total == 0.0 {
        return 0.0;
    }
    let mean = values.iter().map(|one| one.weight * one.log_cost).sum::<f64>() / total;
    values.iter().map(|one| one.weight * (one.log_cost - mean).powi(2)).sum()
}

fn squares_around_line(values: &[Value]) -> f64 {
    let line = line(values);
    values.iter().map(|one| one.weight * (one.log_cost - line.at(one.day)).powi(2)).sum()
}

/// A line through nights by weighted least squares.
pub(super) struct Line {
    day: f64,
    level: f64,
    pub(super) slope: f64,
    /// Sum of the squared distances of the days from their mean.
    pub(super) spread: f64,
}

impl Line {
    pub(super) fn at(&self, day: f64) -> f64 {
        self.level + self.slope * (day - self.day)
    }
}

pub(super) fn line(values: &[Value]) -> Line {
    let total: f64 = values.iter().map(|one| one.weight).sum::<f64>().max(f64::MIN_POSITIVE);
    let mean =
        |of: &dyn Fn(&Value) -> f64| values.iter().map(|one| one.weight * of(one)).sum::<f64>() / total;
    let (day, level) = (mean(&|one| one.day), mean(&|one| one.log_cost));
    let spread: f64 = values.iter().map(|one| one.weight * (one.day - day).powi(2)).sum();
    let product: f64 = values.iter().map(|one| one.weight * (one.day - day) * (one.log_cost - level)).sum();
    Line { day, level, slope: if spread > 0.0 { product / spread } else { 0.0 }, spread }
}
