//! The verdict of one series, with the findings beside its class: steps, lines, modes, spikes. JSON has
//! `null` where a bound is infinite or a value unknown.

use serde::{Deserialize, Deserializer, Serialize};

use crate::centre::Interval;

/// One range of n and its cost.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Block {
    /// Smallest n.
    pub n_low: u64,
    /// Largest n.
    pub n_high: u64,
    /// Median over trials of the trials' medians.
    pub cost: Interval,
    /// Cost divided by that of the first blocks of the trial.
    pub relative: Interval,
}

/// The claims that the data support about one series, with intervals.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// The class.
    pub class: Class,
    /// The classes that the data do not exclude: `class` among them, unless it is [`Class::Composite`],
    /// [`Class::Ambiguous`] or [`Class::Inconclusive`], whose parts or candidates these are. Of an ambiguous
    /// cost they are the families that describe it; none, where it belongs to no family.
    pub classes: Vec<Class>,
    /// Share of resampled runs in which the shape of `class` describes the data best; 1 where no shape was
    /// chosen.
    pub share: f64,
    /// Smallest n of the judged range.
    pub n_low: u64,
    /// Largest n of the judged range.
    pub n_high: u64,
    /// Trials that carry it.
    pub trials: usize,
    /// Simultaneous upper bound of the change against the baseline, as a share: "flat within x".
    #[serde(deserialize_with = "crate::verdict::or_infinity")]
    pub bound: f64,
    /// Simultaneous lower bound of the largest change, up or down; at most 0 when none is certain.
    #[serde(deserialize_with = "crate::verdict::or_negative_infinity")]
    pub certain: f64,
    /// Estimate of the largest change, as a share; negative where the cost falls.
    #[serde(deserialize_with = "crate::verdict::or_nan")]
    pub peak: f64,
    /// Trials after which the verdict may be definite, when more would help.
    pub trials_needed: Option<u32>,
    /// Cost at the largest n over cost at the smallest.
    pub growth: Interval,
    /// Seconds per additional live object.
    pub marginal_cost: Interval,
    /// Objects that add the cost of the baseline once more; `None` where the cost does not rise for certain.
    pub doubling_size: Option<Interval>,
    /// Slope of log cost on log n in the last decade: 0 flat, 1 linear.
    pub top_decade_slope: Interval,
    /// Cost at the smallest n.
    pub cost_low: Interval,
    /// Cost at the largest n: `cost_low` times `growth`.
    pub cost_high: Interval,
    /// The ranges of n, rising.
    pub blocks: Vec<Block>,
    /// Jumps, by n.
    pub steps: Vec<Step>,
    /// The stretches between the jumps, by n; empty without jumps.
    pub segments: Vec<Segment>,
    /// Where the cost has no bound, when it approaches a limit.
    pub limit: Option<Asymptote>,
    /// Where a line bends, when that describes the cost best: from where on a cost rises that is constant
    /// before, or rises by more or by less.
    pub bend: Option<Bend>,
    /// p in a + b·nᵖ, where such a power describes the cost; one that is called linear may be 1.
    pub exponent: Option<Interval>,
    /// How steep it is near either end, whatever its shape; `None` with fewer than six blocks.
    pub local_exponents: Option<[LocalExponent; 2]>,
    /// Where it turns, if it both rises and falls for certain.
    pub turn: Option<Turn>,
    /// The shape that describes the data best, at the middle of each block: (n, cost). Empty where none was
    /// fitted.
    pub fit: Vec<(f64, f64)>,
    /// The two lines, when there are two.
    pub lines: Option<Lines>,
    /// Ranges of n in which the measurements gather around two values.
    pub modes: Vec<Modes>,
    /// Single measurements far above their neighbours.
    pub spikes: Spikes,
    /// The effect of the references on it; `None` where the trials have none, or only one n.
    pub adjustment: Option<Adjustment>,
    /// A remark about the numbers.
    pub warnings: Vec<Warning>,
}

