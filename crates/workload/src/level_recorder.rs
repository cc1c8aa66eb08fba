//! What a load may say at one level, as it is found.

use crate::trial::Check;
use crate::{Slots, Workload};

/// The hands of a load while it is at one level.
#[derive(Debug)]
pub struct LevelRecorder<'a> {
    pub(crate) workload: &'static Workload,
    pub(crate) slots: Slots<'a>,
    /// The level.
    pub(crate) n: u64,
    /// Place of the level.
    pub(crate) row: usize,
    /// What is refused, should the closure end in an error.
    pub(crate) doing: &'static str,
    /// A name that the workload does not tell.
    pub(crate) undeclared: Option<&'static str>,
    pub(crate) checks: &'a mut Vec<Check>,
    pub(crate) warnings: &'a mut Vec<String>,
}

impl LevelRecorder<'_> {
    /// The level.
    pub fn n(&self) -> u64 {
        self.n
    }

    /// The value of a reported operation at this level, in its unit: it is kept from here on, whatever
    /// becomes of the trial. What is not finite, such as a percentile of nothing, is left out. A name that
    /// the workload does not declare as reported ends the trial.
    pub fn value(&mut self, name: &'static str, value: f64) {
        match self.workload.measured().position(|operation| operation.name == name && operation.reported) {
            Some(index) => self.slots.report(index, self.row, value),
            None => self.undeclared = Some(name),
        }
    }

    /// Says what is attempted from here on: the record names it where the system refuses it.
    pub fn doing(&mut self, what: &'static str) {
        self.doing = what;
    }

    /// States something that must hold for the numbers to be numbers. The same claim of several levels is
    /// one, which holds where it held at all of them.
    pub fn check(&mut self, claim: &'static str, held: bool) {
        Check::note(self.checks, claim, held);
    }

    /// A remark that a reader of the numbers should see, a whole sentence. The same one is said once.
    pub fn warn(&mut self, sentence: String) {
        if !self.warnings.contains(&sentence) {
            self.warnings.push(sentence);
        }
    }
}
