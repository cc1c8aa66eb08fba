//! One trial: its parameters, with the loads that it offers or that are held beside it, how it ended, and the
//! profiles of the operations that it sampled.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::line::seed;
use crate::{Direction, Unit};

fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// The parameters of a trial; also the first line that a trial program reads on standard input.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TrialParameters {
    /// Name of the system.
    pub system: String,
    /// Name of the workload.
    pub workload: String,
    /// Version of the workload's definition that the runner planned with.
    pub version: u32,
    /// Name of the variant; may be empty.
    pub variant: String,
    /// Trials of one workload × variant × system count from 1.
    pub trial: u32,
    /// The boot of its system in which the trial was measured, counted from 1; 0 for a system that the run
    /// does not boot.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub boot: u32,
    /// How far n is to go.
    pub n: u64,
    /// The processor to be pinned to; `None` leaves it to the scheduler.
    pub cpu: Option<u32>,
    /// Seed of this trial's own random choices.
    #[serde(deserialize_with = "seed")]
    pub seed: u64,
    /// The way up stops when this is used up; the way down is not cut.
    pub allowance_seconds: Option<f64>,
    /// The share of the budget that the trial may take: a load ends below the levels that would take longer.
    /// `None` where nothing else waits for the time, or how far the load goes is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share_seconds: Option<f64>,
    /// How long a load is held at each level; `None` for workloads that hold none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window_seconds: Option<f64>,
    /// The processor that a server on this machine is to be pinned to; `None` leaves it to the scheduler, or
    /// there is no server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_cpu: Option<u32>,
    /// Further processors, for workers of a server and for load generators, the best first; empty where there
    /// is no server.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spare_cpus: Vec<u32>,
    /// Where the server of a load runs; `None` where the workload starts it beside itself, or has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<Server>,
    /// The hosts that load the server; empty where the trial itself does, or there is no server.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clients: Vec<ClientHost>,
    /// Settings of the workload that the user chose, by name; those left out have their defaults.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
    /// Whether references are timed among the operations; `false` too where the workload cannot have any.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub references: bool,
    /// The load that all rivals are offered, level by level; empty where a load offers nothing in common, and
    /// in the trials that find it out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub offered: Vec<OfferedLevel>,
    /// The levels that are measured, where the user chose them, or the first trial of a load had no time for
    /// those in between; empty where they are those of the workload.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub levels: Vec<u64>,
    /// The loads beside the trial; empty where there is none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub background: Vec<Background>,
    /// Processes that make objects beside the trial, each as many as the trial itself: with two of them every
    /// third n is measured.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub helpers: u32,
    /// The sampled series; `None` in trials that are judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<Box<ProfileOrder>>,
    /// The trial is killed when this is used up.
    pub timeout_seconds: f64,
    /// A folder of this run's own for files that a workload needs.
    pub scratch: String,
}

impl TrialParameters {
    /// How many n there are for each object that the trial itself makes: it is measured at every such n.
    pub fn stride(&self) -> u64 {
        u64::from(self.helpers) + 1
    }

    /// How many objects the trial itself makes.
    pub fn rows(&self) -> u64 {
        self.n / self.stride()
    }
}

/// Names one trial of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TrialKey {
    /// Name of the system.
    pub system: String,
    /// Name of the workload.
    pub workload: String,
    /// Name of the variant; may be empty.
    pub variant: String,
    /// Number of the trial.
    pub trial: u32,
}

impl TrialKey {
    /// The trial that has these parameters.
    #[must_use]
    pub fn from_parameters(order: &TrialParameters) -> Self {
        TrialKey {
            system: order.system.clone(),
            workload: order.workload.clone(),
            variant: order.variant.clone(),
            trial: order.trial,
        }
    }
}

/// Where the server of a load runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Server {
    /// The address it listens on, as the client sees it: `10.0.0.2`, or with its port.
    pub address: String,
    /// The command in front of a program that starts it there; empty where the server runs already.
    #[serde(default)]
    pub prefix: Vec<String>,
}

/// A host that loads the server of a trial.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ClientHost {
    /// Its name.
    pub name: String,
    /// The command that leads to a shell there; empty for the system of the trial itself.
    #[serde(default)]
    pub command: Vec<String>,
}