/// The effect of the references of a series on its verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Adjustment {
    /// Standard error of the changes after the removal, as a share of that before; 1 where nothing was
    /// removed.
    pub error: f64,
    /// Upper bound of the growth or fall of the removed part, as a share; 0 where nothing was removed. A
    /// change of the cost that all references share hides in it, and so the bound of a verdict is never
    /// smaller.
    pub hidden: f64,
    /// Each reference, in the order of [`crate::Sweep::controls`].
    pub controls: Vec<ReferenceUse>,
}

impl Adjustment {
    /// Whether nothing was removed although a reference might have helped, because it changes with n.
    pub(crate) fn is_refused(&self) -> bool {
        let changes = |of: &ReferenceUse| of.standing == ReferenceStanding::Changes;
        !self.is_used() && self.controls.iter().any(changes)
    }

    /// Whether anything was removed.
    pub fn is_used(&self) -> bool {
        self.controls.iter().any(|control| control.standing == ReferenceStanding::Used)
    }
}

/// The use of one reference.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReferenceUse {
    /// Whether it was used, or why not.
    pub standing: ReferenceStanding,
    /// The percentage by which the cost rises when the reference rises by one percent; 0 where it was not
    /// used.
    pub coefficient: f64,
}

/// Whether a reference was used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReferenceStanding {
    /// The part that the cost shares with it was removed.
    Used,
    /// It changes with n itself, so the shared part may be more than noise.
    Changes,
    /// The error would not be less with it.
    NoGain,
    /// Too few trials have it.
    TooFew,
}

/// A remark about the numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Warning {
    /// Fewer than ten trials.
    FewTrials {
        /// How many there are.
        trials: usize,
    },
    /// n spans less than two decades.
    NarrowRange,
    /// The median is below ten ticks of the clock.
    BelowResolution,
    /// Values that are not finite and positive were left out.
    LeftOut {
        /// How many.
        values: usize,
    },
    /// Trials behave differently from most, by more than the margin from the smallest n to the largest.
    TrialsApart {
        /// How many.
        trials: usize,
    },
    /// Trials ended at different n; only the common range was judged.
    UnequalRange {
        /// Trials that were left out because they ended too early.
        trials_left_out: usize,
    },
}

/// The class of a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// Measured at one n only, where the cost is known to within 5 %: `Verdict::cost_low` is the verdict.
    Value,
    /// Stays within the bound, and the bound is within the margin.
    Flat,
    /// Certainly grows, by an estimate below the margin; `Verdict::bound` is its upper bound.
    SmallGrowth,
    /// Grows like a + b·log n or a + b·√n.
    Sublinear,
    /// Grows like a + b·n or a + b·n·log n, or like a line from some n on.
    LinearLike,
    /// Grows like a + b·n² or faster.
    Superlinear,
    /// Grows like a + b/(1 − n/c): a search for a free entry among a limited number.
    ApproachingLimit,
    /// Constant but for one or a few jumps.
    Stepped,
    /// The measurements lie on two lines, each judged by itself.
    TwoLines,
    /// Changes for certain, and it takes several shapes in turn to describe it, with jumps between them:
    /// `Verdict::segments` and `Verdict::steps` have them.
    Composite,
    /// Changes for certain, by more than the margin, and the data do not separate the shapes that
    /// `Verdict::classes` names.
    Ambiguous,
    /// Changes for certain, by more than the margin, and no shape describes it.
    Uneven,
    /// Falls for certain, by an estimate beyond the margin, and ends below where it began.
    Decreasing,
    /// The data carry none of the above.
    Inconclusive,
}

/// A jump between two neighbouring n that every gate accepted.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// The first n after the jump.
    pub n: u64,
    /// Lower end of the interval of that n: at least one above an n that was measured before the jump.
    pub n_low: u64,
    /// Upper end of the interval of that n, which was measured.
    pub n_high: u64,
    /// Cost after over cost before, without the smooth part of the rise.
    pub ratio: Interval,
    /// Share of the trials that jump the same way.
    pub agreement: f64,
}

/// A stretch of n between two steps, or all of it where there is none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Segment {
    /// Smallest n.
    pub n_low: u64,
    /// Largest n.
    pub n_high: u64,
    /// Its class.
    #[serde(rename = "verdict")]
    pub class: Class,
    /// Cost at the largest n divided by that at the smallest.
    pub growth: Interval,
}

