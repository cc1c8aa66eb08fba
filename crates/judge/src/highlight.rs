//! The highlights: costs that grow, ordered by their cost to a user.
//!
//! The cost of a growth to a user is *growth × use*. Growth is the time that one operation takes longer at
//! the n where it is slowest than at small n; for a rate, the time for one. Use is how often a program makes
//! the operation for each that it makes on the way up: once, and half as often where an operation takes an
//! object away, because a program that ends leaves that to the system. Series in other units follow all
//! times, ordered by their relative growth.

use record::{Direction, Unit};
use stats::{Block, Class, Verdict};

use crate::finding::Finding;
use crate::findings::Findings;
use crate::hints::Landmark;
use crate::place::Place;

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
        let is_alike = growth(finding).ln() >= ALIKE * growth(first).ln();
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
        Unit::None | Unit::Bytes | Unit::BytesPerSecond => (false, growth(finding).ln() * usage),
    }
}

/// The ratio of its worst cost to that at small n.
fn growth(finding: &Finding) -> f64 {
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
