//! Other rules for the same measurements, applied as they usually are: to all measurements together, as if
//! those of one trial were independent.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// The results of other rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rivals {
    /// The complexity that google/benchmark reports; `None` of two systems.
    pub complexity: Option<Complexity>,
    /// Whether the usual 95 % interval of a log-log slope leaves out 0; `None` of two systems.
    pub slope: Option<bool>,
    /// Whether Welch's t-test finds a difference at 5 %: of the first and the last block, or of two systems.
    pub t_test: bool,
}

/// The complexities that google/benchmark chooses from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Complexity {
    /// 1
    Constant,
    /// lg n
    Log,
    /// n
    Line,
    /// n·lg n
    LineLog,
    /// n²
    Square,
    /// n³
    Cube,
}

impl Complexity {
    const ALL: [Complexity; 6] = [
        Complexity::Constant,
        Complexity::Log,
        Complexity::Line,
        Complexity::LineLog,
        Complexity::Square,
        Complexity::Cube,
    ];

    fn at(self, n: f64) -> f64 {
        match self {
            Complexity::Constant => 1.0,
            Complexity::Log => n.log2(),
            Complexity::Line => n,
            Complexity::LineLog => n * n.log2(),
            Complexity::Square => n * n,
            Complexity::Cube => n * n * n,
        }
    }
}

/// Share of the values at either end that a t-test of the ends compares.
const END: usize = 20;
/// Error rate of a rule, for each series.
const ALPHA: f64 = 0.05;
/// A rule of thumb: a build fails if a mean is a tenth above the one before.
const THRESHOLD: f64 = 1.10;

/// The rules for one series; the n of the values of a trial are `sizes`, rising.
pub(crate) fn of_one(sizes: &[u64], trials: &[&[f64]]) -> Rivals {
    // They have no rule for cold starts, so leaving out the first n favours them.
    let from = sizes.partition_point(|n| *n < 100);
    let judged = sizes.len() - from;
    let end = (judged / END).max(1);
    let part = |range: std::ops::Range<usize>| {
        let values = trials.iter().flat_map(|values| values.get(range.start..range.end.min(values.len())));
        values.flatten().copied().collect::<Vec<f64>>()
    };
    let shortest = trials.iter().map(|values| values.len()).min().unwrap_or(0).max(from + end);
    Rivals {
        complexity: Some(complexity(sizes, trials, from)),
        slope: Some(slope_differs(sizes, trials, from)),
        t_test: welch(&part(from..from + end), &part(shortest - end..shortest)).is_some(),
    }
}

/// The rule for two systems: all measurements of each.
pub(crate) fn of_two(systems: &[Vec<&[f64]>]) -> Rivals {
    let all = |system: usize| systems[system].concat();
    Rivals { complexity: None, slope: None, t_test: welch(&all(0), &all(1)).is_some() }
}

/// The rules for a build, by the costs of each series on both sides: whether a series fails it by Welch's
/// t-test at 5 %, by a threshold of 10 %, and by benchstat's rule, Mann and Whitney's U at 5 %.
pub(crate) fn of_build(series: &[[Vec<f64>; 2]]) -> [bool; 3] {
    let fails = |rule: fn(&[Vec<f64>; 2]) -> bool| series.iter().any(rule);
    [fails(t_test), fails(threshold), fails(benchstat)]
}

/// The rule of google/benchmark (`src/complexity.cc`): one coefficient by least squares, no intercept; the
/// first complexity with the least root mean square error. Means over trials, since how trials spread at
/// one n adds the same to the error of each.
fn complexity(sizes: &[u64], trials: &[&[f64]], from: usize) -> Complexity {
    let mean = |place: usize| {
        let values: Vec<f64> = trials.iter().filter_map(|values| values.get(place).copied()).collect();
        (!values.is_empty()).then(|| (sizes[place] as f64, self::mean(&values)))
    };
    let points: Vec<(f64, f64)> = (from..sizes.len()).filter_map(mean).collect();
    let error = |complexity: Complexity| {
        let curve = |n: f64| complexity.at(n);
        let products: f64 = points.iter().map(|(n, cost)| cost * curve(*n)).sum();
        let squares: f64 = points.iter().map(|(n, _)| curve(*n).powi(2)).sum();
        points.iter().map(|(n, cost)| (cost - products / squares * curve(*n)).powi(2)).sum::<f64>()
    };
    let mut best = (Complexity::Constant, error(Complexity::Constant));
    for complexity in Complexity::ALL {
        let error = error(complexity);
        if error < best.1 {
            best = (complexity, error);
        }
    }
    best.0
}

/// Ordinary least squares of log cost on log n.
fn slope_differs(sizes: &[u64], trials: &[&[f64]], from: usize) -> bool {
    let mut sums = [0.0; 6];
    for values in trials {
        for (n, cost) in sizes.iter().zip(*values).skip(from).filter(|(_, cost)| **cost > 0.0) {
            let (x, y) = ((*n as f64).ln(), cost.ln());
            for (sum, term) in sums.iter_mut().zip([1.0, x, y, x * x, x * y, y * y]) {
                *sum += term;
            }
        }
    }
    let [count, x, y, xx, xy, yy] = sums;
    let (spread, covariance) = (xx - x * x / count, xy - x * y / count);
    let slope = covariance / spread;
    let residual = (yy - y * y / count - slope * covariance) / (count - 2.0);
    differs(slope, (residual / spread).sqrt(), count - 2.0)
}

