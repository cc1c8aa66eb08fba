//! Intervals of a share and of a mean over slices of time.
//!
//! Responses of one moment resemble each other: counted as independent, they would claim far too much. So a
//! slice of time is a cluster, as in cluster sampling (W. G. Cochran, "Sampling Techniques", 3rd edition,
//! 1977, section 9A), and the variance between slices counts, which is never taken to be less than that of
//! independent responses. The interval of a share, read off a histogram, gives that of a percentile
//! (R. S. Woodruff, "Confidence intervals for medians and other position measures", JASA 47, 1952).

use crate::centre::Student;

/// The error rate of each interval.
const LEVEL: f64 = 0.05;

/// A mean of fewer slices has no interval.
const SLICES_MIN: usize = 3;

/// One cluster: a slice of time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cluster {
    /// Its responses.
    pub count: f64,
    /// Those that the share counts.
    pub inside: f64,
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
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
    Some(Student::new(LEVEL).critical(count - 1.0) * (variance / count).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

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
