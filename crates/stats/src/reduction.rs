//! A sweep in fewer values: the median of each cell of n.
//!
//! Cells are the same in every sweep, whatever its length: single n below 100, then a twentieth to a fortieth
//! of n, with ends at the n that people choose (9,000 and 10,000, 45,000 and 50,000). A block of a comparison
//! holds several of them, and only the narrow last blocks of a sweep are narrower than one. A sweep of 20,000
//! values has 260 cells.
//!
//! A reduction is a function of the measurements alone, and does not change one that it made: a comparison of
//! runs by their reductions has the same numbers from the measurements and from a file that no longer has
//! them.

use crate::median::grouped_median;
use crate::range::is_cost;
use crate::sweep::Sweep;

/// A shorter sweep is not reduced.
pub const REDUCED_FROM: usize = 64;
/// Below this n each n is a cell.
const SINGLE: u64 = 100;

/// The measurements of one cell of a sweep.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReducedCell {
    /// n of the middle measurement.
    pub n: u64,
    /// How many measurements.
    pub count: u32,
    /// Their median, to four digits; 0 where none is a cost.
    pub value: f64,
}

/// The cells of a sweep in the order of its values, which a clock may have rounded to its tick.
pub fn reduction(sweep: &Sweep<'_>, tick_seconds: f64) -> Vec<ReducedCell> {
    let (mut cells, mut costs, mut from) = (Vec::new(), Vec::new(), 0);
    while from < sweep.values.len() {
        let cell = cell_start(sweep.n(from));
        let is_beyond = |place: &usize| cell_start(sweep.n(*place)) != cell;
        let to = (from + 1..sweep.values.len()).find(is_beyond).unwrap_or(sweep.values.len());
        costs.clear();
        costs.extend(sweep.values[from..to].iter().copied().filter(|value| is_cost(*value)));
        cells.push(ReducedCell {
            n: sweep.n(from.midpoint(to - 1)),
            count: u32::try_from(to - from).unwrap_or(u32::MAX),
            value: grouped_median(&mut costs, tick_seconds).map_or(0.0, four_digits),
        });
        from = to;
    }
    cells
}

/// A value for each measurement of a sweep: the median of its cell.
pub fn reduced_values(sweep: &Sweep<'_>, tick_seconds: f64) -> Vec<f64> {
    let each = reduction(sweep, tick_seconds).into_iter();
    each.flat_map(|cell| std::iter::repeat_n(cell.value, cell.count as usize)).collect()
}

/// The smallest n of the cell of this n.
fn cell_start(n: u64) -> u64 {
    if n < SINGLE {
        return n;
    }
    let power = 10_u64.pow(n.ilog10());
    let width = match n / power {
        1 => power / 20,
        2..5 => power / 10,
        _ => power / 4,
    };
    n - n % width
}

/// As many digits as the measurements have.
fn four_digits(value: f64) -> f64 {
    format!("{value:.3e}").parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn cells_end_at_round_numbers() {
        let starts: Vec<u64> = (1..=20_000).filter(|n| cell_start(*n) == *n).collect();
        for round in [90, 100, 180, 200, 450, 500, 900, 1_000, 1_800, 4_500, 9_000, 10_000, 18_000, 20_000] {
            assert!(starts.contains(&round), "{round}");
        }
        assert_eq!(starts.len(), 260, "cells of a sweep to 20,000");
        let widths = starts.windows(2).filter(|pair| pair[0] >= SINGLE);
        assert!(widths.clone().all(|pair| pair[1] - pair[0] <= pair[0] / 20));
        assert_eq!(cell_start(u64::MAX) % 1_000_000_000, 0);
    }

    proptest! {
        #[test]
        fn a_reduction_of_a_reduction_is_the_same(
            values in prop::collection::vec(
                prop_oneof![4 => 1e-9..1e-3_f64, 1 => Just(1.04e-6), 1 => Just(0.0), 1 => Just(f64::NAN)],
                0..1500,
            ),
            (first, step) in prop_oneof![Just((0, 1)), Just((3, 7)), Just((90_000, -8)), Just((1_500, -1))],
            ticks in prop::array::uniform2(prop_oneof![Just(0.0), Just(1e-8), 1e-12..1e-6_f64]),
        ) {
            let sweep = Sweep::even(first, step, &values);
            let (once, values) = (reduction(&sweep, ticks[0]), reduced_values(&sweep, ticks[0]));
            prop_assert_eq!(reduction(&Sweep::even(first, step, &values), ticks[1]), once);
        }
    }
}
