//! One trial: its parameters, with the loads that it offers or that are held beside it, and how it ended.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Unit;
use crate::json::seed;
use crate::profile::ProfileOrder;

fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// The parameters of a trial; also the first line that a trial program reads on standard input.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
    /// Which boot of its system the trial was measured in, counted from 1; 0 of a system that the run does
    /// not boot.
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
    /// Where the server of a load runs; `None` where the workload starts it beside itself, or has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<Server>,
    /// Settings of the workload that the user chose, by name; those left out have their defaults.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
    /// Whether references are timed among the operations; `false` too where the workload cannot have any.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub references: bool,
    /// What all rivals are offered, level by level; empty where a load offers nothing in common, and in the
    /// trials that find it out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub offered: Vec<OfferedLevel>,
    /// The levels that are measured, where the user chose them, or the first trial of a load had no time for
    /// those in between; empty where they are those of the workload.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub levels: Vec<u64>,
    /// What loads the system beside the trial; empty where nothing does.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub background: Vec<Background>,
    /// Processes that make objects beside the trial, each as many as the trial itself: with two of them every
    /// third n is measured.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub helpers: u32,
    /// What is sampled; `None` in trials that are judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<ProfileOrder>,
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
    /// What stands before a program to start it there; empty where somebody has started the server already.
    #[serde(default)]
    pub prefix: Vec<String>,
}

/// The parameters of one trial and how it ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
    /// What was proved about the path: a number whose check failed is not a number.
    #[serde(default)]
    pub checks: Vec<Check>,
    /// What became of each load beside the trial, in their order in `background`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub held_background: Vec<HeldBackground>,
    /// Differences of the system's counters over the trial, such as `steal_seconds` or `context_switches`.
    #[serde(default)]
    pub activity: BTreeMap<String, f64>,
    /// Remarks that a reader of the numbers should see, each a whole sentence.
    #[serde(default)]
    pub warnings: Vec<String>,
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "ended", rename_all = "kebab-case")]
pub enum Outcome {
    /// n reached the requested value.
    Complete,
    /// The system refused an operation; what was measured below that n stands.
    Limit {
        /// Live objects when it happened.
        n: u64,
        /// The operation that was refused.
        operation: String,
        /// The system's word for it, such as `EMFILE`.
        error: String,
        /// What that means and how to raise it.
        advice: String,
    },
    /// The allowance was used up; what was measured below that n stands.
    Allowance {
        /// Live objects when it happened.
        n: u64,
    },
    /// The workload cannot exist on this system.
    Unsupported {
        /// Why.
        reason: String,
    },
    /// The workload found that what it claims did not happen, or could not be set up.
    Failed {
        /// What was attempted, on what, and what came of it.
        reason: String,
    },
    /// The process ended by itself or was killed, by the out-of-memory killer for example.
    Crashed {
        /// Live objects when it happened, as far as can be told.
        n: u64,
        /// The signal or exit status.
        reason: String,
    },
    /// The process did not end in time and was killed.
    TimedOut {
        /// Live objects when it happened, as far as can be told.
        n: u64,
    },
}

/// Something that was proved, or not.
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
    /// The variant, or the system, that answered least in a closed loop at this level.
    pub slowest: String,
    /// What that answered, per second: the reason for the rate.
    pub slowest_per_second: f64,
    /// Processor time of the load generator for each response: the reason for the spacing.
    pub generator_seconds: f64,
}

/// A load to be held beside a trial, by a process of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Background {
    /// What and how much, in its canonical form: `cpu:50%`, `disk:20MB/s`. With the processor, if the user
    /// chose that: `cpu:50%#1`.
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
    /// Where the kernel counted what the process did: `/proc/PID/io syscr`. Empty where it counts no such
    /// thing, and the rates are those that the process counted itself.
    #[serde(default)]
    pub counter: String,
    /// Where the kernel counts the same of the whole system, be it of this process or of others:
    /// `/proc/net/dev lo`; empty where it does not.
    #[serde(default)]
    pub system_counter: String,
    /// The rate by `system_counter` over all of these seconds.
    #[serde(default)]
    pub system_rate: Option<f64>,
    /// Bytes of memory that were resident, or connections that were open, of loads that hold any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holds: Option<f64>,
    /// Whether it was there in every second, within 5 % of the target.
    pub is_held: bool,
    /// Why there are no rates, or not of all seconds; empty where it was there to the end.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub ended: String,
}
