//! Whether a cost depends on n, and how much it grows: factor, marginal cost, doubling size, slope.
//!
//! Flat is an equivalence claim: the cost has been shown to stay within a bound. Each trial is compared with
//! its own baseline, so its level cancels, and the variation between trials gives the error. All blocks hold
//! together at the given error rate.
//!
//! The figures of growth are computed for every trial and centred over the trials; each interval holds by
//! itself.

use std::ops::{Range, RangeInclusive};

use crate::block::{FEW, NONE, WIDEST, WIDEST_OF_FEW, against_baseline, column, weighted_median};
use crate::centre::{Centre, FEWEST, Interval, MOST, Student, exp, influences, level_of_each, mean};
use crate::verdict::LocalExponent;

/// Natural logarithms of the change against the baseline, over all blocks.
pub(crate) struct Flatness {
    /// The change at each block.
    pub(crate) blocks: Vec<Centre>,
    /// The same for each trial: rows are trials.
    pub(crate) changes: Vec<Vec<f64>>,
    /// Critical values for each block, for which all hold together.
    pub(crate) student: Student,
    /// The change from the smallest n to the largest, and the trend over all of the range.
    ends: [Centre; 2],
    /// Critical values for these, which hold one by one: a claim about all of them needs no more [Berger,
    /// Technometrics 24, 1982, intersection-union tests].
    alone: Student,
    /// No change is larger, up or down: U.
    pub(crate) bound: f64,
    /// Estimate of the change that is largest in size: P with its sign.
    pub(crate) peak: f64,
    /// The cost rises by at least this somewhere, if it is above 0.
    pub(crate) rise: f64,
    /// The cost falls by at least this somewhere, if it is above 0.
    pub(crate) fall: f64,
    /// The change of `ends` that is certain, if it is above 0.
    ends_certain: f64,
    controls: ReferenceUncertainty,
    /// Critical values of the part that references can hide: one-sided, as in an equivalence test.
    one_sided: Student,
}

/// The uncertainty of the references that were used; zero without any.
#[derive(Clone, Copy, Default)]
pub(crate) struct ReferenceUncertainty {
    /// Standard deviation of each change, which more trials do not lower.
    pub(crate) systematic: f64,
    /// The change of the removed part, from the smallest n to the largest: a growth of the cost that
    /// references share hides in it.
    pub(crate) hidden: Option<Centre>,
}

impl ReferenceUncertainty {
    /// Upper bound of a growth that the references share.
    pub(crate) fn hidden_bound(&self, one_sided: &Student, times: f64) -> f64 {
        self.hidden.map_or(0.0, |hidden| hidden.value.abs() + hidden.with(times).reach(one_sided))
    }
}

/// The blocks of some rows, and how many of the first are the baseline.
#[derive(Clone, Copy)]
pub(crate) struct Layout<'a> {
    pub(crate) ranges: &'a [(u64, u64)],
    pub(crate) baseline_blocks: usize,
}

impl Flatness {
    /// From the log medians; every column holds a value.
    pub(crate) fn new(
        rows: &[Vec<f64>],
        layout: &Layout<'_>,
        alpha: f64,
        seed: u64,
        controls: ReferenceUncertainty,
    ) -> Flatness {
        let systematic = controls.systematic;
        let Layout { ranges, baseline_blocks } = *layout;
        let changes: Vec<Vec<f64>> = rows.iter().map(|row| against_baseline(row, baseline_blocks)).collect();
        let count = rows.first().map_or(0, Vec::len);
        let columns: Vec<Vec<f64>> = (0..count).map(|block| column(&changes, block)).collect();
        let centre = |values: &Vec<f64>| Centre::new(values).unwrap_or(Centre::UNKNOWN);
        // A baseline without other blocks was not compared.
        let blocks: Vec<Centre> = if count > baseline_blocks {
            columns.iter().map(centre).collect()
        } else {
            vec![Centre::UNKNOWN; count]
        };

        let by_block: Vec<Vec<f64>> = columns.iter().map(|values| influences(values)).collect();
        let by_trial: Vec<Vec<f64>> = (0..rows.len()).map(|trial| column(&by_block, trial)).collect();
        let student = Student::new(level_of_each(&by_trial, alpha, seed));
        let most = |of: &dyn Fn(f64, f64) -> f64| {
            blocks
                .iter()
                .map(|block| of(block.value, block.beside(systematic).reach(&student)))
                .fold(f64::NEG_INFINITY, f64::max)
        };
        let ends = [ratios(rows, ranges), trends(&changes, ranges)].map(|values| centre(&values));
        let alone = Student::new(alpha);
        let one_sided = Student::new(2.0 * alpha);
        let hidden = controls.hidden_bound(&one_sided, 1.0);
        let bound = most(&|value, reach| value.abs() + reach).max(hidden);
        let reach = |end: &Centre| end.beside(systematic).reach(&alone);
        Flatness {
            bound: ends.iter().fold(bound, |bound, end| bound.max(end.value.abs() + reach(end))),
            ends_certain: ends
                .iter()
                .map(|end| end.value.abs() - reach(end))
                .fold(f64::NEG_INFINITY, f64::max),
            ends,
            alone,
            peak: blocks
                .iter()
                .map(|block| block.value)
                .max_by(|a, b| a.abs().total_cmp(&b.abs()))
                .unwrap_or(0.0),
            rise: most(&|value, reach| value - reach.max(hidden)),
            fall: most(&|value, reach| -value - reach.max(hidden)),
            blocks,
            changes,
            student,
            controls,
            one_sided,
        }
    }

    /// The change from the smallest n to the largest.
    pub(crate) fn end_to_end(&self) -> Centre {
        self.ends[0]
    }

