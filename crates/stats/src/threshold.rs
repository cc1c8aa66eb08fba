//! The level up to which attempts mostly succeed, from attempts at levels that were chosen one after the
//! other.
//!
//! An attempt holds with a probability that falls with the level, as a logistic curve. The threshold is the
//! level where it has fallen by half. Its posterior is computed on a grid (Watson and Pelli 1983, "QUEST: a
//! Bayesian adaptive psychometric method"), averaged over how steep the curve is (Kontsevich and Tyler 1999)
//! and over the share of attempts that fail at any level because of a disturbance (Wichmann and Hill 2001).
//! A disturbance may last: a neighbour on the machine spoils several attempts in a row, and the levels that
//! are tried meanwhile are all too high. So the disturbance is a hidden state, which attempts may keep from
//! one to the next (Rabiner, Proc. IEEE 77, 1989). Neither a single attempt nor a row of them decides, and
//! the interval shows how far they contradict each other.

/// One attempt and its result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Attempt {
    /// The level, on the scale on which distances count: of rates, the logarithm.
    pub level: f64,
    /// Whether it held.
    pub has_held: bool,
}

/// The threshold, with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Threshold {
    /// The median of the posterior: the most informative level for the next attempt.
    pub median: f64,
    /// Below it with 2.5 %.
    pub low: f64,
    /// Above it with 2.5 %.
    pub high: f64,
}

/// Levels of the grid.
const LEVELS: usize = 400;
/// The widths of the fall, as scales of the logistic function. Shares of the level, where that is a
/// logarithm.
const SCALES: [f64; 5] = [0.01, 0.02, 0.04, 0.08, 0.16];
/// Shares of attempts that are disturbed and fail at any level, with their prior probabilities.
const DISTURBED: [(f64, f64); 4] = [(0.0, 0.4), (0.05, 0.3), (0.15, 0.2), (0.3, 0.1)];
/// Chances that an attempt keeps the state of the one before, with their prior probabilities; otherwise it
/// draws its state by the share. Disturbances of ten attempts are taken for rare: else a few failures in a
/// row would outweigh earlier successes.
const KEPT: [(f64, f64); 2] = [(0.0, 0.95), (0.9, 0.05)];
/// The share of attempts that hold by luck.
const LUCK: f64 = 0.01;

/// The threshold between two levels, with a uniform prior.
pub fn threshold(attempts: &[Attempt], lowest: f64, highest: f64) -> Threshold {
    let levels: Vec<f64> =
        (0..LEVELS).map(|at| lowest + (highest - lowest) * (at as f64 + 0.5) / LEVELS as f64).collect();
    let weights: Vec<f64> = levels.iter().map(|&level| likelihood(attempts, level)).collect();
    let total: f64 = weights.iter().sum();
    let quantile = |share: f64| {
        let mut left = share * total;
        let place = weights.iter().position(|weight| {
            left -= weight;
            left <= 0.0
        });
        levels[place.unwrap_or(LEVELS - 1)]
    };
    Threshold { median: quantile(0.5), low: quantile(0.025), high: quantile(0.975) }
}

/// How likely these attempts are with this threshold.
fn likelihood(attempts: &[Attempt], threshold: f64) -> f64 {
    let of_scale = |scale: &f64| {
        let chances = |attempt: &Attempt| {
            let below = 1.0 / (1.0 + ((attempt.level - threshold) / scale).exp());
            let holds = LUCK + (1.0 - LUCK) * below;
            if attempt.has_held { [holds, LUCK] } else { [1.0 - holds, 1.0 - LUCK] }
        };
        let chances: Vec<[f64; 2]> = attempts.iter().map(chances).collect();
        let of_share = |&(share, prior): &(f64, f64)| {
            let of_kept = |&(kept, of_it): &(f64, f64)| of_it * with_disturbance(&chances, share, kept);
            prior * KEPT.iter().map(of_kept).sum::<f64>()
        };
        DISTURBED.iter().map(of_share).sum::<f64>()
    };
    SCALES.iter().map(of_scale).sum()
}

