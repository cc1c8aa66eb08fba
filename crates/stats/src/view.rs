//! A series in blocks of n: the figures that every verdict carries, whatever its class.

use crate::block::{
    Grid, NONE, Rows, against_baseline, column, grouped_median, log_medians, median, median_interval,
    present_mean,
};
use crate::centre::{Centre, Interval, Student, exp};
use crate::control::{Controlled, Controls};
use crate::curve::Curve;
use crate::flat::{Flatness, GrowthFigures, Layout, ReferenceUncertainty, growth};
use crate::shape::Fit;
use crate::sweep::{Common, JudgeSettings, Sweep, is_cost};
use crate::verdict::{Adjustment, Block};

/// A block along which a shape changes by less than this, in logarithms, is its own middle.
const STEEP: f64 = 0.05;

/// A series through one grid of blocks.
pub(crate) struct View {
    /// Smallest and largest n of each block, rising.
    pub(crate) ranges: Vec<(u64, u64)>,
    /// The n in the middle of each block: where a cost that rises or falls has its median.
    pub(crate) middles: Vec<f64>,
    /// How many of the first blocks are the baseline.
    pub(crate) baseline_blocks: usize,
    /// Log medians: a row per trial, a column per block.
    pub(crate) raw: Rows,
    /// The same without the part that each trial shares with its references; all statements about change use
    /// it. Costs are raw.
    pub(crate) rows: Rows,
    /// The effect of the references, if there are any.
    pub(crate) adjustment: Option<Adjustment>,
    /// Error rate of the verdict.
    pub(crate) alpha: f64,
    /// The uncertainty of the references that were used.
    pub(crate) controls: ReferenceUncertainty,
    pub(crate) flatness: Flatness,
}

impl View {
    /// Blocks without a value in any trial are dropped; `None` when that leaves none.
    pub(crate) fn new(common: &Common<'_>, grid: &Grid, settings: &JudgeSettings) -> Option<View> {
        let mut raw = log_medians(&common.trials, &grid.ranges, settings.tick_seconds);
        let measured = |block: &usize| raw.iter().any(|row| row[*block].is_finite());
        let kept: Vec<usize> = (0..grid.ranges.len()).filter(measured).collect();
        for row in &mut raw {
            *row = kept.iter().map(|block| row[*block]).collect();
        }
        let ranges: Vec<(u64, u64)> = kept.iter().map(|block| grid.ranges[*block]).collect();
        let middles: Vec<f64> = ranges.iter().map(|range| middle(&common.sizes, *range)).collect();
        let baseline_blocks = kept.iter().filter(|block| **block < grid.baseline_blocks).count().max(1);
        if ranges.is_empty() {
            return None;
        }
        let layout = Layout { ranges: &ranges, baseline_blocks };
        let controlled = controlled(common, &raw, layout, settings);
        let mut rows = raw.clone();
        if let Some(Controlled { removed, .. }) = &controlled {
            for (row, removed) in rows.iter_mut().zip(removed) {
                row.iter_mut().zip(removed).for_each(|(value, removed)| *value -= removed);
            }
        }
        let controls = controlled.as_ref().map_or_else(Default::default, |of| of.uncertainty);
        let adjustment = controlled.map(|controlled| controlled.adjustment);
        let is_refused = adjustment.as_ref().is_some_and(Adjustment::is_refused);
        let alpha = settings.error_rate() * if is_refused { PAYS } else { 1.0 };
        let flatness = Flatness::new(&rows, &layout, alpha, settings.seed, controls);
        Some(View { ranges, middles, baseline_blocks, raw, rows, adjustment, alpha, controls, flatness })
    }

    /// The log medians of blocks `start..end`; a steep block has its values carried to its middle along
    /// `fit`, which is upside down where `sign` is −1. `None` where no block is steep.
    ///
    /// The median of noisy values that also rise exceeds the cost in the middle where a cost is constant in
    /// one half of a block and rises in the other. Along its own shape a cost is level, and the two agree.
    pub(crate) fn rows_along(
        &self,
        common: &Common<'_>,
        (start, end): (usize, usize),
        fit: &Fit,
        sign: f64,
    ) -> Option<Rows> {
        let mut rows: Rows = self.rows.iter().map(|row| row[start..end].to_vec()).collect();
        let mut is_steep = false;
        for block in start..end {
            let (low, high) = self.ranges[block];
            let middle = fit.smooth_at(self.middles[block]);
            let way = |n: u64| sign * (fit.smooth_at(n as f64) - middle);
            if (way(high) - way(low)).abs() < STEEP {
                continue;
            }
            is_steep = true;
            for ((row, raw), trial) in rows.iter_mut().zip(&self.raw).zip(&common.trials) {
                let values = trial.places(low, high).map(|place| (trial.n(place), trial.values[place]));
                let costs = values.filter(|(_, value)| is_cost(*value));
                let mut carried: Vec<f64> = costs.map(|(n, value)| value.ln() - way(n)).collect();
                // The part that references removed stays removed.
                row[block - start] += median(&mut carried).map_or(0.0, |log| log - raw[block]);
            }
        }
        is_steep.then_some(rows)
    }

