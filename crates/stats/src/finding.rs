//! Findings beside the verdict: steps, lines, modes, spikes, the difference between the two ways.

use serde::{Deserialize, Serialize};

use crate::centre::Interval;
use crate::verdict::Class;

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
    #[serde(deserialize_with = "crate::number::high")]
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
