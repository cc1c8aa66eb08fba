//! The claim that a cost does not depend on n.
//!
//! It is an equivalence claim: a flat cost has been shown to stay within a bound. Each trial is compared with
//! its own baseline, so its level cancels, and the variation between trials gives the error. All blocks hold
//! together at the given error rate.

use crate::block::{FEW, WIDEST, WIDEST_OF_FEW, against_baseline, column};
use crate::centre::{Centre, FEWEST, Interval, MOST, Student, influences};
use crate::growth::{ratios, trends};
use crate::simultaneous::level_of_each;
use std::ops::RangeInclusive;

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
        let centre = |values: &Vec<f64>| Centre::new(values).unwrap_or(UNKNOWN);
        // A baseline without other blocks was not compared.
        let blocks: Vec<Centre> =
            if count > baseline_blocks { columns.iter().map(centre).collect() } else { vec![UNKNOWN; count] };

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

/// A block without a value in any trial that has a reference.
const UNKNOWN: Centre = Centre { value: 0.0, error: f64::INFINITY, freedom: 0.0 };
