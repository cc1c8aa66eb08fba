//! The progress of each item of a plan, on each system.

use record::Outcome;

use crate::schedule::Blocks;

/// A system that reaches at least so many times as far as another one has an n of its own: a guest, thirty
/// times slower than its host, would cut the host's sweep to a thirtieth. Others, and loads, keep equal n.
const FURTHER: u64 = 2;

/// Trials in a row that crash or hang before an item is given up: the first may be bad luck.
const TROUBLES_MAX: u32 = 3;

/// The progress of one item.
#[derive(Debug)]
pub(crate) struct Progress {
    /// How far n was planned to go, on the system with the highest limits.
    pub(crate) top: u64,
    /// The levels that are measured, where the user chose them, or the first trial of a load left some out
    /// for want of time; empty where they are those of the workload.
    pub(crate) levels: Vec<u64>,
    /// Blocks, each of one trial on every system.
    pub(crate) done: u32,
    /// The cost of each block.
    pub(crate) cost_seconds: Vec<f64>,
    pub(crate) blocks: Blocks,
    pub(crate) systems: Vec<SystemProgress>,
}

/// The progress of one item on one system.
#[derive(Debug)]
pub(crate) struct SystemProgress {
    /// How far n goes there in the time allowed, within the limits of the system.
    pub(crate) n: u64,
    /// Whether a trial has shown how far n goes in the time allowed; all others go as far.
    pub(crate) fitted: bool,
    /// Trials that crashed or hung, one after the other.
    troubles: u32,
    /// More trials are useless: the item cannot be measured here.
    pub(crate) hopeless: bool,
}

impl Progress {
    pub(crate) fn new(top: u64, systems: usize) -> Progress {
        Progress {
            top,
            levels: Vec::new(),
            done: 0,
            cost_seconds: Vec::new(),
            blocks: Blocks::new(systems),
            systems: (0..systems).map(|_| SystemProgress::new(top)).collect(),
        }
    }

    /// Median time of a block so far.
    pub(crate) fn cost(&self) -> f64 {
        let mut costs = self.cost_seconds.clone();
        costs.sort_by(f64::total_cmp);
        costs.get(costs.len() / 2).copied().unwrap_or(0.0)
    }

    /// Takes the levels that a trial held: the others are left out in all trials, so that they can be
    /// compared at each level.
    pub(crate) fn learn_levels(&mut self, outcome: &Outcome, held: &[u64], planned: &[u64]) {
        let is_whole = matches!(outcome, Outcome::Complete) && held.last() == planned.last();
        if is_whole && held.len() < planned.len() {
            self.levels = held.to_vec();
        }
    }

    /// Takes how far a system reaches. A load goes equally far everywhere, because its levels are common to
    /// all systems.
    pub(crate) fn shorten(&mut self, system: usize, reach: u64, is_load: bool) {
        let concerned = if is_load { 0..self.systems.len() } else { system..system + 1 };
        self.systems[concerned].iter_mut().for_each(|system| system.n = system.n.min(reach));
    }

    /// Gives systems that reach about as far the same n, so that their trials can be laid over each other. A
    /// slow one does not cut the sweep of one that reaches much further: the two are compared over the n of
    /// both.
    pub(crate) fn align(&mut self) {
        let mut open: Vec<&mut SystemProgress> =
            self.systems.iter_mut().filter(|system| !system.hopeless).collect();
        open.sort_by_key(|system| std::cmp::Reverse(system.n));
        let mut rest = open.as_mut_slice();
        while let Some(furthest) = rest.first().map(|system| system.n) {
            let alike = rest.partition_point(|system| system.n > furthest / FURTHER);
            let (group, others) = rest.split_at_mut(alike.max(1));
            let n = group.last().map_or(furthest, |system| system.n);
            group.iter_mut().for_each(|system| system.n = n);
            rest = others;
        }
    }

    /// No system can measure the item.
    pub(crate) fn is_hopeless(&self) -> bool {
        self.systems.iter().all(|system| system.hopeless)
    }
}

impl SystemProgress {
    fn new(n: u64) -> SystemProgress {
        SystemProgress { n, fitted: false, troubles: 0, hopeless: false }
    }

    /// Takes the results of a trial for the next ones; returns the n that fits, if it has found one. `held`
    /// are the levels of a load that it measured.
    pub(crate) fn learn(&mut self, trial: &record::Trial, held: &[u64]) -> Option<u64> {
        match trial.outcome {
            // The first trial goes to the last level whatever comes of it, the others as far as it came.
            Outcome::TimedOut { .. } | Outcome::Crashed { .. } if !self.fitted && !held.is_empty() => {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn reached(progress: &Progress) -> Vec<u64> {
        progress.systems.iter().map(|system| system.n).collect()
    }

    #[test]
    fn systems_that_reach_about_as_far_go_equally_far_and_a_slow_one_cuts_nobody() {
        let aligned = |ns: &[u64], hopeless: Option<usize>| {
            let mut progress = Progress::new(20_000, ns.len());
            ns.iter().enumerate().for_each(|(system, n)| progress.shorten(system, *n, false));
            hopeless.into_iter().for_each(|place| progress.systems[place].hopeless = true);
            progress.align();
            reached(&progress)
        };
        assert_eq!(aligned(&[900, 20_000, 1_000, 19_000], None), [900, 19_000, 900, 19_000]);
        assert_eq!(aligned(&[20_000, 11_000, 9_000], None), [11_000, 11_000, 9_000]);
        assert_eq!(aligned(&[20_000, 12_000], Some(1)), [20_000, 12_000], "it is not measured any more");
        assert_eq!(aligned(&[1, 0, 1], None), [1, 0, 1]);
        assert_eq!(aligned(&[], None), [0; 0]);
    }

    #[test]
    fn a_load_goes_equally_far_everywhere() {
        let mut progress = Progress::new(1_000, 3);
        progress.shorten(1, 20, true);
        progress.shorten(2, 50, true);
        assert_eq!(reached(&progress), [20; 3]);
    }
}
