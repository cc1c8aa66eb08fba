//! The n that is judged, and the trials that cover it.

use std::ops::RangeInclusive;

use crate::sweep::Sweep;

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
/// first, and objects that were not accessed since they were made are out of the caches: on Linux 6.18 the
/// first two thousand of 20,000 sockets cost up to 40 % more to close. A quarter of a sweep is left out at
/// most.
fn settled(is_down: bool, high: u64) -> u64 {
    if is_down && high >= COLD[0].until { high - SETTLING.min(high / 4) } else { high }
}

/// The n of one of our own sweeps over 1 to `high` that are neither cold nor unsettled: the smallest and the
/// largest.
pub fn steady_range(high: u64, is_down: bool) -> (u64, u64) {
    (warm(1, high), settled(is_down, high))
}

/// How many objects it takes on the way down until the caches have settled.
const SETTLING: u64 = 2000;

/// The sizes, out of two rising lists, at which both series can be compared: those of the sparser one within
/// the span of the other.
pub(crate) fn common_sizes(one: &[u64], other: &[u64]) -> Vec<u64> {
    let inside = |sizes: &[u64], span: &[u64]| -> Vec<u64> {
        let (Some(low), Some(high)) = (span.first(), span.last()) else { return Vec::new() };
        sizes.iter().copied().filter(|n| (low..=high).contains(&n)).collect()
    };
    let (one, other) = (inside(one, other), inside(other, one));
    if one.len() <= other.len() { one } else { other }
}

/// The common range of the trials of one series.
pub(crate) struct Common<'a> {
    /// The trials that cover all of `sizes`, in the order given.
    pub(crate) trials: Vec<Sweep<'a>>,
    /// Their places among all trials.
    pub(crate) places: Vec<usize>,
    /// The n of a trial, rising, each as often as it has values there.
    pub(crate) sizes: Vec<u64>,
    /// Whether the trials covered different n at all.
    pub(crate) unequal: bool,
    /// Trials that covered too little.
    pub(crate) left_out: usize,
    /// Values, of all trials, that are no cost.
    pub(crate) no_cost: usize,
}

impl<'a> Common<'a> {
    /// Trials end where they meet a limit or crash, so they reach different n. The range ends at the n with
    /// the largest product of trials that reach it and decades up to it. One early crash among forty trials
    /// is left out; where forty trials stop at 900…1,000 all are judged to 900. It starts where the middle
    /// trial does, after the cold start unless the `whole` range is wanted.
    pub(crate) fn new(trials: &[Sweep<'a>], whole: bool) -> Option<Common<'a>> {
        let no_cost = trials.iter().flat_map(|trial| trial.values).filter(|value| !is_cost(**value)).count();
        let spans: Vec<Span<'a>> = trials
            .iter()
            .enumerate()
            .filter(|(_, trial)| trial.values.iter().any(|value| is_cost(*value)))
            .filter_map(|(place, trial)| {
                let (low, high) = trial.span()?;
                Some(Span { place, trial: *trial, low, high: settled(trial.is_down(), high) })
            })
            .collect();
        let mut starts: Vec<u64> = spans.iter().map(|span| span.low).collect();
        starts.sort_unstable();
        let start = *starts.get(starts.len() / 2)?;
        let mut ends: Vec<u64> =
            spans.iter().filter(|span| span.low <= start).map(|span| span.high).collect();
        ends.sort_unstable();
        let gain = |place: usize| {
            let decades = (ends[place] as f64 / start.max(1) as f64).log10();
            // Equal sizes, of which none is a decade, still count by their trials.
            (ends.len() - place) as f64 * decades.max(0.01)
        };
        let best = (0..ends.len()).max_by(|a, b| gain(*a).total_cmp(&gain(*b)).then(b.cmp(a)))?;
        let end = ends[best];
        let start = if whole { start } else { warm(start, end).min(end) };

        let kept: Vec<&Span<'a>> =
            spans.iter().filter(|span| span.low <= start && span.high >= end).collect();
        let places = kept.iter().map(|span| span.place).collect();
        let kept: Vec<Sweep<'a>> = kept.into_iter().map(|span| span.trial).collect();
        let sizes = kept.iter().map(|trial| sizes(trial, start, end)).max_by_key(Vec::len)?;
        let unequal = spans.iter().any(|span| (span.low, span.high) != (spans[0].low, spans[0].high));
        Some(Common { left_out: spans.len() - kept.len(), trials: kept, places, sizes, unequal, no_cost })
    }
}

/// A trial, its place among all, and the n that it covers.
struct Span<'a> {
    place: usize,
    trial: Sweep<'a>,
    low: u64,
    high: u64,
}

/// The n of a trial within `start..=end`, rising.
fn sizes(trial: &Sweep<'_>, start: u64, end: u64) -> Vec<u64> {
    let mut sizes: Vec<u64> = trial.places(start, end).map(|place| trial.n(place)).collect();
    if trial.is_down() {
        sizes.reverse();
    }
    sizes
}

/// Smallest and largest cost, in whatever unit. The age of the universe is 1e18 seconds; a value beyond is a
/// failure of the measurement, and ratios of ratios would overflow.
const COSTS: RangeInclusive<f64> = 1e-50..=1e50;

/// A cost is positive and finite; anything else is a failure of the measurement.
pub(crate) fn is_cost(value: f64) -> bool {
    COSTS.contains(&value)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The range and the trials kept, of trials that start at 1 and end at `ends`.
    fn common(ends: &[usize]) -> (u64, u64, usize) {
        let values = vec![1.0; 20_000];
        let sweep = |end: &usize| Sweep::even(1, 1, &values[..*end]);
        let trials: Vec<Sweep<'_>> = ends.iter().map(sweep).collect();
        let common = Common::new(&trials, false).expect("values");
        (common.sizes[0], *common.sizes.last().expect("sizes"), common.trials.len())
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
        let fine: Vec<u64> = (1..=100).collect();
        let coarse: Vec<u64> = (0..10).map(|place| 5 + 50 * place).collect();
        assert_eq!(common_sizes(&fine, &coarse), [5, 55]);
        assert_eq!(common_sizes(&coarse, &fine), [5, 55]);
        assert_eq!(common_sizes(&fine, &[101, 106]), [0; 0]);
    }
}
