//! Simultaneous inference: the critical value at which many statements hold together.

use crate::centre::tails;

/// Fewer trials do not show how blocks move together.
const ENOUGH: usize = 20;
/// The quantile of interest, 5 % or a fifth of that, then rests on 20 to 100 draws.
const DRAWS: usize = 2_000;

/// The error rate of each statement for which the rate of the whole family is `alpha`.
///
/// `influences` holds a row per trial: how far the trial moves the estimate of each statement. Neighbouring
/// blocks move together, and Bonferroni's α/m, kept below 20 trials and as the least ever returned,
/// wastes that. With more trials the largest |t| of the family is drawn by flipping the signs of whole
/// trials, which keeps the correlation and is exact for symmetric errors (Westfall & Young,
/// Resampling-Based Multiple Testing, 1993, §2.3; Winkler et al., NeuroImage 92, 2014).
pub(crate) fn level_of_each(influences: &[Vec<f64>], alpha: f64, seed: u64) -> f64 {
    let trials = influences.len();
    let statements = influences.first().map_or(1, Vec::len).max(1);
    let bonferroni = alpha / statements as f64;
    if trials < ENOUGH {
        return bonferroni;
    }
    let mut squares = vec![0.0; statements];
    for row in influences {
        squares.iter_mut().zip(row).for_each(|(sum, influence)| *sum += influence * influence);
    }
    let mut random = fastrand::Rng::with_seed(seed);
    let mut sums = vec![0.0; statements];
    let mut largest: Vec<f64> = (0..DRAWS)
        .map(|_| {
            sums.fill(0.0);
            for row in influences {
                let sign = if random.bool() { 1.0 } else { -1.0 };
                sums.iter_mut().zip(row).for_each(|(sum, influence)| *sum += sign * influence);
            }
            let shares = sums.iter().zip(&squares).map(|(sum, square)| sum * sum / square);
            shares.filter(|share| share.is_finite()).fold(0.0, f64::max)
        })
        .collect();
    let place = ((1.0 - alpha) * DRAWS as f64) as usize;
    let share = *largest.select_nth_unstable_by(place.min(DRAWS - 1), f64::total_cmp).1;
    // The sum of squares does not change with signs, so t follows from the sum alone.
    let freedom = trials as f64 - 1.0;
    let t = (share * freedom / (trials as f64 - share)).sqrt();
    if t.is_finite() { tails(t, freedom).clamp(bonferroni, alpha) } else { bonferroni }
}

/// How often the signs of whole trials, flipped at random, make all statements together as far from zero as
/// they are: the sum of the statements' shares of their squares, which follow their t. It finds a departure
/// that is spread over several statements. All ways to flip are tried where there are few (Fisher, The Design
/// of Experiments, 1935, §21).
pub(crate) fn chance_of_all(influences: &[Vec<f64>], seed: u64) -> f64 {
    let statements = influences.first().map_or(0, Vec::len);
    let mut squares = vec![0.0; statements];
    for row in influences {
        squares.iter_mut().zip(row).for_each(|(sum, influence)| *sum += influence * influence);
    }
    let mut sums = vec![0.0; statements];
    let mut share = |is_flipped: &mut dyn FnMut(usize) -> bool| -> f64 {
        sums.fill(0.0);
        for (trial, row) in influences.iter().enumerate() {
            let sign = if is_flipped(trial) { -1.0 } else { 1.0 };
            sums.iter_mut().zip(row).for_each(|(sum, influence)| *sum += sign * influence);
        }
        let shares = sums.iter().zip(&squares).map(|(sum, square)| sum * sum / square);
        shares.filter(|share| share.is_finite()).sum()
    };
    let observed = share(&mut |_| false) * (1.0 - 1e-9);
    let mut random = fastrand::Rng::with_seed(seed);
    // A flip of all trials changes nothing, so the last one keeps its sign.
    let ways = 1_usize << influences.len().saturating_sub(1).min(usize::BITS as usize - 1);
    let (far, of) = if ways <= FLIPS {
        let far = (0..ways).filter(|way| share(&mut |trial| way >> trial & 1 == 1) >= observed).count();
        (far, ways)
    } else {
        // The measurement itself is one of the ways.
        let far = (1..FLIPS).filter(|_| share(&mut |_| random.bool()) >= observed).count();
        (far + 1, FLIPS)
    };
    far as f64 / of as f64
}

/// Ways to flip signs that are tried.
const FLIPS: usize = 1_024;

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(trials: usize, statements: usize, copies: usize) -> Vec<Vec<f64>> {
        let mut random = fastrand::Rng::with_seed(3);
        let mut row = || -> Vec<f64> {
            let own: Vec<f64> = (0..statements / copies).map(|_| random.f64() - 0.5).collect();
            own.iter().flat_map(|value| vec![*value; copies]).collect()
        };
        (0..trials).map(|_| row()).collect()
    }

    #[test]
    fn independent_statements_need_bonferroni_and_copies_do_not_count() {
        let independent = level_of_each(&noise(40, 32, 1), 0.05, 1);
        assert!((0.05 / 32.0..0.06 / 32.0 * 2.0).contains(&independent), "{independent}");
        let copies = level_of_each(&noise(40, 32, 32), 0.05, 1);
        assert!((0.035..=0.05).contains(&copies), "{copies}");
    }

    #[test]
    fn a_departure_that_is_spread_is_found() {
        let mut rows = noise(10, 6, 1);
        assert!(chance_of_all(&rows, 1) > 0.05);
        rows.iter_mut().flatten().for_each(|value| *value += 0.25);
        assert!(chance_of_all(&rows, 1) < 0.01, "{}", chance_of_all(&rows, 1));
        let mut many = noise(40, 6, 1);
        assert!(chance_of_all(&many, 1) > 0.05);
        many.iter_mut().flatten().for_each(|value| *value += 0.2);
        assert!(chance_of_all(&many, 1) < 0.01);
        assert_eq!(chance_of_all(&[], 1), 1.0);
    }

    #[test]
    fn few_trials_take_bonferroni() {
        assert_eq!(level_of_each(&noise(19, 32, 32), 0.05, 1), 0.05 / 32.0);
        assert_eq!(level_of_each(&[], 0.05, 1), 0.05);
    }
}
