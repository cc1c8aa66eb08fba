//! The findings of a run: every series judged once, every outcome counted. `Judgements` keeps them while a
//! run grows: a series is judged again only after new trials.

use std::collections::{BTreeMap, HashMap};

use record::{
    End, EndStatus, HeldBackground, Recording, Run, Series, SeriesKey, System, Trial, TrialParameters,
    Workload,
};
use stats::{Class, JudgeSettings};

use crate::bounds::Bounds;
use crate::compare;
use crate::compare::Comparison;
use crate::finding::{ALPHA, Finding, MARGIN, SEED, looks, of_variant, variants};
use crate::fleet::Fleet;
use crate::growth::Place;
use crate::reduction::recorded_verdict;
use crate::undecided::{Settlement, is_companion, settlement};

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
    fn new(
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

/// The judgements of one recording, to which trials may be added.
#[derive(Debug)]
pub struct Judgements {
    margin: f64,
    /// Whether the first n of a series count too.
    whole: bool,
    /// By system, workload and variant.
    variants: BTreeMap<[String; 3], JudgedVariant>,
    /// By system and workload, of workloads whose variants compete.
    comparisons: BTreeMap<[String; 2], ComparedVariants>,
    count: usize,
}

/// The findings of one variant on one system.
#[derive(Debug)]
struct JudgedVariant {
    /// The number of trials at that time.
    trials: usize,
    findings: Vec<Finding>,
}

/// The comparison of the variants of a workload on one system.
#[derive(Debug)]
struct ComparedVariants {
    /// The number of trials at that time.
    trials: usize,
    /// The noise floor at that time: one may be found at the end of a run.
    system: System,
    comparison: Option<Comparison>,
}

/// The trials of a recording by system, workload and variant.
type TrialsOf<'a> = HashMap<[&'a str; 3], Vec<&'a Trial>>;

impl Default for Judgements {
    fn default() -> Judgements {
        Judgements::new(MARGIN, false)
    }
}

impl Judgements {
    /// No judgement so far. Growth below the margin does not matter; `whole` counts the first n of a series.
    fn new(margin: f64, whole: bool) -> Judgements {
        Judgements { margin, whole, variants: BTreeMap::new(), comparisons: BTreeMap::new(), count: 0 }
    }

    /// Takes the judgements of other systems of the same run.
    pub fn join(&mut self, others: Judgements) {
        self.count += others.count;
        self.variants.extend(others.variants);
        self.comparisons.extend(others.comparisons);
    }

    /// The number of judgements so far.
    pub fn count(&self) -> usize {
        self.count
    }

    /// All findings, after series with new trials were judged.
    pub fn findings(&mut self, recording: &Recording) -> Findings {
        let mut findings = self.findings_of(recording, &|_| true, &|_, _| true);
        findings.fleet = Fleet::from_findings(recording, &findings, compare::MARGIN).map(Box::new);
        findings
    }

    /// The findings of one workload. Series with new trials are judged, of the systems and variants that are
    /// due; those between two looks keep their last findings.
    pub fn of_workload(
        &mut self,
        recording: &Recording,
        workload: &str,
        is_due: &dyn Fn(&str, &str) -> bool,
    ) -> Findings {
        self.findings_of(recording, &|name| name == workload, is_due)
    }

    fn findings_of(
        &mut self,
        recording: &Recording,
        is_wanted: &dyn Fn(&str) -> bool,
        is_due: &dyn Fn(&str, &str) -> bool,
    ) -> Findings {
        let mut trials: TrialsOf<'_> = HashMap::new();
        for trial in recording.trials.iter().filter(|trial| is_wanted(&trial.order.workload)) {
            let TrialParameters { system, workload, variant, .. } = &trial.order;
            trials.entry([system, workload, variant]).or_default().push(trial);
        }
        let bounds = Bounds::new(recording);
        let workloads: Vec<&Workload> =
            recording.workloads.iter().filter(|workload| is_wanted(&workload.name)).collect();
        let (mut series, mut comparisons) = (Vec::new(), Vec::new());
        for system in &recording.systems {
            for workload in &workloads {
                for variant in variants(workload) {
                    let of = (system, *workload, variant);
                    if is_due(&system.name, variant) {
                        self.judge(recording, &trials, &bounds, of);
                    }
                    let judged = self.variants.get(&key(of));
                    series.extend(judged.iter().flat_map(|judged| &judged.findings).cloned());
                }
                comparisons.extend(self.comparison(recording, &trials, system, workload).cloned());
            }
        }
        Findings::new(recording, workloads, self.margin, series, comparisons)
    }

    /// Judges one variant on one system, if trials came.
    fn judge(
        &mut self,
        recording: &Recording,
        trials: &TrialsOf<'_>,
        bounds: &Bounds<'_>,
        of: (&System, &Workload, &str),
    ) {
        let (system, workload, variant) = of;
        let trials = trials.get(&[&*system.name, &workload.name, variant]).map_or(&[][..], Vec::as_slice);
        // Without a trial the end of the run says why.
        let is_known = |judged: &JudgedVariant| !trials.is_empty() && judged.trials == trials.len();
        if self.variants.get(&key(of)).is_some_and(is_known) {
            return;
        }
        let settings = JudgeSettings {
            margin: self.margin,
            alpha: ALPHA,
            looks: looks(&recording.run),
            tick_seconds: 0.0,
            seed: SEED,
            whole: self.whole,
        };
        let bounds = bounds.of_variant(&system.name, &workload.name, variant);
        let findings = of_variant(recording, (trials, bounds), of, &settings);
        self.count += findings.iter().filter(|finding| finding.measurements > 0).count();
        self.variants.insert(key(of), JudgedVariant { trials: trials.len(), findings });
    }

    /// The comparison of the variants of a workload, if they are rivals.
    fn comparison(
        &mut self,
        recording: &Recording,
        trials: &TrialsOf<'_>,
        system: &System,
        workload: &Workload,
    ) -> Option<&Comparison> {
        if !workload.rivals {
            return None;
        }
        let of_variant = |variant| trials.get(&[&*system.name, &*workload.name, variant]).map_or(0, Vec::len);
        let trials = variants(workload).into_iter().map(of_variant).sum();
        let compare = || ComparedVariants {
            trials,
            system: system.clone(),
            comparison: compare::of_variants(recording, system, workload),
        };
        let key = [&system.name, &workload.name].map(String::clone);
        let compared = self.comparisons.entry(key).or_insert_with(compare);
        if compared.trials != trials || compared.system != *system {
            *compared = compare();
        }
        compared.comparison.as_ref()
    }
}

fn key((system, workload, variant): (&System, &Workload, &str)) -> [String; 3] {
    [&*system.name, &workload.name, variant].map(str::to_owned)
}
