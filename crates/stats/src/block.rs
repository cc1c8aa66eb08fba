//! Ranges of n that count as one value per trial: the median of the range.
//!
//! Medians, because a mean follows single spikes. Blocks are log-spaced, about thirteen per decade, and
//! become narrow again towards the largest n: a wide last block would dilute growth that shows only at the
//! end, and a line of +10 % would look like +8 %.

use statrs::distribution::{Binomial, DiscreteCDF};

use crate::centre::{Centre, FEWEST, Interval, Student, mean};
use crate::sweep::{Sweep, is_cost};
use crate::verdict::Step;

/// On a logarithmic scale n = 0 lies as far below 1 as 1 lies below 2.
pub(crate) const NONE: f64 = 0.5;

/// The least measurements in a block of a long sweep, so that its median is not one spike.
const LEAST: usize = 25;
/// A short sweep spends this share of its sizes on a block.
const SHARE: usize = 60;
/// The baseline is the first blocks that hold this many times the least: n = 100…199 of a long sweep.
const REFERENCE: usize = 4;
/// The last block is a hundredth of the largest n, the one before twice as wide, and so on…
const LAST: u64 = 100;
/// …until a block is a sixth of its largest n, ±9 %; with few trials a third.
pub(crate) const WIDEST: u64 = 6;
pub(crate) const WIDEST_OF_FEW: u64 = 3;
/// Fewer trials pay too much for many blocks: all of them must hold together.
pub(crate) const FEW: usize = 20;

/// Where the blocks lie.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Grid {
    /// Smallest and largest n of each block, rising.
    pub(crate) ranges: Vec<(u64, u64)>,
    /// How many of the first blocks are the baseline.
    pub(crate) baseline_blocks: usize,
}

impl Grid {
    /// The blocks of `sizes`, which rise, for so many trials; equal sizes stay together.
    pub(crate) fn new(sizes: &[u64], trials: usize) -> Grid {
        let (widest, faster) = if trials < FEW { (WIDEST_OF_FEW, 3) } else { (WIDEST, 2) };
        let least = (sizes.len() / SHARE).clamp(1, LEAST);
        let mut width = sizes.last().map_or(0, |end| end / LAST).max(1);
        let (mut ranges, mut counts) = (Vec::new(), Vec::new());
        // From the largest n down, in places of `sizes`.
        let mut top = sizes.len();
        while let Some(place) = top.checked_sub(1) {
            let n_high = sizes[place];
            let wide = sizes.partition_point(|n| *n <= n_high.saturating_sub(width));
            let edge = sizes[wide.min(top.saturating_sub(least)).min(place)];
            // At most `place`, so that a block has a value and the loop ends, whatever the sizes are.
            let bottom = sizes.partition_point(|n| *n < edge).min(place);
            // A remainder that is too small for a block of its own joins the first block.
            let bottom = if bottom < least { 0 } else { bottom };
            ranges.push((sizes[bottom], n_high));
            counts.push(top - bottom);
            top = bottom;
            let next = top.checked_sub(1).map_or(0, |place| sizes[place]);
            width = width.saturating_mul(faster).min(next / widest).max(1);
        }
        ranges.reverse();
        counts.reverse();
        let mut held = 0;
        let enough = counts.iter().position(|count| {
            held += count;
            held >= REFERENCE * least
        });
        // At least one block must remain to compare with it.
        let most = ranges.len().saturating_sub(1).max(1);
        Grid { baseline_blocks: enough.map_or(most, |place| place + 1).min(most), ranges }
    }

