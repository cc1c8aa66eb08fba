//! The comparisons of one run of an ordered list of systems, each with the one before it.

use std::collections::BTreeSet;

use record::{Recording, Unit};
use stats::{Change, Contrast, Interval};

use super::search::RoundAnswers;
use crate::compare::series_of;
use crate::finding::{ALPHA, Finding, looks};
use crate::findings::Findings;

/// The steps of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Steps {
    /// The places of the systems that gave numbers, rising.
    pub measured: Vec<usize>,
    /// Every series that two systems have.
    pub series: Vec<SeriesSteps>,
    /// Error rate of each step.
    pub level: f64,
}

/// One series of all systems.
#[derive(Clone, Debug, PartialEq)]
pub struct SeriesSteps {
    /// Its name for a reader.
    pub label: String,
    /// Name of the variant.
    pub variant: String,
    /// The unit of its values.
    pub unit: Unit,
    /// For each of [`Steps::measured`] but the first, its cost over that of the one before it; `None` where
    /// one of the two lacks the series.
    pub steps: Vec<Option<SeriesStep>>,
    /// The last over the first.
    pub ends: Option<SeriesStep>,
}

/// One system over another in one series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SeriesStep {
    /// Whether it differs.
    pub change: Change,
    /// Cost of the second over cost of the first.
    pub ratio: Interval,
    /// Observations of each: boots, or trials where there is one boot.
    pub observations: usize,
}

impl Steps {
    /// The steps of a run with its systems in the order of the list. A change below `margin`, a share, does
    /// not count.
    ///
    /// Every comparison has an equal part of the error rate: all steps and the two ends, in all series, at
    /// all looks (Bonferroni).
    pub fn new(recording: &Recording, findings: &Findings, margin: f64) -> Steps {
        let findings: Vec<Finding> =
            findings.series.iter().filter(|finding| !finding.detail).cloned().collect();
        let has_number = |system: &record::System| {
            findings.iter().any(|finding| finding.key.system == system.name && finding.verdict.is_some())
        };
        let systems = recording.systems.iter().enumerate();
        let measured: Vec<usize> =
            systems.filter(|(_, system)| has_number(system)).map(|(place, _)| place).collect();
        let fields = series_of(recording, findings);
        let pairs = measured.windows(2).map(|pair| (pair[0], pair[1]));
        let ends = measured.first().copied().zip(measured.last().copied()).filter(|_| measured.len() > 2);
        let pairs: Vec<(usize, usize)> = pairs.chain(ends).collect();
        let contrasts: Vec<Vec<Option<Contrast>>> = fields
            .iter()
            .map(|field| pairs.iter().map(|&(first, second)| field.contrast(first, second, margin)).collect())
            .collect();
        let asked = contrasts.iter().flatten().flatten().count().max(1);
        let level = ALPHA / (asked as f64 * f64::from(looks(&recording.run)));
        let step = |contrast: &Option<Contrast>| {
            let contrast = contrast.as_ref()?;
            let (change, ratio) = contrast.change(level);
            Some(SeriesStep { change, ratio, observations: contrast.observations() })
        };
        let series = fields.iter().zip(&contrasts).map(|(field, contrasts)| {
            let mut steps: Vec<Option<SeriesStep>> = contrasts.iter().map(step).collect();
            let ends = if ends.is_some() { steps.pop().flatten() } else { None };
            let (label, variant, unit) = field.names();
            SeriesSteps { label, variant, unit, steps, ends }
        });
        let is_compared = |series: &SeriesSteps| series.steps.iter().any(Option::is_some);
        Steps { measured, series: series.filter(is_compared).collect(), level }
    }

    /// The result for a search whose round measured these places of the list.
    pub fn answers(&self, places: &[usize]) -> RoundAnswers {
        let measured: Vec<usize> =
            self.measured.iter().filter_map(|&place| places.get(place)).copied().collect();
        let of = |place: usize| together(self.series.iter().map(|series| series.steps.get(place).copied()?));
        RoundAnswers {
            steps: (1..measured.len()).map(|place| of(place - 1)).collect(),
            ends: match measured.len() {
                2 => of(0),
                _ => together(self.series.iter().map(|series| series.ends)),
            },
            measured,
        }
    }
}

/// One step over all series: changed where one series changed, the same where all are the same.
fn together(series: impl Iterator<Item = Option<SeriesStep>>) -> Change {
    let steps: Vec<Change> = series.flatten().map(|one| one.change).collect();
    match () {
        () if steps.contains(&Change::Changed) => Change::Changed,
        () if steps.is_empty() || steps.contains(&Change::Open) => Change::Open,
        () => Change::Same,
    }
}

/// The variants for which more boots may settle a step. A change in one series settles the step.
pub fn unsettled(recording: &Recording, findings: &Findings, margin: f64) -> BTreeSet<String> {
    let steps = Steps::new(recording, findings, margin);
    let count = steps.measured.len().saturating_sub(1);
    let of = |place: usize| {
        steps.series.iter().filter_map(move |series| Some((series, (*series.steps.get(place)?)?)))
    };
    let is_settled = |place: usize| of(place).any(|(_, one)| one.change == Change::Changed);
    let open = (0..count).filter(|place| !is_settled(*place)).flat_map(of);
    open.filter(|(_, one)| one.change == Change::Open).map(|(series, _)| series.variant.clone()).collect()
}
