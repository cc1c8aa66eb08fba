//! Where the extra time goes of a cost that grows: the functions in which a thread is found where an
//! operation is expensive, less those where it is cheap.

mod flow;
mod function;
mod series;
mod tree;

use std::collections::BTreeMap;

use judge::{Findings, GrowthWindows};
use record::{Outcome, Profile, Recording, SeriesKey};

pub use function::FunctionShare;
pub use series::{CounterGrowth, SeriesBlame, SideCost};
pub use tree::CallTree;

/// What the samples of a run explain.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Blame {
    /// Each series that was sampled, in the order of the findings.
    pub series: Vec<SeriesBlame>,
    /// Labels of series that grow and were not sampled.
    pub unexplained: Vec<String>,
    /// Why trials were not sampled, each reason once.
    pub reasons: Vec<String>,
    /// Series that were judged.
    pub judged: usize,
    /// Growth below this share is not looked at.
    pub margin: f64,
}

impl Blame {
    /// What the samples of a run explain of what it found.
    pub fn of(recording: &Recording, findings: &Findings) -> Blame {
        let mut profiles: BTreeMap<SeriesKey, Vec<&Profile>> = BTreeMap::new();
        for profile in &recording.profiles {
            profiles.entry(key(profile)).or_default().push(profile);
        }
        let mut blame = Blame { margin: findings.margin, judged: findings.series.len(), ..Blame::default() };
        for finding in &findings.series {
            let growing = GrowthWindows::of(finding);
            match profiles.get(&finding.key) {
                Some(profiles) => {
                    let step = growing.and_then(|windows| windows.step);
                    blame.series.push(SeriesBlame::of(finding, step, profiles));
                }
                None if growing.is_some() && is_curve(recording, &finding.key) => {
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
}

/// Whether it is one that can be sampled: not a sum of others.
fn is_curve(recording: &Recording, key: &SeriesKey) -> bool {
    let is_curve = recording.workload(&key.workload).is_some_and(|one| one.shape == record::Shape::Curve);
    is_curve && recording.kind(key).is_some_and(|kind| kind.sum_of.is_empty())
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
