//! The growth of a series: the two n, the two costs and their ratio; and the two ranges of n between which
//! the cost grows. All reports read a growth here, so that it has one number.

use record::{NRange, Recording, SeriesKey, Shape, Unit};
use serde::Serialize;
use stats::{Block, Class, Interval, Scaling, Step, Verdict};

use crate::Finding;
use crate::highlight::worst;
use crate::scaling::RATE;

/// The cost at one n.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct GrowthEnd {
    /// Its n.
    pub n: u64,
    /// The cost.
    pub cost: Interval,
}

/// The growth of a series from its smallest n to its largest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Growth {
    /// At the smallest n.
    pub from: GrowthEnd,
    /// At the largest n.
    pub to: GrowthEnd,
    /// The second cost divided by the first.
    pub ratio: Interval,
}

impl Growth {
    /// The growth of a verdict; `None` where there is one n only.
    pub fn from_verdict(verdict: &Verdict) -> Option<Growth> {
        let from = GrowthEnd { n: verdict.n_low, cost: verdict.cost_low };
        let to = GrowthEnd { n: verdict.n_high, cost: verdict.cost_high };
        (from.n < to.n).then_some(Growth { from, to, ratio: verdict.growth })
    }
}

/// The range of n where a series is worse than at its largest n for certain; `None` where it is worst at the
/// end.
pub fn worse_before_the_end(verdict: &Verdict, unit: Unit) -> Option<&Block> {
    let block = worst(verdict, unit)?;
    let is_certain = match unit.more_is_better() {
        true => block.relative.high < verdict.growth.low,
        false => block.relative.low > verdict.growth.high,
    };
    (is_certain && block.n_high < verdict.n_high).then_some(block)
}

/// Each range of n is this part of all n, where the cost rises everywhere.
const PARTS: u64 = 4;

/// Two ranges of n between which a cost grows, to be examined in other trials.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GrowthWindows {
    /// The range where it is cheap.
    pub low: NRange,
    /// The range where it is expensive.
    pub high: NRange,
    /// The first n behind the step that lies between them; `None` where the cost rises without one.
    pub step: Option<u64>,
}

impl GrowthWindows {
    /// Those of a series in seconds that grows, or steps up, for certain and by more than the margin: on both
    /// sides of its largest step, else at both ends of n. Those of a scaling that loses for certain: one
    /// worker, and the most with a processor each. `None` for any other.
    pub fn from_finding(finding: &Finding) -> Option<GrowthWindows> {
        if let Some(scaling) = finding.scaling.as_ref() {
            return from_one_worker_to_all(scaling);
        }
        let verdict = finding.verdict.as_ref().filter(|_| finding.unit == Unit::Seconds)?;
        if !grows(verdict) || verdict.n_high <= verdict.n_low {
            return None;
        }
        match finding.levels {
            true => Some(at_both_levels(verdict)),
            false => around_a_step(verdict).or_else(|| Some(at_both_ends(verdict))),
        }
    }
}

/// Whether a series can be sampled: one process repeats the operation of a curve; a job, and the workers of a
/// scaling, have it at known times. A load has a server, and the other values of an execution have no time of
/// their own.
pub fn can_be_sampled(recording: &Recording, key: &SeriesKey) -> bool {
    let (Some(workload), Some(kind)) = (recording.workload(&key.workload), recording.kind(key)) else {
        return false;
    };
    kind.sum_of.is_empty()
        && match workload.shape {
            Shape::Curve => true,
            Shape::Job => !kind.companion,
            Shape::Scaling => key.name == RATE,
            Shape::Load => false,
        }
}

/// Whether it becomes more expensive for certain and by more than the margin.
fn grows(verdict: &Verdict) -> bool {
    match verdict.class {
        Class::Sublinear | Class::LinearLike | Class::Superlinear | Class::ApproachingLimit => true,
        // A certain change may also be a fall.
        Class::Stepped | Class::TwoLines | Class::Composite | Class::Ambiguous | Class::Uneven => {
            verdict.peak > 0.0
        }
        Class::Value | Class::Flat | Class::SmallGrowth | Class::Decreasing | Class::Inconclusive => false,
    }
}

/// Each operation of several workers takes more of their time.
fn from_one_worker_to_all(scaling: &Scaling) -> Option<GrowthWindows> {
    let most = scaling.speedups.iter().map(|speedup| speedup.workers).max()?;
    let [low, high] = [1, most].map(|n| NRange { n_low: n, n_high: n });
    scaling.class.is_loss().then_some(GrowthWindows { low, high, step: None })
}

/// The first and the last level: those between are other experiments.
fn at_both_levels(verdict: &Verdict) -> GrowthWindows {
    let [low, high] = [verdict.n_low, verdict.n_high].map(|n| NRange { n_low: n, n_high: n });
    GrowthWindows { low, high, step: None }
}

fn at_both_ends(verdict: &Verdict) -> GrowthWindows {
    let part = ((verdict.n_high - verdict.n_low) / PARTS).max(1);
    let low = NRange { n_low: verdict.n_low, n_high: (verdict.n_low + part).min(verdict.n_high - 1) };
    let high = NRange { n_low: (verdict.n_high - part).max(low.n_high + 1), n_high: verdict.n_high };
    GrowthWindows { low, high, step: None }
}

/// From the step before it to the step behind it, without the n that may lie on either side.
fn around_a_step(verdict: &Verdict) -> Option<GrowthWindows> {
    let rising = |step: &&Step| step.ratio.value > 1.0;
    let largest = verdict.steps.iter().filter(rising);
    let step = largest.max_by(|one, other| one.ratio.value.total_cmp(&other.ratio.value))?;
    let before = verdict.steps.iter().filter(|other| other.n < step.n).map(|other| other.n_high).max();
    let behind = verdict.steps.iter().filter(|other| other.n > step.n).map(|other| other.n_low).min();
    let low = NRange { n_low: before.unwrap_or(verdict.n_low), n_high: step.n_low.checked_sub(1)? };
    let high = NRange { n_low: step.n_high, n_high: behind.map_or(verdict.n_high, |n| n.saturating_sub(1)) };
    let is_range = |range: NRange| range.n_low <= range.n_high;
    (is_range(low) && is_range(high)).then_some(GrowthWindows { low, high, step: Some(step.n) })
}