/// The parameters of one trial and how it ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// Its parameters.
    #[serde(flatten)]
    pub order: TrialParameters,
    /// Seconds from the start of the run to the start of this trial, by the runner's clock.
    #[serde(default)]
    pub started_seconds: f64,
    /// How long the trial took, with its set-up and its process.
    pub elapsed_seconds: f64,
    /// The clock that timed it.
    pub clock: Option<TrialClock>,
    /// How it ended.
    pub outcome: Outcome,
    /// The checks: a number whose check failed is not a number.
    #[serde(default)]
    pub checks: Vec<Check>,
    /// The result of each load beside the trial, in their order in `background`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub held_background: Vec<HeldBackground>,
    /// Differences of the system's counters over the trial, such as `steal_seconds` or `context_switches`.
    #[serde(default)]
    pub activity: BTreeMap<String, f64>,
    /// Remarks that a reader of the numbers should see, each a whole sentence.
    #[serde(default)]
    pub warnings: Vec<String>,
}

impl Trial {
    /// A trial of which only this is known.
    #[must_use]
    pub fn ended(order: &TrialParameters, elapsed: Duration, outcome: Outcome) -> Self {
        let elapsed_seconds = elapsed.as_secs_f64();
        Trial { order: order.clone(), elapsed_seconds, outcome, ..Trial::default() }
    }
}

/// The clock that timed a trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrialClock {
    /// `tsc` or the name of the system's clock.
    pub source: String,
    /// Smallest step that was seen between two readings that differ.
    pub tick_seconds: f64,
    /// Median time from one reading to the next.
    pub read_seconds: f64,
}

/// How a trial ended. A limit is a result.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "ended", rename_all = "kebab-case")]
pub enum Outcome {
    /// n reached the requested value.
    #[default]
    Complete,
    /// The system refused an operation; measurements below that n are valid.
    Limit {
        /// Live objects when it happened.
        n: u64,
        /// The operation that was refused.
        operation: String,
        /// The system's word for it, such as `EMFILE`.
        error: String,
        /// The meaning of the limit and how to raise it.
        advice: String,
    },
    /// The allowance was used up; measurements below that n are valid.
    Allowance {
        /// Live objects when it happened.
        n: u64,
    },
    /// The workload cannot exist on this system.
    Unsupported {
        /// Why.
        reason: String,
    },
    /// A check of the workload failed, or it could not be set up.
    Failed {
        /// The attempt, its object, and the result.
        reason: String,
    },
    /// The process ended by itself or was killed, by the out-of-memory killer for example.
    Crashed {
        /// Live objects when it happened, if known.
        n: u64,
        /// The signal or exit status.
        reason: String,
    },
    /// The process did not end in time and was killed.
    TimedOut {
        /// Live objects when it happened, if known.
        n: u64,
    },
}

/// A claim that a trial proves about itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Check {
    /// The claim: "every port is distinct".
    pub claim: String,
    /// Whether it held.
    pub held: bool,
}

/// The load that all rivals are offered at one level, so that their costs can be compared: bursts of n
/// requests each, in an open loop.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OfferedLevel {
    /// The level.
    pub n: u64,
    /// Requests that are meant to start, per second.
    pub per_second: f64,
    /// From the start of a request to that of the next one in its burst.
    pub spacing_seconds: f64,
    /// The variant, or the system, with the lowest throughput of a closed loop at this level.
    pub slowest: String,
    /// Its throughput, per second: the reason for the rate.
    pub slowest_per_second: f64,
    /// Processor time of the load generator for each response: the reason for the spacing.
    pub generator_seconds: f64,
}

/// A load to be held beside a trial, by a process of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Background {
    /// The load in its canonical form: `cpu:50%`, `disk:20MB/s`; with the processor if the user chose it:
    /// `cpu:50%#1`.
    pub load: String,
    /// The processor to which its process is bound; `None` leaves it to the scheduler.
    #[serde(default)]
    pub processor: Option<u32>,
}

/// A load beside a trial, as it was held.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HeldBackground {
    /// The load.
    #[serde(flatten)]
    pub background: Background,
    /// Unit of the rates; empty for a share of a processor.
    pub unit: Unit,
    /// The rate that was wanted.
    pub target: f64,
    /// The rate of every second of the trial, by `counter`. The last second ends after the trial.
    pub rates: Vec<f64>,
    /// The kernel's counter for the process: `/proc/PID/io syscr`. Empty where the process counted itself.
    #[serde(default)]
    pub counter: String,
    /// The kernel's counter for the whole system: `/proc/net/dev lo`; empty where there is none.
    #[serde(default)]
    pub system_counter: String,
    /// The rate by `system_counter` over all of these seconds.
    #[serde(default)]
    pub system_rate: Option<f64>,
    /// Resident bytes or open connections, for loads that hold any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holds: Option<f64>,
    /// Whether it was held in every second, within 5 % of the target.
    pub is_held: bool,
    /// Why rates are missing; empty where it was held to the end.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub ended: String,
}

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
