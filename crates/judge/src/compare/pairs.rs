//! Two contenders set against each other in one series: their contrast, the levels that they share, and the
//! causes that shortened the comparison, or the reason why there is none.
//!
//! A rate that a saturated load generator measured is a lower bound: it is censored. It ranks above every
//! rate that is smaller for certain, and nothing else follows: neither that the contender is slower than
//! another, nor that two are alike. Two censored rates cannot be compared.

use stats::{Answer, Contrast, Design, JudgeSettings, SeriesComparison, Sweep};

use crate::bounds::LimitedLevels;
use crate::compare::sample::{Costs, Sample};
use crate::compare::{AnswerNote, NoAnswer, OfferedApart, OfferedLoad, Reference, Shortened, WithoutNumber};
use crate::environment;
use crate::finding::{ALPHA, SEED, looks};
use crate::stops::{Cause, Stop};

/// The n over which two are compared.
#[derive(Clone, Copy)]
pub(super) enum Over<'l> {
    /// Over every n that both reached.
    EveryN,
    /// At these levels, a trial counting as the geometric mean of its costs there.
    MeanOf(&'l [u64]),
    /// At each of these levels.
    Each(&'l [u64]),
}

/// The second against the first; `None` where they have nothing in common.
pub(super) fn contrast(
    first: &Sample<'_>,
    second: &Sample<'_>,
    over: Over<'_>,
    margin: f64,
) -> Option<Contrast> {
    if first.unit != second.unit {
        return None;
    }
    let is_every_n = matches!(over, Over::EveryN);
    if is_every_n && (first.verdict.is_none() || second.verdict.is_none()) {
        return None;
    }
    let settings = JudgeSettings {
        margin,
        alpha: ALPHA,
        // Changes within trials decided when the run ended: the levels of trials had no influence on that,
        // but the trend of the ratio over n had.
        looks: looks(&first.recording.run).max(looks(&second.recording.run)),
        tick_seconds: first.tick_seconds.max(second.tick_seconds),
        seed: SEED,
        whole: !is_every_n || first.is_load || second.is_load,
    };
    let floor = first.floor().max(second.floor());
    let (design, numbers) = pairing(first, second);
    let apart = offered_apart(first, second).map_or(Vec::new(), |apart| apart.levels);
    let mut sides = [costs(first, &numbers[0], over, &apart), costs(second, &numbers[1], over, &apart)];
    // Variants of one system were measured in the same boots, so the effect of a boot cancels.
    if !is_one_system(first, second) {
        tell_boots(first, &numbers[0], &mut sides[0]);
        tell_boots(second, &numbers[1], &mut sides[1]);
    }
    let [one, two] = sides.each_ref().map(|costs| costs.iter().map(Costs::sweep).collect::<Vec<Sweep<'_>>>());
    Contrast::new(&one, &two, design, floor, &settings)
}

fn is_one_system(first: &Sample<'_>, second: &Sample<'_>) -> bool {
    std::ptr::eq(first.recording, second.recording) && first.key.system == second.key.system
}

/// Adds the boot of each trial.
fn tell_boots(sample: &Sample<'_>, trials: &[u32], costs: &mut [Costs<'_>]) {
    for (trial, costs) in trials.iter().zip(costs) {
        costs.boot = sample.boots.get(trial).copied().unwrap_or(0);
    }
}

fn costs<'a>(sample: &Sample<'a>, trials: &[u32], over: Over<'_>, except: &[u64]) -> Vec<Costs<'a>> {
    let of_trial = |trial: &u32| match over {
        Over::EveryN => sample.every_n(*trial, except),
        Over::MeanOf(levels) => sample.mean_of_levels(levels, *trial),
        Over::Each(levels) => sample.at_levels(levels, *trial),
    };
    trials.iter().map(of_trial).collect()
}

/// How the trials of two belong together, and the numbers of those that count: a trial is known by its place
/// among them.
fn pairing(first: &Sample<'_>, second: &Sample<'_>) -> (Design, [Vec<u32>; 2]) {
    let all = |sample: &Sample<'_>| -> Vec<u32> {
        let mut numbers: Vec<u32> = sample.recording.trials.iter().map(|trial| trial.order.trial).collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    };
    if !std::ptr::eq(first.recording, second.recording) {
        return (Design::Independent, [all(first), all(second)]);
    }
    // Trials of several systems with one number were made back to back.
    if first.key.system != second.key.system && first.recording.run.paired && is_one_host(first, second) {
        return (Design::Paired, [all(first), all(second)]);
    }
    match rounds(first, second) {
        Some(numbers) => (Design::Paired, [numbers.clone(), numbers]),
        None => (Design::Independent, [all(first), all(second)]),
    }
}

/// Whether they are of one host of a fleet, or of no fleet: hosts are measured at the same time, each by
/// itself.
fn is_one_host(first: &Sample<'_>, second: &Sample<'_>) -> bool {
    let [first, second] = [first, second].map(|sample| sample.system.fleet.as_ref().map(|place| &place.host));
    first == second
}

