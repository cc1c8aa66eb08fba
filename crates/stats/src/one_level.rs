//! The verdict of a series that was measured at one n only: its cost, once that is known well enough.

use crate::centre::{FEWEST, MOST};
use crate::class::Class;
use crate::interval::Interval;
use crate::verdict::Block;

/// A cost is known well enough when its interval reaches no further than this share to either side: half of
/// the margin within which a curve is called flat, so that two such values tell what a reader cares for.
const PRECISION: f64 = 0.05;

/// The cost at the only n.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OneLevel {
    trials: usize,
    /// How far the interval reaches, in logarithms: the longer side.
    reach: f64,
    tick: f64,
}

impl OneLevel {
    /// `None` where there are several n; `tick` is one tick of the clock as a share of the cost, in
    /// logarithms.
    pub(crate) fn new(blocks: &[Block], trials: usize, tick: f64) -> Option<OneLevel> {
        let [Block { n_low, n_high, cost: Interval { value, low, high }, .. }] = blocks else { return None };
        let reach = (high / value).ln().max((value / low).ln());
        (n_low == n_high).then_some(OneLevel { trials, reach, tick })
    }

    /// Whether the cost is known well enough.
    pub(crate) fn class(self) -> Class {
        let enough = self.trials >= FEWEST as usize;
        if enough && self.reach.max(self.tick) <= PRECISION.ln_1p() {
            Class::Value
        } else {
            Class::Inconclusive
        }
    }

    /// Trials after which it may be: the reach falls with the square root of their number. `None` where it
    /// is, where more would not help, or far too many were needed.
    pub(crate) fn trials_needed(self) -> Option<u32> {
        let within = PRECISION.ln_1p();
        let times = (self.reach / within).powi(2);
        let needed = (self.trials as f64 * times).ceil().max(f64::from(FEWEST)).max(self.trials as f64 + 1.0);
        let helps = self.class() != Class::Value && self.tick <= within && needed <= f64::from(MOST);
        helps.then_some(needed as u32)
    }
}
