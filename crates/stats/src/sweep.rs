//! Which value belongs to which n.

use crate::Sweep;
use std::ops::Range;

impl<'a> Sweep<'a> {
    /// Smallest and largest n; `None` without values. Values that would lie below n = 0 have no n.
    pub(crate) fn span(&self) -> Option<(u64, u64)> {
        let last = self.values.len().checked_sub(1)? as u64;
        let step = self.n_step.unsigned_abs();
        let room = if self.n_step < 0 { self.n_first } else { u64::MAX - self.n_first };
        let last = last.min(room.checked_div(step).unwrap_or(0));
        let end = if self.n_step < 0 { self.n_first - last * step } else { self.n_first + last * step };
        Some((self.n_first.min(end), self.n_first.max(end)))
    }

    /// The values whose n lies in `n_low..=n_high`, in the order they were measured.
    pub(crate) fn within(&self, n_low: u64, n_high: u64) -> &'a [f64] {
        &self.values[self.places(n_low, n_high)]
    }

    fn places(&self, n_low: u64, n_high: u64) -> Range<usize> {
        let (start, step) = (i128::from(self.n_first), i128::from(self.n_step));
        let (low, high) = (i128::from(n_low), i128::from(n_high));
        let count = self.values.len() as i128;
        // Both in steps away from the first value, whichever way the sweep goes.
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

#[cfg(test)]
mod tests {
    use crate::Sweep;

    #[test]
    fn finds_values_by_n_in_both_directions() {
        let values = [1.0, 2.0, 3.0, 4.0, 5.0];
        let up = Sweep { n_first: 10, n_step: 10, values: &values };
        assert_eq!(up.span(), Some((10, 50)));
        assert_eq!(up.within(11, 40), [2.0, 3.0, 4.0]);
        assert_eq!(up.within(0, 9), []);
        assert_eq!(up.within(45, 49), []);
        assert_eq!(up.within(0, u64::MAX), values);
        let down = Sweep { n_first: 50, n_step: -10, values: &values };
        assert_eq!(down.span(), Some((10, 50)));
        assert_eq!(down.within(11, 40), [2.0, 3.0, 4.0]);
        assert_eq!(down.within(50, 50), [1.0]);
        assert_eq!(down.within(60, 70), []);
    }

    #[test]
    fn a_sweep_that_stands_still_has_one_n() {
        let still = Sweep { n_first: 7, n_step: 0, values: &[1.0, 2.0] };
        assert_eq!(still.span(), Some((7, 7)));
        assert_eq!(still.within(7, 7), [1.0, 2.0]);
        assert_eq!(still.within(8, 9), []);
    }

    #[test]
    fn values_below_zero_have_no_n() {
        let down = Sweep { n_first: 1, n_step: -1, values: &[1.0, 2.0, 3.0] };
        assert_eq!(down.span(), Some((0, 1)));
        assert_eq!(down.within(0, 1), [1.0, 2.0]);
    }
}
