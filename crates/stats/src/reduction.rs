//! A sweep in fewer values: the median of each cell of n; and the cost of a series in cells of n.
//!
//! Cells are the same in every sweep, whatever its length: single n below 100, then a twentieth to a fortieth
//! of n, with ends at the n that people choose (9,000 and 10,000, 45,000 and 50,000). A block of a comparison
//! holds several of them, and only the narrow last blocks of a sweep are narrower than one. A sweep of 20,000
//! values has 260 cells.
//!
//! A reduction is a function of the measurements alone, and does not change one that it made: a comparison of
//! runs by their reductions has the same numbers from the measurements and from a file that no longer has
//! them.
//!
//! The cost of one series in one run is in wider cells, which are the same in every run too. Blocks of a
//! sweep depend on its length, and runs of other nights reach other n: two runs are compared in the cells
//! that both have.

use crate::block::{grouped_median, log_medians, present_mean};
use crate::sweep::{Common, Sweep, is_cost};

/// A shorter sweep is not reduced.
pub const REDUCED_FROM: usize = 64;
/// Below this n each n is a cell.
const SINGLE: u64 = 100;
/// Cells in a doubling of n: a change of a curve's end is not lost in its middle.
const CELLS_PER_DOUBLING: f64 = 2.0;

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

/// The cost in one cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CellCost {
    /// The number of the cell: two in each doubling of n.
    pub cell: u32,
    /// The natural logarithm of the cost: the mean over the trials of their medians.
    pub log_cost: f64,
}

/// The cells of one series, rising; none without a value. `whole` takes the first n too, which are cold in a
/// sweep of our own.
pub fn cell_costs(trials: &[Sweep<'_>], whole: bool, tick_seconds: f64) -> Vec<CellCost> {
    let Some(common) = Common::new(trials, whole) else { return Vec::new() };
    let (Some(&first), Some(&last)) = (common.sizes.first(), common.sizes.last()) else { return Vec::new() };
    let cells: Vec<(u32, (u64, u64))> = (0..=u64::BITS * 2)
        .map(|cell| (cell, cell_span(cell)))
        .skip_while(|(_, (_, high))| *high < first.max(1))
        .take_while(|(_, (low, _))| *low <= last)
        .filter(|(_, (low, high))| low <= high)
        .map(|(cell, (low, high))| (cell, (low.max(first), high.min(last))))
        .collect();
    let ranges: Vec<(u64, u64)> = cells.iter().map(|(_, range)| *range).collect();
    let rows = log_medians(&common.trials, &ranges, tick_seconds);
    let cost = |(place, (cell, _)): (usize, &(u32, (u64, u64)))| {
        let of_trials: Vec<f64> = rows.iter().map(|row| row[place]).collect();
        let log_cost = present_mean(&of_trials);
        log_cost.is_finite().then_some(CellCost { cell: *cell, log_cost })
    };
    cells.iter().enumerate().filter_map(cost).collect()
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

/// Smallest and largest n of a cell; the largest is less than the smallest where no whole number is in it.
fn cell_span(cell: u32) -> (u64, u64) {
    let low = |cell: u32| (f64::from(cell) / CELLS_PER_DOUBLING).exp2().ceil() as u64;
    (low(cell), low(cell + 1).saturating_sub(1))
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

    #[test]
    fn every_n_is_in_one_cell() {
        let spans: Vec<(u64, u64)> = (0..126).map(cell_span).filter(|(low, high)| low <= high).collect();
        assert_eq!(spans[0].0, 1);
        assert!(spans.windows(2).all(|pair| pair[0].1 + 1 == pair[1].0), "{spans:?}");
    }

    #[test]
    fn a_shorter_run_has_the_same_costs_in_the_cells_that_it_reached() {
        let costs: Vec<f64> = (1..=20_000).map(|n| 1e-6 * (1.0 + n as f64 / 1e4)).collect();
        let of = |length: usize| cell_costs(&[Sweep::even(1, 1, &costs[..length]); 3], false, 0.0);
        let (long, short) = (of(20_000), of(6_000));
        assert!(short.len() > 8 && short.len() < long.len());
        let [.., whole, _last] = &short[..] else { panic!("cells: {short:?}") };
        assert_eq!(long.iter().find(|cost| cost.cell == whole.cell), Some(whole));
        assert!(long.windows(2).all(|pair| pair[0].log_cost < pair[1].log_cost), "{long:?}");
    }

    #[test]
    fn nothing_measured_has_no_cell() {
        assert!(cell_costs(&[], false, 0.0).is_empty());
        assert!(cell_costs(&[Sweep::even(1, 1, &[f64::NAN, -1.0])], true, 0.0).is_empty());
        assert_eq!(cell_costs(&[Sweep::even(0, 0, &[1.0])], true, 0.0).len(), 0, "n = 0 is in no cell");
    }
}