/// The n at which the model has no bound: a search for a free entry among a limited number.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Asymptote {
    /// c in a + b/(1 − n/c), in n.
    pub n: Interval,
}

/// Where a line bends: a + b·n, with another b from here on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bend {
    /// Its n.
    pub n: Interval,
    /// Cost of each additional n before and after it.
    pub before: f64,
    /// See `before`.
    pub after: f64,
}

/// The exponent with which a cost grows near one n, whatever its shape: the slope of log cost on log n.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LocalExponent {
    /// Middle of its range.
    pub n: f64,
    /// 0: flat, 1: proportional to n.
    pub exponent: Interval,
}

/// The largest change of direction of a cost that both rises and falls for certain.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Turn {
    /// Where the cost is highest, or lowest.
    pub n: f64,
    /// Cost there over the extreme before.
    pub before: Interval,
    /// Extreme after it over the cost there.
    pub after: Interval,
}

/// One of two lines, each judged by itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FittedLine {
    /// Share of the measurements that lie on it.
    pub share: f64,
    /// Its class.
    pub class: Class,
    /// Largest change along it, as in `crate::Verdict::bound`.
    #[serde(deserialize_with = "crate::verdict::or_infinity")]
    pub bound: f64,
    /// Cost at its end over cost at its beginning.
    pub growth: Interval,
    /// Seconds per additional live object.
    pub marginal_cost: Interval,
    /// Cost at its beginning.
    pub cost_low: Interval,
    /// Cost at its end.
    pub cost_high: Interval,
}

/// Two lines on which the measurements lie.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lines {
    /// The cheaper one at the largest n.
    pub lower: FittedLine,
    /// The more expensive one at the largest n.
    pub upper: FittedLine,
    /// Chance that neighbouring measurements of a trial lie on the same line: 0.5 for independent choices, 1
    /// if a trial keeps to its line.
    pub persistence: f64,
    /// Distance of the lines at the largest n, as a ratio.
    pub distance: f64,
}

/// Two values around which the measurements of one range of n gather.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Modes {
    /// Smallest n.
    pub n_low: u64,
    /// Largest n.
    pub n_high: u64,
    /// Cost of the cheaper and of the more expensive mode.
    pub lower: f64,
    /// See `lower`.
    pub upper: f64,
    /// Share of measurements in the upper mode.
    pub upper_share: f64,
    /// Ashman's D.
    pub separation: f64,
    /// As of two lines.
    pub persistence: f64,
}

/// Single measurements far above their neighbours. They are in every mean and in no median.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Spikes {
    /// How many.
    pub count: usize,
    /// Among so many measurements.
    pub of: usize,
    /// The worst against the median at its n.
    pub worst: f64,
    /// Their excess over the medians, as a share of the time of all measurements.
    pub time_share: f64,
    /// n at which more trials have one than chance allows, the most frequent first; at most 16.
    pub repeated: Vec<Repeated>,
    /// The kind of their regularity.
    pub period: Option<Period>,
}

/// An n at which trial after trial has a spike.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Repeated {
    /// Its n.
    pub n: u64,
    /// How many trials.
    pub trials: usize,
    /// Median of the spikes over the median around.
    pub ratio: f64,
}

/// The kind of the regularity of spikes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Period {
    /// So many n from one to the next.
    Sizes(f64),
    /// So many seconds from one to the next.
    Seconds(f64),
}

/// Reads a lower bound.
pub(crate) fn or_negative_infinity<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    number(from, f64::NEG_INFINITY)
}

/// Reads an upper bound.
pub(crate) fn or_infinity<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    number(from, f64::INFINITY)
}

/// Reads a value that may be unknown.
pub(crate) fn or_nan<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    number(from, f64::NAN)
}

fn number<'de, D: Deserializer<'de>>(from: D, missing: f64) -> Result<f64, D::Error> {
    Ok(Option::<f64>::deserialize(from)?.unwrap_or(missing))
}
