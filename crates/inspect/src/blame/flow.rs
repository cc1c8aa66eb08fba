//! Processor time for one operation by function, in each trial.

use std::collections::{BTreeMap, BTreeSet};

use record::Profile;
use stats::TrialPart;

use super::function::path;
use super::tree::CallTree;

/// A function: its name and its module.
type Function = (String, String);

/// Where the time of an operation goes.
pub(super) struct Flow {
    pub(super) trials: Vec<TrialFlow>,
    /// The mean of all trials.
    pub(super) tree: CallTree,
}

/// The same in one trial.
pub(super) struct TrialFlow {
    /// Samples in which a function is the innermost, and in which it is anywhere, on both sides.
    functions: BTreeMap<Function, [[u64; 2]; 2]>,
    /// What a sample is worth for one operation, on both sides.
    seconds: [f64; 2],
    /// All samples.
    samples: [u64; 2],
}

impl Flow {
    pub(super) fn of(profiles: &[&Profile]) -> Flow {
        let mut tree = CallTree::default();
        let trials = profiles.iter().map(|profile| {
            let each =
                [&profile.low, &profile.high].map(|window| profile.period_seconds / window.operations as f64);
            let mut trial = TrialFlow { functions: BTreeMap::new(), seconds: each, samples: [0; 2] };
            for stack in &profile.stacks {
                let path = path(profile, stack);
                let seconds =
                    [0, 1].map(|side| each[side] * stack.samples[side] as f64 / profiles.len() as f64);
                tree.add(&path, seconds);
                trial.add(&path, stack.samples);
            }
            trial
        });
        let trials = trials.collect();
        tree.sort();
        Flow { trials, tree }
    }

    /// All functions.
    pub(super) fn functions(&self) -> BTreeSet<Function> {
        self.trials.iter().flat_map(|trial| trial.functions.keys().cloned()).collect()
    }

    /// Processor time in a function for one operation on both sides, the mean of all trials.
    pub(super) fn seconds(&self, function: &Function, is_own: bool) -> [f64; 2] {
        let trials = self.trials.len().max(1) as f64;
        [0, 1].map(|side| {
            let seconds =
                |trial: &TrialFlow| trial.seconds[side] * trial.samples_of(function, is_own)[side] as f64;
            self.trials.iter().map(seconds).sum::<f64>() / trials
        })
    }
}

impl TrialFlow {
    fn add(&mut self, path: &[(String, &str)], samples: [u64; 2]) {
        let sum = |counts: &mut [u64; 2]| counts.iter_mut().zip(samples).for_each(|(sum, more)| *sum += more);
        sum(&mut self.samples);
        // A function that calls itself is in a stack more than once, and counts once.
        let distinct: BTreeSet<&(String, &str)> = path.iter().collect();
        for (name, module) in distinct {
            sum(&mut self.functions.entry((name.clone(), (*module).to_owned())).or_default()[1]);
        }
        if let Some((name, module)) = path.last() {
            sum(&mut self.functions.entry((name.clone(), (*module).to_owned())).or_default()[0]);
        }
    }

    fn samples_of(&self, function: &Function, is_own: bool) -> [u64; 2] {
        self.functions.get(function).map_or([0; 2], |samples| samples[usize::from(!is_own)])
    }

    /// How much more processor time an operation takes.
    pub(super) fn growth(&self) -> f64 {
        self.seconds[1] * self.samples[1] as f64 - self.seconds[0] * self.samples[0] as f64
    }

    /// How much of that is in a function.
    pub(super) fn part(&self, function: &Function, is_own: bool) -> TrialPart {
        let [low, high] = self.samples_of(function, is_own);
        TrialPart {
            part: self.seconds[1] * high as f64 - self.seconds[0] * low as f64,
            whole: self.growth(),
            counting: self.counting(0, low) + self.counting(1, high),
        }
    }

    /// Variance of the time in a function by the number of its samples, of all on that side.
    fn counting(&self, side: usize, samples: u64) -> f64 {
        let all = self.samples[side].max(1) as f64;
        self.seconds[side].powi(2) * samples as f64 * (1.0 - samples as f64 / all)
    }
}
