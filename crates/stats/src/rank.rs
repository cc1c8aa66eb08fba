//! Several systems over a suite: their ranks, and the geometric mean of their ratios.

use serde::Serialize;

use crate::centre::{Centre, FEWEST, Interval, Student, exp, mean};
use crate::compare::levels;
use crate::contrast::{Contrast, Pairs};
use crate::dependence::inflation_of_pairs;

/// The places that a system may have, 1 being the one that takes least time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Rank {
    /// 1 + number of contenders that are certainly faster.
    pub best: usize,
    /// `of` − number of contenders that are certainly slower.
    pub worst: usize,
    /// Contenders that a chain of matches connects with it.
    pub of: usize,
}

/// Two systems of a series, and the second against the first.
#[derive(Clone, Debug)]
pub struct Match<'a> {
    /// The one.
    pub first: usize,
    /// The other.
    pub second: usize,
    /// The second against the first.
    pub contrast: &'a Contrast,
}

/// The ranks of `systems` systems in each series of a suite; `None` for a system without a match there.
///
/// From simultaneous intervals of all pairs, with α shared over the suite as in [`answers`](crate::answers):
/// a rank is 1 plus those that are surely better, down to the number less those that are surely worse (Al
/// Mohamad, Goeman & van Zwet, Biometrics 78, 2022; Mogstad, Romano, Shaikh & Wilhelm, Review of Economic
/// Studies 91, 2024). Surely means beyond the noise floor. A match over another range of n, because one
/// system stopped early, counts as any other.
pub fn ranks(suite: &[Vec<Match<'_>>], systems: usize, alpha: f64) -> Vec<Vec<Option<Rank>>> {
    let chances: Vec<Vec<f64>> = suite
        .iter()
        .map(|matches| matches.iter().map(|one| one.contrast.chances().differs).collect())
        .collect();
    let levels = levels(&chances, alpha);
    let surely = |((one, chance), level): ((&Match<'_>, &f64), &f64)| {
        let (faster, slower) =
            if one.contrast.is_faster() { (one.second, one.first) } else { (one.first, one.second) };
        (chance <= level).then_some((faster, slower))
    };
    let of_series = |((matches, chances), levels): ((&Vec<Match<'_>>, &Vec<f64>), &Vec<f64>)| {
        let sure: Vec<(usize, usize)> = matches.iter().zip(chances).zip(levels).filter_map(surely).collect();
        (0..systems).map(|system| rank(system, matches, &sure, systems)).collect()
    };
    suite.iter().zip(&chances).zip(&levels).map(of_series).collect()
}

/// The geometric mean of the ratios of several series, which all weigh the same, with its interval at error
/// rate `alpha`. `None` without contrasts, or where one has fewer than four trials a side.
///
/// Without pairs the interval is unbounded, from 0 to infinity: there is an estimate and no claim. An effect
/// on a whole run (another load on the machine, another boot) moves all of its series together, so it stays
/// in the mean with any number of series and trials, and one run a side does not show its size. A noise floor
/// does not show it either: it is measured in pairs, in which such an effect cancels. Of simulated runs of
/// one system, ten series of forty trials, an interval from the trials alone excluded 1 in 50 % where runs
/// differed by 2 % (SD) and in 84 % where they differed by 10 %; widened by a noise floor measured on the
/// same machine, still in 41 %.
///
/// The interval is about these series, not about others that might have been chosen. Whole rounds of trials
/// are drawn with replacement, the same for all series, since a disturbance of a round affects all of them;
/// of each draw the winsorised pairs of every series are averaged, then the series (a hierarchical bootstrap;
/// Davison & Hinkley, Bootstrap Methods and their Application, 1997, §3.8). The 1 − `alpha` quantile of the
/// deviations is widened for few trials as Student's t is, by √(n/(n − 1))·t/z (Hesterberg, American
/// Statistician 69, 2015), and for drift from round to round as the ratios themselves are.
pub fn geometric_mean(contrasts: &[&Contrast], alpha: f64, seed: u64) -> Option<Interval> {
    let freedom = contrasts.iter().map(|contrast| contrast.freedom()).reduce(f64::min)?;
    if freedom + 1.0 < f64::from(FEWEST) {
        return None;
    }
    let value = mean(&contrasts.iter().map(|contrast| contrast.value()).collect::<Vec<f64>>());
    let pairs: Option<Vec<&Pairs>> = contrasts.iter().map(|contrast| contrast.pairs.as_ref()).collect();
    let half = match pairs {
        Some(series) => reach_of_mean(&series, freedom, alpha, seed),
        None => f64::INFINITY,
    };
    Some(exp(Interval::around(value, half)))
}

/// From (faster, slower) pairs that are sure.
fn rank(system: usize, matches: &[Match<'_>], sure: &[(usize, usize)], systems: usize) -> Option<Rank> {
    let of = connected(system, matches, systems);
    let faster = sure.iter().filter(|(_, slower)| *slower == system).count();
    let slower = sure.iter().filter(|(faster, _)| *faster == system).count();
    (of > 1).then(|| Rank { best: 1 + faster, worst: of - slower, of })
}

/// How many systems a chain of matches connects with this one, and this one.
fn connected(system: usize, matches: &[Match<'_>], systems: usize) -> usize {
    let mut found = vec![false; systems];
    let mut next = vec![system];
    while let Some(system) = next.pop() {
        if std::mem::replace(&mut found[system], true) {
            continue;
        }
        let of_it = matches.iter().filter(|one| one.first == system || one.second == system);
        next.extend(of_it.flat_map(|one| [one.first, one.second]));
    }
    found.into_iter().filter(|found| *found).count()
}

/// Resampled suites; the 95 % quantile of so many errs by 3 % of itself.
const DRAWS: usize = 2_000;
/// So many degrees of freedom are a normal distribution.
const NORMAL: f64 = 1e6;

/// How far the interval of the logarithm reaches to either side.
fn reach_of_mean(series: &[&Pairs], freedom: f64, alpha: f64, seed: u64) -> f64 {
    let rounds = series.iter().flat_map(|pairs| &pairs.rounds).map(|round| round + 1).max().unwrap_or(0);
    let mut random = fastrand::Rng::with_seed(seed);
    let mut drawn = vec![0_u32; rounds];
    let mut deviation = || -> f64 {
        drawn.fill(0);
        (0..rounds).for_each(|_| drawn[random.usize(..rounds)] += 1);
        series.iter().map(|pairs| weighted(pairs, &drawn)).sum::<f64>() / series.len() as f64
    };
    let mut deviations: Vec<f64> = (0..DRAWS).map(|_| deviation().abs()).collect();
    let place = (((1.0 - alpha) * DRAWS as f64) as usize).min(DRAWS - 1);
    let quantile = *deviations.select_nth_unstable_by(place, f64::total_cmp).1;

    let student = Student::new(alpha);
    let critical = |freedom: f64| Centre { value: 0.0, error: 1.0, freedom }.reach(&student);
    let few = ((freedom + 1.0) / freedom).sqrt() * critical(freedom) / critical(NORMAL);
    quantile * few * inflation_of_pairs(&round_means(series, rounds)).sqrt()
}

/// The mean influence of the pairs drawn; 0 where none was.
fn weighted(pairs: &Pairs, drawn: &[u32]) -> f64 {
    let (sum, weight) =
        pairs.rounds.iter().zip(&pairs.influences).fold((0.0, 0.0), |(sum, weight), (round, influence)| {
            let times = f64::from(drawn[*round]);
            (sum + times * influence, weight + times)
        });
    if weight > 0.0 { sum / weight } else { 0.0 }
}

/// The mean of each round over the series.
fn round_means(series: &[&Pairs], rounds: usize) -> Vec<f64> {
    let mut sums = vec![0.0; rounds];
    for pairs in series {
        let moved = pairs.rounds.iter().zip(&pairs.influences);
        moved.for_each(|(round, influence)| sums[*round] += influence / series.len() as f64);
    }
    sums
}
