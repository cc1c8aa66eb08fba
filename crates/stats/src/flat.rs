//! The claim that a cost does not depend on n.
//!
//! It is an equivalence claim: a flat cost has been shown to stay within a bound. Each trial is compared with
//! its own reference, so its level cancels, and the variation between trials gives the error. All blocks hold
//! together at the given error rate.

use crate::block::{FEW, WIDEST, WIDEST_OF_FEW, column, present_mean};
use crate::centre::{Centre, FEWEST, MOST, Student, influences};
use crate::growth::{ratios, trends};
use crate::simultaneous::level_of_each;
use std::ops::RangeInclusive;

/// Natural logarithms of the change against the reference, over all blocks.
pub(crate) struct Flatness {
    /// The change at each block.
    pub(crate) blocks: Vec<Centre>,
    /// The same for each trial: rows are trials.
    pub(crate) changes: Vec<Vec<f64>>,
    /// Critical values for each block, for which all hold together.
    pub(crate) student: Student,
    /// The change from the smallest n to the largest, and the trend over all of the range.
    ends: [Centre; 2],
    /// Critical values for these, which hold one by one: what is claimed of all needs no more [Berger,
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
}

impl Flatness {
    /// From the log medians, of which the first `reference` columns are compared with; every column
    /// holds a value.
    pub(crate) fn of(
        rows: &[Vec<f64>],
        reference: usize,
        ranges: &[(u64, u64)],
        alpha: f64,
        seed: u64,
    ) -> Flatness {
        let against_reference = |row: &Vec<f64>| -> Vec<f64> {
            let level = present_mean(&row[..reference]);
            row.iter().map(|value| value - level).collect()
        };
        let changes: Vec<Vec<f64>> = rows.iter().map(against_reference).collect();
        let count = rows.first().map_or(0, Vec::len);
        let columns: Vec<Vec<f64>> = (0..count).map(|block| column(&changes, block)).collect();
        let centre = |values: &Vec<f64>| Centre::of(values).unwrap_or(UNKNOWN);
        // A reference with nothing beside it has been compared with nothing.
        let blocks: Vec<Centre> =
            if count > reference { columns.iter().map(centre).collect() } else { vec![UNKNOWN; count] };

        let by_block: Vec<Vec<f64>> = columns.iter().map(|values| influences(values)).collect();
        let by_trial: Vec<Vec<f64>> = (0..rows.len()).map(|trial| column(&by_block, trial)).collect();
        let student = Student::of(level_of_each(&by_trial, alpha, seed));
        let most = |of: fn(f64, f64) -> f64| {
            blocks
                .iter()
                .map(|block| of(block.value, block.reach(&student)))
                .fold(f64::NEG_INFINITY, f64::max)
        };
        let ends = [ratios(rows, ranges), trends(&changes, ranges)].map(|values| centre(&values));
        let alone = Student::of(alpha);
        let bound = most(|value, reach| value.abs() + reach);
        Flatness {
            bound: ends.iter().fold(bound, |bound, end| bound.max(end.value.abs() + end.reach(&alone))),
            ends,
            alone,
            peak: blocks
                .iter()
                .map(|block| block.value)
                .max_by(|a, b| a.abs().total_cmp(&b.abs()))
                .unwrap_or(0.0),
            rise: most(|value, reach| value - reach),
            fall: most(|value, reach| -value - reach),
            blocks,
            changes,
            student,
        }
    }

    /// Trials after which the cost is within `margin`, or, where the estimate is beyond it, changes for
    /// certain. `None` where more would not help, or far too many were needed.
    pub(crate) fn trials_needed(&self, margin: f64) -> Option<u32> {
        let now = self.changes.len();
        let settled = |trials: &u32| {
            let times = f64::from(*trials) / now as f64;
            // More trials are seen through narrower blocks, which hold fewer measurements.
            let narrower = if now < FEW { WIDEST as f64 / WIDEST_OF_FEW as f64 } else { 1.0 };
            let reach = |block: &Centre| block.reach_with(times / narrower, &self.student);
            if self.peak.abs() < margin {
                let end = |end: &Centre| end.value.abs() + end.reach_with(times, &self.alone) <= margin;
                self.blocks.iter().all(|block| block.value.abs() + reach(block) <= margin)
                    && self.ends.iter().all(end)
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

/// A block of which no trial with a reference has a value.
const UNKNOWN: Centre = Centre { value: 0.0, error: f64::INFINITY, freedom: 0.0 };
