//! Processor time for one operation: by function in each trial, and as a tree of calls over all trials.

use std::collections::{BTreeMap, BTreeSet};

use record::{Frame, Profile, Stack};
use stats::TrialPart;

/// A function: its name and its module.
type Function = (String, String);

/// The distribution of an operation's time over functions.
pub(super) struct Flow {
    pub(super) trials: Vec<TrialFlow>,
    /// The mean of all trials.
    pub(super) tree: CallTree,
}

/// The same in one trial.
pub(super) struct TrialFlow {
    /// Samples in which a function is the innermost, and in which it is anywhere, on both sides.
    functions: BTreeMap<Function, [[u64; 2]; 2]>,
    /// The time of a sample for one operation, on both sides.
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

/// The name under which a function is counted.
pub(super) fn name(frame: &Frame) -> String {
    if !frame.function.is_empty() {
        return frame.function.clone();
    }
    let file = frame.module.rsplit('/').next().unwrap_or_default();
    match file.strip_prefix('[') {
        Some(_) => file.to_owned(),
        None => format!("[{file}]"),
    }
}

/// A stack as names and modules, the outermost first. Neighbours of the same name without a function are one:
/// a stripped program shows only that it is there.
pub(super) fn path<'a>(profile: &'a Profile, stack: &'a Stack) -> Vec<(String, &'a str)> {
    let named = profile.functions(stack).rev();
    let mut path: Vec<(String, &str)> = named.map(|frame| (name(frame), frame.module.as_str())).collect();
    path.dedup_by(|one, other| one == other && one.0.starts_with('['));
    path
}

/// A function as it is called from those above it, with its processor time where an operation is cheap and
/// where it is expensive.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CallTree {
    /// Its name; empty at the root.
    pub name: String,
    /// Where it is.
    pub module: String,
    /// Processor time in it and in all that it calls, for one operation: where that is cheap, and expensive.
    pub seconds: [f64; 2],
    /// The functions that it calls, the most expensive first.
    pub calls: Vec<CallTree>,
}

impl CallTree {
    /// Adds time to a path, the outermost first.
    pub(super) fn add(&mut self, path: &[(String, &str)], seconds: [f64; 2]) {
        self.seconds.iter_mut().zip(seconds).for_each(|(sum, seconds)| *sum += seconds);
        let Some(((name, module), rest)) = path.split_first() else { return };
        let is_it = |call: &CallTree| call.name == *name && call.module == *module;
        let place = self.calls.iter().position(is_it).unwrap_or_else(|| {
            let (name, module) = (name.clone(), (*module).to_owned());
            self.calls.push(CallTree { name, module, ..CallTree::default() });
            self.calls.len() - 1
        });
        self.calls[place].add(rest, seconds);
    }

    /// Puts the most expensive first.
    fn sort(&mut self) {
        self.calls.sort_by(|one, other| other.seconds[1].total_cmp(&one.seconds[1]));
        self.calls.iter_mut().for_each(CallTree::sort);
    }

    /// How much more time is spent in it where an operation is expensive.
    pub fn growth(&self) -> f64 {
        self.seconds[1] - self.seconds[0]
    }

    /// The innermost function in which at least that much of the growth is, going down where most of it is.
    pub(super) fn narrowest(&self, least: f64) -> Option<&CallTree> {
        let largest = self.calls.iter().max_by(|one, other| one.growth().total_cmp(&other.growth()))?;
        if largest.growth() < least {
            return None;
        }
        Some(largest.narrowest(least).unwrap_or(largest))
    }

    /// How many functions call each other here at most, this one not counted.
    pub fn depth(&self) -> usize {
        self.calls.iter().map(|call| call.depth() + 1).max().unwrap_or(0)
    }
}
