//! The findings of a run: every series judged once, every outcome counted.

use record::{End, EndStatus, HeldBackground, Recording, Run, Series, SeriesKey, System, Workload};
use stats::{Class, JudgeSettings};

use crate::compare::Comparison;
use crate::finding::{ALPHA, Finding, MARGIN, looks};
use crate::fleet::Fleet;
use crate::judgements::Judgements;
use crate::place::Place;
use crate::reduction::recorded_verdict;
use crate::settlement::{Settlement, settlement};
use crate::undecided::is_companion;

/// The findings of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Findings {
    /// The head of the record.
    pub run: Run,
    /// How the run ended; `None` when it was cut off.
    pub end: Option<End>,
    /// The systems, as in the record.
    pub systems: Vec<System>,
    /// The results of the loads beside the trials.
    pub backgrounds: Vec<SystemBackground>,
    /// The hosts that loaded the servers; empty where the trials did.
    pub clients: Vec<String>,
    /// The definitions, as in the record.
    pub workloads: Vec<Workload>,
    /// The smallest growth that matters, as a share.
    pub margin: f64,
    /// Error rate of each verdict.
    pub alpha: f64,
    /// Every series, in the order of systems, workloads, variants and the workload's own series.
    pub series: Vec<Finding>,
    /// The variants of every workload whose variants compete, compared.
    pub comparisons: Vec<Comparison>,
    /// The trials that would settle undecided verdicts; `None` where none are known to.
    pub settlement: Option<Settlement>,
    /// The same folded over the hosts of a fleet; `None` unless there are several, and between two looks.
    pub fleet: Option<Box<Fleet>>,
    /// Remarks about the whole run.
    pub notes: Vec<Note>,
}

/// The results of one load beside the trials of one system.
#[derive(Clone, Debug, PartialEq)]
pub struct SystemBackground {
    /// Name of the system.
    pub system: String,
    /// For each trial, of all workloads; at least one.
    pub trials: Vec<HeldBackground>,
}

/// A remark about a whole run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// A workload has only the trials that find the load for all rivals, so series at that load have no
    /// values.
    NothingOffered {
        /// Name of the workload.
        workload: String,
        /// The series without a value.
        series: Vec<String>,
    },
    /// The record has medians in place of measurements.
    Reduced {
        /// How many series.
        series: usize,
        /// So many of them are judged from the medians, because the record has no verdict with this margin.
        judged_again: usize,
    },
    /// The record has no end: the run was killed.
    CutOff,
    /// The time of the run was used up.
    OutOfTime,
    /// It ended otherwise than complete.
    EndedEarly {
        /// How.
        status: EndStatus,
    },
    /// A finding of a system's readiness check.
    Readiness {
        /// Name of the system.
        system: String,
        /// The finding, a sentence.
        warning: String,
    },
}

/// The results of each load, in the order of systems and of the loads of each.
fn backgrounds(recording: &Recording) -> Vec<SystemBackground> {
    let of_system = |name: &String| {
        let trials: Vec<&HeldBackground> = recording
            .trials
            .iter()
            .filter(|trial| trial.order.system == *name)
            .flat_map(|trial| &trial.held_background)
            .collect();
        let mut loads: Vec<SystemBackground> = Vec::new();
        for held in trials {
            match loads.iter_mut().find(|load| load.trials[0].background == held.background) {
                Some(load) => load.trials.push(held.clone()),
                None => loads.push(SystemBackground { system: name.clone(), trials: vec![held.clone()] }),
            }
        }
        loads
    };
    recording.systems.iter().flat_map(|system| of_system(&system.name)).collect()
}

/// The hosts of all trials, each once.
fn clients(recording: &Recording) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for client in recording.trials.iter().flat_map(|trial| &trial.order.clients) {
        if !names.contains(&client.name) {
            names.push(client.name.clone());
        }
    }
    names
}

impl Findings {
    /// Judges every series of a recording.
    pub fn from_recording(recording: &Recording) -> Findings {
        Findings::with_margin(recording, MARGIN)
    }

    /// Judges numbers that were measured elsewhere: each series from its first n on, because the cold n of
    /// our own way up do not apply to them.
    pub fn from_import(recording: &Recording, margin: f64) -> Findings {
        Judgements::new(margin, true).findings(recording)
    }

    /// Judges every series with another margin.
    pub fn with_margin(recording: &Recording, margin: f64) -> Findings {
        Judgements::new(margin, false).findings(recording)
    }

    /// The findings of these workloads of a recording.
    pub(crate) fn new(
        recording: &Recording,
        workloads: Vec<&Workload>,
        margin: f64,
        series: Vec<Finding>,
        comparisons: Vec<Comparison>,
    ) -> Findings {
        // More trials are proposed only for the series that the run was made for; a comparison answers the
        // rest.
        let is_asked = |finding: &&Finding| {
            let is_companion = is_companion(&recording.workloads, &finding.key.workload, &finding.key.name);
            !finding.detail && !is_companion && !answers(&comparisons, finding)
        };
        let settlement = settlement(recording, series.iter().filter(is_asked));
        Findings {
            run: recording.run.clone(),
            end: recording.end.clone(),
            systems: recording.systems.clone(),
            backgrounds: backgrounds(recording),
            clients: clients(recording),
            notes: notes(recording, &workloads).into_iter().chain(reduced(recording, margin)).collect(),
            workloads: workloads.into_iter().cloned().collect(),
            margin,
            alpha: ALPHA,
            comparisons,
            settlement,
            fleet: None,
            series,
        }
    }

