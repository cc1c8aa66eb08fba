//! A series in blocks of n: the figures that every verdict carries, whatever its class.

use crate::block::{Grid, column, log_medians, present_mean};
use crate::centre::{Centre, Student, exp};
use crate::flat::Flatness;
use crate::growth::{growth, marginal_cost, top_decade_slope};
use crate::interval::Interval;
use crate::median::{median, median_interval};
use crate::range::Common;
use crate::settings::JudgeSettings;
use crate::verdict::Block;

/// A series through one grid of blocks.
pub(crate) struct View {
    /// Smallest and largest n of each block, rising.
    pub(crate) ranges: Vec<(u64, u64)>,
    /// How many of the first blocks are compared with.
    pub(crate) reference: usize,
    /// Log medians: a row per trial, a column per block.
    pub(crate) rows: Vec<Vec<f64>>,
    pub(crate) flatness: Flatness,
}

impl View {
    /// Blocks without a value in any trial are dropped; `None` when that leaves none.
    pub(crate) fn of(common: &Common<'_>, grid: &Grid, settings: &JudgeSettings) -> Option<View> {
        let mut rows = log_medians(&common.trials, &grid.ranges, settings.tick_seconds);
        let measured = |block: &usize| rows.iter().any(|row| row[*block].is_finite());
        let kept: Vec<usize> = (0..grid.ranges.len()).filter(measured).collect();
        for row in &mut rows {
            *row = kept.iter().map(|block| row[*block]).collect();
        }
        let ranges: Vec<(u64, u64)> = kept.iter().map(|block| grid.ranges[*block]).collect();
        let reference = kept.iter().filter(|block| **block < grid.reference).count().max(1);
        if ranges.is_empty() {
            return None;
        }
        let flatness = Flatness::of(&rows, reference, &ranges, settings.error_rate(), settings.seed);
        Some(View { ranges, reference, rows, flatness })
    }

    /// The middle n of each block.
    pub(crate) fn middles(&self) -> Vec<f64> {
        self.ranges.iter().map(|(low, high)| (*low as f64).midpoint(*high as f64)).collect()
    }

    /// Median cost of the cheapest block.
    pub(crate) fn cheapest(&self) -> f64 {
        let middle = |block: usize| {
            let mut logs: Vec<f64> =
                column(&self.rows, block).into_iter().filter(|log| log.is_finite()).collect();
            median(&mut logs).unwrap_or(f64::INFINITY)
        };
        (0..self.ranges.len()).map(middle).fold(f64::INFINITY, f64::min).exp()
    }

    /// Cost of the last block over cost of the first.
    pub(crate) fn growth(&self, alpha: f64) -> Interval {
        growth(&self.rows, alpha)
    }

    /// Seconds per additional object, and the objects that add the cost of the reference once more.
    pub(crate) fn marginal_cost(&self, alpha: f64) -> (Interval, Option<Interval>) {
        let levels: Vec<f64> = self.rows.iter().map(|row| present_mean(&row[..self.reference])).collect();
        marginal_cost(&self.flatness.changes, &levels, &self.middles(), alpha)
    }

    /// Slope of log cost on log n over the last decade.
    pub(crate) fn top_decade_slope(&self, alpha: f64) -> Interval {
        top_decade_slope(&self.flatness.changes, &self.middles(), alpha)
    }

    /// What each block cost.
    pub(crate) fn blocks(&self, alpha: f64) -> Vec<Block> {
        let block = |(place, &(n_low, n_high)): (usize, &(u64, u64))| Block {
            n_low,
            n_high,
            cost: level(&column(&self.rows, place), alpha),
            relative: exp(self.flatness.blocks[place].interval(&self.flatness.student)),
        };
        self.ranges.iter().enumerate().map(block).collect()
    }
}

/// The cost of a typical trial, from logarithms. The interval is exact; where the trials are too few
/// for that it is Student's on the logarithms.
fn level(logs: &[f64], alpha: f64) -> Interval {
    let mut sorted: Vec<f64> = logs.iter().copied().filter(|log| log.is_finite()).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    exp(median_interval(&sorted, alpha).unwrap_or_else(|| {
        let value = median(&mut sorted).unwrap_or(0.0);
        let reach = Centre::of(&sorted).map_or(f64::INFINITY, |centre| centre.reach(&Student::of(alpha)));
        Interval { value, low: value - reach, high: value + reach }
    }))
}
