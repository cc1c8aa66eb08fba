//! The growth of a series: its two n, the two costs and their ratio; the two ranges of n between which the
//! cost grows, and the place where it changes. All reports read a growth here, so that it has one number.
//!
//! A highlight is a growth that a report shows first: they are ordered by their cost to a user, which is
//! *growth × use*. Growth is the time that one operation takes longer at the n where it is slowest than at
//! small n; for a rate, the time for one. Use is how often a program makes the operation for each that it
//! makes on the way up: once, and half as often where an operation takes an object away, because a program
//! that ends leaves that to the system. Series in other units follow all times, ordered by their relative
//! growth.

use record::{Direction, NRange, Recording, SeriesKey, Shape, System, Unit};
use serde::Serialize;
use stats::{Block, Class, Interval, Scaling, Step, Verdict};

use crate::finding::Finding;
use crate::findings::Findings;
use crate::hints::{Landmark, landmarks_near};
use crate::scaling::RATE;
use crate::verdict::gross_jump;

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
            true => Some(at_levels(verdict.n_low, verdict.n_high)),
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
    scaling.class.is_loss().then(|| at_levels(1, most))
}

/// At two levels alone: those between are other experiments.
fn at_levels(first: u64, last: u64) -> GrowthWindows {
    let [low, high] = [first, last].map(|n| NRange { n_low: n, n_high: n });
    GrowthWindows { low, high, step: None }
}

fn at_both_ends(verdict: &Verdict) -> GrowthWindows {
    let part = ((verdict.n_high - verdict.n_low) / PARTS).max(1);
    let low = NRange { n_low: verdict.n_low, n_high: (verdict.n_low + part).min(verdict.n_high - 1) };
    let high = NRange { n_low: (verdict.n_high - part).max(low.n_high + 1), n_high: verdict.n_high };
    GrowthWindows { low, high, step: None }
}

/// The step that raises the cost most.
fn largest_step(verdict: &Verdict) -> Option<&Step> {
    let rising = verdict.steps.iter().filter(|step| step.ratio.value > 1.0);
    rising.max_by(|a, b| a.ratio.value.total_cmp(&b.ratio.value))
}

/// From the step before it to the step behind it, without the n that may lie on either side.
fn around_a_step(verdict: &Verdict) -> Option<GrowthWindows> {
    let step = largest_step(verdict)?;
    let before = verdict.steps.iter().filter(|other| other.n < step.n).map(|other| other.n_high).max();
    let behind = verdict.steps.iter().filter(|other| other.n > step.n).map(|other| other.n_low).min();
    let low = NRange { n_low: before.unwrap_or(verdict.n_low), n_high: step.n_low.checked_sub(1)? };
    let high = NRange { n_low: step.n_high, n_high: behind.map_or(verdict.n_high, |n| n.saturating_sub(1)) };
    let is_range = |range: NRange| range.n_low <= range.n_high;
    (is_range(low) && is_range(high)).then_some(GrowthWindows { low, high, step: Some(step.n) })
}

/// The place from which on the cost is another.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    /// The n, with its interval.
    pub n: Interval,
    /// Whether it is a jump, which lies somewhere between two n that were measured.
    pub is_jump: bool,
    /// The landmarks near it, the most informative first.
    pub near: Vec<Landmark>,
}

impl Place {
    /// The place where a cost rises most: its largest step, else its largest jump, else where it bends, else
    /// the limit that it approaches. `None` where it rises everywhere alike.
    pub fn from_verdict(verdict: &Verdict, grows: &str, system: &System) -> Option<Place> {
        let step = largest_step(verdict).map(|step| Interval {
            value: step.n as f64,
            low: step.n_low as f64,
            high: step.n_high as f64,
        });
        let jump = step.or_else(|| jump(verdict));
        let is_jump = jump.is_some();
        let n = jump.or(verdict.bend.map(|bend| bend.n)).or_else(|| verdict.limit.map(|limit| limit.n))?;
        Some(Place { n, is_jump, near: landmarks_near(verdict, n, grows, system) })
    }

    /// The resource of the system that runs out here: a range of ports, a number of descriptors.
    pub fn resource(&self) -> Option<&Landmark> {
        self.near.iter().find(|landmark| landmark.mark.is_resource())
    }
}

