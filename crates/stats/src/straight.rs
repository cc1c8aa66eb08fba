//! Medians of steep blocks, each value carried to the middle of its block along a shape.
//!
//! The median of noisy values that also rise is not the cost in the middle: where a cost is constant in one
//! half
//! of a block and rises in the other, it is more. Along its own shape a cost is level, and then it is.

use crate::block::Rows;
use crate::median::median;
use crate::range::{Common, is_cost};
use crate::shape::Fit;
use crate::view::View;

/// A block along which a shape changes by less than this, in logarithms, is its own middle.
const STEEP: f64 = 0.05;

/// The log medians of blocks `start..end`, with those of steep blocks taken anew along `fit`, which is upside
/// down
/// where `sign` is −1. `None` where no block is steep.
pub(crate) fn along(
    common: &Common<'_>,
    view: &View,
    (start, end): (usize, usize),
    fit: &Fit,
    sign: f64,
) -> Option<Rows> {
    let mut rows: Rows = view.rows.iter().map(|row| row[start..end].to_vec()).collect();
    let mut is_steep = false;
    for block in start..end {
        let (low, high) = view.ranges[block];
        let middle = fit.smooth_at(view.middles[block]);
        let way = |n: u64| sign * (fit.smooth_at(n as f64) - middle);
        if (way(high) - way(low)).abs() < STEEP {
            continue;
        }
        is_steep = true;
        for ((row, raw), trial) in rows.iter_mut().zip(&view.raw).zip(&common.trials) {
            let values = trial.places(low, high).map(|place| (trial.n(place), trial.values[place]));
            let costs = values.filter(|(_, value)| is_cost(*value));
            let mut carried: Vec<f64> = costs.map(|(n, value)| value.ln() - way(n)).collect();
            // What references have removed stays removed.
            row[block - start] += median(&mut carried).map_or(0.0, |log| log - raw[block]);
        }
    }
    is_steep.then_some(rows)
}
