//! The part of a whole, both measured anew in each trial: a ratio of sums, with its interval over trials.

use crate::centre::{Interval, Student};

/// The error rate of the interval.
const LEVEL: f64 = 0.05;

/// A part, and the whole that it is of, in one trial.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TrialPart {
    /// The part; it may be negative.
    pub part: f64,
    /// The whole.
    pub whole: f64,
    /// The variance that `part` has because it is a count of events.
    pub counting: f64,
}

/// The sum of the parts over the sum of the wholes, by the linearised variance of a ratio (W. G. Cochran,
/// "Sampling Techniques", 3rd edition, 1977, section 2.11), which is at least that of counting. `None` for
/// fewer than three trials, or where the wholes have no positive sum.
pub fn part_of_whole(trials: &[TrialPart]) -> Option<Interval> {
    let count = trials.len() as f64;
    let whole: f64 = trials.iter().map(|trial| trial.whole).sum();
    let is_positive = whole.is_finite() && whole > 0.0;
    if trials.len() < 3 || !is_positive {
        return None;
    }
    let value = trials.iter().map(|trial| trial.part).sum::<f64>() / whole;
    let squares: f64 = trials.iter().map(|trial| (trial.part - value * trial.whole).powi(2)).sum();
    let counting: f64 = trials.iter().map(|trial| trial.counting).sum();
    let variance = (count / (count - 1.0) * squares).max(counting) / whole.powi(2);
    let reach = Student::new(LEVEL).critical(count - 1.0) * variance.sqrt();
    Some(Interval { value, low: value - reach, high: value + reach })
}

/// The mean of values, one for each trial, with its interval. `None` for fewer than three.
pub fn mean_of_trials(values: &[f64]) -> Option<Interval> {
    let reach = crate::cluster::mean_reach(values)?;
    let value = values.iter().sum::<f64>() / values.len() as f64;
    Some(Interval { value, low: value - reach, high: value + reach })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// For trials with different wholes and counted parts, the interval holds the truth about as often as
    /// promised.
    #[test]
    fn a_part_is_covered() {
        let mut random = fastrand::Rng::with_seed(1977);
        let (runs, trials, truth) = (2000, 8, 0.7);
        let mut covered = 0;
        for _ in 0..runs {
            let parts: Vec<TrialPart> = (0..trials)
                .map(|_| {
                    let samples = 100 + random.u32(0..200);
                    let part = (0..samples).filter(|_| random.f64() < truth).count() as f64;
                    TrialPart {
                        part,
                        whole: f64::from(samples),
                        counting: f64::from(samples) * truth * (1.0 - truth),
                    }
                })
                .collect();
            let found = part_of_whole(&parts).expect("enough trials");
            covered += u32::from(found.low <= truth && truth <= found.high);
        }
        let rate = f64::from(covered) / f64::from(runs);
        assert!((0.94..=0.99).contains(&rate), "{rate}");
    }

    #[test]
    fn too_little_has_no_part() {
        let part = |part, whole| TrialPart { part, whole, counting: 0.0 };
        assert_eq!(part_of_whole(&[part(1.0, 2.0); 2]), None);
        assert_eq!(part_of_whole(&[part(1.0, 0.0); 5]), None);
        assert_eq!(part_of_whole(&[part(1.0, -2.0); 5]), None);
        assert_eq!(part_of_whole(&[part(1.0, f64::NAN); 5]), None);
        let equal = part_of_whole(&[part(1.0, 2.0); 5]).expect("an interval");
        assert_eq!((equal.low, equal.value, equal.high), (0.5, 0.5, 0.5));
    }
}