/// The first n behind the largest jump that is certain to be behind it: it lies between two ranges, which do
/// not resolve the n between them.
fn jump(verdict: &Verdict) -> Option<Interval> {
    let [before, after] = gross_jump(verdict)?;
    let n = after.n_low as f64;
    Some(Interval { value: n, low: before.n_high as f64 + 1.0, high: n })
}

/// How often an operation that takes an object away is used, for each that makes one.
const USE_ON_THE_WAY_DOWN: f64 = 0.5;
/// Two series grow in the same measure when the growth of one is at least this share of that of the other, in
/// logarithms.
const ALIKE: f64 = 0.5;
/// A series ends elsewhere when its end is at least this share of its largest change away, in logarithms.
const AT_THE_END: f64 = 0.5;
/// Blocks with less than this part of all n show a spike and no growth: blocks become narrow beside a step.
const NARROWEST: u64 = 1000;

/// Series that grow alike, and the remedy.
#[derive(Clone, Debug, PartialEq)]
pub struct Highlight<'a> {
    /// The series, the one that costs a user most first; never empty.
    pub series: Vec<&'a Finding>,
    /// The place where the first changes; `None` where it grows everywhere alike.
    pub place: Option<Place>,
    /// Variants that do the same as the first and stay flat.
    pub flat_variants: Vec<&'a str>,
}

impl<'a> Highlight<'a> {
    /// The series that costs a user most.
    pub fn first(&self) -> &'a Finding {
        self.series[0]
    }

    /// The limit or setting of the system that lies where the cost changes.
    pub fn resource(&self) -> Option<&Landmark> {
        self.place.as_ref()?.resource()
    }

    /// Whether it belongs here: it has the same resource at its place, or is of the same workload and grows
    /// in the same measure, or is part of the same operation.
    fn takes(&self, findings: &Findings, finding: &Finding, place: Option<&Place>) -> bool {
        let first = self.first();
        let (one, other) = (&first.key, &finding.key);
        let resource = place.and_then(Place::resource).map(|landmark| landmark.mark);
        let has_same_resource = resource.is_some() && resource == self.resource().map(|mark| mark.mark);
        let is_alike = worst_ratio(finding).ln() >= ALIKE * worst_ratio(first).ln();
        let is_part = one.variant == other.variant && is_part(findings, first, finding);
        one.system == other.system
            && (has_same_resource || one.workload == other.workload && (is_alike || is_part))
    }
}

/// Whether a series changes for certain, by more than the margin.
fn changes(verdict: &Verdict) -> bool {
    !matches!(verdict.class, Class::Value | Class::Flat | Class::SmallGrowth | Class::Inconclusive)
}

/// Whether a series that changes ends worse than it begins for certain: a higher cost, or a lower rate. A
/// cost that changes in between and comes back does not.
pub fn worsens(finding: &Finding) -> bool {
    finding.verdict.as_ref().is_some_and(|verdict| verdict_worsens(verdict, finding.unit))
}

/// The same of a verdict.
pub(crate) fn verdict_worsens(verdict: &Verdict, unit: Unit) -> bool {
    ends_elsewhere(verdict, unit.more_is_better())
}

/// Whether a series that changes ends better than it begins for certain.
pub fn improves(finding: &Finding) -> bool {
    finding.verdict.as_ref().is_some_and(|verdict| verdict_improves(verdict, finding.unit))
}

/// The same of a verdict.
pub(crate) fn verdict_improves(verdict: &Verdict, unit: Unit) -> bool {
    ends_elsewhere(verdict, !unit.more_is_better())
}

fn ends_elsewhere(verdict: &Verdict, is_lower: bool) -> bool {
    let is_certain = match is_lower {
        true => verdict.growth.high < 1.0,
        false => verdict.growth.low > 1.0,
    };
    changes(verdict) && is_certain && verdict.growth.value.ln().abs() >= AT_THE_END * largest_change(verdict)
}

/// In logarithms, in whichever direction.
fn largest_change(verdict: &Verdict) -> f64 {
    wide_blocks(verdict).map(|block| block.relative.value.ln().abs()).fold(0.0, f64::max)
}

