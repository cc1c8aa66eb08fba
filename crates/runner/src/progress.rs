//! How far each item of a plan is, on each system.

use record::Outcome;

use crate::schedule::Blocks;

/// Trials in a row that crash or hang before an item is given up: the first may be bad luck.
const TROUBLES_MAX: u32 = 3;

/// How far one item is.
#[derive(Debug)]
pub(crate) struct Progress {
    /// How far n was planned to go, on the system with the highest limits.
    pub(crate) top: u64,
    /// How far n goes, within the limits of each system: the smallest that one of them can reach in the time
    /// allowed.
    pub(crate) n: u64,
    /// The levels at which a load is held, where the first trial left some out for want of time; empty where
    /// it did not.
    pub(crate) levels: Vec<u64>,
    /// Blocks, each of one trial on every system.
    pub(crate) done: u32,
    /// What each block cost.
    pub(crate) cost_seconds: Vec<f64>,
    pub(crate) blocks: Blocks,
    pub(crate) systems: Vec<SystemProgress>,
}

/// How far one item is on one system.
#[derive(Debug, Default)]
pub(crate) struct SystemProgress {
    /// A trial has shown how far n goes in the time allowed; all others go as far.
    pub(crate) fitted: bool,
    /// Trials that crashed or hung, one after the other.
    troubles: u32,
    /// More trials would tell nothing new: the item cannot be measured here.
    pub(crate) hopeless: bool,
}

impl Progress {
    pub(crate) fn new(top: u64, systems: usize) -> Progress {
        Progress {
            top,
            n: top,
            levels: Vec::new(),
            done: 0,
            cost_seconds: Vec::new(),
            blocks: Blocks::of(systems),
            systems: (0..systems).map(|_| SystemProgress::default()).collect(),
        }
    }

    /// Median time of a block so far.
    pub(crate) fn cost(&self) -> f64 {
        let mut costs = self.cost_seconds.clone();
        costs.sort_by(f64::total_cmp);
        costs.get(costs.len() / 2).copied().unwrap_or(0.0)
    }

    /// Takes from a trial which levels it held: those that it left out are left out in all trials, so that
    /// they can be compared at each level.
    pub(crate) fn learn_levels(&mut self, outcome: &Outcome, held: &[u64], planned: &[u64]) {
        let is_whole = matches!(outcome, Outcome::Complete) && held.last() == planned.last();
        if is_whole && held.len() < planned.len() {
            self.levels = held.to_vec();
        }
    }

    /// No system can measure the item.
    pub(crate) fn is_hopeless(&self) -> bool {
        self.systems.iter().all(|system| system.hopeless)
    }
}

impl SystemProgress {
    /// Takes from a trial what the next ones need; gives the n that fits, where it has found one. `held` are
    /// the levels of a load that it measured.
    pub(crate) fn learn(&mut self, trial: &record::Trial, held: &[u64]) -> Option<u64> {
        match trial.outcome {
            // The first trial of a load goes to its last level whatever that takes.
            Outcome::TimedOut { .. } if !self.fitted && !held.is_empty() => {
                (self.fitted, self.troubles) = (true, 1);
                return held.last().copied();
            }
            // All trials of an item go equally far, so that they can be laid over each other.
            Outcome::Allowance { n } => {
                (self.fitted, self.troubles) = (true, 0);
                return Some(n.max(1));
            }
            Outcome::Unsupported { .. } | Outcome::Failed { .. } => self.hopeless = true,
            Outcome::Crashed { .. } | Outcome::TimedOut { .. } => {
                self.troubles += 1;
                self.hopeless = self.troubles >= TROUBLES_MAX;
            }
            Outcome::Complete | Outcome::Limit { .. } => (self.fitted, self.troubles) = (true, 0),
        }
        None
    }
}
