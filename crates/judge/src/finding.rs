//! One series judged: its verdict, how its trials stopped short, and remarks of the record about its values.

use std::collections::{BTreeMap, HashSet};

use record::{
    Direction, Exclusion, Expect, Recording, Run, Series, SeriesKey, SeriesKind, System, Trial, Unit,
    Variant, Workload,
};
use stats::{Class, JudgeSettings, Scaling, Verdict};

use crate::bounds::{BoundsOf, GeneratorRemark, LimitedLevels};
use crate::reduction::{self, recorded_verdict};
use crate::scaling::{self, NotScaled};
use crate::series::{Referenced, is_of, is_of_levels, measured, median, references, sweep};
use crate::stops::{self, Stop};
use crate::verdict::LINEAR;

/// The smallest growth that matters, as a share, unless the user chooses another.
pub const MARGIN: f64 = 0.10;
/// Error rate of each verdict.
pub const ALPHA: f64 = 0.05;
/// Seed of every bootstrap, so that the same record always gives the same verdicts.
pub const SEED: u64 = 0x6f73_6479_6e6f;

/// The findings about one series, or why there are none.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The key of the series.
    pub key: SeriesKey,
    /// Its name for a reader: `bind`, `bind close`, `socket/v6`.
    pub label: String,
    /// One sentence: the timed part, exactly.
    pub summary: String,
    /// The objects that n counts, in words.
    pub grows: String,
    /// The growth that its documentation expects.
    pub expect: Expect,
    /// Names of the references that were timed among its operations, in the order of the adjustment of its
    /// verdict.
    pub references: Vec<String>,
    /// Whether it was measured only because another operation was.
    pub detail: bool,
    /// Its verdict; `None` without values.
    pub verdict: Option<Verdict>,
    /// How it scales; `None` unless it is the throughput of several workers.
    pub scaling: Option<Scaling>,
    /// How its trials stopped short, when they did.
    pub stops: Vec<Stop>,
    /// Remarks of the record about its values. Warnings of statistics are in the verdict.
    pub remarks: Vec<Remark>,
    /// How many measurements there are in the trials that count.
    pub measurements: usize,
    /// Trials that count.
    pub trials: usize,
    /// Smallest step of the clock, median over trials; 0 where it is not known.
    pub tick_seconds: f64,
    /// The unit of its values.
    pub unit: Unit,
    /// Whether its n are levels of a load, each a measurement of its own: all of them are judged, because
    /// nothing is cold at the first.
    pub levels: bool,
    /// The levels where the generator of a load was the limit.
    pub limited: Option<LimitedLevels>,
}

/// A remark of the record about the values of a series.
#[derive(Clone, Debug, PartialEq)]
pub enum Remark {
    /// Trials that do not count.
    NotCounted {
        /// Why.
        reason: Exclusion,
        /// How many.
        trials: usize,
    },
    /// A declared sum that was not made.
    NotMade(Exclusion),
    /// No value is a cost, of so many.
    NothingToJudge {
        /// How many values there are.
        values: usize,
        /// Whether all of them are 0.
        are_zero: bool,
    },
    /// Remarks of the trials themselves.
    OfTrials {
        /// The remark, a sentence.
        text: String,
        /// How many trials made it.
        trials: usize,
        /// Of so many.
        of: usize,
    },
    /// Remarks of trials about the generator of their load.
    Generator(GeneratorRemark),
    /// It is not judged how throughput scales over processors.
    NotScaled(NotScaled),
    /// So many helper processes made objects too, and each n that lies so far apart was measured.
    Helpers {
        /// How many processes.
        helpers: u32,
        /// The distance of the n that were measured.
        stride: u64,
    },
}

impl Finding {
    /// Whether the class agrees with the documented expectation; `None` where the data leave the expected
    /// shape open.
    pub(crate) fn as_expected(&self) -> Option<bool> {
        let verdict = self.verdict.as_ref()?;
        let agrees = |class: &Class| match self.expect {
            Expect::Constant => matches!(class, Class::Flat | Class::SmallGrowth),
            Expect::Logarithmic => matches!(class, Class::Sublinear | Class::SmallGrowth | Class::Flat),
            Expect::Linear => matches!(class, Class::LinearLike | Class::SmallGrowth),
            Expect::Any => false,
        };
        // The classes of a composite verdict are its parts, not candidates for the whole.
        let is_open = verdict.class != Class::Composite && verdict.classes.iter().any(agrees);
        match verdict.class {
            _ if self.expect == Expect::Any => None,
            Class::Inconclusive | Class::Value => None,
            class if agrees(&class) => Some(true),
            Class::Ambiguous if verdict.classes.is_empty() => self.steepness_excludes_it().then_some(false),
            _ => (!is_open).then_some(false),
        }
    }

