//! The course of costs over many runs: segments, the changes between them, and slow drift.
//!
//! Runs, here nights, are taken one after the other, and each step sees no later night: a change that was
//! raised never moves because of nights that came after it. The method is Page's continuous inspection (1954)
//! in its form for an unknown level, the generalized likelihood ratio over windows (Lai 1995), made robust:
//!
//! - A night that disturbs all series is one observation: its median distance is taken from every series.
//!   Where that distance stays, it is one change of the machine.
//! - A night in which the series scatter more than usual counts less, and no distance counts for more than
//!   [`CLIP`] standard deviations: an outlier is no change.
//! - The scale of a series is that of its nights around their segments, moderated by the other series (Smyth
//!   2004), with the correlation of successive nights.
//! - A line through the nights before and after explains slow drift; a change is raised only if a step
//!   explains them better.
//!
//! The error rate is that of a year: see [`HistorySettings::alarms_per_year`].

mod drift;
mod fold;
mod scale;
mod window;

use serde::Serialize;

use crate::centre::Interval;
use crate::gate::Decision;

/// The nights of one lineage: runs that can be set against each other.
#[derive(Clone, Copy, Debug)]
pub struct NightsOfMachine<'a> {
    /// The time of each night in days, rising.
    pub days: &'a [f64],
    /// The natural logarithm of the cost of each series in each night; none where it was not measured.
    pub series: &'a [Vec<Option<f64>>],
    /// First nights behind known changes beside the system, such as another compiler: levels begin anew.
    pub boundaries: &'a [usize],
    /// Changes that a measurement of their own confirmed, or did not.
    pub checks: &'a [Check],
}

/// A measurement of base and head in one interleaved run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Check {
    /// Place of the series.
    pub series: usize,
    /// The night that looked changed.
    pub night: usize,
    /// Head divided by base.
    pub ratio: Interval,
}

/// The error rates of a history.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HistorySettings {
    /// False alarms in a year of nights, over all series together.
    pub alarms_per_year: f64,
    /// Share of quiet nights of one series that look changed, and are to be measured again.
    pub suspicion: f64,
    /// Changes of less than this share are never raised.
    pub margin: f64,
}

impl Default for HistorySettings {
    fn default() -> HistorySettings {
        HistorySettings { alarms_per_year: 0.5, suspicion: 0.03, margin: 0.02 }
    }
}

/// The history of one lineage.
#[derive(Clone, Debug, PartialEq)]
pub struct HistoryOfMachine {
    /// Each series.
    pub series: Vec<CourseOfSeries>,
    /// Changes of nearly all series at once.
    pub machine: Vec<CourseChange>,
}

/// One series over the nights.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CourseOfSeries {
    /// Its segments, in the order of time.
    pub segments: Vec<CourseSegment>,
    /// Slow change within the newest segment; none with too few nights.
    pub drift: Option<CourseDrift>,
    /// Whether its newest night looks changed.
    pub is_suspected: bool,
}

/// Nights between which a cost did not change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CourseSegment {
    /// First night.
    pub first: usize,
    /// Last night.
    pub last: usize,
    /// Nights in which it was measured.
    pub nights: usize,
    /// The cost.
    pub cost: Interval,
    /// The change against the segment before; none at the beginning and behind a boundary.
    pub change: Option<CourseChange>,
}

/// A change of cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CourseChange {
    /// Cost after it divided by the cost before, as far as it was known when the change was raised.
    pub ratio: Interval,
    /// First night with the new cost.
    pub night: usize,
    /// Night after which it was raised.
    pub raised: usize,
    /// Whether it is one of the machine.
    pub is_of_machine: bool,
}

/// A slow change of cost.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CourseDrift {
    /// Cost after a year divided by the cost before it.
    pub ratio_per_year: Interval,
    /// Whether it reaches 10 % in a year.
    pub reaches_limit: Decision,
}

/// Distances beyond so many standard deviations count as these.
pub(crate) const CLIP: f64 = 4.0;

/// The history of the nights of one machine.
pub fn history(nights: &NightsOfMachine<'_>, settings: &HistorySettings) -> HistoryOfMachine {
    fold::history(nights, settings)
}

/// The conclusion from a measurement of base and head in one run: a change if its interval excludes that there
/// is none and its estimate reaches half of the margin, which the nights claimed already.
pub fn confirms(check: &Check, settings: &HistorySettings) -> Decision {
    let Interval { value, low, high } = check.ratio;
    let least = 1.0 + settings.margin / 2.0;
    match () {
        () if (low > 1.0 && value >= least) || (high < 1.0 && value <= 1.0 / least) => Decision::Certain,
        () if high < 1.0 + settings.margin && low > 1.0 / (1.0 + settings.margin) => Decision::Excluded,
        () => Decision::Undecided,
    }
}