/// The numbers of the trials of two variants, where they were run in rounds: no trial of the next round began
/// before all of this one had. A drift that lasts longer than a round affects both, and so they are pairs.
fn rounds(one: &Sample<'_>, two: &Sample<'_>) -> Option<Vec<u32>> {
    if one.key.system != two.key.system {
        return None;
    }
    let both: Vec<u32> =
        one.started.keys().filter(|number| two.started.contains_key(number)).copied().collect();
    let of = |number: &u32| Some((*one.started.get(number)?, *two.started.get(number)?));
    let times: Vec<(f64, f64)> = both.iter().filter_map(of).collect();
    let follows = |pair: &[(f64, f64)]| pair[0].0.max(pair[0].1) < pair[1].0.min(pair[1].1);
    let most = one.started.len().max(two.started.len());
    // Where one has many more trials than the other, pairs would leave out most of them.
    (2 * both.len() > most && times.len() > 1 && times.windows(2).all(follows)).then_some(both)
}

/// Rates are rounded to one digit when they are chosen: two that differ by less than this share are the same.
const SAME: f64 = 1e-6;

/// Where these two were offered different loads; `None` where they were not. Rivals of one run are offered
/// the same. Runs that were made one after the other may have found different rates, and a response time at
/// one rate is not comparable with one at another: the difference would be that of the loads.
fn offered_apart(first: &Sample<'_>, other: &Sample<'_>) -> Option<OfferedApart> {
    let is_same = |a: f64, b: f64| (a - b).abs() <= SAME * a.abs().max(b.abs());
    let differs = |a: &OfferedLoad, b: &OfferedLoad| {
        !is_same(a.per_second, b.per_second) || !is_same(a.spacing_seconds, b.spacing_seconds)
    };
    let both = first.offered.iter().filter_map(|(n, load)| Some((*n, load, other.offered.get(n)?)));
    let apart: Vec<(u64, &OfferedLoad, &OfferedLoad)> = both.filter(|(_, a, b)| differs(a, b)).collect();
    let (_, one, two) = *apart.last()?;
    Some(OfferedApart {
        levels: apart.iter().map(|(n, ..)| *n).collect(),
        last: [(first.name.clone(), *one), (other.name.clone(), *two)],
    })
}

/// The levels at which two may be compared, and which of the two is censored at some of these.
#[derive(Debug, Default, PartialEq)]
pub(super) struct SharedLevels {
    pub(super) levels: Vec<u64>,
    /// The first or the second.
    pub(super) censored: Option<usize>,
}

/// At the largest level that both reached and at which not both are censored.
pub(super) fn last_level(one: &Sample<'_>, two: &Sample<'_>) -> SharedLevels {
    let says_something = |(_, censored): &&(u64, [bool; 2])| *censored != [true, true];
    match shared_levels(one, two).iter().rfind(says_something) {
        Some((n, censored)) => {
            SharedLevels { levels: vec![*n], censored: censored.iter().position(|censored| *censored) }
        }
        None => SharedLevels::default(),
    }
}

/// Over all levels that both reached: those of one alone may be censored, so that the mean is a bound too.
pub(super) fn all_levels(one: &Sample<'_>, two: &Sample<'_>) -> SharedLevels {
    let shared = shared_levels(one, two);
    let with = |allowed: &[[bool; 2]]| {
        let levels = shared.iter().filter(|(_, censored)| allowed.contains(censored));
        levels.map(|(n, _)| *n).collect::<Vec<u64>>()
    };
    let has = |which: [bool; 2]| shared.iter().any(|(_, censored)| *censored == which);
    match (has([true, false]), has([false, true])) {
        (true, false) => SharedLevels { levels: with(&[[false, false], [true, false]]), censored: Some(0) },
        (false, true) => SharedLevels { levels: with(&[[false, false], [false, true]]), censored: Some(1) },
        _ => SharedLevels { levels: with(&[[false, false]]), censored: None },
    }
}

/// The levels that both reached, and which of them is censored there.
fn shared_levels(one: &Sample<'_>, two: &Sample<'_>) -> Vec<(u64, [bool; 2])> {
    let of_two: Vec<_> = two.reached().collect();
    let both = one.reached().filter_map(|level| {
        let other = of_two.iter().find(|other| other.n == level.n)?;
        Some((level.n, [level.at_least, other.at_least]))
    });
    both.collect()
}

/// Whether a contrast can carry a claim: of a censored one only that it is the faster of the two.
pub(super) fn carries_claim(contrast: &Contrast, censored: Option<usize>) -> bool {
    match censored {
        None => true,
        Some(first_or_second) => contrast.is_faster() == (first_or_second == 1),
    }
}

/// Removes the claims that do not follow from a bound; more trials would not help.
pub(super) fn restrict(answer: &mut SeriesComparison, censored: Option<usize>) {
    let follows = match censored {
        None => return,
        Some(0) => Answer::Slower,
        Some(_) => Answer::Faster,
    };
    if answer.answer != follows {
        answer.answer = Answer::Unresolved;
        (answer.trials_needed, answer.boots_needed) = (None, None);
    }
}

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
pub(super) fn of_other_engine(first: &Sample<'_>, sample: &Sample<'_>) -> AnswerNote {
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