    /// Whether a cost that grows in no known shape is too steep for the expectation, or not steep enough. A
    /// line with a ripple fits no shape either, and is a line to its users.
    fn steepness_excludes_it(&self) -> bool {
        let exponents = self.verdict.as_ref().and_then(|verdict| verdict.local_exponents);
        let Some([near, far]) = exponents.map(|ends| ends.map(|end| end.exponent)) else {
            return self.expect == Expect::Constant;
        };
        let (sublinear, superlinear) = (far.high < LINEAR[0] && far.high < near.low, far.low > LINEAR[1]);
        match self.expect {
            Expect::Constant => true,
            Expect::Logarithmic => far.low >= LINEAR[0],
            Expect::Linear => sublinear || superlinear,
            Expect::Any => false,
        }
    }
}

/// How often the runner looked at the data; once when the number of trials was fixed beforehand.
pub(crate) fn looks(run: &Run) -> u32 {
    u32::try_from(run.looks.len()).unwrap_or(u32::MAX).max(1)
}

/// The variants of a workload; one without a name when it declares none.
pub(crate) fn variants(workload: &Workload) -> Vec<&str> {
    match workload.variants.as_slice() {
        [] => vec![""],
        some => some.iter().map(|Variant { name, .. }| name.as_str()).collect(),
    }
}

/// The key of one kind of series.
pub(crate) fn series_key(system: &str, workload: &Workload, variant: &str, kind: &SeriesKind) -> SeriesKey {
    SeriesKey {
        system: system.to_owned(),
        workload: workload.name.clone(),
        variant: variant.to_owned(),
        name: kind.name.clone(),
        direction: kind.direction,
    }
}