/// How likely attempts are whose chances undisturbed and disturbed are given: the forward algorithm.
fn with_disturbance(chances: &[[f64; 2]], share: f64, kept: f64) -> f64 {
    let [mut calm, mut disturbed] = [1.0 - share, share];
    for [if_calm, if_disturbed] in chances {
        let others = (1.0 - kept) * (calm + disturbed);
        calm = (kept * calm + others * (1.0 - share)) * if_calm;
        disturbed = (kept * disturbed + others * share) * if_disturbed;
    }
    calm + disturbed
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A search: `attempts` at the median of the posterior, on a curve with this threshold.
    fn search(random: &mut fastrand::Rng, truth: f64, scale: f64, lapse: f64, attempts: usize) -> Threshold {
        let (lowest, highest) = (0.0, 4.0);
        let mut made = Vec::new();
        for _ in 0..attempts {
            let level = threshold(&made, lowest, highest).median;
            let holds = (1.0 - lapse) / (1.0 + ((level - truth) / scale).exp());
            made.push(Attempt { level, has_held: random.f64() < holds });
        }
        threshold(&made, lowest, highest)
    }

    /// The interval holds the truth as often as promised, whether attempts are disturbed or not.
    #[test]
    fn the_interval_covers_the_threshold() {
        let mut random = fastrand::Rng::with_seed(1983);
        for (scale, lapse) in [(0.02, 0.0), (0.05, 0.05), (0.05, 0.15), (0.1, 0.1)] {
            let searches = 60;
            let mut covered = 0;
            let mut distance = 0.0;
            for _ in 0..searches {
                let truth = 0.5 + 3.0 * random.f64();
                let found = search(&mut random, truth, scale, lapse, 30);
                covered += usize::from(found.low <= truth && truth <= found.high);
                distance += (found.median - truth).abs() / f64::from(searches);
            }
            assert!(covered >= 53, "{scale}, {lapse}: {covered} of {searches}");
            assert!(distance < 2.0 * scale, "{scale}, {lapse}: off by {distance} on average");
        }
    }

    /// A tenth and three tenths of the attempts fail at any level, about five in a row.
    #[test]
    fn rows_of_disturbed_attempts_do_not_decide() {
        let mut random = fastrand::Rng::with_seed(1989);
        for share in [0.1, 0.3] {
            let searches = 40;
            let (mut near, mut covered) = (0, 0);
            for _ in 0..searches {
                let truth = 0.5 + 3.0 * random.f64();
                let (mut made, mut is_disturbed) = (Vec::new(), random.f64() < share);
                for _ in 0..40 {
                    let leaves = if is_disturbed { 0.2 } else { 0.2 * share / (1.0 - share) };
                    is_disturbed ^= random.f64() < leaves;
                    let level = threshold(&made, 0.0, 4.0).median;
                    let holds = 1.0 / (1.0 + ((level - truth) / 0.02).exp());
                    made.push(Attempt { level, has_held: !is_disturbed && random.f64() < holds });
                }
                let found = threshold(&made, 0.0, 4.0);
                near += usize::from((found.median - truth).abs() < 0.14);
                covered += usize::from(found.low <= truth && truth <= found.high);
            }
            assert!(near >= 37 && covered >= 37, "{share}: {near} near, {covered} covered, of {searches}");
        }
    }

    #[test]
    fn one_disturbed_attempt_does_not_decide() {
        let attempt = |level, has_held| Attempt { level, has_held };
        let mut attempts: Vec<Attempt> = (0..6).map(|at| attempt(1.9 + 0.01 * f64::from(at), true)).collect();
        attempts.extend((0..4).map(|at| attempt(2.1 + 0.01 * f64::from(at), false)));
        let before = threshold(&attempts, 0.0, 4.0);
        attempts.push(attempt(1.0, false));
        let after = threshold(&attempts, 0.0, 4.0);
        assert!((before.median - after.median).abs() < 0.05, "{before:?}, {after:?}");
        assert!(after.low > 1.8, "{after:?}");
    }
}
