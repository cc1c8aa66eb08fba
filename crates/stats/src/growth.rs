//! Figures of growth: factor, marginal cost, doubling size, slope.
//!
//! Each figure is computed for every trial and centred over the trials; each interval holds separately.

use crate::block::column;
use crate::centre::{Centre, Interval, Student, exp, mean};
use crate::finding::LocalExponent;
use crate::median::weighted_median;
use crate::shape::NONE;

/// Rounds of reweighting; the line moves by less than its error after two.
const ROUNDS: usize = 4;

/// Cost of the last block over cost of the first; `rows` are log medians, and `systematic` is an error of
/// each change that more trials do not lower.
pub(crate) fn growth(rows: &[Vec<f64>], alpha: f64, systematic: f64) -> Interval {
    let ratio = |row: &Vec<f64>| if row.len() < 2 { f64::NAN } else { row[row.len() - 1] - row[0] };
    exp(interval(&rows.iter().map(ratio).collect::<Vec<f64>>(), alpha, |_| systematic))
}

/// Cost at the largest n over cost at the smallest for each trial, in logarithms, whatever the shape: the
/// middle of a block is not its end, so from blocks near either end a line goes on to it.
pub(crate) fn ratios(rows: &[Vec<f64>], ranges: &[(u64, u64)]) -> Vec<f64> {
    let (Some(first), Some(last)) = (ranges.first(), ranges.last()) else { return Vec::new() };
    if ranges.len() < 2 {
        return vec![f64::NAN; rows.len()];
    }
    let means: Vec<f64> = (0..ranges.len())
        .map(|block| Centre::new(&column(rows, block)).map_or(f64::NAN, |centre| centre.value))
        .collect();
    let middles: Vec<f64> = ranges.iter().map(|(low, high)| (*low as f64).midpoint(*high as f64)).collect();
    let near = middles.partition_point(|n| *n <= BEGINNING * middles[0].max(NONE)).max(1);
    let far = middles.partition_point(|n| *n < END * middles[middles.len() - 1]).min(middles.len() - 1);

    let plain: fn(f64) -> f64 = |n| n;
    let log: fn(f64) -> f64 = |n| n.max(NONE).ln();
    let rest = |scale: fn(f64) -> f64| {
        Line::new(&middles[..near], &means[..near], scale).map_or(0.0, |line| line.rest)
    };
    // A straight line unless the cost is clearly bent.
    let root: fn(f64) -> f64 = f64::sqrt;
    let bent = if rest(log) < rest(root) { log } else { root };
    let scale = if rest(bent) < rest(plain) / 2.0 { bent } else { plain };
    let low = |row: &[f64]| at_end(&middles[..near], &row[..near], scale, *first, (0, first.0));
    let high =
        |row: &[f64]| at_end(&middles[far..], &row[far..], plain, *last, (row.len() - far - 1, last.1));
    rows.iter().map(|row| high(row) - low(row)).collect()
}

/// The line of the first block reaches to at most so many times its middle.
const BEGINNING: f64 = 6.0;
/// Blocks from this share of the last middle on make the line to the largest n.
const END: f64 = 0.7;

/// Log cost at the end `n` of the block at `place`, which is `range`.
fn at_end(
    middles: &[f64],
    row: &[f64],
    scale: fn(f64) -> f64,
    range: (u64, u64),
    (place, n): (usize, u64),
) -> f64 {
    let own = row[place];
    if range.0 == range.1 || middles.len() < 2 || !own.is_finite() {
        return own;
    }
    let Some(line) = Line::new(middles, row, scale) else { return own };
    // No end lies further from its block than a factor of three, whatever the line says.
    let cost = line.level + line.slope * (scale(n as f64) - line.middle);
    if cost > 0.0 { cost.ln().clamp(own - 3f64.ln(), own + 3f64.ln()) } else { own - 3f64.ln() }
}

/// Least squares of costs, not of their logarithms, on a scale of n.
struct Line {
    middle: f64,
    level: f64,
    slope: f64,
    /// Sum of squares that it leaves, as a share of the squared level.
    rest: f64,
}

impl Line {
    fn new(middles: &[f64], logs: &[f64], scale: fn(f64) -> f64) -> Option<Line> {
        let points: Vec<(f64, f64)> = middles
            .iter()
            .zip(logs)
            .filter(|(_, log)| log.is_finite())
            .map(|(n, log)| (scale(*n), log.exp()))
            .collect();
        let of = |value: fn(&(f64, f64)) -> f64| mean(&points.iter().map(value).collect::<Vec<f64>>());
        let (middle, level) = (of(|point| point.0), of(|point| point.1));
        let squares: f64 = points.iter().map(|point| (point.0 - middle).powi(2)).sum();
        let products: f64 = points.iter().map(|point| (point.0 - middle) * (point.1 - level)).sum();
        let slope = products / squares;
        let rest = |point: &(f64, f64)| (point.1 - level - slope * (point.0 - middle)).powi(2);
        let rest = points.iter().map(rest).sum::<f64>() / (level * level);
        slope.is_finite().then_some(Line { middle, level, slope, rest })
    }
}

