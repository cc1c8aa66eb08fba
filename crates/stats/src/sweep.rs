//! The input of a judgement: the measurements of one trial, the n that counts, the trials that cover it, and
//! the choices of the user.

use std::cmp::Ordering;
use std::ops::{Range, RangeInclusive};

/// The largest n. A measurement beyond it has no place in a sweep: half of the numbers stay free for sums and
/// differences of n.
pub const N_MAX: u64 = i64::MAX as u64;

/// The choices of the user, made beforehand and printed beside a verdict.
#[derive(Clone, Debug, PartialEq)]
pub struct JudgeSettings {
    /// The smallest growth that matters, as a share: δ, 0.10 by default.
    pub margin: f64,
    /// Error rate of the whole verdict, 0.05 by default.
    pub alpha: f64,
    /// How often the runner looked at the data before it stopped; α is divided by it.
    pub looks: u32,
    /// Smallest step of the clock; medians below ten of it carry no verdict.
    pub tick_seconds: f64,
    /// Seed of the resampling that finds simultaneous bounds.
    pub seed: u64,
    /// Judge from the first n to the last; otherwise the cold start of our own sweeps is left out.
    pub whole: bool,
}

impl Default for JudgeSettings {
    fn default() -> JudgeSettings {
        JudgeSettings { margin: 0.10, alpha: 0.05, looks: 1, tick_seconds: 0.0, seed: 1, whole: false }
    }
}

impl JudgeSettings {
    /// α of one look; an impossible α counts as 5 %.
    pub(crate) fn error_rate(&self) -> f64 {
        let alpha = if self.alpha > 0.0 && self.alpha < 1.0 { self.alpha } else { 0.05 };
        alpha / f64::from(self.looks.max(1))
    }

    /// δ as a natural logarithm: the same factor up and down.
    pub(crate) fn log_margin(&self) -> f64 {
        self.margin.max(0.0).ln_1p()
    }
}

/// The measurements of one trial, in seconds or another unit.
#[derive(Clone, Copy, Debug)]
pub struct Sweep<'a> {
    /// n of each value: in order, as only the constructors can ensure.
    sizes: SweepSizes<'a>,
    /// Cost of each operation.
    pub values: &'a [f64],
    /// Operations that cannot depend on n, timed now and then between the values: a sparse sweep of each,
    /// over the same n in the same direction. All trials of a series have the same ones in the same order; a
    /// sweep without values stands for a missing one.
    pub controls: &'a [Sweep<'a>],
    /// Which boot of its system the trial is of, counted from 1; 0 where it is not known.
    pub boot: u32,
}

/// The n of the values of a sweep.
#[derive(Clone, Copy, Debug, PartialEq)]
enum SweepSizes<'a> {
    /// `first`, `first + step`, …; the step is negative on the way down.
    Even {
        /// n of the first value.
        first: u64,
        /// Difference of n between neighbours.
        step: i64,
    },
    /// One n for each value, rising or, on the way down, falling; equal n may follow each other.
    Listed(&'a [u64]),
}

impl<'a> Sweep<'a> {
    /// Values at `first`, `first + step`, … Those whose n would leave 0 to [`N_MAX`] are cut off.
    pub fn even(first: u64, step: i64, values: &'a [f64]) -> Sweep<'a> {
        let room = if step < 0 { first } else { N_MAX.saturating_sub(first) };
        let most = match room.checked_div(step.unsigned_abs()) {
            _ if first > N_MAX => 0,
            Some(steps) => usize::try_from(steps).unwrap_or(usize::MAX).saturating_add(1),
            None => usize::MAX,
        };
        let values = &values[..most.min(values.len())];
        Sweep { sizes: SweepSizes::Even { first, step }, values, controls: &[], boot: 0 }
    }

    /// One n for each value, rising or falling throughout. Excess values are cut off, and so is everything
    /// from the first n that turns back or exceeds [`N_MAX`]: values are looked up by n.
    pub fn listed(sizes: &'a [u64], values: &'a [f64]) -> Sweep<'a> {
        let count = turning_point(sizes).min(values.len());
        Sweep { sizes: SweepSizes::Listed(&sizes[..count]), values: &values[..count], controls: &[], boot: 0 }
    }

