//! Verdicts in words: the same sentence in a terminal, in a page and in a document.

mod beside;
mod remarks;
mod run;
mod verdict;

use judge::{Finding, Growth, improves};
use record::{Expect, ProcessorKind, Processors, Unit};
use stats::{Class, Interval, Scaling, ScalingClass, Speedup, Verdict};

use crate::document::Tone;
use crate::place::span;
use crate::quantity::Quantity;
pub(crate) use crate::words::capital;
pub use crate::words::sentence;
use crate::words::{count, factor_with_interval, share_with_interval};
pub(crate) use beside::landmark;
pub use beside::{Beside, beside};
pub(crate) use remarks::kinds_of_remarks;
pub use remarks::{advice, limited, load_reason, notes, remark, remarks, stop};
pub use run::{background, label, machine, shortened, summary, usable_processors};
pub(crate) use run::{
    backgrounds, clients, confidence, difference, further, noise_floor, on_system, planning, says_much,
    surprises, system_title, variant_label, wanted,
};
pub(crate) use verdict::{
    extrapolated, gross_jump, in_a_word, in_short, middle, n_of_step, name as class_name, slope,
    verdict_and_rest, verdict_beside_cost, verdict_sentence, verdict_with_growth,
};
pub use verdict::{verdict, warnings};

/// A machine that does less than this share of the ideal is worth a word.
const MACHINE_LOSES: f64 = 0.95;

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

/// How throughput falls short: `4 % (3–5 %) of the work is serial: at most ×25 (20–33) of one worker`. Empty
/// where nothing is lost for certain.
pub(crate) fn loss(scaling: &Scaling, processors: Option<&Processors>) -> String {
    let Some(last) = scaling.speedups.last() else { return String::new() };
    let claim = match scaling.class {
        ScalingClass::Scales | ScalingClass::Undecided => return String::new(),
        ScalingClass::Negative => "negative: less than one worker alone".to_owned(),
        ScalingClass::TurnsBack => {
            let peak = scaling.law.and_then(|law| law.peak);
            peak.map_or("turns back".to_owned(), |peak| format!("turns back at {} workers", whole(peak)))
        }
        ScalingClass::Serial => serial(scaling, last.workers),
        ScalingClass::Loses => loses(scaling, processors),
    };
    claim + &machine_loss(last)
}

fn serial(scaling: &Scaling, top: u64) -> String {
    let Some(law) = scaling.law else { return "loses".into() };
    let share = if law.serial.low > 0.0 {
        format!("{} of the work is serial", share_with_interval(law.serial))
    } else {
        "each worker waits for all others".to_owned()
    };
    match (law.ceiling, law.peak) {
        (Some(ceiling), _) => format!("{share}: at most {} of one worker", factor_with_interval(ceiling)),
        (None, Some(_)) => format!("{share}; no peak up to {}", count(top)),
        (None, None) => share,
    }
}

/// Where the throughput of more workers rises less.
fn loses(scaling: &Scaling, processors: Option<&Processors>) -> String {
    match scaling.bend {
        Some(bend) => {
            let border = border(processors, bend.after).filter(|_| bend.is_border);
            let kind = border.map_or("", |kind| match kind {
                ProcessorKind::Sibling => ", where the second thread of each core begins",
                ProcessorKind::Slower => ", where slower cores begin",
                ProcessorKind::Node => ", where another memory node begins",
            });
            let (after, ratio) = (count(bend.after), factor_with_interval(bend.ratio));
            format!("each worker beyond {after} adds {ratio} of one before{kind}")
        }
        None => match scaling.loss {
            Some(loss) => format!("loses: each of two waits {} of its time", share_of_time(loss)),
            None => "loses, and no law describes it".into(),
        },
    }
}

/// σ + 2κ is the wait of two workers for each other over the work of one.
pub(crate) fn share_of_time(loss: Interval) -> String {
    let share = |loss: f64| loss / (1.0 + loss);
    share_with_interval(Interval { value: share(loss.value), low: share(loss.low), high: share(loss.high) })
}

fn border(processors: Option<&Processors>, after: u64) -> Option<ProcessorKind> {
    let borders = processors.map_or(&[][..], |processors| &processors.borders);
    borders.iter().find(|border| u64::from(border.after) == after).map(|border| border.kind)
}

fn whole(peak: Interval) -> String {
    format!("{} ({}–{})", peak.value.round(), peak.low.floor(), peak.high.ceil())
}

/// The loss of the machine itself, which is not that of the operation.
fn machine_loss(last: &Speedup) -> String {
    let ideal = last.workers as f64;
    let loses = last.reference.filter(|reference| reference.high < MACHINE_LOSES * ideal);
    loses.map_or_else(String::new, |reference| {
        format!("; a loop in user space reaches {}", factor_with_interval(reference))
    })
}
