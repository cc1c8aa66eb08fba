//! The verdict of one series.

use serde::{Deserialize, Serialize};

use crate::centre::Interval;
use crate::control::Adjustment;
use crate::finding::{Asymptote, Bend, Lines, LocalExponent, Modes, Segment, Spikes, Step, Turn};

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
    /// cost
    /// they are the families that describe it; none, where it belongs to no family.
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
    #[serde(deserialize_with = "crate::number::high")]
    pub bound: f64,
    /// Simultaneous lower bound of the largest change, up or down; at most 0 when none is certain.
    #[serde(deserialize_with = "crate::number::low")]
    pub certain: f64,
    /// Estimate of the largest change, as a share; negative where the cost falls.
    #[serde(deserialize_with = "crate::number::unknown")]
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
    /// before,
    /// or rises by more or by less.
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
