//! Intervals of sums over trials or slices of time: the part of a whole, a share, a mean.
//!
//! Responses of one moment resemble each other: counted as independent, they would claim far too much. So a
//! slice of time is a cluster, as in cluster sampling (W. G. Cochran, "Sampling Techniques", 3rd edition,
//! 1977, section 9A), and the variance between slices counts, which is never taken to be less than that of
//! independent responses. The interval of a share, read off a histogram, gives that of a percentile
//! (R. S. Woodruff, "Confidence intervals for medians and other position measures", JASA 47, 1952).

use crate::centre::{Interval, Student, mean, squares};

/// The error rate of each interval.
const LEVEL: f64 = 0.05;
/// A mean of fewer slices has no interval.
const SLICES_MIN: usize = 3;

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

/// One cluster: a slice of time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cluster {
    /// Its responses.
    pub count: f64,
    /// Those that the share counts.
    pub inside: f64,
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
    Some(Interval::around(value, reach))
}

/// The mean of values, one for each trial, with its interval. `None` for fewer than three.
pub fn mean_of_trials(values: &[f64]) -> Option<Interval> {
    let reach = mean_reach(values)?;
    Some(Interval::around(mean(values), reach))
}

/// Half the width of the 95 % interval of a share of `all`; the clusters hold the observed ones. `None` for
/// fewer than two clusters.
pub fn share_reach(share: f64, all: f64, clusters: impl Iterator<Item = Cluster>) -> Option<f64> {
    let clusters: Vec<Cluster> = clusters.filter(|cluster| cluster.count > 0.0).collect();
    let slices = clusters.len() as f64;
    if slices < 2.0 {
        return None;
    }
    let count: f64 = clusters.iter().map(|cluster| cluster.count).sum();
    let observed = clusters.iter().map(|cluster| cluster.inside).sum::<f64>() / count;
    let squares: f64 =
        clusters.iter().map(|cluster| (cluster.inside - observed * cluster.count).powi(2)).sum();
    let between = slices / (slices - 1.0) * squares / count.powi(2);
    let independent = share * (1.0 - share) / all;
    Some(Student::new(LEVEL).critical(slices - 1.0) * between.max(independent).sqrt())
}

/// Half the width of the 95 % interval of the mean of values, one for each slice; `None` for fewer than
/// three.
pub fn mean_reach(values: &[f64]) -> Option<f64> {
    if values.len() < SLICES_MIN {
        return None;
    }
    let count = values.len() as f64;
    let variance = squares(values) / (count - 1.0);
    Some(Student::new(LEVEL).critical(count - 1.0) * (variance / count).sqrt())
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

    /// For random slices the interval holds the known share about as often as promised.
    #[test]
    fn a_share_of_clusters_is_covered() {
        let mut random = fastrand::Rng::with_seed(1952);
        let (runs, slices, size) = (2000, 12, 200);
        let mut covered = 0;
        for _ in 0..runs {
            // The slices differ by more than chance alone: each has a share of its own.
            let clusters: Vec<Cluster> = (0..slices)
                .map(|_| {
                    let own = 0.9 + 0.1 * (random.f64() - 0.5);
                    let inside = (0..size).filter(|_| random.f64() < own).count() as f64;
                    Cluster { count: f64::from(size), inside }
                })
                .collect();
            let all = f64::from(slices * size);
            let share = clusters.iter().map(|cluster| cluster.inside).sum::<f64>() / all;
            let reach = share_reach(share, all, clusters.into_iter()).expect("enough slices");
            covered += u32::from((share - 0.9).abs() <= reach);
        }
        let rate = f64::from(covered) / f64::from(runs);
        assert!((0.93..=0.98).contains(&rate), "{rate}");
    }

    #[test]
    fn independent_responses_are_the_least() {
        let equal = || (0..10).map(|_| Cluster { count: 100.0, inside: 50.0 });
        let reach = share_reach(0.5, 1000.0, equal()).expect("enough slices");
        // Student's t of 9 degrees is 2.262.
        assert!((reach - 2.262 * (0.25_f64 / 1000.0).sqrt()).abs() < 1e-4, "{reach}");
        assert_eq!(share_reach(0.5, 100.0, equal().take(1)), None);
    }

    #[test]
    fn a_mean_has_the_interval_of_the_tables() {
        let reach = mean_reach(&[9.0, 10.0, 11.0]).expect("enough slices");
        // Student's t of 2 degrees is 4.303, the standard error 1/√3.
        assert!((reach - 4.303 / 3.0_f64.sqrt()).abs() < 1e-3, "{reach}");
        assert_eq!(mean_reach(&[9.0, 10.0]), None);
    }
}
