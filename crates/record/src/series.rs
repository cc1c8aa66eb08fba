//! The measurements of a trial: its series and their unit, and of a load the load generator's own
//! observations, lower bounds and distributions.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::{Direction, TrialKey};

/// The measurements of one kind that one trial made. Value i was taken while `n_first + i × n_step`
/// objects were alive, or `sizes[i]` where they are listed, before the operation took effect.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Its system.
    pub system: String,
    /// Its workload.
    pub workload: String,
    /// Its variant; may be empty.
    pub variant: String,
    /// Number of the trial.
    pub trial: u32,
    /// Name of the operation, as in the workload's `SeriesKind`.
    pub name: String,
    /// Whether n rises or falls.
    pub direction: Direction,
    /// n of the first value.
    pub n_first: u64,
    /// Difference of n between neighbours; negative on the way down. 0 where the sizes are listed.
    pub n_step: i64,
    /// n of each value where they are not evenly spaced: rising, on the way down falling, equal ones side by
    /// side. Empty where `n_first` and `n_step` suffice.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sizes: Vec<u64>,
    /// Operations per value when one alone is too short for the clock; values are per operation already.
    pub batch: u32,
    /// Seconds per operation, or the unit in `SeriesKind::unit`.
    pub values: Vec<f64>,
    /// Where the measurements were reduced, how many of them each value stands for, as their median: they
    /// began at `n_first` and followed each other by `n_step`. Empty in a series of measurements.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counts: Vec<u32>,
}

/// The most measurements that a reduced series, and all trials of one, may stand for. A few bytes could
/// claim any number of them, and a reader needs room for each.
pub(crate) const REDUCED_OF_TRIAL_MAX: usize = 1 << 24;
pub(crate) const REDUCED_OF_SERIES_MAX: usize = 1 << 27;

impl Series {
    /// Objects alive when value `i` was taken. A file may claim anything; values out of range are clamped.
    #[must_use]
    pub fn n(&self, i: usize) -> u64 {
        if let Some(last) = self.sizes.last() {
            return *self.sizes.get(i).unwrap_or(last);
        }
        let steps = i64::try_from(i).unwrap_or(i64::MAX);
        self.n_first.saturating_add_signed(self.n_step.saturating_mul(steps))
    }

    /// Whether its values are medians of several measurements.
    #[must_use]
    pub fn is_reduced(&self) -> bool {
        !self.counts.is_empty()
    }

    /// How many measurements were made.
    #[must_use]
    pub fn measurements(&self) -> usize {
        if self.is_reduced() { total(&self.counts) } else { self.values.len() }
    }

    /// A value for each measurement: of those that were reduced, the median that stands for it.
    #[must_use]
    pub fn every_value(&self) -> Cow<'_, [f64]> {
        if !self.is_reduced() {
            return Cow::Borrowed(&self.values);
        }
        let each = self.values.iter().zip(&self.counts);
        Cow::Owned(each.flat_map(|(value, count)| std::iter::repeat_n(*value, *count as usize)).collect())
    }

    /// All values, each with its n: (objects, cost of the operation).
    pub fn points(&self) -> impl Iterator<Item = (u64, f64)> {
        self.values.iter().enumerate().map(|(i, value)| (self.n(i), *value))
    }
}

/// The sum of such counts.
pub(crate) fn total(counts: &[u32]) -> usize {
    counts.iter().fold(0, |sum: usize, count| sum.saturating_add(*count as usize))
}

/// Names one series of a run across its trials.
///
/// It shows as `bind/v6 close`, and with `{:#}` in full as `local bind/v6 close down`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SeriesKey {
    /// Its system.
    pub system: String,
    /// Its workload.
    pub workload: String,
    /// Its variant; may be empty.
    pub variant: String,
    /// Its name.
    pub name: String,
    /// Whether n rises or falls.
    pub direction: Direction,
}

impl SeriesKey {
    /// The key under which `series` is found.
    #[must_use]
    pub fn from_series(series: &Series) -> Self {
        SeriesKey {
            system: series.system.clone(),
            workload: series.workload.clone(),
            variant: series.variant.clone(),
            name: series.name.clone(),
            direction: series.direction,
        }
    }
}

impl fmt::Display for SeriesKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if f.alternate() {
            write!(f, "{} ", self.system)?;
        }
        f.write_str(&self.workload)?;
        if !self.variant.is_empty() {
            write!(f, "/{}", self.variant)?;
        }
        write!(f, " {}", self.name)?;
        if f.alternate() {
            write!(f, " {}", self.direction)?;
        }
        Ok(())
    }
}

/// The verdict that the measurements of one series gave before they were reduced.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JudgedSeries {
    /// The series.
    #[serde(flatten)]
    pub of: SeriesKey,
    /// Version of the program that judged it.
    pub by: String,
    /// The smallest growth that mattered, as a share.
    pub margin: f64,
    /// How often the runner had looked at the data.
    pub looks: u32,
    /// All figures of the verdict. They are those of that version: this crate knows no statistics.
    pub verdict: Value,
}

/// The unit of a series' values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Unit {
    /// A duration in seconds.
    #[default]
    Seconds,
    /// A rate per second: more is better.
    PerSecond,
    /// A size in bytes.
    Bytes,
    /// A throughput in bytes per second: more is better.
    BytesPerSecond,
    /// Bare numbers: their unit is unnamed, or unknown to this version.
    None,
}

impl Unit {
    /// Its name in a record; empty for bare numbers.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Unit::Seconds => "s",
            Unit::PerSecond => "1/s",
            Unit::Bytes => "B",
            Unit::BytesPerSecond => "B/s",
            Unit::None => "",
        }
    }

    /// The unit of that name; [`Unit::None`] for a name that this version does not know.
    #[must_use]
    pub fn named(name: &str) -> Unit {
        let known = [Unit::Seconds, Unit::PerSecond, Unit::Bytes, Unit::BytesPerSecond];
        known.into_iter().find(|unit| unit.name() == name).unwrap_or(Unit::None)
    }

    /// Whether more is better.
    #[must_use]
    pub const fn more_is_better(self) -> bool {
        matches!(self, Unit::PerSecond | Unit::BytesPerSecond)
    }
}

impl Serialize for Unit {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Unit {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Unit, D::Error> {
        String::deserialize(from).map(|name| Unit::named(&name))
    }
}

/// The load generator's own observations while it offered one load. Readers judge whether it was saturated.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
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