    /// Other values at the same n, as many as there are now.
    pub fn with_values(self, values: &'a [f64]) -> Sweep<'a> {
        Sweep { values: &values[..values.len().min(self.values.len())], ..self }
    }

    /// The same values, with the references that were timed between them.
    pub fn with_controls(self, controls: &'a [Sweep<'a>]) -> Sweep<'a> {
        Sweep { controls, ..self }
    }

    /// The same values, of that boot of their system.
    pub fn of_boot(self, boot: u32) -> Sweep<'a> {
        Sweep { boot, ..self }
    }

    /// n of the value at `place`, at most at the ends of the range of n.
    pub fn n(&self, place: usize) -> u64 {
        match self.sizes {
            SweepSizes::Even { first, step } => {
                let steps = i64::try_from(place).unwrap_or(i64::MAX);
                first.saturating_add_signed(step.saturating_mul(steps))
            }
            SweepSizes::Listed(sizes) => sizes.get(place).or(sizes.last()).copied().unwrap_or(0),
        }
    }

    /// n of all values, in the order they were measured.
    pub fn sizes(&self) -> impl Iterator<Item = u64> + '_ {
        (0..self.values.len()).map(|place| self.n(place))
    }

    /// Whether n falls.
    fn is_down(&self) -> bool {
        match self.sizes {
            SweepSizes::Even { step, .. } => step < 0,
            SweepSizes::Listed([first, .., last]) => last < first,
            SweepSizes::Listed(_) => false,
        }
    }

    /// Smallest and largest n; `None` without values.
    pub(crate) fn span(&self) -> Option<(u64, u64)> {
        let (start, end) = (self.n(0), self.n(self.values.len().checked_sub(1)?));
        Some((start.min(end), start.max(end)))
    }

    /// The values whose n lies in `n_low..=n_high`, in the order they were measured.
    pub fn within(&self, n_low: u64, n_high: u64) -> &'a [f64] {
        &self.values[self.places(n_low, n_high)]
    }

    /// The places of the values whose n lies in `n_low..=n_high`.
    pub(crate) fn places(&self, n_low: u64, n_high: u64) -> Range<usize> {
        match self.sizes {
            SweepSizes::Even { first, step } => self.even_places(first, step, n_low, n_high),
            SweepSizes::Listed(sizes) => {
                let (near, far) = if self.is_down() {
                    (sizes.partition_point(|n| *n > n_high), sizes.partition_point(|n| *n >= n_low))
                } else {
                    (sizes.partition_point(|n| *n < n_low), sizes.partition_point(|n| *n <= n_high))
                };
                near.min(far)..far
            }
        }
    }

    fn even_places(&self, first: u64, step: i64, n_low: u64, n_high: u64) -> Range<usize> {
        let (start, step) = (i128::from(first), i128::from(step));
        let (low, high) = (i128::from(n_low), i128::from(n_high));
        let count = self.values.len() as i128;
        // Both in steps away from the first value, in either direction.
        let (near, far) = match step {
            0 if (low..=high).contains(&start) => (0, count),
            0 => (0, 0),
            1.. => (-(start - low).div_euclid(step), (high - start).div_euclid(step) + 1),
            _ => (-(high - start).div_euclid(-step), (start - low).div_euclid(-step) + 1),
        };
        let near = near.clamp(0, count);
        near as usize..far.clamp(near, count) as usize
    }
}

/// How many of the sizes, from the first on, rise or fall throughout; equal ones do both.
fn turning_point(sizes: &[u64]) -> usize {
    let sizes = &sizes[..sizes.iter().position(|n| *n > N_MAX).unwrap_or(sizes.len())];
    let mut direction = Ordering::Equal;
    let turns = |pair: &[u64]| {
        let next = pair[1].cmp(&pair[0]);
        if direction == Ordering::Equal {
            direction = next;
        }
        next != Ordering::Equal && next != direction
    };
    sizes.windows(2).position(turns).map_or(sizes.len(), |place| place + 1)
}

