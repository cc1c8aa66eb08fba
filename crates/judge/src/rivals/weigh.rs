//! Every variant set against each other, and the error rate shared over all of it.
//!
//! Who is the best is known from the same numbers: so the ratios to the best are judged among all pairs, or
//! the luckiest of many equals would seem to differ from the unluckiest.

use record::{Recording, System, Unit, Workload};
use stats::{Comparison, Contrast, Design, Match, Rank, Settings, Sweep};

use super::levels::{Entrant, Field};
use super::{Contest, MARGIN, Ratio, Rival, Rivals};
use crate::findings::{ALPHA, SEED, looks};

/// More variants are not judged: each would meet each other.
const RANKED_MOST: usize = 32;

/// One series: the best, and the ratios of the others to it.
struct Weighed {
    field: Field,
    /// The place of the best among the entrants, and where it is the best.
    best: Option<(usize, u64)>,
    /// All pairs at the largest level that both reached, and in the mean of all levels.
    last: Vec<Pair>,
    mean: Vec<Pair>,
}

/// The second of two entrants against the first, which is the best where one is.
struct Pair {
    first: usize,
    second: usize,
    n: (u64, u64),
    levels: usize,
    contrast: Contrast,
}

/// The rivals of one workload; `None` where no two of them measured the same.
pub(super) fn all(
    recording: &Recording,
    system: &System,
    workload: &Workload,
    fields: Vec<Field>,
) -> Option<Rivals> {
    let has_values = |entrant: &&Entrant| !entrant.levels.is_empty();
    let weighed: Vec<Weighed> = fields
        .into_iter()
        .filter(|field| field.entrants.iter().filter(has_values).count() > 1)
        .map(|field| weigh(recording, system, field))
        .collect();
    if weighed.is_empty() {
        return None;
    }
    // The largest level and the mean of all are families of their own.
    let suite: Vec<Vec<&Contrast>> = weighed
        .iter()
        .flat_map(|one| [&one.last, &one.mean])
        .map(|pairs| pairs.iter().map(|pair| &pair.contrast).collect())
        .collect();
    let answers = stats::answers(&suite, ALPHA);
    let ranks = ranks(&weighed, workload.variants.len());
    let (ratios, pairs) = (suite.iter().map(Vec::len).sum(), weighed.iter().map(|one| one.last.len()).sum());
    let contests = weighed.iter().zip(answers.chunks(2)).zip(&ranks);
    let contests = contests.map(|((one, answers), ranks)| contest(one, answers, ranks)).collect();
    Some(Rivals {
        workload: workload.name.clone(),
        system: system.name.clone(),
        grows: workload.grows.clone(),
        variants: workload.variants.iter().map(|variant| variant.name.clone()).collect(),
        contests,
        ratios,
        pairs,
        alpha: ALPHA,
    })
}

fn weigh(recording: &Recording, system: &System, field: Field) -> Weighed {
    let entrants = &field.entrants;
    let judged = if entrants.len() <= RANKED_MOST { entrants.len() } else { 0 };
    let best = best(&field).filter(|_| judged > 0);
    let (mut last, mut mean) = (Vec::new(), Vec::new());
    for (one, two) in (0..judged).flat_map(|one| (one + 1..judged).map(move |two| (one, two))) {
        let (first, second) = if best.is_some_and(|(best, _)| best == two) { (two, one) } else { (one, two) };
        let common = common(&entrants[first], &entrants[second]);
        let pair = |levels: &[u64]| {
            let n = (*levels.first()?, *levels.last()?);
            let contrast = contrast(recording, system, [&entrants[first], &entrants[second]], levels)?;
            Some(Pair { first, second, n, levels: levels.len(), contrast })
        };
        last.extend(common.last().and_then(|n| pair(&[*n])));
        mean.extend(Some(&common).filter(|common| common.len() > 1).and_then(|common| pair(common)));
    }
    Weighed { last, mean, best, field }
}

/// The levels at which both may be ranked.
fn common(one: &Entrant, two: &Entrant) -> Vec<u64> {
    let of_two: Vec<u64> = two.reached().collect();
    one.reached().filter(|n| of_two.contains(n)).collect()
}

/// Who has the best median at the largest level that two reached.
fn best(field: &Field) -> Option<(usize, u64)> {
    let mut levels: Vec<u64> = field.entrants.iter().flat_map(Entrant::reached).collect();
    levels.sort_unstable();
    let n = levels.windows(2).rev().find(|pair| pair[0] == pair[1])?[0];
    let there = field.entrants.iter().enumerate().filter(|(_, entrant)| entrant.reached().any(|m| m == n));
    let value = |entrant: &Entrant| entrant.levels.iter().find(|l| l.n == n).map_or(f64::NAN, |l| l.value);
    let better = |value: f64| if Unit::of(&field.kind).more_is_better() { -value } else { value };
    let best = there.min_by(|a, b| better(value(a.1)).total_cmp(&better(value(b.1))))?;
    Some((best.0, n))
}

/// The second against the first over some levels: a trial counts as the geometric mean of its values there.
fn contrast(
    recording: &Recording,
    system: &System,
    [first, second]: [&Entrant; 2],
    levels: &[u64],
) -> Option<Contrast> {
    let settings = Settings {
        margin: MARGIN,
        alpha: ALPHA,
        looks: looks(&recording.run),
        tick_seconds: first.tick_seconds.max(second.tick_seconds),
        seed: SEED,
        whole: true,
    };
    let floor = |entrant: &Entrant| system.noise_floor.as_ref().map_or(0.0, |floor| floor.of(&entrant.key));
    let (numbers, design) = match rounds(first, second) {
        Some(numbers) => (numbers, Design::Paired),
        None => (Vec::new(), Design::Independent),
    };
    let values: [Vec<Option<[f64; 1]>>; 2] = [first, second].map(|entrant| match design {
        Design::Paired => numbers.iter().map(|number| mean(entrant, levels, *number)).collect(),
        Design::Independent => entrant.started.keys().map(|number| mean(entrant, levels, *number)).collect(),
    });
    let size = [*levels.last()?];
    let [one, two] = values.each_ref().map(|values| sweeps(&size, values));
    Contrast::of(&one, &two, design, floor(first).max(floor(second)), &settings)
}

