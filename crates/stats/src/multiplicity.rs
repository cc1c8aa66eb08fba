//! Multiple comparisons: the error rate of each claim.

use crate::compare::{PerClaim, SeriesComparison};
use crate::contrast::Contrast;

/// Answers to all comparisons of a suite: a family per series, a contrast per pair of systems.
///
/// Each kind of claim (faster or slower, equivalent, different at all) has its own list of chances over the
/// suite, and the expected share of false ones among the claims of each kind is at most `alpha`: Benjamini &
/// Hochberg (JRSS B 57, 1995) over the series, Holm (Scandinavian Journal of Statistics 6, 1979) over the
/// pairs of a series, joined after Benjamini & Bogomolov (JRSS B 76, 2014). Where nothing differs, a suite
/// has no false difference with a probability of at least 1 − `alpha`.
///
/// Each interval has the error rate at which its claim was tried, so it never contradicts the answer; with
/// one pair a series these are the intervals of Benjamini & Yekutieli (JASA 100, 2005), and at most `alpha`
/// of those selected for a claim of one kind are expected to miss the truth. Series resemble each other,
/// because a disturbance affects all; the procedure is proved for such positive dependence of one-sided tests
/// (Benjamini & Yekutieli, Annals of Statistics 29, 2001), and simulated here for ours.
pub fn answers(suite: &[Vec<&Contrast>], alpha: f64) -> Vec<Vec<SeriesComparison>> {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of Benjamini & Hochberg, 1995, §3: fifteen p-values; four are rejected at 5 %.
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
