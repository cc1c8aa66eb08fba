//! The functions that take the extra time of a cost that grows: those in which a thread is found where an
//! operation is expensive, less those where it is cheap.
//!
//! - `series` explains the growth of one series, with the processor time of `flow`;
//! - `document` is the answer in words and tables, `flame` its flame graph;
//! - [`folded`] and [`pprof`] write the stacks for other tools.

mod document;
mod flame;
mod flow;
pub mod folded;
pub mod pprof;
mod series;

use std::collections::BTreeMap;

use judge::{Findings, GrowthWindows, can_be_sampled};
use record::{Outcome, Profile, Recording, SeriesKey};
use serde::Serialize;

pub use flow::CallTree;
pub use series::{CounterGrowth, FunctionShare, GrowthPlace, SeriesBlame, SideCost, WaitingWeight};

/// The answer of `osdyno blame`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BlameAnswer {
    /// Version of this answer.
    pub schema: u32,
    /// In the order of the findings.
    pub series: Vec<SeriesBlame>,
    /// Labels of series that grow and were not sampled.
    #[serde(rename = "not_sampled")]
    pub unexplained: Vec<String>,
    /// The reasons.
    pub reasons: Vec<String>,
    /// Series that were judged and can be sampled: those of curves and the phases of jobs.
    pub judged: usize,
    /// Smallest change that matters, a share.
    pub margin: f64,
}

impl BlameAnswer {
    /// Explains the growths that a run found, by its samples.
    pub fn new(recording: &Recording, findings: &Findings) -> BlameAnswer {
        let mut profiles: BTreeMap<SeriesKey, Vec<&Profile>> = BTreeMap::new();
        for profile in &recording.profiles {
            profiles.entry(key(profile)).or_default().push(profile);
        }
        let mut blame = BlameAnswer {
            schema: 1,
            series: Vec::new(),
            unexplained: Vec::new(),
            reasons: Vec::new(),
            judged: findings.series.iter().filter(|finding| can_be_sampled(recording, &finding.key)).count(),
            margin: findings.margin,
        };
        for finding in &findings.series {
            let growing = GrowthWindows::from_finding(finding);
            match profiles.get(&finding.key) {
                Some(profiles) => {
                    let step = growing.and_then(|windows| windows.step);
                    blame.series.push(SeriesBlame::of(finding, step, profiles));
                }
                None if growing.is_some() && can_be_sampled(recording, &finding.key) => {
                    blame.unexplained.push(finding.label.clone());
                }
                None => {}
            }
        }
        for trial in &recording.sampled_trials {
            let reason = match &trial.outcome {
                Outcome::Unsupported { reason } | Outcome::Failed { reason } => reason.clone(),
                Outcome::Crashed { reason, .. } => format!("a trial crashed: {reason}"),
                Outcome::TimedOut { .. } => "a trial did not end in time".to_owned(),
                Outcome::Complete | Outcome::Limit { .. } | Outcome::Allowance { .. } => continue,
            };
            if !blame.reasons.contains(&reason) {
                blame.reasons.push(reason);
            }
        }
        blame
    }

    /// Whether all that grows was sampled.
    pub fn is_complete(&self) -> bool {
        self.unexplained.is_empty() && self.reasons.is_empty()
    }
}

fn key(profile: &Profile) -> SeriesKey {
    SeriesKey {
        system: profile.of.system.clone(),
        workload: profile.of.workload.clone(),
        variant: profile.of.variant.clone(),
        name: profile.name.clone(),
        direction: profile.direction,
    }
}
