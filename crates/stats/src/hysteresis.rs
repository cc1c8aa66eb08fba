//! Hysteresis: the difference between the way down and the way up at the same n, and the drift that looks
//! alike.
//!
//! A trial that goes up and then down visits each n twice. A difference between the two visits is hysteresis
//! if the cost depends on the past of the system and not only on n. It is drift if the machine changed in the
//! meantime. Steady drift makes a difference proportional to the time between the two visits: none where the
//! sweep turns, the most at the smallest n. A difference of exactly that form counts as drift, because the
//! data cannot show more.

use crate::block::column;
use crate::centre::{Centre, Student, exp, influences, mean};
use crate::finding::{Drift, Hysteresis};
use crate::interval::Interval;
use crate::simultaneous::level_of_each;

/// Less is of no interest, however certain.
const LEAST: f64 = 0.05;
/// Fewer trials carry no interval worth the name.
const FEWEST: usize = 4;

/// What differs between the two ways. `up` and `down` hold log medians: a row per trial, the same trial at
/// the same place, a column per range, NaN where one is missing. The sweeps turn at `n_turn`; operations
/// at all n are taken to last equally long.
///
/// Both together are found by chance in at most a share `alpha` of all series.
pub(crate) fn find(
    up: &[Vec<f64>],
    down: &[Vec<f64>],
    ranges: &[(u64, u64)],
    n_turn: u64,
    alpha: f64,
    seed: u64,
) -> (Option<Hysteresis>, Option<Drift>) {
    let differences: Vec<Vec<f64>> = up
        .iter()
        .zip(down)
        .map(|(up, down)| (0..ranges.len()).map(|place| difference(up, down, place)).collect::<Vec<f64>>())
        .filter(|row| row.iter().any(|value| value.is_finite()))
        .collect();
    if differences.len() < FEWEST {
        return (None, None);
    }
    let alpha = alpha / 2.0;
    let found = Found::of(&differences, alpha, seed);
    let between = between(ranges, n_turn);
    let Some((drift, steady)) = drift(&differences, &between, alpha) else {
        return (found.hysteresis(ranges), None);
    };
    // With the drift taken out of each trial, whatever is left for certain is hysteresis.
    let left = |keep: fn(&Steady) -> f64| -> Found {
        let row = |(row, steady): (&Vec<f64>, &Steady)| {
            let offset = keep(steady);
            row.iter().zip(&between).map(|(value, time)| value - steady.slope * time - offset).collect()
        };
        let rows: Vec<Vec<f64>> = differences.iter().zip(&steady).map(row).collect();
        Found::of(&rows, alpha, seed)
    };
    // A difference that is no straight line in time is not shown to be drift.
    if left(|steady| steady.constant).hysteresis(ranges).is_some() {
        return (found.hysteresis(ranges), None);
    }
    (left(|_| 0.0).hysteresis(ranges), Some(drift))
}

fn difference(up: &[f64], down: &[f64], place: usize) -> f64 {
    let at = |row: &[f64]| row.get(place).copied().unwrap_or(f64::NAN);
    let difference = at(down) - at(up);
    if difference.is_finite() { difference } else { f64::NAN }
}

/// Time from the visit of a range on the way up to that on the way down, as a share of the whole trial.
fn between(ranges: &[(u64, u64)], n_turn: u64) -> Vec<f64> {
    let top = ranges.iter().map(|range| range.1).max().unwrap_or(0).max(n_turn) as f64;
    let low = ranges.iter().map(|range| range.0).min().unwrap_or(0) as f64;
    let share = |(low_n, high_n): &(u64, u64)| {
        (top - (*low_n as f64).midpoint(*high_n as f64)) / (top - low).max(1.0)
    };
    ranges.iter().map(share).collect()
}

/// The differences of all ranges, with intervals that hold together.
struct Found {
    centres: Vec<Option<Centre>>,
    student: Student,
}

impl Found {
    fn of(rows: &[Vec<f64>], alpha: f64, seed: u64) -> Found {
        let count = rows.first().map_or(0, Vec::len);
        let columns: Vec<Vec<f64>> = (0..count).map(|range| column(rows, range)).collect();
        let by_range: Vec<Vec<f64>> = columns.iter().map(|values| influences(values)).collect();
        let by_trial: Vec<Vec<f64>> = (0..rows.len()).map(|trial| column(&by_range, trial)).collect();
        let student = Student::of(level_of_each(&by_trial, alpha, seed));
        Found { centres: columns.iter().map(|values| Centre::of(values)).collect(), student }
    }

    /// The largest that is certain and large enough.
    fn hysteresis(&self, ranges: &[(u64, u64)]) -> Option<Hysteresis> {
        let certain = |(centre, range): (&Option<Centre>, &(u64, u64))| {
            let logs = centre.as_ref()?.interval(&self.student);
            (counts(logs)).then_some((logs, *range))
        };
        let all = self.centres.iter().zip(ranges).filter_map(certain);
        let (logs, (n_low, n_high)) = all.max_by(|a, b| a.0.value.abs().total_cmp(&b.0.value.abs()))?;
        Some(Hysteresis { ratio: exp(logs), n_low, n_high })
    }
}

/// Certain, and large enough: up or down.
fn counts(logs: Interval) -> bool {
    logs.value.abs() >= LEAST.ln_1p() && (logs.low > 0.0 || logs.high < 0.0)
}

/// A straight line through the differences of a trial over the time between.
struct Steady {
    slope: f64,
    constant: f64,
}

