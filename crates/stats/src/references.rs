//! The references of trials in the blocks of their series.

use crate::block::{Rows, against_baseline};
use crate::median::grouped_median;
use crate::range::is_cost;
use crate::sweep::Sweep;

/// The least values of a reference for a block: a block with fewer uses those of its neighbours, because a
/// reference does not depend on n.
const LEAST: usize = 8;

/// The changes of each reference against the first blocks: a row per trial, a column per block, NaN where a
/// trial lacks the reference.
pub(crate) fn changes_of_references(
    trials: &[Sweep<'_>],
    ranges: &[(u64, u64)],
    baseline_blocks: usize,
    tick: f64,
) -> Vec<Rows> {
    let count = trials.iter().map(|trial| trial.controls.len()).max().unwrap_or(0);
    let row = |trial: &Sweep<'_>, place: usize| match trial.controls.get(place) {
        Some(sweep) => against_baseline(&log_medians(sweep, ranges, tick), baseline_blocks),
        None => vec![f64::NAN; ranges.len()],
    };
    (0..count).map(|place| trials.iter().map(|trial| row(trial, place)).collect()).collect()
}

/// Natural logarithms of the medians of a sparse sweep, around each range.
fn log_medians(sweep: &Sweep<'_>, ranges: &[(u64, u64)], tick: f64) -> Vec<f64> {
    let (Some(first), Some(last)) = (ranges.first(), ranges.last()) else { return Vec::new() };
    let judged = sweep.places(first.0, last.1);
    let mut costs = Vec::new();
    let mut log_median = |(low, high): &(u64, u64)| {
        let own = sweep.places(*low, *high);
        let lacking = LEAST.saturating_sub(own.len());
        let start = own.start.saturating_sub(lacking.div_ceil(2)).max(judged.start);
        let end = (start + own.len().max(LEAST)).min(judged.end);
        let start = start.min(end.saturating_sub(LEAST).max(judged.start));
        costs.clear();
        costs.extend(sweep.values[start..end.max(start)].iter().copied().filter(|value| is_cost(*value)));
        grouped_median(&mut costs, tick).map_or(f64::NAN, f64::ln)
    };
    ranges.iter().map(&mut log_median).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_narrow_block_borrows_from_its_neighbours() {
        let sizes: Vec<u64> = (1..=40).map(|place| 8 * place).collect();
        let values: Vec<f64> = (1..=40).map(f64::from).collect();
        let control = Sweep::listed(&sizes, &values);
        let ranges = [(1, 8), (9, 100), (160, 167), (313, 320)];
        let middles: Vec<f64> = log_medians(&control, &ranges, 0.0).into_iter().map(f64::exp).collect();
        // Eight values at either end, those of the block itself, and eight around n = 160.
        for (found, expected) in middles.iter().zip([4.5, 7.0, 19.5, 36.5]) {
            assert!((found - expected).abs() < 1.1, "{middles:?}");
        }
    }

    #[test]
    fn both_directions_are_alike() {
        let sizes: Vec<u64> = (1..=40).map(|place| 8 * place).collect();
        let values: Vec<f64> = (1..=40).map(f64::from).collect();
        let (mut fallen, mut turned) = (sizes.clone(), values.clone());
        fallen.reverse();
        turned.reverse();
        let ranges = [(1, 150), (151, 320)];
        let up = log_medians(&Sweep::listed(&sizes, &values), &ranges, 0.0);
        assert_eq!(up, log_medians(&Sweep::listed(&fallen, &turned), &ranges, 0.0));
    }

    #[test]
    fn what_is_no_cost_or_missing_is_nan() {
        let broken = [0.0, -1.0, f64::NAN, f64::INFINITY];
        let controls = [Sweep::even(1, 8, &broken), Sweep::even(1, 8, &[])];
        let trial = Sweep::even(1, 1, &[1.0; 32]);
        let trials = [trial.with_controls(&controls), trial];
        let changes = changes_of_references(&trials, &[(1, 16), (17, 32)], 1, 0.0);
        assert_eq!(changes.len(), 2);
        assert!(changes.iter().flatten().flatten().all(|change| change.is_nan()));
    }
}
