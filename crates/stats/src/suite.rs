//! Multiple comparisons: the error rate of each claim, and the mean of the ratios.

use crate::Interval;
use crate::centre::{Centre, Student, exp, mean};
use crate::compare::{Comparison, Contrast, PerClaim, Side};
use crate::drift::{inflation, inflation_of_pairs, wander};
use crate::flat::FEWEST;

/// Resampled suites; the 95 % quantile of so many errs by 3 % of itself.
const DRAWS: usize = 2_000;

/// Answers to all comparisons of a suite: a family per series, a contrast per pair of systems.
///
/// Each kind of claim (faster or slower, equivalent, different at all) has its own list of chances over the
/// suite, and the expected share of false ones among the claims of each kind is at most `alpha`: Benjamini &
/// Hochberg (JRSS B 57, 1995) over the series, Holm (Scandinavian Journal of Statistics 6, 1979) over the
/// pairs of a series, joined after Benjamini & Bogomolov (JRSS B 76, 2014). Where nothing differs at all, a
/// suite without a single false difference is at least 1 − `alpha` likely.
///
/// Each interval has the error rate at which its claim was tried, so it never contradicts the answer; with
/// one pair a series these are the intervals of Benjamini & Yekutieli (JASA 100, 2005), of which, among
/// those selected for a claim of one kind, at most `alpha` are expected to miss the truth. Series resemble
/// each other, as what disturbs a machine disturbs all; the procedure is proved for such positive dependence
/// of one-sided tests (Benjamini & Yekutieli, Annals of Statistics 29, 2001), and simulated here for ours.
pub fn answers(suite: &[Vec<&Contrast>], alpha: f64) -> Vec<Vec<Comparison>> {
    let chances: Vec<Vec<PerClaim>> =
        suite.iter().map(|family| family.iter().map(|contrast| contrast.chances()).collect()).collect();
    let of = |kind: fn(&PerClaim) -> f64| {
        let chances: Vec<Vec<f64>> = chances.iter().map(|family| family.iter().map(kind).collect()).collect();
        levels(&chances, alpha)
    };
    let (beyond, within, differs) = (of(|c| c.beyond), of(|c| c.within), of(|c| c.differs));
    let level = |series: usize, pair: usize| PerClaim {
        beyond: beyond[series][pair],
        within: within[series][pair],
        differs: differs[series][pair],
    };
    let answer = |series: usize, family: &Vec<&Contrast>| {
        family.iter().enumerate().map(|(pair, contrast)| contrast.at(&level(series, pair))).collect()
    };
    suite.iter().enumerate().map(|(series, family)| answer(series, family)).collect()
}

/// The error rate at which each hypothesis is tested; it is rejected where its chance is not larger. At most
/// `alpha` of the families with a rejection are expected to hold a false one.
pub(crate) fn levels(chances: &[Vec<f64>], alpha: f64) -> Vec<Vec<f64>> {
    // Bonferroni within a family decides whether any of it can be rejected: the first step of Holm.
    let least = |family: &Vec<f64>| family.iter().copied().fold(1.0, f64::min) * family.len() as f64;
    let mut of_families: Vec<f64> = chances.iter().filter(|family| !family.is_empty()).map(least).collect();
    of_families.sort_unstable_by(f64::total_cmp);
    let count = of_families.len() as f64;
    let is_selected = |(place, chance): (usize, &f64)| *chance <= (place + 1) as f64 * alpha / count;
    let selected = of_families.iter().enumerate().rposition(is_selected).map_or(1, |place| place + 1);
    let level = selected as f64 * alpha / count;
    chances.iter().map(|family| step_down(family, level)).collect()
}

/// Holm's levels: the smallest chance is tested at α/m, the next at α/(m − 1), until one is too large, whose
/// level is that of all others.
fn step_down(chances: &[f64], alpha: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..chances.len()).collect();
    order.sort_by(|a, b| chances[*a].total_cmp(&chances[*b]));
    let mut levels = vec![0.0; chances.len()];
    let mut stopped = None;
    for (step, place) in order.into_iter().enumerate() {
        let level = stopped.unwrap_or(alpha / (chances.len() - step) as f64);
        if chances[place] > level {
            stopped = Some(level);
        }
        levels[place] = level;
    }
    levels
}

