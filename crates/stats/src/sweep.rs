//! The measurements of one trial: values with their n.

use std::cmp::Ordering;
use std::ops::Range;

/// The largest n. A measurement beyond it has no place in a sweep: half of the numbers stay free for sums and
/// differences of n.
pub const N_MAX: u64 = i64::MAX as u64;

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
        let count = steady(sizes).min(values.len());
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
    pub(crate) fn is_down(&self) -> bool {
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
fn steady(sizes: &[u64]) -> usize {
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

#[cfg(test)]
mod tests {
    use crate::sweep::{N_MAX, Sweep};

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
}
