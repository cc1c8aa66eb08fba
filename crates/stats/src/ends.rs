//! The cost beyond the medians of the first and the last block, out to the smallest and the largest n.

use std::ops::Range;

use crate::block::log_medians;
use crate::centre::{Centre, Interval, Student, exp};
use crate::curve::Curve;
use crate::model_selection::{ASTRAY, CERTAIN, follows, lacks_fit, material};
use crate::search::interval;
use crate::shape::{Family, Fit};
use crate::sweep::{Common, JudgeSettings};
use crate::view::View;

/// The share of its change that a shape must have made before its last two blocks.
pub(crate) const LATE: f64 = 0.3;

/// The growth beyond that from the median of the first block to that of the last.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Ends {
    /// In all.
    pub(crate) growth: Interval,
    /// The part before the median of the first block.
    pub(crate) before: f64,
    /// The logarithm of the part of the outer values of the last block, where no shape leads to them.
    outer: f64,
}

impl Ends {
    /// Whether that is most of all the change, which a shape of the medians then does not describe. The
    /// growth between the medians is `between`.
    pub(crate) fn is_mostly_outer(&self, between: f64) -> bool {
        self.outer.abs() > (1.0 - LATE) * (between * self.growth.value).ln().abs()
    }
}

/// The first and the last block, beyond whose medians a cost is carried on to the ends of n.
pub(crate) struct EndSite<'a> {
    pub(crate) view: &'a View,
    pub(crate) common: &'a Common<'a>,
    pub(crate) curve: &'a Curve,
    /// −1 where the curve is upside down.
    pub(crate) sign: f64,
    pub(crate) settings: &'a JudgeSettings,
}

/// The first or the last block, and the source of the cost between its median and the end of n.
struct End {
    /// Its place.
    block: usize,
    /// Its smallest and largest n.
    range: (u64, u64),
    /// The end of n.
    n: u64,
    /// 1 at the largest n, −1 at the smallest: growth there is a fall on the way out.
    outward: f64,
    source: Source,
}

enum Source {
    /// The best shape, which holds there.
    Shape,
    /// The block: the cost at the end is that of its median.
    Block,
    /// The outer values of the block, from which the shape or the median certainly departs: the growth, in
    /// logarithms, between the median and them.
    Values(Interval),
}

