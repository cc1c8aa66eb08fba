//! Every contender set against each other, and the error rate shared over all of it.
//!
//! The best is known from the same numbers: so the ratios to the best are judged among all pairs, or the
//! luckiest of many equals would seem to differ from the unluckiest.

use std::collections::{BTreeMap, BTreeSet};

use record::{Direction, System, Unit};
use stats::{Contrast, Match, PerClaim, Rank};

use super::pairs::{
    Over, SharedLevels, all_levels, carries_claim, contrast, last_level, note, of_other_engine, restrict,
};
use super::sample::Sample;
use super::{Comparison, Mean, Ranking, RankingEntry, Ratio, Reference};
use crate::environment;
use crate::finding::{ALPHA, SEED};

/// Nothing is claimed of fewer trials than these (METHODOLOGY.md).
const CLAIM_TRIALS: usize = 2;
/// More contenders are not ranked: each would meet each other.
const RANKED_MOST: usize = 32;

/// One series of all contenders.
pub(crate) struct Field<'a> {
    pub(super) label: String,
    pub(super) variant: String,
    pub(super) name: String,
    pub(super) direction: Direction,
    pub(super) grows: String,
    pub(super) is_companion: bool,
    pub(super) samples: Vec<Sample<'a>>,
}

impl Field<'_> {
    /// Its name for a reader, the name of the variant, and the unit of its values.
    pub(crate) fn names(&self) -> (String, String, Unit) {
        let unit = self.samples.first().map(|sample| sample.unit).unwrap_or_default();
        (self.label.clone(), self.variant.clone(), unit)
    }

    /// One of its contenders against another, over every n that both reached.
    pub(crate) fn contrast(&self, first: usize, second: usize, margin: f64) -> Option<Contrast> {
        contrast(self.samples.get(first)?, self.samples.get(second)?, Over::EveryN, margin)
    }
}

/// One series: its pairs, before an error rate is chosen.
struct Contrasted<'a> {
    field: Field<'a>,
    /// For each contender the place of its reference; empty where there is none.
    references: Vec<usize>,
    /// The place of the best among the contenders, or of the first, and the level at which it is the best.
    reference: Option<usize>,
    n: Option<u64>,
    last: Vec<Pair>,
    overall: Vec<Pair>,
}

/// The second of two contenders against the first, which is the reference where one is.
struct Pair {
    first: usize,
    second: usize,
    /// The levels that it covers; empty where every n counts.
    levels: Vec<u64>,
    contrast: Contrast,
    /// The ratio level by level, where one of the two is the best and there are several.
    by_level: Option<Contrast>,
    /// The one of the two that is censored: the first or the second.
    censored: Option<usize>,
    answer: Option<stats::SeriesComparison>,
}

/// Compares contenders; each field has a sample of each. The result does not name them yet.
pub(super) fn compare(fields: Vec<Field<'_>>, reference: Reference, margin: f64) -> Comparison {
    let contenders = fields.iter().map(|field| field.samples.len()).max().unwrap_or(0);
    let mut all: Vec<Contrasted<'_>> = fields
        .into_iter()
        .map(|field| match reference {
            Reference::First => against_first(field, margin),
            Reference::Best => against_best(field, margin),
        })
        .collect();
    moderate(&mut all);
    let ratios = answer(&mut all, reference);
    let ranks = ranks(&all, reference, contenders);
    let pairs = match reference {
        Reference::First => ratios,
        Reference::Best => all.iter().map(|one| one.last.len()).sum(),
    };
    let means = match reference {
        Reference::First => (1..contenders).map(|second| mean(&all, second)).collect(),
        Reference::Best => Vec::new(),
    };
    let rankings = all.iter().zip(&ranks).map(|(one, ranks)| ranking(one, ranks, reference)).collect();
    Comparison {
        reference,
        workload: None,
        contenders: Vec::new(),
        references: Vec::new(),
        differences: Vec::new(),
        rankings,
        means,
        refused: Vec::new(),
        ratios,
        pairs,
        margin,
        alpha: ALPHA,
    }
}