/// All growths that no comparison answers, the most expensive to a user first.
pub fn highlights(findings: &Findings) -> Vec<Highlight<'_>> {
    let is_shown = |finding: &&Finding| worsens(finding) && !findings.is_ranked_elsewhere(finding);
    let mut series: Vec<&Finding> = findings.series.iter().filter(is_shown).collect();
    series.sort_by(|a, b| cost_to_a_user(b).partial_cmp(&cost_to_a_user(a)).unwrap_or(a.label.cmp(&b.label)));
    let mut highlights: Vec<Highlight<'_>> = Vec::new();
    for finding in series {
        let place = findings.place(finding);
        match highlights.iter_mut().find(|highlight| highlight.takes(findings, finding, place.as_ref())) {
            Some(highlight) => highlight.series.push(finding),
            None => {
                let flat_variants = flat_variants(findings, finding);
                highlights.push(Highlight { series: vec![finding], place, flat_variants });
            }
        }
    }
    highlights
}

/// The cost of a growth to a user: first whether that is a time, then how much.
fn cost_to_a_user(finding: &Finding) -> (bool, f64) {
    let Some([low, worst]) = finding.verdict.as_ref().and_then(|v| ends(v, finding.unit)) else {
        return (false, 0.0);
    };
    let usage = if finding.key.direction == Direction::Down { USE_ON_THE_WAY_DOWN } else { 1.0 };
    match finding.unit {
        Unit::Seconds => (true, (worst - low) * usage),
        Unit::PerSecond => (true, (1.0 / worst - 1.0 / low) * usage),
        Unit::None | Unit::Bytes | Unit::BytesPerSecond => (false, worst_ratio(finding).ln() * usage),
    }
}

/// The ratio of its worst cost to that at small n.
fn worst_ratio(finding: &Finding) -> f64 {
    let ends = finding.verdict.as_ref().and_then(|verdict| ends(verdict, finding.unit));
    let ratio = ends.map_or(1.0, |[low, worst]| worst / low);
    if finding.unit.more_is_better() { 1.0 / ratio } else { ratio }
}

/// The value at small n, and the worst that trials found against their own value there.
fn ends(verdict: &Verdict, unit: Unit) -> Option<[f64; 2]> {
    let block = worst(verdict, unit)?;
    let low = verdict.cost_low.value;
    Some([low, low * block.relative.value]).filter(|ends| ends.iter().all(|end| *end > 0.0))
}

/// The range of n where a series is worst.
pub fn worst(verdict: &Verdict, unit: Unit) -> Option<&Block> {
    let by_cost = |a: &&Block, b: &&Block| a.relative.value.total_cmp(&b.relative.value);
    let blocks = wide_blocks(verdict);
    if unit.more_is_better() { blocks.min_by(by_cost) } else { blocks.max_by(by_cost) }
}

/// The ranges of n that show more than a spike, and the last, at which a growth ends.
fn wide_blocks(verdict: &Verdict) -> impl Iterator<Item = &Block> {
    let all = verdict.n_high - verdict.n_low + 1;
    let is_wide = move |block: &&Block| {
        (block.n_high - block.n_low + 1) * NARROWEST >= all || block.n_high == verdict.n_high
    };
    verdict.blocks.iter().filter(|block| block.relative.value.is_finite()).filter(is_wide)
}

/// Whether one of two series of a trial is part of the other.
fn is_part(findings: &Findings, one: &Finding, other: &Finding) -> bool {
    let parts = |finding: &Finding| {
        let workload = findings.workload(&finding.key.workload)?;
        workload.series.iter().find(|kind| kind.name == finding.key.name).map(|kind| &kind.sum_of)
    };
    let has = |sum: &Finding, part: &Finding| parts(sum).is_some_and(|parts| parts.contains(&part.key.name));
    has(one, other) || has(other, one)
}

/// The variants that do the same operation and stay flat.
fn flat_variants<'a>(findings: &'a Findings, finding: &Finding) -> Vec<&'a str> {
    let key = &finding.key;
    let is_rival = findings.workload(&key.workload).is_some_and(|workload| workload.rivals);
    let is_flat = |other: &&Finding| {
        other.key.system == key.system
            && other.key.workload == key.workload
            && other.key.name == key.name
            && other.key.direction == key.direction
            && other.verdict.as_ref().is_some_and(|verdict| verdict.class == Class::Flat)
    };
    let flat = findings.series.iter().filter(is_flat).map(|other| other.key.variant.as_str());
    if is_rival { flat.collect() } else { Vec::new() }
}