    /// The change at a block, with its simultaneous interval.
    pub(crate) fn interval(&self, block: usize) -> Interval {
        self.blocks[block].beside(self.controls.systematic).interval(&self.student)
    }

    /// The largest change that is certain: somewhere, from end to end, or along all of the range.
    pub(crate) fn certain(&self) -> f64 {
        self.rise.max(self.fall).max(self.ends_certain)
    }

    /// Trials after which the cost is within `margin`, or, where the estimate is beyond it, changes for
    /// certain. `None` where more would not help, or far too many were needed.
    pub(crate) fn trials_needed(&self, margin: f64) -> Option<u32> {
        let now = self.changes.len();
        let settled = |trials: &u32| {
            let times = f64::from(*trials) / now as f64;
            // With more trials blocks are narrower and hold fewer measurements.
            let narrower = if now < FEW { WIDEST as f64 / WIDEST_OF_FEW as f64 } else { 1.0 };
            let reach = |block: &Centre| {
                block.with(times / narrower).beside(self.controls.systematic).reach(&self.student)
            };
            if self.peak.abs() < margin {
                let end = |end: &Centre| {
                    let then = end.with(times).beside(self.controls.systematic);
                    end.value.abs() + then.reach(&self.alone) <= margin
                };
                self.blocks.iter().all(|block| block.value.abs() + reach(block) <= margin)
                    && self.ends.iter().all(end)
                    && self.controls.hidden_bound(&self.one_sided, times) <= margin
            } else {
                self.blocks.iter().any(|block| block.value.abs() >= margin.max(reach(block)))
            }
        };
        first_that((now as u32 + 1).max(FEWEST)..=MOST, settled)
    }
}

/// The first number that satisfies `settled`, which stays satisfied from there on.
pub(crate) fn first_that(numbers: RangeInclusive<u32>, settled: impl Fn(&u32) -> bool) -> Option<u32> {
    let numbers: Vec<u32> = numbers.collect();
    numbers.get(numbers.partition_point(|number| !settled(number))).copied()
}

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
fn ratios(rows: &[Vec<f64>], ranges: &[(u64, u64)]) -> Vec<f64> {
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

/// The figures of growth of a series in blocks, each with its own interval.
#[derive(Clone, Copy)]
pub(crate) struct GrowthFigures<'a> {
    /// The log change of each block against the baseline, a row per trial.
    pub(crate) changes: &'a [Vec<f64>],
    /// The middle n of each block.
    pub(crate) middles: &'a [f64],
    /// Error rate of each interval.
    pub(crate) alpha: f64,
    /// An error of each change that more trials do not lower.
    pub(crate) systematic: f64,
}

impl GrowthFigures<'_> {
    /// Seconds per additional object, and the number of objects that add the baseline cost once more.
    ///
    /// `levels` holds the log cost of the baseline of each trial.
    pub(crate) fn marginal_cost(self, levels: &[f64]) -> (Interval, Option<Interval>) {
        let GrowthFigures { changes, middles, alpha, systematic } = self;
        let shares: Vec<f64> = changes.iter().map(|changes| line_slope(middles, changes)).collect();
        let seconds: Vec<f64> = shares.iter().zip(levels).map(|(share, level)| share * level.exp()).collect();
        // A line that ends so much higher or lower.
        let way = middles.last().zip(middles.first()).map_or(0.0, |(last, first)| last - first);
        let typical = mean(levels).exp();
        let share = interval(&shares, alpha, |share| systematic * (1.0 / way + share.abs()));
        let seconds = interval(&seconds, alpha, |seconds| systematic * (typical / way + seconds.abs()));
        let rises = share.low > 0.0 && seconds.low > 0.0;
        (seconds, rises.then_some(share.reciprocal()))
    }

    /// Slope of log cost on log n over the last decade.
    pub(crate) fn top_decade_slope(self) -> Interval {
        let GrowthFigures { changes, middles, alpha, systematic } = self;
        let largest = middles.last().copied().unwrap_or(0.0);
        let top = middles.iter().take_while(|n| **n < largest / 10.0).count();
        let places: Vec<f64> = middles[top..].iter().map(|n| n.max(NONE).ln()).collect();
        let slopes: Vec<f64> =
            changes.iter().map(|changes| pairwise_slope(&places, &changes[top..])).collect();
        let way = places.last().zip(places.first()).map_or(0.0, |(last, first)| last - first);
        interval(&slopes, alpha, |_| systematic / way)
    }

    /// The exponent with which the cost grows near the smallest and near the largest n: in a quarter of the
    /// range on a logarithmic scale at either end, of three blocks at least. `None` where there are fewer.
    pub(crate) fn local_exponents(self) -> Option<[LocalExponent; 2]> {
        let GrowthFigures { changes, middles, alpha, systematic } = self;
        let logs: Vec<f64> = middles.iter().map(|n| n.max(NONE).ln()).collect();
        let (first, last) = (*logs.first()?, *logs.last()?);
        let quarter = (last - first) / 4.0;
        let near = logs.iter().take_while(|log| **log <= first + quarter).count().max(LOCAL);
        let far = logs.iter().rev().take_while(|log| **log >= last - quarter).count().max(LOCAL);
        if logs.len() < 2 * LOCAL {
            return None;
        }
        let of = |range: Range<usize>| {
            let places = &logs[range.clone()];
            let slopes: Vec<f64> =
                changes.iter().map(|changes| pairwise_slope(places, &changes[range.clone()])).collect();
            let (first, last) = (places[0], places[places.len() - 1]);
            let exponent = interval(&slopes, alpha, |_| systematic / (last - first));
            LocalExponent { n: first.midpoint(last).exp(), exponent }
        };
        Some([of(0..near), of(logs.len() - far..logs.len())])
    }
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