    /// The same grid, in which a block is cut into eight if a part of it differs, certainly and by more than
    /// `margin`, from a straight line through the block. Its median would not show that.
    pub(crate) fn refined(
        &self,
        trials: &[Sweep<'_>],
        sizes: &[u64],
        tick: f64,
        alpha: f64,
        margin: f64,
    ) -> Grid {
        let student = Student::new(alpha / (PARTS * self.ranges.len()) as f64);
        let place = |n: u64| sizes.partition_point(|size| *size < n);
        let parts = |&(low, high): &(u64, u64)| -> Option<Vec<(u64, u64)>> {
            let parts: Vec<(u64, u64)> = pieces(sizes, (place(low), place(high.saturating_add(1))), PARTS)
                .into_iter()
                .map(|(start, end)| (sizes[start], sizes[end - 1]))
                .collect();
            let parted =
                parts.len() >= 4 && is_heterogeneous(&log_medians(trials, &parts, tick), &student, margin);
            parted.then_some(parts)
        };
        let mut ranges = Vec::with_capacity(self.ranges.len());
        let mut baseline_blocks = 0;
        for (block, range) in self.ranges.iter().enumerate() {
            let parts = parts(range).unwrap_or_else(|| vec![*range]);
            baseline_blocks += if block < self.baseline_blocks { parts.len() } else { 0 };
            ranges.extend(parts);
        }
        Grid { ranges, baseline_blocks }
    }

    /// A grid of the same sizes whose blocks end at steps, and are narrow before each.
    pub(crate) fn parted(&self, sizes: &[u64], trials: usize, steps: &[Step]) -> Grid {
        let mut ranges = Vec::new();
        let mut start = 0;
        let ends = steps.iter().map(|step| sizes.partition_point(|n| *n < step.n));
        for end in ends.chain(std::iter::once(sizes.len())) {
            if end > start {
                ranges.extend(Grid::new(&sizes[start..end], trials).ranges);
                start = end;
            }
        }
        let referred = self.ranges[self.baseline_blocks - 1].1;
        let baseline_blocks = ranges.iter().filter(|range| range.1 <= referred).count().max(1);
        Grid { baseline_blocks, ranges }
    }
}

/// The parts into which such a block is cut.
const PARTS: usize = 8;

/// Whether some column of `rows` differs, certainly and by more than `margin`, from the line through all.
fn is_heterogeneous(rows: &[Vec<f64>], student: &Student, margin: f64) -> bool {
    let count = rows.first().map_or(0, Vec::len);
    let levelled: Vec<Vec<f64>> = rows
        .iter()
        .filter(|row| row.iter().all(|value| value.is_finite()))
        .map(|row| {
            let level = mean(row);
            row.iter().map(|value| value - level).collect()
        })
        .collect();
    let centres: Vec<Centre> =
        (0..count).filter_map(|place| Centre::new(&column(&levelled, place))).collect();
    if centres.len() < count || levelled.len() < FEWEST as usize {
        return false;
    }
    let middle = (count as f64 - 1.0) / 2.0;
    let across = |place: usize| place as f64 - middle;
    let products: f64 = centres.iter().enumerate().map(|(place, centre)| across(place) * centre.value).sum();
    let squares: f64 = (0..count).map(|place| across(place).powi(2)).sum();
    let beside = |(place, centre): (usize, &Centre)| {
        (centre.value - products / squares * across(place)).abs() - centre.reach(student) > margin
    };
    centres.iter().enumerate().any(beside)
}

/// Cuts places `start..end` into at most so many pieces of about as many values, equal n together.
pub(crate) fn pieces(sizes: &[u64], (start, end): (usize, usize), most: usize) -> Vec<(usize, usize)> {
    let count = (end - start).min(most);
    let mut pieces: Vec<(usize, usize)> = Vec::with_capacity(count);
    let mut from = start;
    for piece in 1..=count {
        let mut to = start + piece * (end - start) / count;
        while to < end && sizes[to] == sizes[to - 1] {
            to += 1;
        }
        if to > from {
            pieces.push((from, to));
            from = to;
        }
    }
    pieces
}

/// Natural logarithms of medians: a row per trial, a column per block, NaN where nothing was measured.
pub(crate) type Rows = Vec<Vec<f64>>;

/// Measures each of several series in the same blocks. Blocks in which a whole series has no values are
/// dropped; `None` when no block remains.
pub(crate) fn measure<const SERIES: usize>(
    sizes: &[u64],
    series: [&[Sweep<'_>]; SERIES],
) -> Option<(Grid, [Rows; SERIES])> {
    let trials = series.iter().map(|trials| trials.len()).min().unwrap_or(0);
    let Grid { ranges, baseline_blocks } = Grid::new(sizes, trials);
    let mut rows = series.map(|trials| log_medians(trials, &ranges, 0.0));
    let measured = |block: &usize| rows.iter().all(|rows| rows.iter().any(|row| row[*block].is_finite()));
    let kept: Vec<usize> = (0..ranges.len()).filter(measured).collect();
    for row in rows.iter_mut().flatten() {
        *row = kept.iter().map(|block| row[*block]).collect();
    }
    let ranges: Vec<(u64, u64)> = kept.iter().map(|block| ranges[*block]).collect();
    let baseline_blocks = kept.iter().filter(|block| **block < baseline_blocks).count().max(1);
    (!ranges.is_empty()).then_some((Grid { ranges, baseline_blocks }, rows))
}

/// Natural logarithms of the medians of each range; values on ticks of a clock are spread evenly over their
/// tick.
pub(crate) fn log_medians(trials: &[Sweep<'_>], ranges: &[(u64, u64)], tick: f64) -> Rows {
    let mut costs = Vec::new();
    let mut log_median = |trial: &Sweep<'_>, (low, high): (u64, u64)| {
        costs.clear();
        costs.extend(trial.within(low, high).iter().copied().filter(|value| is_cost(*value)));
        grouped_median(&mut costs, tick).map_or(f64::NAN, f64::ln)
    };
    trials.iter().map(|trial| ranges.iter().map(|range| log_median(trial, *range)).collect()).collect()
}

/// The change of a trial against its baseline.
pub(crate) fn against_baseline(row: &[f64], baseline_blocks: usize) -> Vec<f64> {
    let level = present_mean(&row[..baseline_blocks.min(row.len())]);
    row.iter().map(|value| value - level).collect()
}

/// The values of one block, a trial each.
pub(crate) fn column(rows: &[Vec<f64>], block: usize) -> Vec<f64> {
    rows.iter().map(|row| row[block]).collect()
}

/// The mean of the values that are not missing; NaN when all are.
pub(crate) fn present_mean(row: &[f64]) -> f64 {
    let present: Vec<f64> = row.iter().copied().filter(|value| value.is_finite()).collect();
    mean(&present)
}

/// The mean of the blocks of each row.
pub(crate) fn levels(rows: &Rows) -> Vec<f64> {
    rows.iter().map(|row| present_mean(row)).collect()
}

/// Median absolute deviations in the standard deviation of a normal distribution.
pub(crate) const NORMAL_MAD: f64 = 1.4826;

/// The median by selection, which reorders `values`; `None` without values.
pub(crate) fn median(values: &mut [f64]) -> Option<f64> {
    let count = values.len();
    if count == 0 {
        return None;
    }
    let (below, middle, _) = values.select_nth_unstable_by(count / 2, f64::total_cmp);
    if count % 2 == 1 {
        return Some(*middle);
    }
    let neighbour = below.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    Some(neighbour.midpoint(*middle))
}

/// The median of values that a clock has rounded to its tick: values that are equal are spread evenly over
/// one tick (the median of grouped data). Without equal values, or with `tick` 0, it is the median.
pub(crate) fn grouped_median(values: &mut [f64], tick: f64) -> Option<f64> {
    let middle = median(values)?;
    if tick <= 0.0 {
        return Some(middle);
    }
    let below = values.iter().filter(|value| **value < middle - tick / 2.0).count() as f64;
    let equal = values.iter().filter(|value| (**value - middle).abs() <= tick / 2.0).count() as f64;
    if equal < 2.0 {
        return Some(middle);
    }
    let share = (values.len() as f64 / 2.0 - below) / equal;
    Some((middle + (share - 0.5) * tick).max(middle / 2.0))
}

/// The median of sorted values with the exact interval between two order statistics, which assumes no
/// distribution (David & Nagaraja, Order Statistics, 2003, §7.1). `None` where the values are too few:
/// below 6 for 95 %.
pub(crate) fn median_interval(sorted: &[f64], alpha: f64) -> Option<Interval> {
    let count = sorted.len();
    let rank = Binomial::new(0.5, count as u64).ok()?.inverse_cdf(alpha / 2.0) as usize;
    if rank == 0 {
        return None;
    }
    let value = sorted[(count - 1) / 2].midpoint(sorted[count / 2]);
    Some(Interval { value, low: sorted[rank - 1], high: sorted[count - rank] })
}

/// The value at which half the weight is reached, from (value, weight) pairs.
pub(crate) fn weighted_median(pairs: &mut [(f64, f64)]) -> Option<f64> {
    pairs.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let half = pairs.iter().map(|pair| pair.1).sum::<f64>() / 2.0;
    let mut weight = 0.0;
    pairs
        .iter()
        .find(|pair| {
            weight += pair.1;
            weight >= half
        })
        .map(|pair| pair.0)
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn grid(start: u64, step: u64, count: u64) -> Grid {
        Grid::new(&(0..count).map(|place| start + place * step).collect::<Vec<u64>>(), FEW)
    }

    #[test]
    fn blocks_cover_every_size_once() {
        for (start, step, count) in [(10, 1, 9_991), (1, 1, 4), (50, 50, 200), (7, 3, 1), (0, 1, 41)] {
            let ranges = grid(start, step, count).ranges;
            assert_eq!(ranges[0].0, start);
            assert_eq!(ranges[ranges.len() - 1].1, start + (count - 1) * step);
            assert!(ranges.iter().all(|range| range.0 <= range.1));
            assert!(ranges.windows(2).all(|pair| pair[0].1 + step == pair[1].0));
        }
    }

    #[test]
    fn sizes_that_are_far_apart_are_blocks_of_their_own() {
        let doubling: Vec<u64> = (0..14).map(|power| 1 << power).collect();
        assert_eq!(Grid::new(&doubling, FEW).ranges.len(), 14);
        let three_each: Vec<u64> = doubling.iter().flat_map(|n| [*n; 3]).collect();
        assert!(Grid::new(&three_each, FEW).ranges.iter().all(|(low, high)| low == high));
        assert_eq!(Grid::new(&[5; 40], FEW).ranges, [(5, 5)]);
        assert_eq!(Grid::new(&[], FEW).ranges, []);
    }

    #[test]
    fn a_long_sweep_has_narrow_blocks_and_a_hundred_sizes_of_reference() {
        let Grid { ranges, baseline_blocks } = grid(10, 1, 19_991);
        assert_eq!(ranges[ranges.len() - 1], (19_801, 20_000));
        assert!((100..=200).contains(&(ranges[baseline_blocks - 1].1 - 10)));
        assert!((30..=45).contains(&ranges.len()), "{} blocks", ranges.len());
        for (low, high) in ranges.into_iter().filter(|range| range.0 > 1_000) {
            assert!(high as f64 / low as f64 <= 1.21, "{low}…{high}");
        }
    }

    #[test]
    fn a_cliff_above_two_thirds_of_the_range_has_blocks_of_its_own() {
        let beyond = grid(10, 1, 19_991).ranges.into_iter().filter(|range| range.0 >= 14_116);
        assert!(beyond.count() >= 4);
    }

    proptest! {
        /// For sizes in any order the loop ends, and there is a block to compare with.
        #[test]
        fn any_sizes_have_blocks(
            sizes in vec(prop_oneof![0..3_000_u64, 0..4_u64, any::<u64>(), Just(u64::MAX)], 0..300),
            trials: usize,
        ) {
            let Grid { ranges, baseline_blocks } = Grid::new(&sizes, trials);
            prop_assert!(ranges.len() <= sizes.len());
            prop_assert_eq!(ranges.is_empty(), sizes.is_empty());
            prop_assert!(baseline_blocks >= 1 && (baseline_blocks <= ranges.len() || sizes.is_empty()));
        }
    }

    #[test]
    fn something_is_left_to_compare_with_the_reference() {
        for count in 2..200 {
            let Grid { ranges, baseline_blocks } = grid(10, 1, count);
            assert!(baseline_blocks >= 1 && baseline_blocks < ranges.len(), "{count} sizes");
        }
        assert_eq!(grid(3, 1, 1), Grid { ranges: vec![(3, 3)], baseline_blocks: 1 });
    }

    #[test]
    fn median_of_odd_and_even() {
        assert_eq!(median(&mut []), None);
        assert_eq!(median(&mut [3.0]), Some(3.0));
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&mut [4.0, 1.0, 3.0, 2.0]), Some(2.5));
    }

    /// Ranks from the table of Conover, Practical Nonparametric Statistics, 1999, A3: 95 % needs the
    /// smallest of 6, the 2nd of 10, the 6th of 20 and the 14th of 40.
    #[test]
    fn ranks_agree_with_the_table() {
        let ranks = [(5, None), (6, Some(1)), (10, Some(2)), (20, Some(6)), (40, Some(14))];
        for (count, rank) in ranks {
            let sorted: Vec<f64> = (1..=count).map(f64::from).collect();
            let low = median_interval(&sorted, 0.05).map(|interval| interval.low);
            assert_eq!(low, rank.map(f64::from), "{count} values");
        }
    }

    #[test]
    fn weight_moves_the_median() {
        assert_eq!(weighted_median(&mut [(1.0, 1.0), (2.0, 1.0), (3.0, 1.0)]), Some(2.0));
        assert_eq!(weighted_median(&mut [(3.0, 5.0), (1.0, 1.0), (2.0, 1.0)]), Some(3.0));
        assert_eq!(weighted_median(&mut []), None);
    }
}
