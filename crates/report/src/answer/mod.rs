//! The answer of `run`, `report` and `judge`: every decision about a recording, as a value. `--format json`
//! is this answer and nothing else; docs/answers.md is written from the comments of its fields.
//!
//! Numbers stand in the unit of their series. serde_json writes a number that is not finite as `null`.

mod series;

use std::collections::BTreeMap;

use import::FileRead;
use judge::gate::GateAnswer;
use judge::hints::{Landmark, LandmarkRemedy};
use judge::{Cause, Findings, Fleet, Growth, GrowthEnd, Highlight, Stop};
use record::{EndStatus, HeldBackground, System, Tool};
use serde::Serialize;
use stats::Interval;

pub use self::series::SeriesAnswer;
use crate::compare::ComparisonAnswer;
use crate::words::GAP;
use crate::{overview, sentences};

/// Version of the answers; it rises when a field changes its meaning or goes.
pub(crate) const SCHEMA: u32 = 3;

/// The answer of `run`, `report` and `judge`.
#[derive(Clone, Debug, Serialize)]
pub struct RunAnswer<'a> {
    /// Version of this answer.
    pub schema: u32,
    /// Program that measured, or whose files were judged.
    pub tool: &'a Tool,
    /// RFC 3339.
    ///
    /// The start of the run, `None` for files of other programs.
    pub started_at: Option<&'a str>,
    /// The command line of the run.
    pub command: &'a [String],
    /// Seed of every random choice.
    pub seed: u64,
    /// How the run ended, unless it was killed.
    ///
    /// `None` for files of other programs too.
    pub ended: Option<&'a EndStatus>,
    /// Duration.
    pub elapsed_seconds: Option<f64>,
    /// Smallest change that matters, a share.
    pub margin: f64,
    /// Error rate of each verdict.
    pub alpha: f64,
    /// Numbers of trials at which the run might have ended.
    pub looks: &'a [u32],
    /// The systems.
    pub systems: Vec<SystemAnswer<'a>>,
    /// The series; none for a file that has only a header.
    pub series: Vec<SeriesAnswer<'a>>,
    /// Of each workload and system whose variants compete.
    pub comparisons: Vec<ComparisonAnswer<'a>>,
    /// Growths, the most important to a user first.
    pub findings: Vec<HighlightAnswer<'a>>,
    /// The same over the hosts of a fleet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fleet: Option<&'a Fleet>,
    /// Decision on `--fail-on`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gate: Option<&'a GateAnswer>,
    /// Remarks.
    pub notes: Vec<String>,
    /// Files that `judge` read.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub files: &'a [FileRead],
}

/// A system that was measured.
#[derive(Clone, Debug, Serialize)]
pub struct SystemAnswer<'a> {
    /// Its name.
    pub name: &'a str,
    /// Facts by their keys, as in the run file.
    pub environment: &'a BTreeMap<String, String>,
    /// Disturbances of measurements there, each a sentence.
    pub warnings: &'a [String],
    /// Loads beside its trials, trial by trial.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub background: Vec<&'a HeldBackground>,
}

/// A growth that costs a user most, with the series that grow alike.
#[derive(Clone, Debug, Serialize)]
pub struct HighlightAnswer<'a> {
    /// Name of the series.
    pub series: &'a str,
    /// Its system.
    pub system: &'a str,
    /// Series that grow alike.
    pub likewise: Vec<&'a str>,
    /// Cost at small n.
    pub from: Option<GrowthEnd>,
    /// Cost where it is highest.
    pub to: Option<GrowthEnd>,
    /// `to` divided by `from`.
    pub growth: Option<Interval>,
    /// The n from which it grows.
    ///
    /// `None` where it grows everywhere alike.
    pub place: Option<Interval>,
    /// Limit or setting there, in words.
    pub near: Option<String>,
    /// Its remedy.
    pub remedy: Option<LandmarkRemedy>,
    /// Variants that do the same and stay flat.
    pub flat_variants: Vec<&'a str>,
    /// Whether the documented expectation holds.
    pub as_expected: Option<bool>,
    /// All of it in a sentence.
    pub words: String,
}

/// Trials that stopped early in the same way.
#[derive(Clone, Debug, Serialize)]
pub struct TrialStopAnswer<'a> {
    /// The cause.
    pub cause: StopCause,
    /// Smallest n.
    ///
    /// At which it happened; `None` where n has no meaning.
    pub n_low: Option<u64>,
    /// Largest n.
    pub n_high: Option<u64>,
    /// How many trials.
    pub trials: usize,
    /// Of how many.
    pub of: usize,
    /// Refused operation.
    pub operation: Option<&'a str>,
    /// Error, signal or other cause in words.
    pub reason: Option<&'a str>,
    /// How to go further.
    pub advice: Option<&'a str>,
    /// All of it in a sentence.
    pub words: String,
}