    /// The mean curve of these rows, which lie in blocks `start..end`.
    pub(crate) fn curve(&self, rows: &[Vec<f64>], (start, end): (usize, usize)) -> Curve {
        let last = self.ranges[end - 1].1;
        Curve::new(rows, &self.middles[start..end], last, self.controls.systematic)
    }

    /// Median cost of the cheapest block.
    pub(crate) fn cheapest(&self) -> f64 {
        let middle = |block: usize| {
            let mut logs: Vec<f64> =
                column(&self.raw, block).into_iter().filter(|log| log.is_finite()).collect();
            median(&mut logs).unwrap_or(f64::INFINITY)
        };
        (0..self.ranges.len()).map(middle).fold(f64::INFINITY, f64::min).exp()
    }

    /// Cost of the last block over cost of the first.
    pub(crate) fn growth(&self) -> Interval {
        growth(&self.rows, self.alpha, self.controls.systematic)
    }

    /// Cost of a block, centred over the trials as a growth is, with its interval; `None` where no trial has
    /// it.
    pub(crate) fn cost(&self, block: usize, alpha: f64) -> Option<Interval> {
        Some(exp(Centre::new(&column(&self.raw, block))?.interval(&Student::new(alpha))))
    }

    /// Seconds per additional object, and the objects that add the cost of the baseline once more.
    pub(crate) fn marginal_cost(&self) -> (Interval, Option<Interval>) {
        let levels: Vec<f64> =
            self.raw.iter().map(|row| present_mean(&row[..self.baseline_blocks])).collect();
        self.figures().marginal_cost(&levels)
    }

    pub(crate) fn figures(&self) -> GrowthFigures<'_> {
        GrowthFigures {
            changes: &self.flatness.changes,
            middles: &self.middles,
            alpha: self.alpha,
            systematic: self.controls.systematic,
        }
    }

    /// The cost of each block.
    pub(crate) fn blocks(&self, alpha: f64) -> Vec<Block> {
        let block = |(place, &(n_low, n_high)): (usize, &(u64, u64))| Block {
            n_low,
            n_high,
            cost: level(&column(&self.raw, place), alpha),
            relative: exp(self.flatness.interval(place)),
        };
        self.ranges.iter().enumerate().map(block).collect()
    }
}

/// The median of the sizes within a range; of two in the middle their geometric mean, as costs are averaged.
fn middle(sizes: &[u64], (low, high): (u64, u64)) -> f64 {
    let start = sizes.partition_point(|n| *n < low);
    let end = sizes.partition_point(|n| *n <= high);
    match sizes.get(start..end) {
        Some(within @ [_, ..]) => {
            let (below, above) = (within[(within.len() - 1) / 2] as f64, within[within.len() / 2] as f64);
            if below == above { below } else { (below.max(NONE) * above).sqrt() }
        }
        _ => (low as f64).midpoint(high as f64),
    }
}

/// Share of the error rate that is left where references were refused because they change with n: by chance
/// they do so too, and then so do the trials.
const PAYS: f64 = 0.5;

/// The part that the trials share with their references; `None` without references, or without a block to
/// compare.
fn controlled(
    common: &Common<'_>,
    raw: &Rows,
    layout: Layout<'_>,
    settings: &JudgeSettings,
) -> Option<Controlled> {
    let Layout { ranges, baseline_blocks } = layout;
    let controls = changes_of_references(&common.trials, ranges, baseline_blocks, settings.tick_seconds);
    if controls.is_empty() || ranges.len() <= baseline_blocks {
        return None;
    }
    let changes: Rows = raw.iter().map(|row| against_baseline(row, baseline_blocks)).collect();
    let (alpha, seed) = (settings.error_rate(), settings.seed);
    Some(Controls { changes: &changes, controls: &controls, layout, alpha, seed }.find())
}

