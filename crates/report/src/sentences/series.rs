//! The kind of a series and its result, in a word.

use crate::document::Tone;
use crate::place::span;
use crate::quantity::Quantity;
use judge::{Finding, Growth, improves};
use record::{Expect, Unit};
use stats::{Class, Verdict};

/// The tone of a finding.
pub(crate) fn tone(finding: &Finding) -> Tone {
    let Some(v) = &finding.verdict else { return Tone::Open };
    match v.class {
        Class::Flat | Class::SmallGrowth => Tone::Good,
        Class::Inconclusive => Tone::Open,
        _ if improves(finding) => Tone::Good,
        _ => Tone::Notable,
    }
}

/// `1.2 (1.1–1.3) µs → 3.1 (2.9–3.3) ms from n = 100 to 14 229`; of one n the cost there.
pub(crate) fn ends(verdict: &Verdict, unit: Unit) -> String {
    let span = span(verdict.n_low, verdict.n_high);
    match Growth::from_verdict(verdict) {
        Some(Growth { from, to, .. }) => {
            let (low, high) = unit.estimates_with_interval(from.cost, to.cost);
            format!("{low} → {high} {span}")
        }
        None => format!("{} {span}", unit.estimate_with_interval(verdict.cost_low)),
    }
}

/// The kind of the values of some series, in a word: `cost`, `throughput`; `value` where they differ.
pub fn what<'a>(series: impl Iterator<Item = &'a Finding>) -> &'a str {
    let mut words = series.filter(|finding| finding.verdict.is_some()).map(what_of);
    let first = words.next().unwrap_or("cost");
    if words.all(|word| word == first) { first } else { "value" }
}

/// The kind of the values of a series, in a word: the cost of an operation, or the name of a load's series.
pub fn what_of(finding: &Finding) -> &str {
    match finding.unit {
        Unit::Seconds | Unit::None if !finding.levels => finding.unit.noun(),
        _ => &finding.key.name,
    }
}

/// The growth that a page predicts, in a word.
pub(crate) fn expectation(expect: Expect) -> &'static str {
    match expect {
        Expect::Constant => "constant",
        Expect::Logarithmic => "logarithmic",
        Expect::Linear => "linear",
        Expect::Any => "nothing",
    }
}
