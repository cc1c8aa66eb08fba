//! The growth of a series: from which n to which, from which cost to which, and how many times as much that
//! is. All that shows a growth reads it here, so that one growth has one number.

use record::Unit;
use serde::Serialize;
use stats::{Block, Interval, Verdict};

use crate::highlight::worst;

/// The cost at one n.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct GrowthEnd {
    /// Which n.
    pub n: u64,
    /// The cost there.
    pub cost: Interval,
}

/// How a series goes from its smallest n to its largest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Growth {
    /// At the smallest n.
    pub from: GrowthEnd,
    /// At the largest n.
    pub to: GrowthEnd,
    /// The second cost divided by the first.
    pub ratio: Interval,
}

impl Growth {
    /// The growth of a verdict; `None` where there is one n only.
    pub fn of(verdict: &Verdict) -> Option<Growth> {
        let from = GrowthEnd { n: verdict.n_low, cost: verdict.cost_low };
        let to = GrowthEnd { n: verdict.n_high, cost: verdict.cost_high };
        (from.n < to.n).then_some(Growth { from, to, ratio: verdict.growth })
    }
}

/// The range of n where a series is worse than at its largest n for certain; `None` where it is worst at the
/// end, as far as is known.
pub fn worse_before_the_end(verdict: &Verdict, unit: Unit) -> Option<&Block> {
    let block = worst(verdict, unit)?;
    let is_certain = match unit.more_is_better() {
        true => block.relative.high < verdict.growth.low,
        false => block.relative.low > verdict.growth.high,
    };
    (is_certain && block.n_high < verdict.n_high).then_some(block)
}