/// The first of each engine with the others of that engine over every n, and each of three or more with each.
fn against_first(field: Field<'_>, margin: f64) -> Contrasted<'_> {
    let samples = &field.samples;
    let systems: Vec<&System> = samples.iter().map(|sample| sample.system).collect();
    let references = environment::references(&systems);
    let is_ranked = (3..=RANKED_MOST).contains(&samples.len());
    let count = samples.len();
    let places = (0..count).flat_map(|first| (first + 1..count).map(move |second| (first, second)));
    let places = places.filter(|&(first, second)| {
        let reference = references[second];
        first == reference || (is_ranked && references[first] == reference)
    });
    let pair = |(first, second): (usize, usize)| {
        let contrast = contrast(&samples[first], &samples[second], Over::EveryN, margin)?;
        let levels = Vec::new();
        Some(Pair { first, second, levels, contrast, by_level: None, censored: None, answer: None })
    };
    let overall = places.filter_map(pair).collect();
    Contrasted { references, reference: Some(0), n: None, last: Vec::new(), overall, field }
}

/// Each with each, at the largest level that both reached and over all of these.
fn against_best(field: Field<'_>, margin: f64) -> Contrasted<'_> {
    let samples = &field.samples;
    let judged = if samples.len() <= RANKED_MOST { samples.len() } else { 0 };
    let best = best(samples).filter(|_| judged > 0);
    let (mut last, mut overall) = (Vec::new(), Vec::new());
    for (one, two) in (0..judged).flat_map(|one| (one + 1..judged).map(move |two| (one, two))) {
        let is_best = |place| best.is_some_and(|(best, _)| best == place);
        let (first, second) = if is_best(two) { (two, one) } else { (one, two) };
        let over = |over: Over<'_>| contrast(&samples[first], &samples[second], over, margin);
        let pair = |SharedLevels { levels, censored }: SharedLevels| {
            levels.last()?;
            let contrast = over(Over::MeanOf(&levels))?;
            let is_shown = is_best(first) && levels.len() > 1 && censored.is_none();
            let by_level = is_shown.then(|| over(Over::Each(&levels))).flatten();
            Some(Pair { first, second, levels, contrast, by_level, censored, answer: None })
        };
        last.extend(pair(last_level(&samples[first], &samples[second])));
        let all = all_levels(&samples[first], &samples[second]);
        overall.extend(Some(all).filter(|all| all.levels.len() > 1).and_then(pair));
    }
    let reference = best.map(|(best, _)| best);
    let references = reference.map(|best| vec![best; samples.len()]).unwrap_or_default();
    Contrasted { references, reference, n: best.map(|(_, n)| n), last, overall, field }
}

/// The one that has the best median at the largest level that two reached: if possible among those with
/// enough trials for a claim, because others could not be compared with one that has fewer.
fn best(samples: &[Sample<'_>]) -> Option<(usize, u64)> {
    let reached = |sample: &Sample<'_>| sample.reached().map(|level| level.n).collect::<Vec<u64>>();
    let mut levels: Vec<u64> = samples.iter().flat_map(reached).collect();
    levels.sort_unstable();
    let n = levels.windows(2).rev().find(|pair| pair[0] == pair[1])?[0];
    let there = samples.iter().enumerate().filter_map(|(place, sample)| {
        let level = sample.reached().find(|level| level.n == n)?;
        let cost = if sample.unit.more_is_better() { -level.value } else { level.value };
        Some((place, level.trials < CLAIM_TRIALS, cost))
    });
    let best = there.min_by(|a, b| a.1.cmp(&b.1).then(a.2.total_cmp(&b.2)))?;
    Some((best.0, n))
}

/// The kinds of figures, each with noise of its own: a time drifts with the machine, memory and counts do
/// not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FigureKind {
    Time,
    Memory,
    Count,
}

impl FigureKind {
    pub(crate) const ALL: [FigureKind; 3] = [FigureKind::Time, FigureKind::Memory, FigureKind::Count];

    fn from_unit(unit: Unit) -> FigureKind {
        match unit {
            Unit::Seconds | Unit::PerSecond | Unit::BytesPerSecond => FigureKind::Time,
            Unit::Bytes => FigureKind::Memory,
            Unit::None => FigureKind::Count,
        }
    }

    /// Splits series by the kinds of their units; a kind without a series is left out.
    pub(crate) fn families<T: Copy>(all: impl Iterator<Item = T>, unit: impl Fn(T) -> Unit) -> Vec<Vec<T>> {
        let all: Vec<T> = all.collect();
        let is_of = |one: &T, kind| FigureKind::from_unit(unit(*one)) == kind;
        let of_kind = |kind| all.iter().copied().filter(|one| is_of(one, kind)).collect();
        FigureKind::ALL.into_iter().map(of_kind).filter(|family: &Vec<T>| !family.is_empty()).collect()
    }
}

/// Moderates the variances of all ratios by all of their kind: those of the last level, and those of all
/// levels, each among themselves.
fn moderate(all: &mut [Contrasted<'_>]) {
    let is_of = |one: &Contrasted<'_>, kind| FigureKind::from_unit(one.field.names().2) == kind;
    for kind in FigureKind::ALL {
        let freedom = freedom(all.iter().filter(|one| is_of(one, kind)));
        let mut of_kind: Vec<_> = all.iter_mut().filter(|one| is_of(one, kind)).collect();
        let last = of_kind.iter_mut().flat_map(|one| &mut one.last);
        stats::moderate(last.map(|pair| &mut pair.contrast), freedom);
        let overall = of_kind.iter_mut().flat_map(|one| &mut one.overall);
        stats::moderate(overall.map(|pair| &mut pair.contrast), freedom);
    }
}

/// The degrees of freedom of the trials behind some series: several series of the same trials count once.
fn freedom<'f>(all: impl Iterator<Item = &'f Contrasted<'f>>) -> f64 {
    let mut of_trials: BTreeMap<(&str, &str), f64> = BTreeMap::new();
    for one in all {
        let pairs = || one.last.iter().chain(&one.overall).filter(|pair| !pair.contrast.pairs().is_empty());
        let contenders: BTreeSet<usize> = pairs().flat_map(|pair| [pair.first, pair.second]).collect();
        let trials = pairs().map(|pair| pair.contrast.observations()).max().unwrap_or(0);
        let freedom = (contenders.len().saturating_sub(1) * trials.saturating_sub(1)) as f64;
        let workload = one.field.samples.first().map_or("", |sample| sample.key.workload.as_str());
        let own = of_trials.entry((workload, &one.field.variant)).or_default();
        *own = own.max(freedom);
    }
    of_trials.values().sum()
}

/// Whether a ratio is shown: between systems only the one to the reference of the second.
fn is_asked(references: &[usize], reference: Reference, pair: &Pair) -> bool {
    reference == Reference::Best || references.get(pair.second) == Some(&pair.first)
}

/// Answers all ratios to the reference together; returns how many these are. The largest level and the mean
/// of all are families of their own.
fn answer(all: &mut [Contrasted<'_>], reference: Reference) -> usize {
    let mut suite: Vec<Vec<&Contrast>> = Vec::new();
    for one in &*all {
        if reference == Reference::Best {
            suite.push(one.last.iter().map(|pair| &pair.contrast).collect());
        }
        let asked = one.overall.iter().filter(|pair| is_asked(&one.references, reference, pair));
        suite.push(asked.map(|pair| &pair.contrast).collect());
    }
    let ratios = suite.iter().map(Vec::len).sum();
    let mut answers = stats::answers(&suite, ALPHA).into_iter();
    let mut give = |pairs: &mut Vec<Pair>, references: &[usize]| {
        let asked = pairs.iter_mut().filter(|pair| is_asked(references, reference, pair));
        let answers = answers.next().unwrap_or_default();
        for (pair, mut answer) in asked.zip(answers) {
            restrict(&mut answer, pair.censored);
            pair.answer = Some(answer);
        }
    };
    for one in all {
        if reference == Reference::Best {
            give(&mut one.last, &one.references);
        }
        give(&mut one.overall, &one.references);
    }
    ratios
}

/// For every series the ranks of every contender; with two systems in a given order the answer itself is the
/// rank.
fn ranks(all: &[Contrasted<'_>], reference: Reference, contenders: usize) -> Vec<Vec<Option<Rank>>> {
    let fewest = if reference == Reference::First { 3 } else { 2 };
    if !(fewest..=RANKED_MOST).contains(&contenders) {
        return vec![vec![None; contenders]; all.len()];
    }
    fn one(pair: &Pair) -> Match<'_> {
        Match { first: pair.first, second: pair.second, contrast: &pair.contrast }
    }
    let may_claim = |pair: &&Pair| carries_claim(&pair.contrast, pair.censored);
    let matches: Vec<Vec<Match<'_>>> = all
        .iter()
        .map(|of| match reference {
            Reference::First => of.overall.iter().map(one).collect(),
            Reference::Best => of.last.iter().filter(may_claim).map(one).collect(),
        })
        .collect();
    stats::ranks(&matches, contenders, ALPHA)
}

/// The geometric mean over all series of one contender against its reference: over times, or where there are
/// none over counts. A series that only explains another does not count.
fn mean(all: &[Contrasted<'_>], second: usize) -> Option<Mean> {
    let is_of = |one: &Contrasted<'_>, kind| {
        let mut planned = one.field.samples.iter().filter(|sample| sample.is_planned);
        !one.field.is_companion && planned.all(|sample| FigureKind::from_unit(sample.unit) == kind)
    };
    let has_times = all.iter().any(|one| is_of(one, FigureKind::Time));
    let kind = if has_times { FigureKind::Time } else { FigureKind::Count };
    let is_its = |one: &Contrasted<'_>, pair: &Pair| {
        pair.second == second && is_asked(&one.references, Reference::First, pair)
    };
    let pairs = all
        .iter()
        .filter(|one| is_of(one, kind))
        .flat_map(|one| one.overall.iter().map(move |pair| (one, pair)));
    let contrasts: Vec<&Contrast> =
        pairs.filter(|(one, pair)| is_its(one, pair)).map(|(_, pair)| &pair.contrast).collect();
    if contrasts.len() < 2 {
        return None;
    }
    let ratio = stats::geometric_mean(&contrasts, ALPHA, SEED)?;
    let systems = all.iter().flat_map(|one| &one.field.samples).map(|sample| sample.system);
    let floors = systems.filter_map(|system| Some(system.noise_floor.as_ref()?.share));
    Some(Mean { ratio, of: contrasts.len(), floor: floors.fold(0.0, f64::max) })
}

/// The rate that a contender reached at least.
fn measured(sample: &Sample<'_>, n: Option<u64>) -> Option<f64> {
    let level = sample.levels.iter().find(|level| Some(level.n) == n && level.at_least)?;
    Some(level.value)
}

fn ranking(one: &Contrasted<'_>, ranks: &[Option<Rank>], against: Reference) -> Ranking {
    let Contrasted { field, reference, n, .. } = one;
    let standing =
        |(place, sample)| standing(one, (place, sample), ranks.get(place).copied().flatten(), against);
    let mut standings: Vec<RankingEntry> = field.samples.iter().enumerate().map(standing).collect();
    if n.is_some() || reference.is_none() {
        let best = reference.and_then(|best| measured(&field.samples[best], *n));
        let order = |standing: &RankingEntry| match &standing.last {
            _ if Some(standing.place) == *reference => (0, 0.0),
            Some(last) => (1, last.comparison.ratio.value),
            // Two censored rates are ordered by the measured values.
            None => match measured(&field.samples[standing.place], *n).zip(best) {
                Some((own, best)) => (1, best / own),
                None => (if standing.levels.is_empty() { 3 } else { 2 }, 0.0),
            },
        };
        standings.sort_by(|a, b| {
            let (a, b) = (order(a), order(b));
            a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
        });
    }
    let known = field.samples.iter().find(|sample| sample.is_planned).or(field.samples.first());
    Ranking {
        label: field.label.clone(),
        variant: field.variant.clone(),
        name: field.name.clone(),
        direction: field.direction,
        grows: field.grows.clone(),
        unit: known.map(|sample| sample.unit).unwrap_or_default(),
        side: known.map(|sample| sample.side).unwrap_or_default(),
        is_companion: field.is_companion,
        levels: field.samples.iter().all(|sample| sample.is_load || sample.levels.is_empty()),
        n: *n,
        standings,
    }
}

fn standing(
    one: &Contrasted<'_>,
    (place, sample): (usize, &Sample<'_>),
    rank: Option<Rank>,
    against: Reference,
) -> RankingEntry {
    let reference = one.references.get(place).copied();
    let ratio = |pairs: &[Pair]| {
        let is_it = |pair: &&Pair| Some(pair.first) == reference && pair.second == place;
        let pair = pairs.iter().find(is_it)?;
        let mut comparison = pair.answer.clone()?;
        // The trial stands at the last of its levels, and represents all.
        comparison.n_low = pair.levels.first().copied().unwrap_or(comparison.n_low);
        if let Some(by_level) = &pair.by_level {
            let by_level = by_level.at(&PerClaim::all(comparison.level));
            (comparison.blocks, comparison.crossings) = (by_level.blocks, by_level.crossings);
        }
        let (evidence, at_least) = (pair.contrast.evidence(), pair.censored.is_some());
        Some(Ratio { comparison, evidence, levels: pair.levels.len(), at_least })
    };
    let (last, overall) = (ratio(&one.last), ratio(&one.overall));
    let note = match reference {
        None => note(&[sample], None, against),
        Some(reference) if reference == place && one.reference != Some(place) => {
            let first = one.reference.and_then(|first| one.field.samples.get(first));
            note(&[sample], None, against).or_else(|| Some(of_other_engine(first?, sample)))
        }
        Some(reference) if reference == place => None,
        Some(reference) => {
            let answer = overall.as_ref().or(last.as_ref()).map(|ratio| &ratio.comparison);
            note(&[&one.field.samples[reference], sample], answer, against)
        }
    };
    RankingEntry {
        name: sample.name.clone(),
        place,
        reference,
        levels: sample.levels.clone(),
        verdict: sample.verdict.clone(),
        scaling: sample.scaling.clone(),
        last,
        overall,
        rank,
        limited: sample.limited.clone(),
        stops: sample.stops.clone(),
        note,
    }
}
