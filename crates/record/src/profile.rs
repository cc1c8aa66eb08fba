//! Profiles of operations: the series that a trial samples, and the samples.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Direction, TrialKey};

/// The samples of one series in one trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    /// The trial.
    #[serde(flatten)]
    pub of: TrialKey,
    /// Name of the operation.
    pub name: String,
    /// Whether n rises or falls.
    pub direction: Direction,
    /// The event that takes the samples: `cpu-clock`.
    pub event: String,
    /// Processor time from one sample to the next.
    pub period_seconds: f64,
    /// The part where it is cheap.
    pub low: ProfileWindow,
    /// The part where it is expensive.
    pub high: ProfileWindow,
    /// The functions that the stacks name, each once.
    pub frames: Vec<Frame>,
    /// The stacks, those with the most samples first.
    pub stacks: Vec<Stack>,
    /// Samples of the whole trial that found no room.
    #[serde(default)]
    pub lost: u64,
    /// Why functions of the kernel have no names, the end of a sentence; empty where they have.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub nameless: String,
    /// Which counters the machine lacks, and why; empty where it has all.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub uncounted: String,
    /// Why children and other threads of the trial were not sampled, the end of a sentence; empty where they
    /// were.
    #[serde(default = "first_thread_only")]
    pub unsampled: String,
}

/// Of files from before this was written.
fn first_thread_only() -> String {
    "an earlier osdyno, which took the samples, attached to the first thread only".to_owned()
}

/// The part of one range of n.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProfileWindow {
    /// The n.
    #[serde(flatten)]
    pub range: NRange,
    /// How many operations were measured there.
    pub operations: u64,
    /// Their time together, waiting and the sampler included.
    pub seconds: f64,
    /// Samples within them.
    pub samples: u64,
    /// The counters from sample to sample, by their names in perf-list(1), and over how much time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counts: Vec<Count>,
    /// The number of each kind of object that an operation may walk through.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub in_use: Vec<InUse>,
}

/// The number of objects of one kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InUse {
    /// The kind: `mappings`, or with its unit `page tables (KiB)`.
    pub name: String,
    /// The mean of all readings.
    pub mean: f64,
}

/// The count of a counter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Count {
    /// Its name.
    pub name: String,
    /// For each operation.
    pub per_operation: f64,
}

/// A function of a stack.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Frame {
    /// Its name; empty where it is not known.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub function: String,
    /// Where it is: `kernel`, the name of a module of the kernel in brackets, or the path of a file.
    pub module: String,
    /// Its offset in that file, for a function without a name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// The inode of that file, for a function without a name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inode: Option<u64>,
}

/// A stack, and how often it was seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stack {
    /// Places in `frames`, the innermost first.
    pub frames: Vec<u32>,
    /// Samples where the operation is cheap, and where it is expensive.
    pub samples: [u64; 2],
}

impl Profile {
    /// Gives functions other names, and merges frames and stacks that become equal.
    pub fn rename(&mut self, mut name: impl FnMut(&Frame) -> Frame) {
        let mut frames = Vec::new();
        let mut places: BTreeMap<Frame, u32> = BTreeMap::new();
        let mut place_of = |frame: &Frame| {
            let renamed = name(frame);
            *places.entry(renamed).or_insert_with_key(|frame| {
                frames.push(frame.clone());
                frames.len() as u32 - 1
            })
        };
        let places: Vec<u32> = self.frames.iter().map(&mut place_of).collect();
        let mut stacks: BTreeMap<Vec<u32>, [u64; 2]> = BTreeMap::new();
        for stack in &self.stacks {
            let renamed =
                stack.frames.iter().filter_map(|&place| places.get(place as usize).copied()).collect();
            let samples = stacks.entry(renamed).or_default();
            samples.iter_mut().zip(stack.samples).for_each(|(sum, samples)| *sum += samples);
        }
        self.frames = frames;
        self.stacks = stacks.into_iter().map(|(frames, samples)| Stack { frames, samples }).collect();
        self.stacks.sort_by_key(|stack| std::cmp::Reverse(stack.samples));
    }

    /// The functions of a stack, the innermost first. Places that no frame has, which a damaged file may
    /// name, are left out.
    pub fn functions<'a>(&'a self, stack: &'a Stack) -> impl DoubleEndedIterator<Item = &'a Frame> {
        stack.frames.iter().filter_map(|&place| self.frames.get(place as usize))
    }
}

/// The series that a trial samples. Such a trial is not judged: the sampler takes part of its time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProfileOrder {
    /// Processor time from one sample to the next.
    pub period_seconds: f64,
    /// The series, each with the n at which it is sampled.
    pub series: Vec<ProfiledSeries>,
}

/// A series of a trial that is sampled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProfiledSeries {
    /// Name of the operation.
    pub name: String,
    /// Whether n rises or falls.
    pub direction: Direction,
    /// The n where it is cheap.
    pub low: NRange,
    /// The n where it is expensive.
    pub high: NRange,
}

/// A range of n, with both ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NRange {
    /// Smallest n.
    pub n_low: u64,
    /// Largest n.
    pub n_high: u64,
}

impl NRange {
    /// Whether n is in it.
    #[must_use]
    pub fn contains(self, n: u64) -> bool {
        (self.n_low..=self.n_high).contains(&n)
    }
}
