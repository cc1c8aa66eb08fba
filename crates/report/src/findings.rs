//! What a run found: every series judged once, every outcome counted. All that is shown, in a terminal, in
//! a page or as JSON, is read from here.

use std::collections::{BTreeMap, HashMap, HashSet};

use record::{
    Direction, End, Exclusion, Expect, Order, Recording, Run, Series, SeriesKey, System, Trial, Variant,
    Workload,
};
use stats::{Class, Settings, Sweep, Verdict};

use crate::generator::{self, Limited};
use crate::rivals::{self, Rivals};
use crate::stops::{self, Stop};
use crate::words::{Unit, things};

/// Growth below this share is not worth a word, unless the reader decides otherwise.
pub const MARGIN: f64 = 0.10;
/// Error rate of each verdict.
pub const ALPHA: f64 = 0.05;
/// Seed of every bootstrap, so that the same record always gives the same words.
pub const SEED: u64 = 0x6f73_6479_6e6f;

/// What a run found.
#[derive(Clone, Debug, PartialEq)]
pub struct Findings {
    /// The head of the record.
    pub run: Run,
    /// How the run ended; `None` when it was cut off.
    pub end: Option<End>,
    /// The systems, as in the record.
    pub systems: Vec<System>,
    /// The definitions, as in the record.
    pub workloads: Vec<Workload>,
    /// Growth below this share is not worth a word.
    pub margin: f64,
    /// Error rate of each verdict.
    pub alpha: f64,
    /// Every series, in the order of systems, workloads, variants and the workload's own series.
    pub series: Vec<Finding>,
    /// The variants of every workload whose variants are rivals.
    pub rivals: Vec<Rivals>,
    /// What a reader of the whole run should know, each a sentence.
    pub notes: Vec<String>,
}

/// What was found of one series, or why nothing was.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// Which series it is.
    pub key: SeriesKey,
    /// Its name for a reader: `bind`, `bind close`, `socket/v6`.
    pub label: String,
    /// One sentence: what exactly was timed.
    pub summary: String,
    /// What n counts, in words.
    pub grows: String,
    /// The growth that its page predicts.
    pub expect: Expect,
    /// What may be said of it; `None` when there is no number.
    pub verdict: Option<Verdict>,
    /// How its trials stopped short, when they did.
    pub stops: Vec<Stop>,
    /// What the record says of its numbers, each a sentence. What statistics warns of is in the verdict.
    pub remarks: Vec<String>,
    /// How many measurements there are in the trials that count.
    pub measurements: usize,
    /// Trials that count.
    pub trials: usize,
    /// Smallest step of the clock, median over trials; 0 where it is not known.
    pub tick_seconds: f64,
    /// What its values are in.
    pub unit: Unit,
    /// Whether its n are levels of a load, each a measurement of its own: all of them are judged, for nothing
    /// is cold at the first.
    pub levels: bool,
    /// Where the generator of a load was the limit.
    pub limited: Option<Limited>,
}

impl Finding {
    /// What its values are, in a word: the cost of an operation, or of a load what its series is called.
    pub fn what(&self) -> &str {
        match self.unit {
            Unit::Seconds | Unit::None if !self.levels => self.unit.noun(),
            _ => &self.key.name,
        }
    }

    /// Whether the verdict is the one that its page predicts; `None` where the data do not say.
    pub fn as_expected(&self) -> Option<bool> {
        let class = self.verdict.as_ref()?.class;
        match (self.expect, class) {
            (_, Class::Inconclusive) | (Expect::Any, _) => None,
            (Expect::Constant, Class::Flat | Class::SmallGrowth) => Some(true),
            (Expect::Logarithmic, Class::Sublinear | Class::SmallGrowth | Class::Flat) => Some(true),
            (Expect::Linear, Class::LinearLike | Class::SmallGrowth) => Some(true),
            _ => Some(false),
        }
    }
}

impl Findings {
    /// Judges every series of a recording.
    pub fn of(recording: &Recording) -> Findings {
        Findings::with_margin(recording, MARGIN)
    }

    /// Judges numbers that were measured elsewhere: each series from its first n on, for what is cold on our
    /// own way up says nothing of theirs.
    pub fn of_import(recording: &Recording, margin: f64) -> Findings {
        Findings::judge(recording, margin, true)
    }

    /// Judges every series with another idea of what matters.
    pub fn with_margin(recording: &Recording, margin: f64) -> Findings {
        Findings::judge(recording, margin, false)
    }