/// The geometric mean of the ratios of several series, which all weigh the same, with its interval at error
/// rate `alpha`. `None` without contrasts, or where one has fewer than four trials a side.
///
/// The interval speaks of these series, not of others that might have been chosen. Whole rounds of trials
/// are drawn with replacement, the same for all series, since what disturbs a round disturbs all of them; of
/// each draw the winsorised trials of every series are averaged, then the series (a hierarchical bootstrap;
/// Davison & Hinkley, Bootstrap Methods and their Application, 1997, §3.8). The 1 − `alpha` quantile of the
/// deviations is widened for few trials as Student's t is, by √(n/(n − 1))·t/z (Hesterberg, American
/// Statistician 69, 2015), and for drift from round to round as the ratios themselves are.
pub fn geometric_mean(contrasts: &[&Contrast], alpha: f64, seed: u64) -> Option<Interval> {
    let freedom = contrasts.iter().flat_map(|contrast| &contrast.sides).map(|side| side.freedom);
    let freedom = freedom.reduce(f64::min)?;
    if freedom + 1.0 < f64::from(FEWEST) {
        return None;
    }
    let value = mean(&contrasts.iter().map(|contrast| contrast.value()).collect::<Vec<f64>>());
    let sides: Vec<Vec<&Side>> = (0..2).map(|side| of_series(contrasts, side)).collect();
    let rounds: Vec<usize> = sides.iter().map(|side| count_of_rounds(side)).collect();

    let mut random = fastrand::Rng::with_seed(seed);
    let mut deviation = || -> f64 {
        let of_side = |(side, rounds): (&Vec<&Side>, &usize)| {
            let mut drawn = vec![0_u32; *rounds];
            (0..*rounds).for_each(|_| drawn[random.usize(..*rounds)] += 1);
            side.iter().map(|trials| weighted(trials, &drawn)).sum::<f64>()
        };
        sides.iter().zip(&rounds).map(of_side).sum::<f64>() / contrasts.len() as f64
    };
    let mut deviations: Vec<f64> = (0..DRAWS).map(|_| deviation().abs()).collect();
    let place = (((1.0 - alpha) * DRAWS as f64) as usize).min(DRAWS - 1);
    let quantile = *deviations.select_nth_unstable_by(place, f64::total_cmp).1;

    let student = Student::of(alpha);
    let critical = |freedom: f64| Centre { value: 0.0, error: 1.0, freedom }.reach(&student);
    let few = ((freedom + 1.0) / freedom).sqrt() * critical(freedom) / critical(NORMAL);
    let (widening, wander) = drift(contrasts.len(), &sides, &rounds);
    let half = (quantile * few * widening.sqrt()).hypot(critical(freedom) * wander.sqrt());
    Some(exp(Interval { value, low: value - half, high: value + half }))
}

/// So many degrees of freedom are a normal distribution.
const NORMAL: f64 = 1e6;

/// One side of all series.
fn of_series<'a>(contrasts: &[&'a Contrast], side: usize) -> Vec<&'a Side> {
    contrasts.iter().filter_map(|contrast| contrast.sides.get(side)).collect()
}

fn count_of_rounds(side: &[&Side]) -> usize {
    side.iter().flat_map(|trials| &trials.places).map(|place| place + 1).max().unwrap_or(0)
}

/// The mean pull of the trials drawn; 0 where none was.
fn weighted(side: &Side, drawn: &[u32]) -> f64 {
    let (sum, weight) =
        side.places.iter().zip(&side.pulls).fold((0.0, 0.0), |(sum, weight), (place, pull)| {
            let times = f64::from(drawn[*place]);
            (sum + times * pull, weight + times)
        });
    if weight > 0.0 { sum / weight } else { 0.0 }
}

/// What drift from round to round does to the squared error, and what slower drift adds to it.
fn drift(series: usize, sides: &[Vec<&Side>], rounds: &[usize]) -> (f64, f64) {
    let levels = |(side, rounds): (&Vec<&Side>, &usize)| -> Vec<f64> {
        let mut sums = vec![0.0; *rounds];
        let trials = side.iter().flat_map(|side| side.places.iter().zip(&side.pulls));
        trials.for_each(|(place, pull)| sums[*place] += pull / series as f64);
        sums
    };
    let levels: Vec<Vec<f64>> = sides.iter().zip(rounds).map(levels).collect();
    match levels.as_slice() {
        [pairs, none] if none.is_empty() => (inflation_of_pairs(pairs), 0.0),
        [first, second] => {
            (inflation(first).max(inflation(second)), wander(&[first.clone(), second.clone()]))
        }
        _ => (1.0, 0.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of Benjamini & Hochberg, 1995, §3: fifteen chances, of which four are rejected at 5 %.
    #[test]
    fn agrees_with_the_example_of_the_paper() {
        let chances = [
            0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719,
            0.6528, 0.7590, 1.0,
        ];
        let families: Vec<Vec<f64>> = chances.iter().map(|chance| vec![*chance]).collect();
        let levels = levels(&families, 0.05);
        let rejected = chances.iter().zip(&levels).filter(|(chance, level)| **chance <= level[0]).count();
        assert_eq!(rejected, 4);
        assert!(levels.iter().all(|level| (level[0] - 4.0 * 0.05 / 15.0).abs() < 1e-12));
    }

    /// By hand: 0.01 ≤ α/3, 0.02 ≤ α/2, 0.06 > α.
    #[test]
    fn steps_down_within_a_family() {
        let levels = step_down(&[0.02, 0.06, 0.01], 0.05);
        assert_eq!(levels, [0.05 / 2.0, 0.05, 0.05 / 3.0]);
        assert_eq!(step_down(&[0.04, 0.03], 0.05), [0.025, 0.025]);
        assert!(step_down(&[], 0.05).is_empty());
    }

    #[test]
    fn one_family_is_holm_and_none_is_nothing() {
        assert_eq!(levels(&[vec![0.02, 0.06, 0.01]], 0.05), [step_down(&[0.02, 0.06, 0.01], 0.05)]);
        assert!(levels(&[], 0.05).is_empty());
        assert_eq!(levels(&[vec![], vec![0.9]], 0.05), [vec![], vec![0.05]]);
    }
}