impl EndSite<'_> {
    /// Beyond the medians of the first and the last block the best shape gives the cost, where it holds; the
    /// shapes close to it make the interval, and so does the uncertain place of a limit. Otherwise the cost
    /// is that of the block or of its outer values.
    pub(crate) fn ends<'f>(&self, best: Option<&Fit>, close: impl Iterator<Item = &'f Fit>) -> Option<Ends> {
        let blocks = self.view.ranges.len();
        let (first, last) = (*self.view.ranges.first()?, *self.view.ranges.last()?);
        let material = material(self.view);
        let fits_all = best.is_some_and(|best| !lacks_fit(self.curve, best, material));
        let end = |block, range, n, outward, near: Range<usize>| {
            let holds = |best: &&Fit| fits_all || follows(self.curve, best, near, material);
            let end = End { block, range, n, outward, source: Source::Block };
            End { source: self.source(&end, best.filter(holds)), ..end }
        };
        let first = end(0, first, first.0, -1.0, 0..CARRIES.min(blocks));
        let last = end(blocks - 1, last, last.1, 1.0, blocks.saturating_sub(CARRIES)..blocks);

        let along = |fit: &Fit, ends: &[&End]| -> f64 {
            let rise = ends.iter().map(|end| self.rise(end, fit)).sum::<f64>();
            self.sign * rise.clamp(0.0, FARTHEST)
        };
        let both = [&first, &last];
        let value = best.map_or(0.0, |best| along(best, &both));
        let mut growth = Interval { value, low: value, high: value };
        for fit in close {
            let at = |limit: &f64| Fit::new(self.curve, Family::Approach { limit: *limit }, &fit.steps);
            let others: Vec<Fit> = self.limits(fit).iter().map(at).collect();
            for of in std::iter::once(fit).chain(&others).map(|fit| along(fit, &both)) {
                growth = Interval { low: growth.low.min(of), high: growth.high.max(of), ..growth };
            }
        }
        let mut before = best.map_or(0.0, |best| along(best, &[&first]));
        if let Source::Values(change) = first.source {
            before += change.value;
        }
        for end in both {
            if let Source::Values(Interval { value, low, high }) = end.source {
                let Interval { value: sum, low: least, high: most } = growth;
                growth = Interval { value: sum + value, low: least + low, high: most + high };
            }
        }
        let outer = if let Source::Values(change) = last.source { change.value } else { 0.0 };
        Some(Ends { growth: exp(growth), before: before.exp(), outer })
    }

    /// The growth of a shape, in its direction, between its own median of an end block and the end of n.
    fn rise(&self, end: &End, fit: &Fit) -> f64 {
        match end.source {
            Source::Shape => end.outward * (fit.smooth_at(end.n as f64) - self.of_block(fit, end.range)),
            Source::Block | Source::Values(_) => 0.0,
        }
    }

    /// A shape that `holds` along the medians of the last blocks, or without one the block, unless the outer
    /// values certainly depart from it. A cost may rise steeply and fall back within the last block: the
    /// median does not show it, and the shape leads twenty times too high. Where neither shape nor blocks are
    /// steep, the outer values are the end only if they differ grossly. Where no shape leads far they must be
    /// several, and at the smallest n always: the first calls of a trial are slow because they are the first.
    fn source(&self, end: &End, holds: Option<&Fit>) -> Source {
        let by_medians = if holds.is_some() { Source::Shape } else { Source::Block };
        let outer = self.outer(end);
        let rise = |fit: &Fit| end.outward * (self.of_block(fit, outer) - self.of_block(fit, end.range));
        let expected = holds.map_or(0.0, |fit| self.sign * rise(fit));
        let medians = log_medians(&self.common.trials, &[outer], self.settings.tick_seconds);
        let changes = medians.iter().zip(&self.view.raw).map(|(outer, raw)| outer[0] - raw[end.block]);
        let changes: Vec<f64> = changes.map(|change| end.outward * change).collect();
        let margin = self.settings.log_margin();
        let leads_far = expected.abs() > margin;
        let may_decide = leads_far && end.outward > 0.0;
        if !may_decide && self.sizes_within(outer).len() < FEWEST_OUTER {
            return by_medians;
        }
        let is_steep = leads_far || self.slope(end).abs() > margin;
        let far = if is_steep { margin.max(ASTRAY * expected.abs()) } else { GROSS.ln() };
        let departs = |measured: &Centre| {
            let rest = Centre { value: measured.value - expected, ..*measured };
            rest.value.abs() > far && rest.is_beyond(CERTAIN)
        };
        match Centre::new(&changes).filter(departs) {
            Some(measured) => Source::Values(measured.interval(&Student::new(self.view.alpha))),
            None => by_medians,
        }
    }

    /// The change from the block next to an end block to it.
    fn slope(&self, end: &End) -> f64 {
        let inner = if end.block == 0 { 1 } else { end.block - 1 };
        let mean = |block: usize| self.curve.means.get(block).copied().unwrap_or_default();
        mean(end.block) - mean(inner)
    }

    /// The smallest and largest n of the outer values of an end block.
    fn outer(&self, end: &End) -> (u64, u64) {
        let within = self.sizes_within(end.range);
        let count = (within.len() / OUTER).max(1);
        let inner = if end.outward < 0.0 { Some(count - 1) } else { within.len().checked_sub(count) };
        let inner = inner.and_then(|place| within.get(place)).map_or(end.n, |n| *n);
        (inner.min(end.n), inner.max(end.n))
    }

    fn sizes_within(&self, (low, high): (u64, u64)) -> &[u64] {
        let sizes = &self.common.sizes;
        let (start, end) = (sizes.partition_point(|n| *n < low), sizes.partition_point(|n| *n <= high));
        sizes.get(start..end).unwrap_or_default()
    }

    /// A shape's own median of a block: a block of few n is as steep as the shape between its middle two.
    fn of_block(&self, fit: &Fit, block: (u64, u64)) -> f64 {
        let within = self.sizes_within(block);
        if within.is_empty() {
            return fit.smooth_at((block.0 as f64).midpoint(block.1 as f64));
        }
        let cost = |place: usize| (self.sign * fit.smooth_at(within[place] as f64)).exp();
        self.sign * cost((within.len() - 1) / 2).midpoint(cost(within.len() / 2)).ln()
    }

    /// The ends of the interval of a limit beyond the largest n.
    fn limits(&self, fit: &Fit) -> Vec<f64> {
        let Family::Approach { limit } = fit.family else { return Vec::new() };
        if limit <= self.curve.end {
            return Vec::new();
        }
        let of = interval(self.curve, fit, self.curve.end, self.settings);
        of.map_or_else(Vec::new, |Interval { low, high, .. }| vec![low, high])
    }
}

/// Blocks at either end along which a shape must follow the trials, to be carried on beyond them.
const CARRIES: usize = 3;

/// A difference by this factor is gross.
const GROSS: f64 = 2.0;

/// The outer values of a block are this part of it, and at least one.
const OUTER: usize = 16;

/// So many values do not hang on one slow call.
const FEWEST_OUTER: usize = 4;

/// At most a factor of twenty is extrapolated beyond the middles.
const FARTHEST: f64 = 3.0;