impl Steady {
    /// By least squares; `None` where the ranges are at one time.
    fn of(row: &[f64], between: &[f64]) -> Option<Steady> {
        let points: Vec<(f64, f64)> =
            between.iter().copied().zip(row.iter().copied()).filter(|point| point.1.is_finite()).collect();
        let middle = |of: fn(&(f64, f64)) -> f64| mean(&points.iter().map(of).collect::<Vec<f64>>());
        let (time, value) = (middle(|point| point.0), middle(|point| point.1));
        let squares: f64 = points.iter().map(|point| (point.0 - time).powi(2)).sum();
        let products: f64 = points.iter().map(|point| (point.0 - time) * (point.1 - value)).sum();
        let slope = products / squares;
        slope.is_finite().then_some(Steady { slope, constant: value - slope * time })
    }
}

/// The change from the beginning to the end of a trial, when it is certain, and that of each trial.
fn drift(differences: &[Vec<f64>], between: &[f64], alpha: f64) -> Option<(Drift, Vec<Steady>)> {
    let steady: Option<Vec<Steady>> = differences.iter().map(|row| Steady::of(row, between)).collect();
    let steady = steady?;
    let slopes: Vec<f64> = steady.iter().map(|steady| steady.slope).collect();
    let logs = Centre::of(&slopes)?.interval(&Student::of(alpha));
    counts(logs).then_some((Drift { ratio: exp(logs) }, steady))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::{normal, ranges};
    use fastrand::Rng;

    const SIZES: usize = 10_000;

    /// Log medians of both ways: `effect` is what the way down has more at n.
    fn ways(rng: &mut Rng, trials: usize, spread: f64, effect: impl Fn(f64) -> f64) -> [Vec<Vec<f64>>; 2] {
        let middles: Vec<f64> =
            ranges(SIZES).iter().map(|range| (range.0 as f64).midpoint(range.1 as f64)).collect();
        let mut both = [Vec::new(), Vec::new()];
        for _ in 0..trials {
            let level = 0.2 * normal(rng);
            let mut way = |effect: &dyn Fn(f64) -> f64| -> Vec<f64> {
                // Neighbouring blocks drift together.
                let mut drift = normal(rng);
                let mut value = |n: &f64| {
                    drift = 0.8 * drift + 0.6 * normal(rng);
                    level + spread * drift + effect(*n)
                };
                middles.iter().map(&mut value).collect()
            };
            both[0].push(way(&|_| 0.0));
            both[1].push(way(&effect));
        }
        both
    }

    fn judged([up, down]: &[Vec<Vec<f64>>; 2]) -> (Option<Hysteresis>, Option<Drift>) {
        find(up, down, &ranges(SIZES), SIZES as u64, 0.05, 1)
    }

    /// Shares of replicates with hysteresis and with drift.
    fn shares(replicates: u64, trials: usize, effect: impl Fn(f64) -> f64) -> [f64; 2] {
        let mut found = [0.0; 2];
        for seed in 0..replicates {
            let (hysteresis, drift) = judged(&ways(&mut Rng::with_seed(seed), trials, 0.04, &effect));
            found[0] += f64::from(u8::from(hysteresis.is_some())) / replicates as f64;
            found[1] += f64::from(u8::from(drift.is_some())) / replicates as f64;
        }
        found
    }

    fn steady(n: f64) -> f64 {
        0.2 * (1.0 - n / SIZES as f64)
    }

    fn bump(n: f64) -> f64 {
        if (2000.0..4000.0).contains(&n) { 0.25 } else { 0.0 }
    }

    #[test]
    fn a_certain_difference_is_found_where_it_is() {
        let (hysteresis, drift) = judged(&ways(&mut Rng::with_seed(4), 20, 0.02, bump));
        let found = hysteresis.expect("hysteresis");
        assert!(found.n_low >= 1700 && found.n_high <= 4500, "{found:?}");
        assert!(found.ratio.low < 1.284 && found.ratio.high > 1.284, "{found:?}");
        assert_eq!(drift, None);
    }

    #[test]
    fn what_is_steady_in_time_is_drift() {
        let (hysteresis, drift) = judged(&ways(&mut Rng::with_seed(5), 20, 0.02, steady));
        assert_eq!(hysteresis, None);
        let ratio = drift.expect("drift").ratio;
        assert!(ratio.low < 1.2214 && ratio.high > 1.2214, "{ratio:?}");
        // Both: the way down costs 15 % more everywhere, too.
        let both = ways(&mut Rng::with_seed(5), 20, 0.02, |n| 0.14 + steady(n));
        let (hysteresis, drift) = judged(&both);
        assert!(hysteresis.is_some() && drift.is_some());
    }

    #[test]
    fn chance_is_seldom_found_and_effects_often() {
        for trials in [5, 20] {
            let [hysteresis, drift] = shares(150, trials, |_| 0.0);
            assert!(hysteresis + drift <= 0.08, "{hysteresis} and {drift} of {trials} trials");
        }
        assert!(shares(60, 20, bump)[0] >= 0.9);
        let [hysteresis, drift] = shares(60, 20, steady);
        assert!(hysteresis <= 0.1 && drift >= 0.9, "{hysteresis} and {drift}");
    }

    #[test]
    fn any_input_is_fine() {
        let nothing = (None, None);
        assert_eq!(find(&[], &[], &[], 0, 0.05, 1), nothing);
        for value in [f64::NAN, 0.0, f64::INFINITY, 1e308, -1e308] {
            let rows = vec![vec![value; 3]; 6];
            let same = vec![vec![1.0]; 6];
            for ranges in [&[(1, 1), (2, 2), (3, 3)][..], &[(5, 5)], &[], &[(0, u64::MAX), (1, 1)]] {
                for alpha in [0.05, 1e-300] {
                    assert_eq!(find(&rows, &rows, ranges, 0, alpha, 1), nothing);
                    find(&rows, &same, ranges, u64::MAX, alpha, 1);
                    find(&same, &rows[..4], ranges, 9, alpha, 1);
                }
            }
        }
    }
}