    /// The same without the details: the series that the run was made for.
    pub fn without_details(&self) -> Findings {
        let mut findings = self.clone();
        findings.series.retain(|finding| !finding.detail);
        findings
    }

    /// The workload of that name.
    pub fn workload(&self, name: &str) -> Option<&Workload> {
        self.workloads.iter().find(|workload| workload.name == name)
    }

    /// The comparison of the variants that a series belongs to.
    pub fn comparison(&self, key: &SeriesKey) -> Option<&Comparison> {
        self.comparisons.iter().find(|comparison| comparison.is_of(&key.system, &key.workload))
    }

    /// Whether a comparison stands in place of the verdict of a series.
    pub fn is_ranked_elsewhere(&self, finding: &Finding) -> bool {
        answers(&self.comparisons, finding)
    }

    /// The place where a series changes, with the landmarks near it.
    pub fn place(&self, finding: &Finding) -> Option<Place> {
        Place::from_verdict(finding.verdict.as_ref()?, &finding.grows, self.system(finding)?)
    }

    /// Whether a verdict agrees with the documented expectation; `None` where the data leave it open. A cost
    /// that is constant until a resource of the system runs out does not contradict it, because no cost is
    /// constant beyond that.
    pub fn as_expected(&self, finding: &Finding) -> Option<bool> {
        let expected = finding.as_expected()?;
        let runs_out = || self.place(finding).is_some_and(|place| place.resource().is_some());
        (expected || !runs_out()).then_some(expected)
    }

    /// Series whose verdict has this word.
    pub fn of_class(&self, class: Class) -> usize {
        self.series.iter().filter(|s| s.verdict.as_ref().is_some_and(|v| v.class == class)).count()
    }

    /// The system that a series was measured on.
    pub fn system(&self, finding: &Finding) -> Option<&System> {
        self.systems.iter().find(|system| system.name == finding.key.system)
    }

    /// All measurements of the trials that count.
    pub fn measurements(&self) -> usize {
        self.series.iter().map(|s| s.measurements).sum()
    }
}

fn answers(comparisons: &[Comparison], finding: &Finding) -> bool {
    comparisons.iter().any(|compared| compared.answers(&finding.key))
}

/// Remarks about the whole run.
fn notes(recording: &Recording, workloads: &[&Workload]) -> Vec<Note> {
    let end = match &recording.end {
        None => Some(Note::CutOff),
        Some(End { status: EndStatus::Complete, .. }) => None,
        Some(End { status: EndStatus::Budget, .. }) => Some(Note::OutOfTime),
        Some(End { status, .. }) => Some(Note::EndedEarly { status: status.clone() }),
    };
    let warnings = recording
        .systems
        .iter()
        .flat_map(|system| system.warnings.iter().map(move |warning| (system, warning)));
    let readiness = warnings
        .map(|(system, warning)| Note::Readiness { system: system.name.clone(), warning: warning.clone() });
    workloads
        .iter()
        .filter_map(|workload| nothing_offered(recording, workload))
        .chain(end)
        .chain(readiness)
        .collect()
}

/// Whether measurements were reduced.
fn reduced(recording: &Recording, margin: f64) -> Option<Note> {
    let settings = JudgeSettings { margin, looks: looks(&recording.run), ..JudgeSettings::default() };
    let is_reduced = |trials: &[Series]| trials.iter().any(Series::is_reduced);
    let keys = || recording.series().filter(|(_, trials)| is_reduced(trials)).map(|(key, _)| key);
    let judged_again = keys().filter(|key| recorded_verdict(recording, key, &settings).is_none()).count();
    let series = keys().count();
    (series > 0).then_some(Note::Reduced { series, judged_again })
}

/// The series of a workload that only trials at an offered load have, where there are other trials alone.
fn nothing_offered(recording: &Recording, workload: &Workload) -> Option<Note> {
    let trials = || recording.trials.iter().filter(|trial| trial.order.workload == workload.name);
    if !workload.equal_offered_load || trials().any(|trial| !trial.order.offered.is_empty()) {
        return None;
    }
    let of_workload = recording.series().filter(|(key, _)| key.workload == workload.name);
    let measured = of_workload.filter(|(_, trials)| trials.iter().any(|series| !series.values.is_empty()));
    let measured: Vec<&str> = measured.map(|(key, _)| key.name.as_str()).collect();
    let names = workload.series.iter().map(|kind| kind.name.clone());
    let series: Vec<String> = names.filter(|name| !measured.contains(&name.as_str())).collect();
    (!measured.is_empty() && !series.is_empty())
        .then(|| Note::NothingOffered { workload: workload.name.clone(), series })
}
