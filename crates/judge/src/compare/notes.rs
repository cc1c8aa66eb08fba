//! The causes that shortened the comparison of two, or the reason why there is none.

use super::pairs::offered_apart;
use super::result::{AnswerNote, NoAnswer, Reference, Shortened, WithoutNumber};
use super::sample::Sample;
use crate::bounds::LimitedLevels;
use crate::environment;
use crate::stops::{Cause, Stop};

/// A range shorter than this share of the other's is reported even where nothing stopped it.
const SHORTER: f64 = 0.98;

/// The notes beside the comparison of the second with the first, or in its place; for one alone, why it has
/// none.
pub(super) fn note(
    samples: &[&Sample<'_>],
    answer: Option<&stats::SeriesComparison>,
    reference: Reference,
) -> Option<AnswerNote> {
    match (samples, answer) {
        ([first, other], Some(answer)) => {
            shortened(first, other, answer, reference).map(AnswerNote::Shortened)
        }
        _ => why_not(samples).map(AnswerNote::NoAnswer),
    }
}

/// Why one has no answer although it has numbers: it is the first of another engine.
pub(super) fn apart(first: &Sample<'_>, sample: &Sample<'_>) -> AnswerNote {
    let named = |sample: &Sample<'_>| (sample.name.clone(), environment::engine(sample.system).to_owned());
    AnswerNote::NoAnswer(NoAnswer::OtherEngine([named(first), named(sample)]))
}

/// Why these have no answer.
fn why_not(samples: &[&Sample<'_>]) -> Option<NoAnswer> {
    let without: Vec<WithoutNumber> = samples.iter().filter_map(|sample| without_number(sample)).collect();
    let limited = samples.iter().filter_map(|sample| Some((sample.name.clone(), sample.limited.clone()?)));
    let limited: Vec<(String, LimitedLevels)> = limited.collect();
    match samples {
        _ if !without.is_empty() => Some(NoAnswer::WithoutNumber(without)),
        [first, other] if let Some(apart) = offered_apart(first, other) => {
            Some(NoAnswer::OfferedApart(apart))
        }
        _ if !limited.is_empty() => Some(NoAnswer::Limited(limited)),
        [_, _] => Some(NoAnswer::NothingCommon),
        _ => None,
    }
}

/// Why it has no number of the series; `None` if it has.
fn without_number(sample: &Sample<'_>) -> Option<WithoutNumber> {
    if sample.verdict.is_some() || !sample.levels.is_empty() {
        return None;
    }
    let stop = sample.stops.iter().find(|stop| stop.cause != Cause::Allowance).or(sample.stops.first());
    Some(WithoutNumber { contender: sample.name.clone(), stop: stop.cloned(), is_planned: sample.is_planned })
}

/// How one of two stopped short of the other. A cause that shortened neither range is reported once for each
/// workload, with its series.
fn shortened(
    first: &Sample<'_>,
    other: &Sample<'_>,
    answer: &stats::SeriesComparison,
    reference: Reference,
) -> Option<Shortened> {
    let (one, two) = answer.ends;
    let censored = one != two;
    let counts = |stop: &&Stop| {
        !matches!(
            stop.cause,
            Cause::Allowance | Cause::NotOffered | Cause::NotMeasured { .. } | Cause::Unsupported { .. }
        )
    };
    let stops = [first, other].map(|sample| -> Vec<Stop> {
        let stops = if censored { &sample.stops } else { &sample.own_stops };
        stops.iter().filter(counts).cloned().collect()
    });
    // A rate that the generator limited is still compared with the best, as a bound.
    let is_compared = |sample: &Sample<'_>| reference == Reference::Best && sample.unit.more_is_better();
    let limited = |sample: &Sample<'_>| sample.limited.clone().filter(|_| !is_compared(sample));
    let limited: [Option<LimitedLevels>; 2] = [limited(first), limited(other)];
    let offered = offered_apart(first, other);
    let nothing = offered.is_none() && stops.iter().all(Vec::is_empty) && limited.iter().all(Option::is_none);
    let shorter = if one < two { first } else { other };
    let is_shorter = nothing && (one.min(two) as f64) < SHORTER * one.max(two) as f64;
    if nothing && !is_shorter {
        return None;
    }
    Some(Shortened {
        stops,
        limited,
        offered,
        measured_to: is_shorter.then(|| (shorter.name.clone(), one.min(two))),
        compared_to: censored.then_some(answer.n_high),
    })
}
