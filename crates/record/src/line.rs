//! The lines of the stream. Durations are seconds, sizes are bytes: base units only.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};

use crate::NoiseFloor;

/// Version of the stream. It rises when a line changes its meaning or loses a field; readers accept
/// every older version, and say so when they meet a newer one.
pub const SCHEMA: u32 = 1;

/// One line of the stream.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
#[expect(clippy::large_enum_variant, reason = "a series holds its values elsewhere, and other lines are few")]
pub enum Line {
    /// First line of every run: who measured, when, and with which settings.
    Run(Run),
    /// One system under test and its environment.
    System(System),
    /// The definition of one workload, as it stood when it was measured.
    Workload(Workload),
    /// What was asked of one trial and how it ended.
    Trial(Trial),
    /// The measurements of one kind that one trial made.
    Series(Series),
    /// What this run found the noise floor of its systems to be, which are one and the same.
    NoiseFloor(NoiseFloor),
    /// Last line of a run that came to its own end.
    End(End),
}

impl Line {
    /// Name of the workload that the line is about; `None` where it is about the whole run.
    #[must_use]
    pub fn workload(&self) -> Option<&str> {
        match self {
            Line::Workload(workload) => Some(&workload.name),
            Line::Trial(trial) => Some(&trial.order.workload),
            Line::Series(series) => Some(&series.workload),
            Line::Run(_) | Line::System(_) | Line::NoiseFloor(_) | Line::End(_) => None,
        }
    }
}

/// All that one invocation recorded has this line at its head.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// [`SCHEMA`] of the writer.
    pub schema: u32,
    /// The program that measured.
    pub tool: Tool,
    /// RFC 3339, UTC.
    pub started_at: String,
    /// The command line, as typed, for repeating it.
    pub command: Vec<String>,
    /// Name of the preset: `quick`, `standard`, `full`, `classic`.
    pub preset: String,
    /// Decides the order of trials and every random choice of a workload.
    #[serde(deserialize_with = "seed")]
    pub seed: u64,
    /// Time the whole run may take; `None` when the preset fixes the number of trials instead.
    pub budget_seconds: Option<f64>,
    /// Trial counts at which the planner looked whether to go on; more looks cost confidence (statistics
    /// METHODOLOGY, "Stopping"). Empty when the number of trials was fixed beforehand.
    pub looks: Vec<u32>,
    /// Whether trials were pinned to one processor.
    pub pinned: bool,
    /// Trial k of a workload on every system was run in the same block, back to back in random order: they
    /// are pairs, and a comparison of the systems may be a paired one.
    #[serde(default)]
    pub paired: bool,
}

/// The program that wrote the record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tool {
    /// `osdyno`.
    pub name: String,
    /// Version of the program.
    pub version: String,
    /// Compiler, target, profile.
    pub build: String,
}

/// One system under test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct System {
    /// `local` unless the user gave it a name.
    pub name: String,
    /// What stands before the trial program when it is started; empty for this machine.
    pub prefix: Vec<String>,
    /// Facts by dotted key, such as `kernel.release` or `cpu.model`; what could not be read is absent.
    pub environment: BTreeMap<String, String>,
    /// What the readiness check found worth a warning, each a whole sentence.
    #[serde(default)]
    pub warnings: Vec<String>,
    /// The smallest difference that a comparison on this system can support, where it was ever measured.
    #[serde(default)]
    pub noise_floor: Option<NoiseFloor>,
}

/// The definition of one workload: enough for a reader to caption and judge it without this program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Workload {
    /// Name on the command line.
    pub name: String,
    /// Rises when the meaning of a measurement changes; different versions refuse to compare.
    pub version: u32,
    /// One sentence.
    pub summary: String,
    /// The whole page, Markdown: question, method, expected answer.
    pub page: String,
    /// What n counts, in words: "bound sockets".
    pub grows: String,
    /// The variants that were measured; one with an empty name when there is only one way.
    pub variants: Vec<Variant>,
    /// The series that every trial of it makes.
    pub series: Vec<SeriesKind>,
    /// The variants are rivals: shown on one figure and ranked against each other.
    #[serde(default)]
    pub rivals: bool,
}

/// One way to run a workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Variant {
    /// Name behind the slash in `socket/v6`; may be empty.
    pub name: String,
    /// One sentence.
    pub summary: String,
}

/// One kind of measurement that a workload makes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SeriesKind {
    /// Name of the operation: `bind`, `close`.
    pub name: String,
    /// Whether n rises or falls while it is measured.
    pub direction: Direction,
    /// The growth that the page predicts.
    pub expect: Expect,
    /// One sentence: what exactly is between the two clock readings.
    pub summary: String,
    /// Names of other series of the same trial of which this one is the sum, value by value; empty for
    /// a series that was measured itself. Readers make the first [`SUMS_MAX`](crate::SUMS_MAX) of a workload.
    #[serde(default)]
    pub sum_of: Vec<String>,
    /// Unit of the values: `s`, `1/s` (more is better), `B`, or empty for bare numbers whose unit nobody
    /// named.
    #[serde(default = "seconds")]
    pub unit: String,
    /// What was measured under this name the other way, while n fell, belongs to this series: both ways have
    /// one verdict.
    #[serde(default)]
    pub both_ways: bool,
}

