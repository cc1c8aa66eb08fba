//! The cost of one series in one run, in cells of n that are the same in every run.
//!
//! Blocks of a sweep depend on its length, and runs of other nights reach other n. Cells do not: the costs of
//! two runs are compared in the cells that both have.

use crate::block::{log_medians, present_mean};
use crate::range::Common;
use crate::sweep::Sweep;

/// The cost in one cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CellCost {
    /// The number of the cell: two in each doubling of n.
    pub cell: u32,
    /// The natural logarithm of the cost: the mean over the trials of their medians.
    pub log_cost: f64,
}

/// Cells in a doubling of n: a change of a curve's end is not lost in its middle.
const CELLS_PER_DOUBLING: f64 = 2.0;

/// Smallest and largest n of a cell; the largest is less than the smallest where no whole number is in it.
fn cell_span(cell: u32) -> (u64, u64) {
    let low = |cell: u32| (f64::from(cell) / CELLS_PER_DOUBLING).exp2().ceil() as u64;
    (low(cell), low(cell + 1).saturating_sub(1))
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

#[cfg(test)]
mod tests {
    use super::*;

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
