//! The record of a load beside its series: the load generator's own observations, lower bounds, and
//! distributions.

use serde::{Deserialize, Serialize};

use crate::{TrialKey, Unit};

/// The load generator's own observations while it offered one load. Readers judge whether it was saturated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GeneratorLevel {
    /// The trial.
    #[serde(flatten)]
    pub of: TrialKey,
    /// The level; 0 where the load came before the first one.
    pub n: u64,
    /// The purpose of the load.
    #[serde(default)]
    pub purpose: Purpose,
    /// The tester opposite the system, which made these observations.
    #[serde(default, skip_serializing_if = "Tester::is_generator")]
    pub tester: Tester,
    /// The series that it measured; empty for all that are measured on the client's side.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub series: Vec<String>,
    /// Generators, each with a thread of its own.
    pub generators: u64,
    /// Connections that were requested.
    pub connections: u64,
    /// How long was measured.
    pub elapsed_seconds: f64,
    /// Requests that were meant to start, per second; `None` in a closed loop.
    pub intended_per_second: Option<f64>,
    /// Requests that were sent, per second.
    pub started_per_second: f64,
    /// Right responses, per second.
    pub completed_per_second: f64,
    /// Requests without a response: in an open loop all that were meant to start, in a closed one those in
    /// flight for longer than any response took.
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
    /// 99 % of the requests were sent at most this late; `None` in a closed loop.
    pub lateness_seconds_p99: Option<f64>,
    /// The failures, the most frequent first.
    #[serde(default)]
    pub failures: Vec<FailureCount>,
    /// Each of several generators about itself; empty where there is one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<GeneratorPart>,
}

/// The observations of one of several generators while it offered its part of a load; see [`GeneratorLevel`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GeneratorPart {
    /// Its host, or its name on this machine.
    pub name: String,
    /// Its connections.
    pub connections: u64,
    /// Requests that were meant to start, per second; `None` in a closed loop.
    pub intended_per_second: Option<f64>,
    /// Requests that were sent, per second.
    pub started_per_second: f64,
    /// Requests without a response.
    pub unanswered: u64,
    /// Failed requests without a response within the timeout.
    pub timed_out: u64,
    /// Its processor time, as a share of the time that passed.
    pub cpu_share: f64,
    /// How long it could have run and waited for a processor, as such a share.
    pub run_delay_share: Option<f64>,
    /// Median latency.
    pub latency_seconds_p50: Option<f64>,
    /// 99 % of its requests were sent at most this late.
    pub lateness_seconds_p99: Option<f64>,
}

/// The purpose of a load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Purpose {
    /// To measure at a level.
    #[default]
    Level,
    /// To find the capacity of the server; levels are shares of it.
    Capacity,
}

/// The tester opposite the system under test (RFC 2544, section 6), which must not be its limit.
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
    /// Whether it is the default, which is not written.
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
    /// The stage of the requests: `connect`, `send`, `first byte`, `body`, `close`, `idle`.
    pub stage: String,
    /// `ECONNRESET`, `timeout`, `status 503`, …
    pub cause: String,
    /// How many.
    pub count: u64,
}

/// Values are only lower bounds of the server's rate, or of its times.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limitation {
    /// The trial.
    #[serde(flatten)]
    pub of: TrialKey,
    /// The level; `None` for all of the trial's.
    pub n: Option<u64>,
    /// The cause of the bound.
    pub by: LimitedBy,
    /// The series that it concerns; empty for all that are measured on the client's side.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub series: Vec<String>,
    /// The reason for people, as the end of a sentence; may be empty. Nothing may depend on its words.
    #[serde(default)]
    pub why: String,
}

/// The cause of a bound.
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
    /// The quantity: `latency`.
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
