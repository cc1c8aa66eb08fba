//! Changes of level of many series over nights: alarms with a budget.
//!
//! | question | modules |
//! |---|---|
//! | level before a night, noise of a series; has the level changed, and since when | `evidence` |
//! | nights in order, the machine's part of each, changes as they are raised | `fold` |
//! | levels, ratios and intervals of the result, slow drift | `answer` |
//!
//! A history is a fold over nights. A change is raised on one night from that night and those before it, and
//! no later night moves or removes it: only the interval of its ratio becomes narrower.

mod answer;
mod evidence;
mod fold;

pub use fold::HistoryFold;

use crate::centre::Interval;
use crate::gate::Decision;

/// One night of comparable runs.
#[derive(Clone, Debug, PartialEq)]
pub struct NightCosts {
    /// Which machine ran, from 0. Each has levels of its own; a change of the system shows on all of them,
    /// so that nights which alternate between two processor models find it together. With one machine, 0.
    pub machine: usize,
    /// When, in days from any origin; nights are in order.
    pub day: f64,
    /// By series: the natural logarithm of its cost, where it was measured.
    pub logs: Vec<Option<f64>>,
    /// Whether a known change comes before this night on this machine, such as a replaced processor or
    /// another compiler. Levels start anew, and no alarm is raised; how noisy a series is remains known.
    pub starts_epoch: bool,
    /// Whether the system that is measured is another one than on the night before on this machine, such as
    /// another kernel. A change that begins here needs less evidence, and what all series share may be the
    /// system's.
    pub has_new_system: bool,
    /// Whether changes that it shows are measured again before they are raised. Nights alone then raise a
    /// change of one series only if its confirming measurement ends open.
    pub is_measured_again: bool,
    /// Confirming measurements made after this night, of the series that [`LevelHistory::suspected`] named.
    pub confirmations: Vec<Confirmation>,
}

/// A confirming measurement: `Suspicion::base` beside the newest night, interleaved in one run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Confirmation {
    /// The series.
    pub series: usize,
    /// Cost of the newest night as a share of that of the base, with its interval at the error rate
    /// [`CONFIRM_ALPHA`].
    pub ratio: Interval,
}

/// How a confirming measurement ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confirmed {
    /// The change is real: raise it.
    Raised,
    /// There is none of a size that matters, or one in the other direction.
    Dismissed,
    /// Neither; more trials would decide. The series remains suspected.
    Open,
}

/// Error rate of the interval of a confirming measurement, over all its looks. Six suspicions a night are two
/// thousand a year; what is beyond [`HistorySettings::confirmed`] on the side of the suspicion is rarer by
/// far.
pub const CONFIRM_ALPHA: f64 = 0.003;

/// Rates and sizes. The defaults keep the promises of `osdyno selftest --years`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HistorySettings {
    /// False alarms a year, over all series together, that nights alone may raise.
    pub alarms_per_year: f64,
    /// A change by less than this (logarithm) is never raised from nights alone: machines wander by as much.
    pub margin: f64,
    /// A change is confirmed if it is certainly beyond this (logarithm): builds that mean the same are placed
    /// in memory differently.
    pub confirmed: f64,
    /// The least deviation (logarithm) that is suspected.
    pub least: f64,
    /// A suspicion is dismissed if the change is certainly below this (logarithm).
    pub dismissed: f64,
    /// Standard errors beyond which a deviation of one, two, and three or more nights is suspected.
    pub suspect: [f64; 3],
}

impl Default for HistorySettings {
    fn default() -> Self {
        HistorySettings {
            alarms_per_year: 0.25,
            margin: 0.01,
            confirmed: 0.005,
            least: 0.01,
            dismissed: 0.035,
            suspect: [1.4, 1.0, 0.6],
        }
    }
}

/// The result of a fold over nights.
#[derive(Clone, Debug, PartialEq)]
pub struct LevelHistory {
    /// By series.
    pub series: Vec<SeriesLevels>,
    /// By machine: the slow drift of its speed, which all series share and which is not in theirs.
    pub machine_drifts: Vec<Option<YearlyDrift>>,
    /// Changes in the order in which they were raised. One that all series share is here once. Alarms are
    /// those for which [`LevelChange::is_alarm`] holds; those of the newest night have `raised` equal to it.
    pub changes: Vec<LevelChange>,
    /// The series to measure again after the newest night, the most certain first.
    pub suspected: Vec<Suspicion>,
}

