//! The result of a fleet: a value for programs, of which `report` makes a document.

use std::collections::BTreeMap;

use record::{Direction, Unit};
use serde::Serialize;
use stats::{Answer, Class, Interval, RatioEvidence};

use crate::compare::Refused;

/// A run folded over the hosts of its fleet, or a run against another on the same hosts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fleet {
    /// Names of the two runs; none for one run.
    pub runs: Vec<String>,
    /// Hosts with a number.
    pub judged: usize,
    /// All hosts, those that were lost too.
    pub hosts: Vec<JudgedHost>,
    /// Ratios are to the first; one empty name where each host has a single one.
    pub configurations: Vec<String>,
    /// Smallest change that matters, a share.
    pub margin: f64,
    /// Error rate of each interval, and share of false ones among claims of a kind.
    pub alpha: f64,
    /// Facts that differ, the most important first.
    pub differences: Vec<FactChange>,
    /// Workloads that cannot be compared.
    #[serde(serialize_with = "names")]
    pub refused: Vec<Refused>,
    /// Over the n of all hosts; none for two runs.
    pub series: Vec<FleetSeries>,
    /// Series of which no host has a number.
    pub without_number: Vec<String>,
    /// Of each configuration to the first, or of the second run to the first.
    pub ratios: Vec<FleetRatio>,
}

fn names<S: serde::Serializer>(refused: &[Refused], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(refused.iter().map(|refused| &refused.workload))
}

/// A host.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct JudgedHost {
    /// Its name.
    pub name: String,
    /// How far it was measured.
    pub state: FleetHostState,
    /// Its cause, if known.
    pub cause: Option<LostCause>,
    /// The reason.
    pub reason: Option<String>,
    /// Series in which it lies apart from the others.
    pub outlying: Vec<String>,
    /// Series that only other hosts have.
    pub missing: Vec<String>,
    /// Facts in which the hosts differ, by their keys.
    pub facts: BTreeMap<String, String>,
}

/// How far a host was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FleetHostState {
    /// All of it.
    Judged,
    /// It lacks some series.
    Partly,
    /// It has no number.
    Lost,
}

/// Why a host lacks numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LostCause {
    /// A trial could not be set up, or a check failed.
    Failed,
    /// A process ended by itself or was killed.
    Crashed,
    /// A trial did not end in time.
    TimedOut,
    /// It cannot exist there.
    Unsupported,
    /// There was no trial.
    NotMeasured,
    /// It is in one of the two runs only.
    Absent,
    /// Workloads have another version, other settings or another background in the other run.
    Different,
    /// Its two systems run on different engines.
    OtherEngine,
    /// Its two systems have no series in common.
    NothingCommon,
}

/// The cost of one series over the hosts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FleetSeries {
    /// Name of the series.
    pub series: String,
    /// Its workload.
    pub workload: String,
    /// Its variant; may be empty.
    pub variant: String,
    /// Its name.
    pub name: String,
    /// Whether n rises or falls.
    pub direction: Direction,
    /// Configuration of the hosts; may be empty.
    pub configuration: String,
    /// Unit of its values.
    pub unit: Unit,
    /// The objects that n counts.
    pub grows: String,
    /// Whether it was measured only because another was.
    pub detail: bool,
    /// Smallest n that the hosts have in common.
    pub n_low: u64,
    /// Largest n that the hosts have in common.
    pub n_high: u64,
    /// Mean of the hosts.
    pub mean: Option<Interval>,
    /// Where a further host is expected.
    pub prediction: Option<Interval>,
    /// Standard deviation between hosts, a share, without the noise inside each.
    pub spread: Option<f64>,
    /// I²: share of the variance that is between hosts.
    pub between_share: Option<f64>,
    /// In rising order.
    pub hosts: Vec<HostValue>,
    /// Hosts without such a value.
    pub left_out: Vec<HostLeftOut>,
    /// Hosts that differ for certain, the furthest first.
    pub outliers: Vec<FleetOutlier>,
    /// Facts that all outlying hosts have, and no other host.
    pub shared: Vec<SharedFact>,
    /// Hosts by the class of their own verdict, the most frequent first.
    pub classes: Vec<ClassOnHosts>,
}

/// The value of one host.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HostValue {
    /// Name of the host.
    pub host: String,
    /// Its value.
    pub value: Interval,
}

