//! Every series of every pair of systems weighed, and the error rate shared over all of them.

use record::Unit;
use stats::{Contrast, Design, Match, Settings};

use super::source::{Costs, Kind, Source, kinds};
use super::{AnswerNote, Mean, NoAnswer, Refused, Row, Shortened};
use crate::findings::{ALPHA, SEED, looks};
use crate::stops::{Cause, Stop};

/// More systems than this are not ranked: each of them would meet each other.
const RANKED_MOST: usize = 16;

/// A shorter range than this share of the other's is worth a word even where nothing stopped it.
const SHORTER: f64 = 0.98;

/// What comes of weighing.
pub(super) struct Weighed {
    pub(super) rows: Vec<Row>,
    pub(super) means: Vec<Option<Mean>>,
}

/// Two systems, by their places, and the second against the first.
struct Pair {
    first: usize,
    second: usize,
    contrast: Contrast,
}

/// Weighs every series that `refused` does not name the workload of.
pub(super) fn all(sources: &[Source<'_>], refused: &[Refused], margin: f64) -> Weighed {
    let kinds = kinds(sources, refused);
    let suite: Vec<Vec<Pair>> = kinds.iter().map(|(kind, _)| pairs(sources, kind, margin)).collect();
    let with_first: Vec<Vec<&Pair>> =
        suite.iter().map(|pairs| pairs.iter().filter(|pair| pair.first == 0).collect()).collect();
    let contrasts: Vec<Vec<&Contrast>> =
        with_first.iter().map(|pairs| pairs.iter().map(|pair| &pair.contrast).collect()).collect();
    let answers = stats::answers(&contrasts, ALPHA);
    let ranks = ranks(&suite, sources.len());
    let judged = with_first.iter().zip(answers).zip(ranks);
    let rows = kinds
        .iter()
        .zip(judged)
        .map(|((kind, label), ((pairs, answers), ranks))| row(sources, kind, label, pairs, answers, ranks))
        .collect();
    // What a system takes of memory is not averaged with its time.
    let is_time = |((kind, _), _): &(&(Kind, String), &Vec<&Pair>)| {
        let mut findings = sources.iter().filter_map(|source| source.finding(kind));
        findings.all(|finding| finding.unit != Unit::Bytes)
    };
    let timed: Vec<&Vec<&Pair>> =
        kinds.iter().zip(&with_first).filter(is_time).map(|(_, pairs)| pairs).collect();
    let means = (1..sources.len()).map(|second| mean(&timed, second)).collect();
    Weighed { rows, means }
}

/// The first system with each other, and each of three or more with each.
fn pairs(sources: &[Source<'_>], kind: &Kind, margin: f64) -> Vec<Pair> {
    let firsts = if (3..=RANKED_MOST).contains(&sources.len()) { sources.len() } else { 1 };
    let places = (0..firsts).flat_map(|first| (first + 1..sources.len()).map(move |second| (first, second)));
    let pair = |(first, second): (usize, usize)| {
        let contrast = contrast(&sources[first], &sources[second], kind, margin)?;
        Some(Pair { first, second, contrast })
    };
    places.filter_map(pair).collect()
}

fn contrast(first: &Source<'_>, second: &Source<'_>, kind: &Kind, margin: f64) -> Option<Contrast> {
    let (one, two) = (first.finding(kind)?, second.finding(kind)?);
    if one.verdict.is_none() || two.verdict.is_none() || one.unit != two.unit {
        return None;
    }
    let settings = Settings {
        margin,
        alpha: ALPHA,
        // When a run ended was decided by changes within its trials: their levels had no say in it, but how
        // the ratio goes with n had.
        looks: looks(&first.subject.run).max(looks(&second.subject.run)),
        tick_seconds: one.tick_seconds.max(two.tick_seconds),
        seed: SEED,
        whole: one.levels || two.levels,
    };
    let floors = [(first, one), (second, two)]
        .map(|(source, finding)| source.subject.system.noise_floor.as_ref().map(|f| f.of(&finding.key)));
    let floor = floors.into_iter().flatten().fold(0.0, f64::max);
    let design = if first.is_paired_with(second) { Design::Paired } else { Design::Independent };
    let costs = [(first, one), (second, two)].map(|(source, finding)| source.costs(finding));
    let [one, two] = costs.each_ref().map(|costs| costs.iter().map(Costs::sweep).collect::<Vec<_>>());
    Contrast::of(&one, &two, design, floor, &settings)
}

/// For every series the places of every system; none for two systems, whose answer says it.
fn ranks(suite: &[Vec<Pair>], systems: usize) -> Vec<Vec<Option<stats::Rank>>> {
    if !(3..=RANKED_MOST).contains(&systems) {
        return vec![Vec::new(); suite.len()];
    }
    fn one(pair: &Pair) -> Match<'_> {
        Match { first: pair.first, second: pair.second, contrast: &pair.contrast }
    }
    let matches: Vec<Vec<Match<'_>>> = suite.iter().map(|pairs| pairs.iter().map(one).collect()).collect();
    stats::ranks(&matches, systems, ALPHA)
}

fn row(
    sources: &[Source<'_>],
    kind: &Kind,
    label: &str,
    pairs: &[&Pair],
    answers: Vec<stats::Comparison>,
    ranks: Vec<Option<stats::Rank>>,
) -> Row {
    let findings = || sources.iter().map(|source| source.finding(kind));
    let mut by_subject: Vec<Option<stats::Comparison>> = vec![None; sources.len() - 1];
    for (pair, answer) in pairs.iter().zip(answers) {
        by_subject[pair.second - 1] = Some(answer);
    }
    let note = |(other, answer): (&Source<'_>, &Option<stats::Comparison>)| match answer {
        Some(answer) => shortened(&sources[0], other, kind, answer).map(AnswerNote::Shortened),
        None => Some(AnswerNote::NoAnswer(why_not(&sources[0], other, kind))),
    };
    Row {
        label: label.to_string(),
        variant: kind.variant.clone(),
        unit: findings().flatten().next().map(|f| f.unit).unwrap_or_default(),
        grows: findings().flatten().next().map(|f| f.grows.clone()).unwrap_or_default(),
        verdicts: findings().map(|f| f.and_then(|f| f.verdict.clone())).collect(),
        notes: sources[1..].iter().zip(&by_subject).map(note).collect(),
        answers: by_subject,
        ranks,
    }
}

/// Why two systems could not be compared.
fn why_not(first: &Source<'_>, other: &Source<'_>, kind: &Kind) -> NoAnswer {
    let without = [first, other].iter().filter_map(|source| source.why_not(kind)).collect::<Vec<_>>();
    let limited = |source: &&Source<'_>| source.finding(kind).is_some_and(|f| f.limited.is_some());
    match without.is_empty() {
        true if [first, other].iter().any(limited) => NoAnswer::Limited,
        true => NoAnswer::NothingCommon,
        false => NoAnswer::WithoutNumber(without),
    }
}

/// How one of two stopped short of the other. What shortened neither range is said once a workload, with the
/// series that it met.
fn shortened(
    first: &Source<'_>,
    other: &Source<'_>,
    kind: &Kind,
    answer: &stats::Comparison,
) -> Option<Shortened> {
    let (one, two) = answer.ends;
    let censored = one != two;
    let counts = |stop: &&Stop| {
        !matches!(stop.cause, Cause::Allowance | Cause::NotMeasured { .. } | Cause::Unsupported { .. })
    };
    let stops = [first, other].map(|source| -> Vec<Stop> {
        let own = source.finding(kind).map(|finding| finding.stops.iter().collect::<Vec<&Stop>>());
        let stops = if censored { source.stops(kind) } else { own.unwrap_or_default() };
        stops.into_iter().filter(counts).cloned().collect()
    });
    let limited = [first, other].map(|source| source.finding(kind)?.limited.clone());
    let nothing = stops.iter().all(Vec::is_empty) && limited.iter().all(Option::is_none);
    let shorter = if one < two { first } else { other };
    let is_shorter = nothing && (one.min(two) as f64) < SHORTER * one.max(two) as f64;
    if nothing && !is_shorter {
        return None;
    }
    Some(Shortened {
        stops,
        limited,
        measured_to: is_shorter.then(|| (shorter.subject.name.clone(), one.min(two))),
        compared_to: censored.then_some(answer.n_high),
    })
}

/// The geometric mean over all series of one system against the first.
fn mean(suite: &[&Vec<&Pair>], second: usize) -> Option<Mean> {
    let of_second = suite.iter().copied().flatten().filter(|pair| pair.second == second);
    let contrasts: Vec<&Contrast> = of_second.map(|pair| &pair.contrast).collect();
    if contrasts.len() < 2 {
        return None;
    }
    let ratio = stats::geometric_mean(&contrasts, ALPHA, SEED)?;
    Some(Mean { ratio, of: contrasts.len() })
}
