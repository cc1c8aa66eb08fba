//! Compares the same series on two systems, and all series of a suite, with the error rate of each claim.

use serde::Serialize;

use crate::centre::Interval;
use crate::contrast::Contrast;
use crate::sweep::{JudgeSettings, Sweep};

/// The five answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// The second takes less time, by more than the margin.
    Faster,
    /// The second takes more time, by more than the margin.
    Slower,
    /// Any difference is smaller than the margin, and none is certain that exceeds the noise floor.
    Equivalent,
    /// There is a difference above the noise floor, and it is smaller than the margin.
    DifferentButSmall,
    /// The data carry none of the above.
    Unresolved,
}

/// How the trials of two systems belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Design {
    /// The trials of the two are independent.
    Independent,
    /// The k-th trial of one and the k-th of the other were made back to back, in random order. A drift or
    /// disturbance that lasts longer than a pair affects both, and cancels.
    Paired,
}

/// One number for each kind of claim: the chance of an observation where the claim is false, or the error
/// rate at which the claim may be made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PerClaim {
    /// The difference is larger than the margin.
    pub beyond: f64,
    /// The difference is smaller than the margin.
    pub within: f64,
    /// There is a difference, and it is larger than the noise floor.
    pub differs: f64,
}

impl PerClaim {
    /// The same number for all.
    pub fn all(number: f64) -> PerClaim {
        PerClaim { beyond: number, within: number, differs: number }
    }

    /// The answer of a ratio, from its logarithm, the logarithm of the margin and these chances, where each
    /// kind of claim has its own error rate; and the rate of the claim that was made or tried.
    pub(crate) fn answer(&self, log_ratio: f64, log_margin: f64, levels: &PerClaim) -> (Answer, f64) {
        // A small difference must be more certain to be reported: of equal systems fewer than one in twenty
        // differ.
        let both = levels.within.min(levels.differs / 2.0);
        if log_ratio.abs() > log_margin {
            let answer = match self.beyond <= levels.beyond {
                true if log_ratio < 0.0 => Answer::Faster,
                true => Answer::Slower,
                false => Answer::Unresolved,
            };
            (answer, levels.beyond)
        } else if self.within <= both && self.differs <= both {
            (Answer::DifferentButSmall, both)
        } else if self.within <= levels.within {
            (Answer::Equivalent, levels.within)
        } else {
            (Answer::Unresolved, levels.within)
        }
    }
}

/// The second system against the first, over the n that both reached.
#[derive(Clone, Debug, PartialEq)]
pub struct SeriesComparison {
    /// The answer.
    pub answer: Answer,
    /// Cost of the second over cost of the first.
    pub ratio: Interval,
    /// Error rate of `ratio`, and of the `blocks` together.
    pub level: f64,
    /// The margin of the answer, as a share: the given one, or the noise floor if larger.
    pub margin: f64,
    /// The noise floor, as a share; 0 where none is known. No smaller difference is claimed.
    pub floor: f64,
    /// Smallest n compared.
    pub n_low: u64,
    /// Largest n compared.
    pub n_high: u64,
    /// Largest n that the first and the second reached; where one is below the other, the comparison is
    /// censored there.
    pub ends: (u64, u64),
    /// Trials of the first and of the second, or pairs of them.
    pub trials: (usize, usize),
    /// Boots of the first and of the second, where one of them has several: each is then one observation.
    pub boots: Option<(usize, usize)>,
    /// Whether trials were compared pair by pair.
    pub design: Design,
    /// Trials of each after which the answer may be definite, when more would help.
    pub trials_needed: Option<u32>,
    /// Boots of each after which it may, where boots are the observations.
    pub boots_needed: Option<u32>,
    /// Ratio by range of n: (n_low, n_high, ratio).
    pub blocks: Vec<(u64, u64, Interval)>,
    /// Where the two curves cross for certain, by n.
    pub crossings: Vec<Crossing>,
}

/// Where the faster of two becomes the slower.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Crossing {
    /// Where the ratio is 1, by a line through the logarithms of the ranges of n beside it.
    pub n: f64,
    /// One is faster for certain up to here.
    pub n_low: f64,
    /// And the other from here on.
    pub n_high: f64,
    /// Whether the second is the faster one below and the slower one above.
    pub faster_below: bool,
}