/// The trials as sweeps of one level; one without a value stands for a trial that is missing.
fn sweeps<'a>(size: &'a [u64; 1], values: &'a [Option<[f64; 1]>]) -> Vec<Sweep<'a>> {
    let sweep = |value: &'a Option<[f64; 1]>| match value {
        Some(value) => Sweep::listed(size, value),
        None => Sweep::listed(&[], &[]),
    };
    values.iter().map(sweep).collect()
}

/// The numbers of the trials of two, where they were run in rounds: no trial of the next round began before
/// all of this one had. What drifts for longer than a round meets both, and so they are pairs.
fn rounds(one: &Entrant, two: &Entrant) -> Option<Vec<u32>> {
    let both: Vec<u32> =
        one.started.keys().filter(|number| two.started.contains_key(number)).copied().collect();
    let of = |number: &u32| Some((*one.started.get(number)?, *two.started.get(number)?));
    let times: Vec<(f64, f64)> = both.iter().filter_map(of).collect();
    let follows = |pair: &[(f64, f64)]| pair[0].0.max(pair[0].1) < pair[1].0.min(pair[1].1);
    let most = one.started.len().max(two.started.len());
    // Where one has many more trials than the other, pairs would leave out most of what is known.
    (2 * both.len() > most && times.len() > 1 && times.windows(2).all(follows)).then_some(both)
}

/// The geometric mean of the values of a trial at some levels; `None` where it lacks one.
fn mean(entrant: &Entrant, levels: &[u64], trial: u32) -> Option<[f64; 1]> {
    let at = |n: &u64| {
        let of_level = entrant.values.get(n)?;
        let place = of_level.binary_search_by_key(&trial, |(number, _)| *number).ok()?;
        Some(of_level[place].1.ln())
    };
    let logs: Option<Vec<f64>> = levels.iter().map(at).collect();
    Some([(logs?.iter().sum::<f64>() / levels.len() as f64).exp()])
}

/// The places of every entrant of every series.
fn ranks(weighed: &[Weighed], variants: usize) -> Vec<Vec<Option<Rank>>> {
    fn matches(one: &Weighed) -> Vec<Match<'_>> {
        let more = Unit::of(&one.field.kind).more_is_better();
        // stats ranks the smaller value first.
        let of = |pair: &Pair| if more { (pair.second, pair.first) } else { (pair.first, pair.second) };
        let pairs = one.last.iter().map(|pair| (of(pair), &pair.contrast));
        pairs.map(|((first, second), contrast)| Match { first, second, contrast }).collect()
    }
    let suite: Vec<Vec<Match<'_>>> = weighed.iter().map(matches).collect();
    stats::ranks(&suite, variants, ALPHA)
}

fn contest(one: &Weighed, answers: &[Vec<Comparison>], ranks: &[Option<Rank>]) -> Contest {
    let best = one.best.map(|(best, _)| best);
    let ratio = |pairs: &[Pair], answers: &[Comparison], entrant: usize| {
        let to_best = |pair: &Pair| Some(pair.first) == best && pair.second == entrant;
        let place = pairs.iter().position(to_best)?;
        let (Pair { n, levels, .. }, answer) = (&pairs[place], answers.get(place)?);
        Some(Ratio {
            ratio: answer.ratio,
            level: answer.level,
            answer: answer.answer,
            n: *n,
            levels: *levels,
            trials: answer.trials,
            paired: answer.design == Design::Paired,
            trials_needed: answer.trials_needed,
        })
    };
    let of = |kind: usize| answers.get(kind).map_or(&[][..], Vec::as_slice);
    let rival = |(place, entrant): (usize, &Entrant)| Rival {
        variant: entrant.key.variant.clone(),
        place: entrant.place,
        levels: entrant.levels.clone(),
        last: ratio(&one.last, of(0), place),
        mean: ratio(&one.mean, of(1), place),
        rank: ranks.get(place).copied().flatten(),
        limited: entrant.limited.clone(),
        stops: entrant.stops.clone(),
    };
    let unit = Unit::of(&one.field.kind);
    let mut rivals: Vec<(usize, Rival)> =
        one.field.entrants.iter().enumerate().map(|(place, e)| (place, rival((place, e)))).collect();
    let order = |(place, rival): &(usize, Rival)| match &rival.last {
        _ if Some(*place) == best => (0, 0.0),
        Some(last) if unit.more_is_better() => (1, -last.ratio.value),
        Some(last) => (1, last.ratio.value),
        None => (if rival.levels.is_empty() { 3 } else { 2 }, 0.0),
    };
    rivals.sort_by(|a, b| {
        let (a, b) = (order(a), order(b));
        a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
    });
    Contest {
        name: one.field.kind.name.clone(),
        direction: one.field.kind.direction,
        unit,
        levels: one.field.entrants.iter().all(|entrant| entrant.is_load || entrant.levels.is_empty()),
        n: one.best.map(|(_, n)| n),
        rivals: rivals.into_iter().map(|(_, rival)| rival).collect(),
    }
}
