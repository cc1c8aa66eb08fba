//! The cost beyond the medians of the first and the last block, out to the smallest and the largest n.

use std::ops::Range;

use crate::centre::{Interval, exp};
use crate::judge::JudgeSettings;
use crate::model_selection::{follows, lacks_fit};
use crate::shape::{Curve, Family, Fit};
use crate::shape_selection::{interval, material};
use crate::view::View;

/// The growth beyond that from the median of the first block to that of the last.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Ends {
    /// In all.
    pub(crate) growth: Interval,
    /// The part before the median of the first block.
    pub(crate) before: f64,
}

/// The blocks beyond whose medians a cost is carried on along its shape.
pub(crate) struct EndSite<'a> {
    pub(crate) view: &'a View,
    /// The n of a trial, rising.
    pub(crate) sizes: &'a [u64],
    pub(crate) curve: &'a Curve,
    /// −1 where the curve is upside down.
    pub(crate) sign: f64,
}

impl EndSite<'_> {
    /// Beyond the medians of the first and the last block only shapes give a value; those close to the best
    /// make the interval, and so does the uncertain place of a limit.
    pub(crate) fn ends<'f>(
        &self,
        best: &Fit,
        close: impl Iterator<Item = &'f Fit>,
        settings: &JudgeSettings,
    ) -> Option<Ends> {
        let ranges = &self.view.ranges;
        let (first, last) = (*ranges.first()?, *ranges.last()?);
        let blocks = ranges.len();
        let fits_all = !lacks_fit(self.curve, best, material(self.view));
        let is_carried =
            |near: Range<usize>| fits_all || follows(self.curve, best, near, material(self.view));
        let (is_begun, is_ended) =
            (is_carried(0..CARRIES.min(blocks)), is_carried(blocks.saturating_sub(CARRIES)..blocks));
        let before = |fit: &Fit| {
            if is_begun { self.of_block(fit, first) - fit.smooth_at(first.0 as f64) } else { 0.0 }
        };
        let beyond = |fit: &Fit| {
            let after = if is_ended { fit.smooth_at(last.1 as f64) - self.of_block(fit, last) } else { 0.0 };
            self.sign * (before(fit) + after).clamp(0.0, FARTHEST)
        };
        let value = beyond(best);
        let (mut low, mut high) = (value, value);
        for fit in close {
            let at = |limit: &f64| Fit::new(self.curve, Family::Approach { limit: *limit }, &fit.steps);
            let others: Vec<Fit> = self.limits(fit, settings).iter().map(at).collect();
            for of in std::iter::once(fit).chain(&others).map(beyond) {
                (low, high) = (low.min(of), high.max(of));
            }
        }
        let before = (self.sign * before(best).clamp(0.0, FARTHEST)).exp();
        Some(Ends { growth: exp(Interval { value, low, high }), before })
    }

    /// A shape's own median of a block: a block of few n is as steep as the shape between its middle two.
    fn of_block(&self, fit: &Fit, (low, high): (u64, u64)) -> f64 {
        let start = self.sizes.partition_point(|n| *n < low);
        let end = self.sizes.partition_point(|n| *n <= high);
        let Some(within @ [_, ..]) = self.sizes.get(start..end) else {
            return fit.smooth_at((low as f64).midpoint(high as f64));
        };
        let cost = |place: usize| (self.sign * fit.smooth_at(within[place] as f64)).exp();
        self.sign * cost((within.len() - 1) / 2).midpoint(cost(within.len() / 2)).ln()
    }

    /// The ends of the interval of a limit beyond the largest n.
    fn limits(&self, fit: &Fit, settings: &JudgeSettings) -> Vec<f64> {
        let Family::Approach { limit } = fit.family else { return Vec::new() };
        if limit <= self.curve.end {
            return Vec::new();
        }
        let of = interval(self.curve, fit, self.curve.end, settings);
        of.map_or_else(Vec::new, |Interval { low, high, .. }| vec![low, high])
    }
}

/// Blocks at either end along which a shape must follow the trials, to be carried on beyond them.
const CARRIES: usize = 3;

/// At most a factor of twenty is extrapolated beyond the middles.
const FARTHEST: f64 = 3.0;