/// Welch's t-test (Biometrika 34, 1947): whether the second values are higher, if they differ.
pub(crate) fn welch(first: &[f64], second: &[f64]) -> Option<bool> {
    let moments = |values: &[f64]| {
        let (count, mean) = (values.len() as f64, mean(values));
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        (mean, squares / (count - 1.0) / count, count)
    };
    let ((a, a_error, a_count), (b, b_error, b_count)) = (moments(first), moments(second));
    let freedom =
        (a_error + b_error).powi(2) / (a_error.powi(2) / (a_count - 1.0) + b_error.powi(2) / (b_count - 1.0));
    differs(b - a, (a_error + b_error).sqrt(), freedom).then_some(b > a)
}

fn differs(estimate: f64, error: f64, freedom: f64) -> bool {
    let student = StudentsT::new(0.0, 1.0, freedom).ok();
    student.is_some_and(|student| 2.0 * student.sf((estimate / error).abs()) < ALPHA)
}

pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn t_test([first, second]: &[Vec<f64>; 2]) -> bool {
    welch(first, second) == Some(true)
}

fn threshold([first, second]: &[Vec<f64>; 2]) -> bool {
    mean(second) > THRESHOLD * mean(first)
}

/// Mann & Whitney, Annals of Mathematical Statistics 18, 1947, by the exact distribution, as in benchstat.
fn benchstat([first, second]: &[Vec<f64>; 2]) -> bool {
    let above = |one: &f64| first.iter().filter(|other| *other < one).count();
    let u: usize = second.iter().map(above).sum();
    2 * u > first.len() * second.len() && exact(first.len(), second.len(), u) < ALPHA
}

/// The two-sided chance that U is so far from its middle, or further.
fn exact(first: usize, second: usize, u: usize) -> f64 {
    // ways[j][u]: how many orders of i values of one side and j of the other have that U.
    let most = first * second;
    let mut ways = vec![vec![0.0_f64; most + 1]; second + 1];
    ways.iter_mut().for_each(|row| row[0] = 1.0);
    for _ in 0..first {
        let mut next: Vec<Vec<f64>> = vec![vec![0.0; most + 1]; second + 1];
        for j in 0..=second {
            for value in 0..=most {
                let with = if j == 0 { 0.0 } else { next[j - 1][value] };
                let without = if value >= j { ways[j][value - j] } else { 0.0 };
                next[j][value] = with + without;
            }
        }
        ways = next;
    }
    let far = u.max(most - u);
    let tail: f64 = ways[second][far..].iter().sum();
    (2.0 * tail / ways[second].iter().sum::<f64>()).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trials(cost: impl Fn(f64) -> f64) -> (Vec<u64>, Vec<Vec<f64>>) {
        let sizes: Vec<u64> = (100..=1_000).step_by(10).collect();
        let wave = |place: usize| 1.0 + 0.01 * (place as f64 * 1.7).sin();
        let trial = |shift: usize| {
            sizes.iter().enumerate().map(|(at, n)| cost(*n as f64) * wave(at + shift)).collect()
        };
        let values = vec![trial(0), trial(1), trial(2)];
        (sizes, values)
    }

    #[test]
    fn what_is_plain_is_said_by_all() {
        let (sizes, values) = trials(|_| 1.0);
        let flat = Rivals { complexity: Some(Complexity::Constant), slope: Some(false), t_test: false };
        assert_eq!(of_one(&sizes, &slices(&values)), flat);
        let (sizes, values) = trials(|n| n);
        let line = Rivals { complexity: Some(Complexity::Line), slope: Some(true), t_test: true };
        assert_eq!(of_one(&sizes, &slices(&values)), line);
    }

    #[test]
    fn a_cost_that_doubles_passes_for_a_logarithm() {
        let (sizes, values) = trials(|n| 1.0 + n / 1_000.0);
        assert_eq!(of_one(&sizes, &slices(&values)).complexity, Some(Complexity::Log));
    }

    fn slices(trials: &[Vec<f64>]) -> Vec<&[f64]> {
        trials.iter().map(Vec::as_slice).collect()
    }

    #[test]
    fn two_systems() {
        let (same, other) = (trials(|_| 1.0).1, trials(|_| 1.1).1);
        assert!(!of_two(&[slices(&same), slices(&same)]).t_test);
        assert!(of_two(&[slices(&same), slices(&other)]).t_test);
    }

    /// By hand: of all orders of four and four, and of five and five, so many are as far apart or further.
    #[test]
    fn the_rank_test_counts_orders() {
        assert!((exact(4, 4, 16) - 2.0 / 70.0).abs() < 1e-12);
        assert!((exact(5, 5, 25) - 2.0 / 252.0).abs() < 1e-12);
        assert!((exact(5, 5, 4) - 24.0 / 252.0).abs() < 1e-12);
        assert_eq!(exact(3, 3, 4), 1.0);
    }

    #[test]
    fn the_rules_of_others_fail_what_is_slower_and_nothing_that_is_faster() {
        let slow: Vec<f64> = (0..10).map(|place| 1.2 + 0.001 * f64::from(place)).collect();
        let fast: Vec<f64> = (0..10).map(|place| 1.0 + 0.001 * f64::from(place)).collect();
        for rule in [t_test, threshold, benchstat] {
            assert!(rule(&[fast.clone(), slow.clone()]));
            assert!(!rule(&[slow.clone(), fast.clone()]) && !rule(&[fast.clone(), fast.clone()]));
        }
    }
}
