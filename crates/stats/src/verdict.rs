//! The verdict of one series.

use crate::adjustment::Adjustment;
use crate::class::Class;
use crate::finding::{Asymptote, Bend, Lines, LocalExponent, Modes, Segment, Spikes, Step, Turn};
use crate::interval::Interval;

/// One range of n and what it cost there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Block {
    /// Smallest n.
    pub n_low: u64,
    /// Largest n.
    pub n_high: u64,
    /// Median over trials of the trials' medians, in seconds, with its interval: the level.
    pub cost: Interval,
    /// Cost relative to the baseline blocks of the same trial; 1 is no change. The interval is simultaneous.
    pub relative: Interval,
}

/// What the data support of one series, with intervals.
#[derive(Clone, Debug, PartialEq)]
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
    pub bound: f64,
    /// Simultaneous lower bound of the largest change, up or down; at most 0 when none is certain.
    pub certain: f64,
    /// Estimate of the largest change, as a share; negative where the cost falls.
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
    /// What the references did for it; `None` where the trials have none, or one n only.
    pub adjustment: Option<Adjustment>,
    /// What a reader should know of the numbers.
    pub warnings: Vec<Warning>,
}

/// What a reader should know of the numbers.
#[derive(Clone, Debug, PartialEq)]
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
    /// Trials go another way than most, by more than the margin from the smallest n to the largest.
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