    fn judge(recording: &Recording, margin: f64, whole: bool) -> Findings {
        let run = &recording.run;
        let settings =
            Settings { margin, alpha: ALPHA, looks: looks(run), tick_seconds: 0.0, seed: SEED, whole };
        let mut trials: HashMap<[&str; 3], Vec<&Trial>> = HashMap::new();
        for trial in &recording.trials {
            let Order { system, workload, variant, .. } = &trial.order;
            trials.entry([system, workload, variant]).or_default().push(trial);
        }
        let mut series = Vec::new();
        for system in &recording.systems {
            for workload in &recording.workloads {
                for variant in variants(workload) {
                    let key: [&str; 3] = [&system.name, &workload.name, variant];
                    let trials = trials.get(&key).map_or(&[][..], Vec::as_slice);
                    series.extend(of_variant(recording, trials, (system, workload, variant), &settings));
                }
            }
        }
        Findings {
            run: run.clone(),
            end: recording.end.clone(),
            systems: recording.systems.clone(),
            workloads: recording.workloads.clone(),
            margin,
            alpha: ALPHA,
            series,
            rivals: rivals::of(recording),
            notes: notes(recording),
        }
    }

    /// The workload of that name.
    pub fn workload(&self, name: &str) -> Option<&Workload> {
        self.workloads.iter().find(|workload| workload.name == name)
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

/// How often the runner looked at the data; once when the number of trials was fixed beforehand.
pub(crate) fn looks(run: &Run) -> u32 {
    u32::try_from(run.looks.len()).unwrap_or(u32::MAX).max(1)
}

/// The variants of a workload; one without a name when it declares none.
fn variants(workload: &Workload) -> Vec<&str> {
    match workload.variants.as_slice() {
        [] => vec![""],
        some => some.iter().map(|Variant { name, .. }| name.as_str()).collect(),
    }
}

/// The findings of one workload in one variant on one system; one without a number when it was not tried.
fn of_variant(
    recording: &Recording,
    trials: &[&Trial],
    (system, workload, variant): (&System, &Workload, &str),
    settings: &Settings,
) -> Vec<Finding> {
    let mut stops = stops::of(trials);
    if trials.is_empty() {
        stops.push(stops::not_measured(recording.end.as_ref()));
    }
    let tick_seconds = median(trials.iter().filter_map(|t| t.clock.as_ref()).map(|c| c.tick_seconds));

    let mut findings = Vec::new();
    for kind in &workload.series {
        let key = SeriesKey {
            system: system.name.clone(),
            workload: workload.name.clone(),
            variant: variant.to_string(),
            name: kind.name.clone(),
            direction: kind.direction,
        };
        let measured = measured(recording, &key);
        let sweeps: Vec<Sweep<'_>> = measured.iter().map(|series| sweep(series)).collect();
        let (unit, levels) = (Unit::of(kind), is_of_levels(&measured));
        // A batch divides the tick along with the time; of a level it is lost among many operations.
        let batch = measured.iter().map(|series| series.batch).max().unwrap_or(1).max(1);
        let timed = matches!(unit, Unit::Seconds | Unit::None) && !levels;
        let tick_seconds = if timed { tick_seconds / f64::from(batch) } else { 0.0 };
        let settings = Settings { tick_seconds, whole: settings.whole || levels, ..settings.clone() };
        let verdict = stats::judge(&sweeps, &settings);
        let both_ways = workload.series.iter().filter(|other| other.name == kind.name).count() > 1;
        findings.push(Finding {
            label: label(&key, both_ways),
            summary: kind.summary.clone(),
            grows: workload.grows.clone(),
            expect: kind.expect,
            remarks: remarks(recording, &key)
                .into_iter()
                .chain(unusable(&sweeps, verdict.as_ref()))
                .collect(),
            verdict,
            stops: Vec::new(),
            measurements: sweeps.iter().map(|s| s.values.len()).sum(),
            trials: measured.iter().map(|series| series.trial).collect::<HashSet<_>>().len(),
            tick_seconds,
            unit,
            limited: generator::limited(trials, measured.first().map_or(&[], |s| &s.sizes))
                .filter(|_| levels),
            levels,
            key,
        });
    }
    // What was never measured has nothing to say beyond why; one line is enough for that.
    if findings.iter().all(|f| f.measurements == 0) {
        findings.truncate(1);
        for finding in &mut findings {
            finding.label = label_of_workload(&finding.key);
        }
    }
    for stop in stops {
        let place = findings.iter().position(|f| stop.operation() == Some(f.key.name.as_str())).unwrap_or(0);
        if let Some(finding) = findings.get_mut(place) {
            finding.stops.push(stop);
        }
    }
    if let Some(first) = findings.first_mut() {
        first.remarks.extend(remarks_of_trials(trials));
        first.remarks.extend(generator::remarks(trials));
    }
    findings
}

/// The measurements of one series, trial by trial.
pub(crate) fn sweeps<'a>(recording: &'a Recording, key: &SeriesKey) -> Vec<Sweep<'a>> {
    measured(recording, key).into_iter().map(sweep).collect()
}

