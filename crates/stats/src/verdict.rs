//! What may be said of one series.

use crate::{Interval, Sweep};

/// What the reader decides beforehand; always printed beside a verdict.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Growth below this share is not worth a word: δ, 0.10 by default.
    pub margin: f64,
    /// Error rate of the whole verdict, 0.05 by default.
    pub alpha: f64,
    /// How often the runner looked at the data before it stopped; α is divided by it.
    pub looks: u32,
    /// Smallest step of the clock; medians below ten of it carry no verdict.
    pub tick_seconds: f64,
    /// Seed of the bootstrap.
    pub seed: u64,
}

/// The word of a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Stays within the bound, and the bound is within the margin.
    Flat,
    /// Grows for certain, and for certain less than the margin matters.
    SmallGrowth,
    /// Grows for certain, by more than the margin.
    Growing,
    /// Falls for certain, by more than the margin.
    Decreasing,
    /// The data carry none of the above.
    Inconclusive,
}

/// One range of n and what it cost there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Block {
    /// Smallest n.
    pub n_low: u64,
    /// Largest n.
    pub n_high: u64,
    /// Median over trials of the trials' medians, in seconds, with its interval: the level.
    pub cost: Interval,
    /// Cost relative to the reference blocks of the same trial; 1 is no change. The interval is simultaneous.
    pub relative: Interval,
}

/// What may be said of one series, and how surely.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// The word.
    pub class: Class,
    /// Smallest and largest n that the verdict speaks of.
    pub n_low: u64,
    /// Largest n that the verdict speaks of.
    pub n_high: u64,
    /// Trials that carry it.
    pub trials: usize,
    /// Simultaneous upper bound of the change against the reference, as a share: "flat within x".
    pub bound: f64,
    /// Simultaneous lower bound of the largest change; at most 0 when none is certain.
    pub certain: f64,
    /// Largest estimated change.
    pub peak: f64,
    /// Trials after which the verdict may be definite, when more would help.
    pub trials_needed: Option<u32>,
    /// Cost at n_high over cost at n_low.
    pub growth: Interval,
    /// Seconds per additional live object.
    pub marginal_cost: Interval,
    /// Objects after which the base cost has doubled; `None` where the cost does not rise for certain.
    pub doubling_size: Option<Interval>,
    /// Slope of log cost on log n in the last decade: 0 flat, 1 linear.
    pub top_decade_slope: Interval,
    /// Level at the smallest n.
    pub cost_low: Interval,
    /// Level at the largest n.
    pub cost_high: Interval,
    /// The ranges of n, rising.
    pub blocks: Vec<Block>,
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
    /// Trials ended at different n; only the common range was judged.
    UnequalRange {
        /// Trials that were left out because they ended too early.
        trials_left_out: usize,
    },
}

/// Judges one series; `None` when there is not a single value to judge.
pub fn judge(_trials: &[Sweep<'_>], _settings: &Settings) -> Option<Verdict> {
    None
}