/// The cost of a typical trial, from logarithms. The interval is exact; where the trials are too few
/// for that it is Student's on the logarithms.
fn level(logs: &[f64], alpha: f64) -> Interval {
    let mut sorted: Vec<f64> = logs.iter().copied().filter(|log| log.is_finite()).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    exp(median_interval(&sorted, alpha).unwrap_or_else(|| {
        let reach = Centre::new(&sorted).map_or(f64::INFINITY, |centre| centre.reach(&Student::new(alpha)));
        Interval::around(median(&mut sorted).unwrap_or(0.0), reach)
    }))
}

/// The least values of a reference for a block: a block with fewer uses those of its neighbours, because a
/// reference does not depend on n.
const LEAST_OF_REFERENCE: usize = 8;

/// The changes of each reference against the first blocks: a row per trial, a column per block, NaN where a
/// trial lacks the reference.
fn changes_of_references(
    trials: &[Sweep<'_>],
    ranges: &[(u64, u64)],
    baseline_blocks: usize,
    tick: f64,
) -> Vec<Rows> {
    let count = trials.iter().map(|trial| trial.controls.len()).max().unwrap_or(0);
    let row = |trial: &Sweep<'_>, place: usize| match trial.controls.get(place) {
        Some(sweep) => against_baseline(&reference_log_medians(sweep, ranges, tick), baseline_blocks),
        None => vec![f64::NAN; ranges.len()],
    };
    (0..count).map(|place| trials.iter().map(|trial| row(trial, place)).collect()).collect()
}

/// Natural logarithms of the medians of a sparse sweep, around each range.
fn reference_log_medians(sweep: &Sweep<'_>, ranges: &[(u64, u64)], tick: f64) -> Vec<f64> {
    let (Some(first), Some(last)) = (ranges.first(), ranges.last()) else { return Vec::new() };
    let judged = sweep.places(first.0, last.1);
    let mut costs = Vec::new();
    let mut log_median = |(low, high): &(u64, u64)| {
        let own = sweep.places(*low, *high);
        let lacking = LEAST_OF_REFERENCE.saturating_sub(own.len());
        let start = own.start.saturating_sub(lacking.div_ceil(2)).max(judged.start);
        let end = (start + own.len().max(LEAST_OF_REFERENCE)).min(judged.end);
        let start = start.min(end.saturating_sub(LEAST_OF_REFERENCE).max(judged.start));
        costs.clear();
        costs.extend(sweep.values[start..end.max(start)].iter().copied().filter(|value| is_cost(*value)));
        grouped_median(&mut costs, tick).map_or(f64::NAN, f64::ln)
    };
    ranges.iter().map(&mut log_median).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_narrow_block_borrows_from_its_neighbours() {
        let sizes: Vec<u64> = (1..=40).map(|place| 8 * place).collect();
        let values: Vec<f64> = (1..=40).map(f64::from).collect();
        let control = Sweep::listed(&sizes, &values);
        let ranges = [(1, 8), (9, 100), (160, 167), (313, 320)];
        let middles: Vec<f64> =
            reference_log_medians(&control, &ranges, 0.0).into_iter().map(f64::exp).collect();
        // Eight values at either end, those of the block itself, and eight around n = 160.
        for (found, expected) in middles.iter().zip([4.5, 7.0, 19.5, 36.5]) {
            assert!((found - expected).abs() < 1.1, "{middles:?}");
        }
    }

    #[test]
    fn both_directions_are_alike() {
        let sizes: Vec<u64> = (1..=40).map(|place| 8 * place).collect();
        let values: Vec<f64> = (1..=40).map(f64::from).collect();
        let (mut fallen, mut turned) = (sizes.clone(), values.clone());
        fallen.reverse();
        turned.reverse();
        let ranges = [(1, 150), (151, 320)];
        let up = reference_log_medians(&Sweep::listed(&sizes, &values), &ranges, 0.0);
        assert_eq!(up, reference_log_medians(&Sweep::listed(&fallen, &turned), &ranges, 0.0));
    }

    #[test]
    fn what_is_no_cost_or_missing_is_nan() {
        let broken = [0.0, -1.0, f64::NAN, f64::INFINITY];
        let controls = [Sweep::even(1, 8, &broken), Sweep::even(1, 8, &[])];
        let trial = Sweep::even(1, 1, &[1.0; 32]);
        let trials = [trial.with_controls(&controls), trial];
        let changes = changes_of_references(&trials, &[(1, 16), (17, 32)], 1, 0.0);
        assert_eq!(changes.len(), 2);
        assert!(changes.iter().flatten().flatten().all(|change| change.is_nan()));
    }
}