/// The trials of one series that have values. Where both ways belong to it, those that have both stand first:
/// [`stats::judge`] takes the first way up and the first way down for one trial.
fn measured<'a>(recording: &'a Recording, key: &SeriesKey) -> Vec<&'a Series> {
    let of = |key: &SeriesKey| recording.trials_of(key).iter().filter(|series| !series.values.is_empty());
    if !recording.kind(key).is_some_and(|kind| kind.both_ways) {
        return of(key).collect();
    }
    let other_way = match key.direction {
        Direction::Up => Direction::Down,
        Direction::Down => Direction::Up,
    };
    let other_way = SeriesKey { direction: other_way, ..key.clone() };
    let mut ways = BTreeMap::<u32, Vec<&Series>>::new();
    for series in of(key).chain(of(&other_way)) {
        ways.entry(series.trial).or_default().push(series);
    }
    let (both, one): (Vec<_>, Vec<_>) = ways.into_values().partition(|ways| ways.len() > 1);
    both.into_iter().chain(one).flatten().collect()
}

/// Whether the n of a series are levels: they are listed, and each is there once.
pub(crate) fn is_of_levels(measured: &[&Series]) -> bool {
    let once = |series: &&&Series| series.sizes.is_sorted_by(|a, b| a < b) && !series.sizes.is_empty();
    !measured.is_empty() && measured.iter().all(|series| once(&series))
}

pub(crate) fn sweep(series: &Series) -> Sweep<'_> {
    match series.sizes.as_slice() {
        [] => Sweep::even(series.n_first, series.n_step, &series.values),
        sizes => Sweep::listed(sizes, &series.values),
    }
}

/// `socket`, `socket/v6`, `socket close`, `socket/v6 close`.
fn label(key: &SeriesKey, both_ways: bool) -> String {
    let mut label = label_of_workload(key);
    if key.name != key.workload {
        label.push(' ');
        label.push_str(&key.name);
    }
    if both_ways && key.direction == Direction::Down {
        label.push_str(" (down)");
    }
    label
}

fn label_of_workload(key: &SeriesKey) -> String {
    if key.variant.is_empty() { key.workload.clone() } else { format!("{}/{}", key.workload, key.variant) }
}

/// What does not count, and why.
fn remarks(recording: &Recording, key: &SeriesKey) -> Vec<String> {
    let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
    let mut never_made = None;
    for excluded in &recording.excluded {
        match &excluded.reason {
            _ if !is_of(&excluded.series, key) => {}
            Exclusion::TooMany => never_made = Some(format!("Not made: {}.", excluded.reason)),
            reason => *reasons.entry(reason.to_string()).or_default() += 1,
        }
    }
    let said = |(reason, n)| format!("{} not counted: {reason}.", things(n, "trial is", "trials are"));
    reasons.into_iter().map(said).chain(never_made).collect()
}

/// Why there is no verdict although there are values.
fn unusable(sweeps: &[Sweep<'_>], verdict: Option<&Verdict>) -> Option<String> {
    let values: usize = sweeps.iter().map(|sweep| sweep.values.len()).sum();
    (verdict.is_none() && values > 0).then(|| {
        format!(
            "None of {} is finite and positive: there is nothing to judge.",
            things(values, "value", "values")
        )
    })
}

pub(crate) fn is_of(series: &Series, key: &SeriesKey) -> bool {
    series.name == key.name
        && series.direction == key.direction
        && series.workload == key.workload
        && series.variant == key.variant
        && series.system == key.system
}

/// What the trials themselves remarked, alike remarks once; not of the generator, of which there is one for
/// each level of each trial, no two with the same figures.
fn remarks_of_trials(trials: &[&Trial]) -> Vec<String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let warnings = trials.iter().flat_map(|trial| &trial.warnings);
    for warning in warnings.filter(|warning| !generator::is_warning(warning)) {
        *counts.entry(warning).or_default() += 1;
    }
    let of = trials.len();
    let said = |(text, n): (&str, usize)| {
        if n == of { text.to_string() } else { format!("{text} ({n} of {of} trials)") }
    };
    counts.into_iter().map(said).collect()
}

/// What a reader of the whole run should know.
fn notes(recording: &Recording) -> Vec<String> {
    let mut notes = Vec::new();
    match &recording.end {
        None => notes.push("The run was cut off; all that it had finished is here.".to_string()),
        Some(end) if end.status == "complete" => {}
        Some(end) if end.status == "budget" => {
            notes.push("All of the time was used; a longer one, --budget, would decide more.".into());
        }
        Some(end) => notes.push(format!("The run ended early ({}).", end.status)),
    }
    let several = recording.systems.len() > 1;
    for system in &recording.systems {
        for warning in &system.warnings {
            notes.push(if several { format!("{}: {warning}", system.name) } else { warning.clone() });
        }
    }
    notes
}

/// The middle of some numbers; 0 when there is none.
pub(crate) fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.filter(|v| v.is_finite()).collect();
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => 0.0,
        n if n % 2 == 1 => values[n / 2],
        n => (values[n / 2 - 1] + values[n / 2]) / 2.0,
    }
}
