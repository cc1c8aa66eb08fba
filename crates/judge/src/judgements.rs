//! The judgements of a growing run: a series is judged again only after new trials.

use std::collections::{BTreeMap, HashMap};

use record::{Recording, System, Trial, TrialParameters, Workload};
use stats::JudgeSettings;

use crate::bounds::Bounds;
use crate::compare::{self, Comparison};
use crate::finding::{ALPHA, Finding, MARGIN, SEED, looks, of_variant, variants};
use crate::findings::Findings;
use crate::fleet::Fleet;

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
    pub(crate) fn new(margin: f64, whole: bool) -> Judgements {
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