fn seconds() -> String {
    "s".into()
}

/// Which way n went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// Objects pile up.
    Up,
    /// Objects are taken away again.
    Down,
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Direction::Up => "up",
            Direction::Down => "down",
        })
    }
}

/// The growth that a workload's page predicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Expect {
    /// O(1).
    Constant,
    /// O(log n).
    Logarithmic,
    /// O(n).
    Linear,
    /// Nothing is predicted: the numbers were measured elsewhere.
    Any,
}

/// What the runner asks of a trial; also the first line that a trial program reads on standard input.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Order {
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
    /// How far n is to go.
    pub n: u64,
    /// The processor to be pinned to; `None` leaves it to the scheduler.
    pub cpu: Option<u32>,
    /// Seed of this trial's own random choices.
    #[serde(deserialize_with = "seed")]
    pub seed: u64,
    /// The way up stops when this is used up; the way down is not cut.
    pub allowance_seconds: Option<f64>,
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
    /// The trial is killed when this is used up.
    pub timeout_seconds: f64,
    /// A folder of this run's own for files that a workload needs.
    pub scratch: String,
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

/// What was asked of one trial and how it ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// What was asked.
    #[serde(flatten)]
    pub order: Order,
    /// Seconds from the start of the run to the start of this trial, by the runner's clock.
    #[serde(default)]
    pub started_seconds: f64,
    /// How long the trial took, with its set-up and its process.
    pub elapsed_seconds: f64,
    /// The clock that timed it.
    pub clock: Option<Clock>,
    /// How it ended.
    pub outcome: Outcome,
    /// What was proved about the path: a number whose check failed is not a number.
    #[serde(default)]
    pub checks: Vec<Check>,
    /// Differences of the system's counters over the trial, such as `steal_seconds` or `context_switches`.
    #[serde(default)]
    pub activity: BTreeMap<String, f64>,
    /// Remarks that a reader of the numbers should see, each a whole sentence.
    #[serde(default)]
    pub warnings: Vec<String>,
}

/// The clock that timed a trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Clock {
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
    /// n went as far as was asked.
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

/// The measurements of one kind that one trial made. Value i was taken while `n_first + i × n_step`
/// objects were alive, or `sizes[i]` where they are listed, before the operation took effect.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Name of the system.
    pub system: String,
    /// Name of the workload.
    pub workload: String,
    /// Name of the variant; may be empty.
    pub variant: String,
    /// Number of the trial.
    pub trial: u32,
    /// Name of the operation, as in the workload's [`SeriesKind`].
    pub name: String,
    /// Whether n rises or falls.
    pub direction: Direction,
    /// n of the first value.
    pub n_first: u64,
    /// Difference of n between neighbours; negative on the way down. 0 where the sizes are listed.
    pub n_step: i64,
    /// n of each value where they are not evenly spaced: rising, on the way down falling, equal ones side by
    /// side. Empty where `n_first` and `n_step` say it all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sizes: Vec<u64>,
    /// Operations per value when one alone is too short for the clock; values are per operation already.
    pub batch: u32,
    /// Seconds per operation, or what [`SeriesKind::unit`] says.
    pub values: Vec<f64>,
}

impl Series {
    /// Objects alive when value `i` was taken. A file may claim anything; what is out of range stays at
    /// its end.
    #[must_use]
    pub fn n(&self, i: usize) -> u64 {
        if let Some(last) = self.sizes.last() {
            return *self.sizes.get(i).unwrap_or(last);
        }
        let steps = i64::try_from(i).unwrap_or(i64::MAX);
        self.n_first.saturating_add_signed(self.n_step.saturating_mul(steps))
    }

    /// All values, each with its n: (objects, cost of the operation).
    pub fn points(&self) -> impl Iterator<Item = (u64, f64)> {
        self.values.iter().enumerate().map(|(i, value)| (self.n(i), *value))
    }
}

/// Last line of a run that came to its own end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct End {
    /// `complete`, `budget`, `interrupted` or `failed`.
    pub status: String,
    /// How long the run took.
    pub elapsed_seconds: f64,
}

/// A seed has 64 bits, and `jq` before 1.7 rounds it to a double, perhaps beyond 64 bits. The seed is
/// then lost, but the rest of the file need not be.
fn seed<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Seed {
        Exact(u64),
        Rounded(f64),
    }
    Ok(match Seed::deserialize(deserializer)? {
        Seed::Exact(seed) => seed,
        Seed::Rounded(seed) => seed as u64,
    })
}
