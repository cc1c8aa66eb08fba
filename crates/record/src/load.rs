//! What a load recorded beside its series: what the load generator saw of itself, what is only a lower
//! bound, and whole distributions.

use serde::{Deserialize, Serialize};

use crate::{TrialKey, Unit};

/// What the load generator saw of itself while it offered one load. Whether it was saturated is not in here:
/// readers judge that.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GeneratorLevel {
    /// The trial.
    #[serde(flatten)]
    pub of: TrialKey,
    /// The level; 0 where the load came before the first one.
    pub n: u64,
    /// What the load was for.
    #[serde(default)]
    pub purpose: Purpose,
    /// What stands opposite the system, and saw this of itself.
    #[serde(default, skip_serializing_if = "Tester::is_generator")]
    pub tester: Tester,
    /// The series that it measured; empty for all that are measured on the client's side.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub series: Vec<String>,
    /// Generators, each with a thread of its own.
    pub generators: u64,
    /// Connections that were asked for.
    pub connections: u64,
    /// How long was measured.
    pub elapsed_seconds: f64,
    /// Requests that were meant to start, per second; `None` in a closed loop.
    pub intended_per_second: Option<f64>,
    /// Requests that were sent, per second.
    pub started_per_second: f64,
    /// Right responses, per second.
    pub completed_per_second: f64,
    /// Requests without a response: in an open loop all that were meant to start, in a closed one those under
    /// way for longer than any response took.
    pub unanswered: u64,
    /// Failed requests without a response within the timeout.
    #[serde(default)]
    pub timed_out: u64,
    /// Processor time of the busiest generator, as a share of the time that passed.
    pub cpu_share: f64,
    /// Processor time of the client, as a share of the time that passed, where the client is measured and its
    /// sink is the tester.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_cpu_share: Option<f64>,
    /// How long a generator, or a client that is measured, could have run and waited for a processor, as a
    /// share of the time that passed; `None` where the system does not count that.
    pub run_delay_share: Option<f64>,
    /// Median latency; `None` where nothing was answered.
    pub latency_seconds_p50: Option<f64>,
    /// How late the generator sent 99 % of the requests at most; `None` in a closed loop.
    pub lateness_seconds_p99: Option<f64>,
    /// What went wrong, the most frequent first.
    #[serde(default)]
    pub failures: Vec<FailureCount>,
}

/// What a load was for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Purpose {
    /// To measure at a level.
    #[default]
    Level,
    /// To find the capacity of the server, which the levels are shares of.
    Capacity,
}

/// What stands opposite the system under test (RFC 2544, section 6), and must not be its limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tester {
    /// A load generator: it loads a server.
    #[default]
    Generator,
    /// A sink: it takes what a client sends, and the client is measured.
    Sink,
}

impl Tester {
    /// Whether it is the one that need not be named.
    fn is_generator(&self) -> bool {
        *self == Tester::Generator
    }

    /// Its name in the stream.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Tester::Generator => "generator",
            Tester::Sink => "sink",
        }
    }
}

/// Failed requests of one kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailureCount {
    /// How far the requests were: `connect`, `send`, `first byte`, `body`, `close`, `idle`.
    pub stage: String,
    /// `ECONNRESET`, `timeout`, `status 503`, …
    pub cause: String,
    /// How many.
    pub count: u64,
}

/// What was measured is only a lower bound of what the server can do, or of how long it takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limitation {
    /// The trial.
    #[serde(flatten)]
    pub of: TrialKey,
    /// The level; `None` for all of the trial's.
    pub n: Option<u64>,
    /// What set the bound.
    pub by: LimitedBy,
    /// The series that it concerns; empty for all that are measured on the client's side.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub series: Vec<String>,
    /// The reason for people, as the end of a sentence; may be empty. Nothing may depend on its words.
    #[serde(default)]
    pub why: String,
}

/// What set a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LimitedBy {
    /// The load generator was saturated.
    Generator,
    /// The sink of a client was saturated.
    Sink,
    /// Others had the processor that the load generator needed.
    Others,
    /// The time was up before all had ended.
    Time,
}

impl LimitedBy {
    /// Its name in the stream.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            LimitedBy::Generator => "generator",
            LimitedBy::Sink => "sink",
            LimitedBy::Others => "others",
            LimitedBy::Time => "time",
        }
    }
}

/// The distribution of one quantity at one level.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Histogram {
    /// The trial.
    #[serde(flatten)]
    pub of: TrialKey,
    /// The level.
    pub n: u64,
    /// What was counted: `latency`.
    pub name: String,
    /// Unit of the values.
    pub unit: Unit,
    /// One step of the histogram's integers in that unit: 1e-9 for nanoseconds in seconds.
    pub scale: f64,
    /// How many values it holds.
    pub count: u64,
    /// HdrHistogram V2, compressed, in base64.
    pub hdr: String,
}