/// The n of one of our own sweeps over 1 to `high` that are neither cold nor unsettled: the smallest and the
/// largest.
pub fn steady_range(high: u64, is_down: bool) -> (u64, u64) {
    (warm(1, high), settled(is_down, high))
}

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
    /// Trials end where they meet a limit or crash, so they reach different n (`common_end`). One early crash
    /// among forty trials is left out; where forty trials stop at 900…1,000 all are judged to 900. It starts
    /// where the middle trial does, after the cold start unless the `whole` range is wanted.
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
        let there = spans.iter().filter(|span| span.low <= start);
        let end = common_end(start, there.map(|span| span.high).collect())?;
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

/// Where the range ends of trials, or hosts, that begin at `start` or before: at the n with the largest
/// product of those that reach it and decades up to it.
pub(crate) fn common_end(start: u64, mut ends: Vec<u64>) -> Option<u64> {
    ends.sort_unstable();
    let gain = |place: usize| {
        let decades = (ends[place] as f64 / start.max(1) as f64).log10();
        // Equal sizes, of which none is a decade, still count.
        (ends.len() - place) as f64 * decades.max(0.01)
    };
    let best = (0..ends.len()).max_by(|a, b| gain(*a).total_cmp(&gain(*b)).then(b.cmp(a)))?;
    Some(ends[best])
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

    #[test]
    fn finds_values_by_n_in_both_directions() {
        let values = [1.0, 2.0, 3.0, 4.0, 5.0];
        let sizes = [10, 20, 30, 40, 50];
        for up in [Sweep::even(10, 10, &values), Sweep::listed(&sizes, &values)] {
            assert_eq!(up.span(), Some((10, 50)));
            assert_eq!(up.within(11, 40), [2.0, 3.0, 4.0]);
            assert_eq!(up.within(0, 9), []);
            assert_eq!(up.within(45, 49), []);
            assert_eq!(up.within(0, u64::MAX), values);
            assert!(!up.is_down());
        }
        let sizes = [50, 40, 30, 20, 10];
        for down in [Sweep::even(50, -10, &values), Sweep::listed(&sizes, &values)] {
            assert_eq!(down.span(), Some((10, 50)));
            assert_eq!(down.within(11, 40), [2.0, 3.0, 4.0]);
            assert_eq!(down.within(50, 50), [1.0]);
            assert_eq!(down.within(60, 70), []);
            assert!(down.is_down());
        }
    }

    #[test]
    fn one_size_may_have_several_values() {
        let sweep = Sweep::listed(&[1, 5, 5, 5, 9], &[1.0, 2.0, 3.0, 4.0, 5.0]);
        assert_eq!(sweep.within(5, 5), [2.0, 3.0, 4.0]);
        assert_eq!((sweep.n(3), sweep.n(99)), (5, 9));
        assert_eq!(Sweep::listed(&[1, 2], &[1.0, 2.0, 3.0]).values, [1.0, 2.0]);
    }

    #[test]
    fn a_sweep_ends_where_n_turns_back() {
        let values = [1.0; 5];
        for (sizes, kept) in [
            ([1, 2, 3, 2, 5], 3),
            ([500, 10, 100, 1, 1], 2),
            ([4, 4, 9, 9, 8], 4),
            ([4, 4, 3, 3, 3], 5),
            ([7; 5], 5),
        ] {
            assert_eq!(Sweep::listed(&sizes, &values).values.len(), kept, "{sizes:?}");
        }
    }

    #[test]
    fn a_sweep_that_stands_still_has_one_n() {
        let still = Sweep::even(7, 0, &[1.0, 2.0]);
        assert_eq!(still.span(), Some((7, 7)));
        assert_eq!(still.within(7, 7), [1.0, 2.0]);
        assert_eq!(still.within(8, 9), []);
    }

    #[test]
    fn values_without_an_n_are_cut_off() {
        let values = [1.0, 2.0, 3.0];
        let down = Sweep::even(1, -1, &values);
        assert_eq!((down.span(), down.values), (Some((0, 1)), &values[..2]));
        let up = Sweep::even(N_MAX - 1, 1, &values);
        assert_eq!((up.span(), up.values), (Some((N_MAX - 1, N_MAX)), &values[..2]));
        assert_eq!(Sweep::even(N_MAX + 1, 0, &values).span(), None);
        let listed = Sweep::listed(&[1, N_MAX, u64::MAX], &values);
        assert_eq!((listed.span(), listed.values), (Some((1, N_MAX)), &values[..2]));
    }

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