/// Compares `second` with `first`, unpaired; the error rate is divided by `judged`, the number of series in
/// the report. `None` when no n is common.
///
/// The comparison of one pair of systems by [`Contrast`], with every claim at α/`judged` (Bonferroni), and
/// the ratios by range of n divided by the looks too.
pub fn compare(
    first: &[Sweep<'_>],
    second: &[Sweep<'_>],
    judged: usize,
    settings: &JudgeSettings,
) -> Option<SeriesComparison> {
    let level = settings.error_rate() / judged.max(1) as f64;
    // The rate is divided by the looks already.
    let once = JudgeSettings { looks: 1, ..settings.clone() };
    let contrast = Contrast::new(first, second, Design::Independent, 0.0, &once)?;
    Some(contrast.at(&PerClaim::all(level)))
}

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

/// Where the ratio lies on one side of 1 for certain, and then on the other; a certain ratio exceeds `floor`.
/// All ranges of n hold together, so all crossings do.
///
/// In a range of n whose typical ratio is below 1 the curve may already have crossed at its end, but not yet
/// in its middle: so a crossing lies between the middles of the last certain range before it and the first
/// behind it.
pub(crate) fn crossings(logs: &[(u64, u64, Interval)], floor: f64) -> Vec<Crossing> {
    let side = |(_, _, ratio): &(u64, u64, Interval)| {
        if ratio.low > floor {
            1
        } else if ratio.high < -floor {
            -1
        } else {
            0
        }
    };
    let certain: Vec<usize> = (0..logs.len()).filter(|place| side(&logs[*place]) != 0).collect();
    let turns = certain.windows(2).filter(|pair| side(&logs[pair[0]]) != side(&logs[pair[1]]));
    turns.map(|pair| crossing(&logs[pair[0]..=pair[1]])).collect()
}

/// The crossing within ranges of n; the first and the last are certain.
fn crossing(logs: &[(u64, u64, Interval)]) -> Crossing {
    let middle =
        |(low, high, _): &(u64, u64, Interval)| (*low as f64).midpoint(*high as f64).max(f64::MIN_POSITIVE);
    let value = |place: usize| logs[place].2.value;
    // Where noise makes several, the one in the middle.
    let turns: Vec<usize> =
        (1..logs.len()).filter(|place| (value(*place - 1) < 0.0) != (value(*place) < 0.0)).collect();
    let place = turns.get(turns.len() / 2).copied().unwrap_or(logs.len() - 1);
    let (before, after) = (value(place - 1), value(place));
    let share = if before == after { 0.5 } else { (before / (before - after)).clamp(0.0, 1.0) };
    let (from, to) = (middle(&logs[place - 1]).ln(), middle(&logs[place]).ln());
    Crossing {
        n: (from + share * (to - from)).exp(),
        n_low: middle(&logs[0]),
        n_high: middle(&logs[logs.len() - 1]),
        faster_below: value(0) < 0.0,
    }
}

/// The error rate at which each of several claims is tried, so that the share of false ones among those that
/// are made is at most `alpha` (Benjamini & Hochberg, JRSS B 57, 1995).
pub fn discoveries(chances: &[f64], alpha: f64) -> f64 {
    let mut chances = chances.to_vec();
    chances.sort_unstable_by(f64::total_cmp);
    let count = chances.len().max(1) as f64;
    let is_made = |(place, chance): (usize, &f64)| *chance <= (place + 1) as f64 * alpha / count;
    let made = chances.iter().enumerate().rposition(is_made).map_or(1, |place| place + 1);
    made as f64 * alpha / count
}

/// The error rate at which each hypothesis is tested; it is rejected where its chance is not larger. At most
/// `alpha` of the families with a rejection are expected to hold a false one.
pub(crate) fn levels(chances: &[Vec<f64>], alpha: f64) -> Vec<Vec<f64>> {
    // Bonferroni within a family decides whether any of it can be rejected: the first step of Holm.
    let least = |family: &Vec<f64>| family.iter().copied().fold(1.0, f64::min) * family.len() as f64;
    let of_families: Vec<f64> = chances.iter().filter(|family| !family.is_empty()).map(least).collect();
    let level = discoveries(&of_families, alpha);
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