/// A host that has no value in a series.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HostLeftOut {
    /// Name of the host.
    pub host: String,
    /// Why.
    pub reason: HostLeftOutReason,
    /// Smallest n that it has, where it has another range.
    pub n_low: Option<u64>,
    /// Largest n that it has, where it has another range.
    pub n_high: Option<u64>,
}

/// Why a host is left out of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum HostLeftOutReason {
    /// It was not measured.
    NoValue,
    /// It does not have the n that the others have in common.
    OtherRange,
    /// One trial does not show its own error.
    OneTrial,
    /// It lacks values in too large a part of that range.
    Gaps,
}

/// A host that differs from the others for certain.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FleetOutlier {
    /// Name of the host.
    pub host: String,
    /// Over the mean of the hosts that do not differ.
    pub ratio: Interval,
    /// Chance of such a distance if it were one of the others.
    pub chance: f64,
}

/// A fact that hosts have in common.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SharedFact {
    /// Its key.
    pub key: String,
    /// Its value.
    pub value: String,
}

/// A fact that differs between two runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FactChange {
    /// Its key.
    pub key: String,
    /// Its value in the first run.
    pub old: Option<String>,
    /// Its value in the second run.
    pub new: Option<String>,
    /// On so many hosts.
    pub hosts: usize,
}

/// Hosts whose verdicts have one class.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClassOnHosts {
    /// The class.
    pub class: Class,
    /// Names of the hosts.
    pub hosts: Vec<String>,
    /// Their largest upper bound of the change, a share.
    pub bound: Option<f64>,
}

/// The ratio of costs of one series over the hosts, each inside its host.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FleetRatio {
    /// Name of the series.
    pub series: String,
    /// Its variant; may be empty.
    pub variant: String,
    /// Its name.
    pub name: String,
    /// Whether n rises or falls.
    pub direction: Direction,
    /// Configuration whose cost is above the line; may be empty.
    pub configuration: String,
    /// Unit of its values; the ratio of a rate is one of times.
    pub unit: Unit,
    /// Mean of the hosts; its interval has the error rate of the answer.
    pub mean: Option<Interval>,
    /// Where a further host is expected.
    pub prediction: Option<Interval>,
    /// Standard deviation between hosts, a share, without the noise inside each.
    pub spread: Option<f64>,
    /// I²: share of the variance that is between hosts.
    pub between_share: Option<f64>,
    /// The answer.
    pub answer: Answer,
    /// How many hosts have each answer.
    pub counts: ClaimCounts,
    /// Ratio on each host, rising.
    pub hosts: Vec<HostRatio>,
    /// Hosts without a ratio.
    pub left_out: Vec<String>,
    /// Hosts that differ for certain, the furthest first.
    pub outliers: Vec<FleetOutlier>,
    /// Facts that all outlying hosts have, and no other host.
    pub shared: Vec<SharedFact>,
    /// The mean for a gate.
    #[serde(skip)]
    pub evidence: Option<RatioEvidence>,
}

/// How many hosts have each answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ClaimCounts {
    /// Less time, by more than the margin.
    pub faster: usize,
    /// More time, by more than the margin.
    pub slower: usize,
    /// Any difference is smaller than the margin.
    pub equivalent: usize,
    /// A certain difference, smaller than the margin.
    pub different_but_small: usize,
    /// None of these.
    pub unresolved: usize,
}

/// The ratio on one host.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HostRatio {
    /// Name of the host.
    pub host: String,
    /// Cost over that of the first.
    pub ratio: Interval,
    /// Its answer.
    pub answer: Answer,
}

impl FleetSeries {
    /// Its name, with its configuration.
    pub fn label(&self) -> String {
        named(&self.series, &self.configuration)
    }
}

impl FleetRatio {
    /// Its name, with its configuration.
    pub fn label(&self) -> String {
        named(&self.series, &self.configuration)
    }
}

/// The name of a series, with its configuration.
pub(super) fn named(series: &str, configuration: &str) -> String {
    if configuration.is_empty() { series.to_owned() } else { format!("{series} ({configuration})") }
}

impl ClaimCounts {
    /// The answers of some hosts, counted.
    pub(super) fn new(answers: impl Iterator<Item = Answer>) -> ClaimCounts {
        let mut counts = ClaimCounts::default();
        for answer in answers {
            *match answer {
                Answer::Faster => &mut counts.faster,
                Answer::Slower => &mut counts.slower,
                Answer::Equivalent => &mut counts.equivalent,
                Answer::DifferentButSmall => &mut counts.different_but_small,
                Answer::Unresolved => &mut counts.unresolved,
            } += 1;
        }
        counts
    }
}
