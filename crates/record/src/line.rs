//! The lines of the stream. Durations are seconds, sizes are bytes: base units only.

use serde::{Deserialize, Serialize};

use crate::json::seed;
use crate::{
    GeneratorLevel, Histogram, JudgedSeries, Limitation, NoiseFloor, Profile, Series, System, Trial,
    TrialKey, Workload,
};

/// Version of the stream. It rises when a line changes its meaning or loses a field; readers accept every
/// older version, and refuse a newer one.
pub const SCHEMA: u32 = 2;

/// One line of the stream.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum Line {
    /// First line of every run: the program that measured, the time, and the settings.
    Run(Run),
    /// One system under test and its environment.
    System(System),
    /// The definition of one workload, as it stood when it was measured.
    Workload(Workload),
    /// The parameters of one trial and how it ended.
    Trial(Trial),
    /// The measurements of one kind that one trial made.
    Series(Series),
    /// The load generator's own observations at one level.
    Generator(GeneratorLevel),
    /// Values that are only lower bounds.
    Limited(Limitation),
    /// The distribution of one quantity at one level.
    Histogram(Histogram),
    /// The profile of one series of one trial.
    Profile(Profile),
    /// The verdict of a series whose measurements were reduced.
    Judged(JudgedSeries),
    /// The noise floor that this run found by measuring a system against itself.
    NoiseFloor(NoiseFloor),
    /// Last line of a run that ended by itself.
    End(End),
}

impl Line {
    /// The trial that the line is from; `None` where it is about the whole run.
    #[must_use]
    pub fn trial(&self) -> Option<TrialKey> {
        match self {
            Line::Trial(trial) => Some(TrialKey::from_parameters(&trial.order)),
            Line::Series(series) => Some(TrialKey {
                system: series.system.clone(),
                workload: series.workload.clone(),
                variant: series.variant.clone(),
                trial: series.trial,
            }),
            Line::Generator(GeneratorLevel { of, .. })
            | Line::Limited(Limitation { of, .. })
            | Line::Histogram(Histogram { of, .. })
            | Line::Profile(Profile { of, .. }) => Some(of.clone()),
            Line::Run(_)
            | Line::System(_)
            | Line::Workload(_)
            | Line::Judged(_)
            | Line::NoiseFloor(_)
            | Line::End(_) => None,
        }
    }

    /// Name of the workload that the line is about; `None` where it is about the whole run.
    #[must_use]
    pub fn workload(&self) -> Option<&str> {
        match self {
            Line::Workload(workload) => Some(&workload.name),
            Line::Trial(trial) => Some(&trial.order.workload),
            Line::Series(series) => Some(&series.workload),
            Line::Judged(judged) => Some(&judged.of.workload),
            Line::Generator(GeneratorLevel { of, .. })
            | Line::Limited(Limitation { of, .. })
            | Line::Histogram(Histogram { of, .. })
            | Line::Profile(Profile { of, .. }) => Some(&of.workload),
            Line::Run(_) | Line::System(_) | Line::NoiseFloor(_) | Line::End(_) => None,
        }
    }

    /// Sets the trial of a line that a load made without knowing its trial.
    pub fn belong_to(&mut self, trial: &TrialKey) {
        match self {
            Line::Generator(GeneratorLevel { of, .. })
            | Line::Limited(Limitation { of, .. })
            | Line::Histogram(Histogram { of, .. }) => of.clone_from(trial),
            _ => {}
        }
    }
}

/// The head of everything that one invocation records.
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
    /// Numbers of trials at which the planner decided whether to go on; more looks cost confidence
    /// (METHODOLOGY.md, "Interim analyses"). Empty when the number of trials was fixed beforehand.
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

/// Last line of a run that ended by itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct End {
    /// How it ended.
    pub status: EndStatus,
    /// How long the run took.
    pub elapsed_seconds: f64,
}

/// How a run ended by itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EndStatus {
    /// All that was planned is measured.
    Complete,
    /// The time of the run was used up.
    Budget,
    /// The user stopped it.
    Interrupted,
    /// The record could not be written.
    Failed,
    /// The word of another version.
    #[serde(untagged)]
    Other(String),
}

impl EndStatus {
    /// The word in the record.
    pub fn as_str(&self) -> &str {
        match self {
            EndStatus::Complete => "complete",
            EndStatus::Budget => "budget",
            EndStatus::Interrupted => "interrupted",
            EndStatus::Failed => "failed",
            EndStatus::Other(word) => word,
        }
    }
}