/// The findings of one workload in one variant on one system; one without a number when it was not tried.
pub(crate) fn of_variant(
    recording: &Recording,
    (trials, bounds): (&[&Trial], BoundsOf<'_>),
    (system, workload, variant): (&System, &Workload, &str),
    settings: &JudgeSettings,
) -> Vec<Finding> {
    let stops = stops::from_trials(trials, recording.end.as_ref());
    let of_kind = |kind| finding(recording, (trials, bounds), (system, workload, variant), kind, settings);
    let mut findings: Vec<Finding> =
        workload.series.iter().filter(|kind| kind.is_of(variant)).map(of_kind).collect();
    // A workload that was never measured has only a reason; one line is enough for that.
    if findings.iter().all(|f| f.measurements == 0) {
        findings.truncate(1);
        for finding in &mut findings {
            finding.label = label_of_workload(&finding.key);
        }
    }
    // A workload of which nothing was measured has one line, and one reason.
    if findings.len() > 1 {
        for finding in findings.iter_mut().filter(|finding| finding.measurements == 0) {
            finding.stops.extend(stops::not_offered(workload, trials));
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
        first.remarks.extend(bounds.remarks(trials).into_iter().map(Remark::Generator));
    }
    findings
}

/// The finding of one kind of series.
fn finding(
    recording: &Recording,
    (trials, bounds): (&[&Trial], BoundsOf<'_>),
    (system, workload, variant): (&System, &Workload, &str),
    kind: &SeriesKind,
    settings: &JudgeSettings,
) -> Finding {
    let key = series_key(&system.name, workload, variant, kind);
    let tick_seconds = median(trials.iter().filter_map(|t| t.clock.as_ref()).map(|c| c.tick_seconds));
    let measured = measured(recording, &key);
    let Judged { verdict, tick_seconds, levels } = judged(recording, &measured, kind, tick_seconds, settings);
    let values = measured.iter().map(|series| measurements(series)).sum();
    let are_zero = measured.iter().flat_map(|series| &series.values).all(|&value| value == 0.0);
    let scaling = scaling::of_series(recording, system, workload, &key, settings);
    let not_scaled = scaling.as_ref().and_then(|scaling| scaling.as_ref().err());
    let not_scaled = not_scaled.map(|why| Remark::NotScaled(*why));
    let nothing = (verdict.is_none() && values > 0).then_some(Remark::NothingToJudge { values, are_zero });
    Finding {
        label: label(workload, &key),
        summary: kind.summary.clone(),
        grows: workload.grows.clone(),
        expect: kind.expect_of(variant),
        references: references(workload, kind.direction).map(|kind| kind.name.clone()).collect(),
        detail: kind.detail,
        remarks: remarks(recording, &key).into_iter().chain(nothing).chain(not_scaled).collect(),
        scaling: scaling.and_then(Result::ok),
        verdict,
        stops: Vec::new(),
        measurements: values,
        trials: measured.iter().map(|series| series.trial).collect::<HashSet<_>>().len(),
        tick_seconds,
        unit: kind.unit,
        limited: bounds
            .limited(trials, &kind.name, measured.first().map_or(&[], |series| &series.sizes))
            .filter(|_| levels),
        levels,
        key,
    }
}

/// The measurements of one trial that count.
fn measurements(series: &Series) -> usize {
    if series.is_reduced() { series.measurements() } else { sweep(series).values.len() }
}

/// The result of statistics for one series.
struct Judged {
    verdict: Option<Verdict>,
    /// Smallest step of the clock for one operation; 0 where it does not matter.
    tick_seconds: f64,
    /// Whether its n are levels.
    levels: bool,
}

/// Judges the trials of one kind of series, on a clock with this tick.
fn judged(
    recording: &Recording,
    measured: &[&Series],
    kind: &SeriesKind,
    tick_seconds: f64,
    settings: &JudgeSettings,
) -> Judged {
    let levels = is_of_levels(measured);
    // A batch divides the tick along with the time; at a level it vanishes among many operations.
    let batch = measured.iter().map(|series| series.batch).max().unwrap_or(1).max(1);
    let timed = matches!(kind.unit, Unit::Seconds | Unit::None) && !levels;
    let tick_seconds = if timed { tick_seconds / f64::from(batch) } else { 0.0 };
    let key = measured.first().map(|series| SeriesKey::from_series(series));
    let recorded = key.as_ref().and_then(|key| recorded_verdict(recording, key, settings));
    if recorded.is_some() {
        return Judged { verdict: recorded, tick_seconds, levels };
    }
    let trials = Referenced::new(recording, measured.to_vec());
    let settings = JudgeSettings { tick_seconds, whole: settings.whole || levels, ..settings.clone() };
    let verdict = stats::judge(&trials.sweeps(), &settings);
    // Single measurements are not in medians.
    let before = key.and_then(|key| recording.judged.get(&key)).and_then(reduction::parse);
    let verdict = match (verdict, before) {
        (Some(verdict), Some(Verdict { spikes, modes, .. })) => Some(Verdict { spikes, modes, ..verdict }),
        (verdict, _) => verdict,
    };
    Judged { verdict, tick_seconds, levels }
}

/// The names for a reader of all series that a workload may have.
pub fn series_labels(workload: &Workload) -> Vec<String> {
    let mut labels = Vec::new();
    for variant in variants(workload) {
        for kind in workload.series.iter().filter(|kind| kind.is_of(variant)) {
            labels.push(label(workload, &series_key("", workload, variant, kind)));
        }
    }
    labels
}

/// `socket`, `socket/v6`, `socket close`, `socket/v6 close`.
fn label(workload: &Workload, key: &SeriesKey) -> String {
    let mut label = label_of_workload(key);
    if key.name != key.workload {
        label.push(' ');
        label.push_str(&key.name);
    }
    let both_ways = workload.series.iter().filter(|kind| kind.name == key.name).count() > 1;
    if both_ways && key.direction == Direction::Down {
        label.push_str(" (down)");
    }
    label
}

fn label_of_workload(key: &SeriesKey) -> String {
    if key.variant.is_empty() { key.workload.clone() } else { format!("{}/{}", key.workload, key.variant) }
}

/// The trials that do not count, with the reason.
fn remarks(recording: &Recording, key: &SeriesKey) -> Vec<Remark> {
    let mut reasons: BTreeMap<String, (Exclusion, usize)> = BTreeMap::new();
    let mut never_made = None;
    for excluded in &recording.excluded {
        match &excluded.reason {
            _ if !is_of(&excluded.series, key) => {}
            Exclusion::TooMany => never_made = Some(Remark::NotMade(Exclusion::TooMany)),
            reason => reasons.entry(reason.to_string()).or_insert_with(|| (reason.clone(), 0)).1 += 1,
        }
    }
    let not_counted = |(reason, trials)| Remark::NotCounted { reason, trials };
    reasons.into_values().map(not_counted).chain(never_made).collect()
}

/// The remarks of the trials themselves, equal ones once.
fn remarks_of_trials(trials: &[&Trial]) -> Vec<Remark> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for warning in trials.iter().flat_map(|trial| &trial.warnings) {
        *counts.entry(warning).or_default() += 1;
    }
    let of = trials.len();
    let own = counts.into_iter().map(|(text, trials)| Remark::OfTrials { text: text.into(), trials, of });
    let helpers = trials.first().map(|trial| &trial.order).filter(|order| order.helpers > 0);
    let helpers = helpers.map(|order| Remark::Helpers { helpers: order.helpers, stride: order.stride() });
    own.chain(helpers).collect()
}