/// The change from the smallest n to the largest by a trend along log n, for each trial, in logarithms. It
/// shows a slow growth that lies mostly inside the first blocks, and so in no single block.
pub(crate) fn trends(changes: &[Vec<f64>], ranges: &[(u64, u64)]) -> Vec<f64> {
    let middle = |range: &(u64, u64)| (range.0 as f64).midpoint(range.1 as f64).max(NONE).ln();
    let places: Vec<f64> = ranges.iter().map(middle).collect();
    let (Some(first), Some(last)) = (ranges.first(), ranges.last()) else { return Vec::new() };
    let way = ((last.1 as f64).max(NONE) / (first.0 as f64).max(NONE)).ln();
    let trend = |row: &Vec<f64>| {
        let present = || places.iter().zip(row).filter(|(_, change)| change.is_finite());
        let of = |value: fn((&f64, &f64)) -> f64| mean(&present().map(value).collect::<Vec<f64>>());
        let (place, change) = (of(|pair| *pair.0), of(|pair| *pair.1));
        let products: f64 = present().map(|pair| (pair.0 - place) * (pair.1 - change)).sum();
        let squares: f64 = present().map(|pair| (pair.0 - place).powi(2)).sum();
        way * products / squares
    };
    changes.iter().map(trend).collect()
}

/// The log change of each block against the baseline, a row per trial, and the middle n of each.
#[derive(Clone, Copy)]
pub(crate) struct Blocks<'a> {
    pub(crate) changes: &'a [Vec<f64>],
    pub(crate) middles: &'a [f64],
}

/// Seconds per additional object, and the number of objects that add the baseline cost once more.
///
/// `levels` holds the log cost of the baseline of each trial.
pub(crate) fn marginal_cost(
    blocks: &Blocks<'_>,
    levels: &[f64],
    alpha: f64,
    systematic: f64,
) -> (Interval, Option<Interval>) {
    let Blocks { changes, middles } = *blocks;
    let shares: Vec<f64> = changes.iter().map(|changes| line_slope(middles, changes)).collect();
    let seconds: Vec<f64> = shares.iter().zip(levels).map(|(share, level)| share * level.exp()).collect();
    // A line that ends so much higher or lower.
    let way = middles.last().zip(middles.first()).map_or(0.0, |(last, first)| last - first);
    let typical = mean(levels).exp();
    let share = interval(&shares, alpha, |share| systematic * (1.0 / way + share.abs()));
    let seconds = interval(&seconds, alpha, |seconds| systematic * (typical / way + seconds.abs()));
    let rises = share.low > 0.0 && seconds.low > 0.0;
    let doubling = Interval { value: 1.0 / share.value, low: 1.0 / share.high, high: 1.0 / share.low };
    (seconds, rises.then_some(doubling))
}

/// Slope of log cost on log n over the last decade.
pub(crate) fn top_decade_slope(blocks: &Blocks<'_>, alpha: f64, systematic: f64) -> Interval {
    let Blocks { changes, middles } = *blocks;
    let largest = middles.last().copied().unwrap_or(0.0);
    let top = middles.iter().take_while(|n| **n < largest / 10.0).count();
    let places: Vec<f64> = middles[top..].iter().map(|n| n.max(NONE).ln()).collect();
    let slopes: Vec<f64> = changes.iter().map(|changes| pairwise_slope(&places, &changes[top..])).collect();
    let way = places.last().zip(places.first()).map_or(0.0, |(last, first)| last - first);
    interval(&slopes, alpha, |_| systematic / way)
}

