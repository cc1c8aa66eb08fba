//! The n that is judged, and the trials that cover it.

use crate::Sweep;

/// Below these n caches, tables and branch predictors are cold: on Linux 6.18 the first hundred sockets
/// of a process cost up to a third more than all others. Not judged where the sweep goes on to `until`.
const COLD: [Cold; 2] = [Cold { n: 100, until: 1000 }, Cold { n: 10, until: 20 }];

struct Cold {
    n: u64,
    until: u64,
}

/// Where the judged range begins in a sweep from `start` to `end`.
fn warm(start: u64, end: u64) -> u64 {
    COLD.iter().find(|cold| end >= cold.until).map_or(start, |cold| start.max(cold.n))
}

/// Where the judged range of this trial ends, whose largest n is `high`. On the way down the largest n come
/// first, and what was not looked at since it was made is out of the caches: on Linux 6.18 the first two
/// thousand of 20,000 sockets cost up to 40 % more to close. A quarter of a sweep is left out at most.
fn settled(trial: &Sweep<'_>, high: u64) -> u64 {
    if trial.n_step < 0 && high >= COLD[0].until { high - SETTLING.min(high / 4) } else { high }
}

/// How many objects it takes on the way down until the caches have settled.
const SETTLING: u64 = 2000;

/// Equally spaced n: `start`, `start + step`, … `count` of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sizes {
    pub(crate) start: u64,
    pub(crate) step: u64,
    pub(crate) count: u64,
}

impl Sizes {
    pub(crate) fn n(&self, place: u64) -> u64 {
        self.start + place * self.step
    }

    pub(crate) fn end(&self) -> u64 {
        self.n(self.count - 1)
    }

    /// The sizes of this spacing within `low..=high`; `None` when there are none.
    fn within(&self, low: u64, high: u64) -> Option<Sizes> {
        let skipped = low.saturating_sub(self.start).div_ceil(self.step);
        let start = self.start.checked_add(skipped.checked_mul(self.step)?)?;
        let count = high.min(self.end()).checked_sub(start)? / self.step + 1;
        Some(Sizes { start, count, ..*self })
    }

    /// What two series have in common, in the wider spacing.
    pub(crate) fn common(&self, other: &Sizes) -> Option<Sizes> {
        let (wide, narrow) = if self.step >= other.step { (self, other) } else { (other, self) };
        wide.within(narrow.start, narrow.end())
    }
}

/// What trials of one series have in common.
pub(crate) struct Common<'a> {
    /// The trials that cover all of `sizes`, in the order given.
    pub(crate) trials: Vec<Sweep<'a>>,
    pub(crate) sizes: Sizes,
    /// Whether the trials covered different n at all.
    pub(crate) unequal: bool,
    /// Trials that covered too little.
    pub(crate) left_out: usize,
    /// Values, of all trials, that are no cost.
    pub(crate) no_cost: usize,
}

impl<'a> Common<'a> {
    /// Trials end where they meet a limit or crash, so they reach different n. The range ends at the n
    /// that gains most: trials that reach it × decades up to it. One early crash among forty trials
    /// is left out; where forty trials stop at 900…1,000 all are judged to 900. It starts where the
    /// middle trial does.
    pub(crate) fn of(trials: &[Sweep<'a>]) -> Option<Common<'a>> {
        let no_cost = trials.iter().flat_map(|trial| trial.values).filter(|value| !is_cost(**value)).count();
        let spans: Vec<(Sweep<'a>, u64, u64)> = trials
            .iter()
            .filter(|trial| trial.values.iter().any(|value| is_cost(*value)))
            .filter_map(|trial| trial.span().map(|(low, high)| (*trial, low, settled(trial, high))))
            .collect();
        let mut starts: Vec<u64> = spans.iter().map(|span| span.1).collect();
        starts.sort_unstable();
        let start = *starts.get(starts.len() / 2)?;
        let mut ends: Vec<u64> = spans.iter().filter(|span| span.1 <= start).map(|span| span.2).collect();
        ends.sort_unstable();
        let gain = |place: usize| {
            let decades = (ends[place] as f64 / start.max(1) as f64).log10();
            // Equal sizes, of which none is a decade, still count by their trials.
            (ends.len() - place) as f64 * decades.max(0.01)
        };
        let best = (0..ends.len()).max_by(|a, b| gain(*a).total_cmp(&gain(*b)).then(b.cmp(a)))?;
        let end = ends[best];
        let start = warm(start, end).min(end);

        let covers = |span: &&(Sweep<'a>, u64, u64)| span.1 <= start && span.2 >= end;
        let kept: Vec<Sweep<'a>> = spans.iter().filter(covers).map(|span| span.0).collect();
        let (low, high) = kept.first()?.span()?;
        let step = kept.first()?.n_step.unsigned_abs().max(1);
        let sizes = Sizes { start: low, step, count: (high - low) / step + 1 }.within(start, end)?;
        let unequal = spans.iter().any(|span| (span.1, span.2) != (spans[0].1, spans[0].2));
        Some(Common { left_out: spans.len() - kept.len(), trials: kept, sizes, unequal, no_cost })
    }
}

/// A cost is finite and positive; anything else is a failure of the measurement.
pub(crate) fn is_cost(value: f64) -> bool {
    value.is_finite() && value > 0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The range and the trials kept, of trials that start at 1 and end at `ends`.
    fn common(ends: &[usize]) -> (u64, u64, usize) {
        let values = vec![1.0; 20_000];
        let sweep = |end: &usize| Sweep { n_first: 1, n_step: 1, values: &values[..*end] };
        let trials: Vec<Sweep<'_>> = ends.iter().map(sweep).collect();
        let common = Common::of(&trials).expect("values");
        (common.sizes.start, common.sizes.end(), common.trials.len())
    }

    #[test]
    fn an_early_crash_is_left_out_and_a_common_limit_is_not() {
        assert_eq!(common(&[10_000; 10]), (100, 10_000, 10));
        assert_eq!(common(&[10_000, 10_000, 10_000, 10_000, 50]), (100, 10_000, 4));
        assert_eq!(common(&[10_000, 9_990, 9_995, 9_992]), (100, 9_990, 4));
        assert_eq!(common(&[1_000, 1_000, 1_000, 20_000]), (100, 1_000, 4));
    }

    #[test]
    fn a_sweep_that_hardly_leaves_the_cold_start_is_judged_whole() {
        assert_eq!(common(&[1]), (1, 1, 1));
        assert_eq!(common(&[4, 4]), (1, 4, 2));
        assert_eq!(common(&[19]), (1, 19, 1));
        assert_eq!(common(&[20]), (10, 20, 1));
    }

    #[test]
    fn sizes_in_common_keep_to_the_wider_spacing() {
        let fine = Sizes { start: 1, step: 1, count: 100 };
        let coarse = Sizes { start: 5, step: 50, count: 10 };
        assert_eq!(fine.common(&coarse), Some(Sizes { start: 5, step: 50, count: 2 }));
        assert_eq!(coarse.common(&fine), fine.common(&coarse));
        assert_eq!(fine.common(&Sizes { start: 101, step: 1, count: 5 }), None);
    }
}