/// One series over its nights.
#[derive(Clone, Debug, PartialEq)]
pub struct SeriesLevels {
    /// By machine, in order; those on which the series was measured.
    pub segments: Vec<LevelSegment>,
    /// By night: the natural logarithm of its cost without the deviation of the part that all series share
    /// from its mean in the segment; not a number where it was not measured.
    pub steady: Vec<f64>,
    /// The slow drift of its cost against that of the machine; `None` with fewer than ten nights or less than
    /// a month.
    pub drift: Option<YearlyDrift>,
    /// How far a night lies from its level (standard deviation of the logarithm), without the common part.
    pub noise: f64,
}

/// Nights between two changes, on one machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LevelSegment {
    /// The machine.
    pub machine: usize,
    /// First night.
    pub first: usize,
    /// Last night, included.
    pub last: usize,
    /// Nights of them on which the series was measured.
    pub measured: usize,
    /// The level (natural logarithm) with its 95 % interval.
    pub level: Interval,
    /// Whether it begins with a known change, or the history, instead of one that was raised.
    pub starts_epoch: bool,
}

/// A change of level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LevelChange {
    /// The series; `None` for a change of (nearly) all series together, which is one of the machine's speed,
    /// or of the system where it is new.
    pub series: Option<usize>,
    /// The machine on which it was raised; a change of one series holds on all machines.
    pub machine: usize,
    /// The first night of the new level. It does not move later.
    pub from: usize,
    /// The night on which it was raised, at or after `from`.
    pub raised: usize,
    /// New cost as a share of the old one, with its 95 % interval: of up to 30 nights on each side.
    pub ratio: Interval,
    /// Its evidence.
    pub ground: ChangeGround,
}

/// The evidence of a change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ChangeGround {
    /// Several nights, beyond the threshold that the budget of alarms allows.
    Nights,
    /// A confirming measurement, whose ratio this is.
    SideBySide(Interval),
    /// The level of the nights changed, but a confirming measurement found no difference: the machine, not
    /// the system. A boundary of segments, and no alarm.
    Machine(Interval),
}

impl LevelChange {
    /// Whether this is an alarm about the system, or about the machine as a whole.
    pub fn is_alarm(&self) -> bool {
        !matches!(self.ground, ChangeGround::Machine(_))
    }
}

/// A possible change that the newest night shows, to be measured again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Suspicion {
    /// The series.
    pub series: usize,
    /// The night from which the change would hold.
    pub from: usize,
    /// A night of the old level, certainly before the change: measure it beside the newest one.
    pub base: usize,
    /// New cost as a share of the old one, as the nights show it, with its 95 % interval.
    pub ratio: Interval,
    /// Standard errors from no change.
    pub errors: f64,
}

/// A drift per year, from levels that wander and steps that are not counted as drift.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct YearlyDrift {
    /// Cost after a year as a share of that before, with its 95 % interval.
    pub ratio: Interval,
    /// Whether it drifts by [`YEARLY_DRIFT`] a year: certain if the interval excludes none and the estimate
    /// is nearer to that, excluded if a drift of so much in either direction is.
    pub decision: Decision,
}

/// A drift per year that matters (logarithm): 10 %.
pub const YEARLY_DRIFT: f64 = 0.095_310_179_804_324_87;
/// Nights on which a level is estimated. A drift of 10 % a year moves a level by 0.4 % in half of it, far
/// below the margin.
const LEVEL_NIGHTS: usize = 30;

/// Folds the nights of one lineage. A night whose `logs` are shorter than those of others misses the rest.
pub fn history(nights: &[NightCosts], settings: &HistorySettings) -> LevelHistory {
    let series = nights.iter().map(|night| night.logs.len()).max().unwrap_or(0);
    let mut fold = HistoryFold::new(series, *settings);
    for night in nights {
        fold.night(night);
    }
    fold.answer()
}

/// Combines a suspicion with its confirming ratio, whose interval has the error rate [`CONFIRM_ALPHA`]. A
/// dismissal needs less certainty than an alarm, because a change that is there is suspected again: half of
/// the interval's reach, which is 5 % on one side.
pub fn confirm(suspicion: &Suspicion, ratio: Interval, settings: &HistorySettings) -> Confirmed {
    let sign = if suspicion.ratio.value > 1.0 { 1.0 } else { -1.0 };
    let log = |value: f64| sign * value.ln();
    let (value, near, far) = (log(ratio.value), log(ratio.low), log(ratio.high));
    // Not a number compares to nothing, and leaves it open.
    if near.min(far) > settings.confirmed {
        Confirmed::Raised
    } else if value.midpoint(near.max(far)) < settings.dismissed {
        Confirmed::Dismissed
    } else {
        Confirmed::Open
    }
}