/// The exponent with which the cost grows near the smallest and near the largest n: in a quarter of the range
/// on a logarithmic scale at either end, of three blocks at least. `None` where there are fewer.
pub(crate) fn local_exponents(
    blocks: &Blocks<'_>,
    alpha: f64,
    systematic: f64,
) -> Option<[LocalExponent; 2]> {
    let Blocks { changes, middles } = *blocks;
    let logs: Vec<f64> = middles.iter().map(|n| n.max(NONE).ln()).collect();
    let (first, last) = (*logs.first()?, *logs.last()?);
    let quarter = (last - first) / 4.0;
    let near = logs.iter().take_while(|log| **log <= first + quarter).count().max(LOCAL);
    let far = logs.iter().rev().take_while(|log| **log >= last - quarter).count().max(LOCAL);
    if logs.len() < 2 * LOCAL {
        return None;
    }
    let of = |range: std::ops::Range<usize>| {
        let places = &logs[range.clone()];
        let slopes: Vec<f64> =
            changes.iter().map(|changes| pairwise_slope(places, &changes[range.clone()])).collect();
        let (first, last) = (places[0], places[places.len() - 1]);
        let exponent = interval(&slopes, alpha, |_| systematic / (last - first));
        LocalExponent { n: first.midpoint(last).exp(), exponent }
    };
    Some([of(0..near), of(logs.len() - far..logs.len())])
}

/// Blocks that show a local exponent.
const LOCAL: usize = 3;

/// Slope of a straight line through exp(`changes`), by gamma quasi-likelihood: the error of a cost is
/// proportional to the cost, so weights are 1/f² with f the line itself (McCullagh & Nelder,
/// Generalized Linear Models, 1989, ch. 8). Weights from the measured costs would pull the line down.
fn line_slope(middles: &[f64], changes: &[f64]) -> f64 {
    let points: Vec<(f64, f64)> = middles
        .iter()
        .zip(changes)
        .filter(|(_, change)| change.is_finite())
        .map(|(n, change)| (*n, change.exp()))
        .collect();
    let least = points.iter().map(|point| point.1).fold(f64::INFINITY, f64::min);
    let most = points.iter().map(|point| point.1).fold(0.0, f64::max);
    let mut fitted: Vec<f64> = points.iter().map(|point| point.1).collect();
    let mut slope = f64::NAN;
    for _ in 0..ROUNDS {
        let weights: Vec<f64> = fitted.iter().map(|cost| cost.powi(-2)).collect();
        let total: f64 = weights.iter().sum();
        let weighted = |value: fn(&(f64, f64)) -> f64| -> f64 {
            points.iter().zip(&weights).map(|(point, weight)| weight * value(point)).sum::<f64>() / total
        };
        let (n, cost) = (weighted(|point| point.0), weighted(|point| point.1));
        let (mut products, mut squares) = (0.0, 0.0);
        for (point, weight) in points.iter().zip(&weights) {
            products += weight * (point.0 - n) * (point.1 - cost);
            squares += weight * (point.0 - n).powi(2);
        }
        slope = products / squares;
        // A line through a steep curve would give negative costs.
        fitted = points.iter().map(|point| (cost + slope * (point.0 - n)).clamp(least, most)).collect();
    }
    slope
}

/// The median slope of all pairs (Theil 1950; Sen, JASA 63, 1968), each weighted by its distance
/// (Sievers, JASA 73, 1978), for blocks lie closer together towards the largest n.
fn pairwise_slope(places: &[f64], changes: &[f64]) -> f64 {
    let mut slopes = Vec::with_capacity(places.len() * places.len() / 2);
    for right in 0..places.len() {
        for left in 0..right {
            let distance = places[right] - places[left];
            let rise = changes[right] - changes[left];
            if distance > 0.0 && rise.is_finite() {
                slopes.push((rise / distance, distance));
            }
        }
    }
    weighted_median(&mut slopes).unwrap_or(f64::NAN)
}

/// The interval of the centre; `systematic` is its error that more trials do not lower.
fn interval(values: &[f64], alpha: f64, systematic: impl Fn(f64) -> f64) -> Interval {
    let unknown = Interval { value: 0.0, low: f64::NEG_INFINITY, high: f64::INFINITY };
    let Some(centre) = Centre::new(values) else { return unknown };
    let systematic = systematic(centre.value);
    centre.beside(if systematic > 0.0 { systematic } else { 0.0 }).interval(&Student::new(alpha))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_its_slope() {
        let middles = [10.0, 100.0, 500.0, 1_000.0];
        let changes: Vec<f64> = middles.iter().map(|n| f64::ln(1.0 + 0.002 * n)).collect();
        assert!((line_slope(&middles, &changes) - 0.002).abs() < 1e-12);
        assert!(line_slope(&middles[..1], &changes[..1]).is_nan());
    }

    #[test]
    fn a_power_has_its_exponent_whatever_one_block_does() {
        let places: Vec<f64> = (0..12).map(|place| 4.0 + f64::from(place) * 0.2).collect();
        let mut changes: Vec<f64> = places.iter().map(|place| 0.5 * place).collect();
        changes[6] += 3.0;
        assert!((pairwise_slope(&places, &changes) - 0.5).abs() < 1e-9);
        assert!(pairwise_slope(&places[..1], &changes[..1]).is_nan());
    }
}