/// Why trials stopped early.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum StopCause {
    /// The system refused an operation.
    Limit,
    /// The time of the trial was used up.
    Allowance,
    /// It cannot exist on this system.
    Unsupported,
    /// A check failed.
    Failed,
    /// The process ended by itself or was killed.
    Crashed,
    /// The process did not end in time.
    TimedOut,
    /// There was no trial.
    NotMeasured,
    /// There was no trial at a load that all rivals were offered.
    NotOffered,
}

impl<'a> RunAnswer<'a> {
    /// The answer about a run.
    pub fn new(findings: &'a Findings) -> Self {
        let system = |system: &'a System| SystemAnswer {
            name: &system.name,
            environment: &system.environment,
            warnings: &system.warnings,
            background: {
                let own = findings.backgrounds.iter().filter(|load| load.system == system.name);
                own.flat_map(|load| &load.trials).collect()
            },
        };
        RunAnswer {
            schema: SCHEMA,
            tool: &findings.run.tool,
            // Nobody knows when numbers from elsewhere were measured, nor how long that took.
            started_at: Some(&*findings.run.started_at).filter(|time| !time.is_empty()),
            command: &findings.run.command,
            seed: findings.run.seed,
            ended: findings.end.as_ref().map(|end| &end.status),
            elapsed_seconds: findings.end.as_ref().map(|end| end.elapsed_seconds),
            margin: findings.margin,
            alpha: findings.alpha,
            looks: &findings.run.looks,
            systems: findings.systems.iter().map(system).collect(),
            series: findings.series.iter().map(|finding| SeriesAnswer::new(findings, finding)).collect(),
            comparisons: findings.comparisons.iter().map(ComparisonAnswer::in_run).collect(),
            findings: judge::highlights(findings)
                .iter()
                .map(|highlight| HighlightAnswer::new(findings, highlight))
                .collect(),
            fleet: findings.fleet.as_deref(),
            gate: None,
            notes: sentences::notes(findings),
            files: &[],
        }
    }

    /// The answer about files of other programs, with an account of each file.
    pub fn of_files(findings: &'a Findings, files: &'a [FileRead]) -> Self {
        RunAnswer { files, ..RunAnswer::new(findings) }
    }
}

impl<'a> HighlightAnswer<'a> {
    fn new(findings: &Findings, highlight: &Highlight<'a>) -> Self {
        let first = highlight.first();
        let growth = first.verdict.as_ref().and_then(Growth::from_verdict);
        let near = highlight.place.as_ref().and_then(|place| place.near.first());
        HighlightAnswer {
            series: &first.label,
            system: &first.key.system,
            likewise: highlight.series.iter().skip(1).map(|finding| finding.label.as_str()).collect(),
            from: growth.map(|growth| growth.from),
            to: growth.map(|growth| growth.to),
            growth: growth.map(|growth| growth.ratio),
            place: highlight.place.as_ref().map(|place| place.n),
            near: near.map(|near| plain(&sentences::landmark(near))),
            remedy: near.and_then(Landmark::remedy),
            flat_variants: highlight.flat_variants.clone(),
            as_expected: findings.as_expected(first),
            words: plain(&overview::sentence(findings, highlight)),
        }
    }
}

impl<'a> TrialStopAnswer<'a> {
    pub(crate) fn new(stop: &'a Stop) -> Self {
        let (cause, reason) = match &stop.cause {
            Cause::Limit { error, .. } => (StopCause::Limit, Some(error.as_str())),
            Cause::Allowance => (StopCause::Allowance, None),
            Cause::Unsupported { reason } => (StopCause::Unsupported, Some(reason.as_str())),
            Cause::Failed { reason } => (StopCause::Failed, Some(reason.as_str())),
            Cause::Crashed { reason } => (StopCause::Crashed, Some(reason.as_str())),
            Cause::TimedOut => (StopCause::TimedOut, None),
            Cause::NotOffered => (StopCause::NotOffered, None),
            Cause::NotMeasured { .. } => (StopCause::NotMeasured, None),
        };
        TrialStopAnswer {
            cause,
            n_low: stop.n.map(|n| n.0),
            n_high: stop.n.map(|n| n.1),
            trials: stop.trials,
            of: stop.of,
            operation: stop.operation(),
            reason,
            advice: sentences::advice(stop),
            words: plain(&sentences::stop(stop)),
        }
    }
}

/// Words for a program: ordinary spaces, which can be searched for.
pub(crate) fn plain(words: &str) -> String {
    words.replace(GAP, " ")
}
