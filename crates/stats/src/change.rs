//! Whether a cost changes from one system of an ordered list to the next.

use crate::compare::Contrast;
use crate::interval::Interval;

/// Whether the second of two differs from the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// For certain, and by more than the margin as measured.
    Changed,
    /// Any difference is smaller than the margin, for certain.
    Same,
    /// Neither is certain yet.
    Open,
}

impl Contrast {
    /// What may be said at this error rate, and the ratio with the interval of that rate.
    ///
    /// It asks less than [`Answer::Slower`](crate::Answer::Slower), which is certain that the difference
    /// exceeds the margin: a culprit must differ for certain, and the margin only keeps small real
    /// differences out. A change of twice the margin then needs a quarter of the boots.
    pub fn change(&self, level: f64) -> (Change, Interval) {
        let chances = self.chances();
        let exceeds = self.value().abs() > self.log_margin();
        let change = if exceeds && chances.differs <= level {
            Change::Changed
        } else if !exceeds && chances.within <= level {
            Change::Same
        } else {
            Change::Open
        };
        (change, self.interval(level))
    }
}
