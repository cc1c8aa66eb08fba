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

pub use fold::{HistoryFold, MeasureAgain, NightOfMachine};

use crate::centre::Interval;
use crate::gate::Decision;

/// The error rates of a history.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HistorySettings {
    /// False alarms in a year of nights, over all series together.
    pub alarms_per_year: f64,
    /// Share of quiet nights of one series that look changed, and are to be measured again. A series that
    /// scatters much looks changed more often: see `sought`.
    pub suspicion: f64,
    /// A change of this share looks changed within three nights, in 95 of 100.
    pub sought: f64,
    /// Changes of less than this share are never raised.
    pub margin: f64,
}

impl Default for HistorySettings {
    fn default() -> HistorySettings {
        HistorySettings { alarms_per_year: 0.5, suspicion: 0.02, sought: 0.05, margin: 0.02 }
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
    /// Its cost in each night in which it was measured, without the distance that all series had in common.
    pub steady: Vec<(usize, f64)>,
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

/// A measurement of base and head counts as certain at this many times the reach of its 95 % interval: one of
/// 10 000 is wrong, because a series may be measured again in each of many nights.
const REACH: f64 = 2.0;

/// The conclusion from base and head in one run, by head divided by base with its 95 % interval: a change if
/// it is certain and its estimate reaches half of the margin, which the nights claimed already.
pub fn confirms(ratio: Interval, settings: &HistorySettings) -> Decision {
    let [value, low, high] = [ratio.value, ratio.low, ratio.high].map(f64::ln);
    let [low, high] = [low, high].map(|end| value + REACH * (end - value));
    let margin = settings.margin.ln_1p();
    match () {
        () if (low > 0.0 || high < 0.0) && value.abs() >= margin / 2.0 => Decision::Certain,
        () if ratio.high.ln() < margin && ratio.low.ln() > -margin => Decision::Excluded,
        () => Decision::Undecided,
    }
}
