//! Builds whose cost is gated: 28 series on two sides, on a machine that drifts between them.

use fastrand::Rng;
use statrs::distribution::{ContinuousCDF, StudentsT};
use stats::{Contrast, Decision, Design, JudgeSettings, RatioClaim, Sweep, gate, moderate};

use crate::chance::normal;
use crate::suites::SharedNoise;

/// Series of a build: those of `osdyno run` on Linux.
pub(crate) const SERIES: usize = 28;
/// The series that costs more, where one does.
pub(crate) const CHANGED: usize = 13;
/// The margin of `slower`, where the gate has no other.
const MARGIN: f64 = 0.03;
/// A series responds to the machine by between half and one and a half times as much as the machine moves.
const RESPONSE: [f64; 2] = [0.5, 1.5];
/// A rule of thumb: a build fails if a mean is a tenth above the one before.
const THRESHOLD: f64 = 1.10;
/// Error rate of the rules of others, for each series.
const ALPHA: f64 = 0.05;

/// The decisions of a gate and of other rules on one build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BuildOutcome {
    /// Whether the gate is certain of the changed series.
    pub is_found: bool,
    /// Whether the gate is certain of a series that did not change.
    pub is_false: bool,
    /// Whether it excludes a change of every series.
    pub is_passed: bool,
    /// Whether a rule of others fails the build: Welch's t-test at 5 %, a threshold of 10 %, and
    /// benchstat's, Mann and Whitney's U at 5 %.
    pub others: [bool; 3],
}

/// The logarithms of the machine for each series, side and trial. Every round has each series once, in an
/// order of its own; the machine moves from one trial to the next. In pairs, a series is measured on both
/// sides back to back, in random order and the next time in the other one; else the run of one side follows
/// the other.
pub(crate) fn levels(
    machine: &SharedNoise,
    rng: &mut Rng,
    trials: usize,
    in_pairs: bool,
) -> Vec<[Vec<f64>; 2]> {
    let keep = (-1.0 / machine.lasting).exp();
    let responses: Vec<f64> =
        (0..SERIES).map(|_| RESPONSE[0] + (RESPONSE[1] - RESPONSE[0]) * rng.f64()).collect();
    let mut state = normal(rng);
    let mut levels = vec![[Vec::new(), Vec::new()]; SERIES];
    let mut firsts = [0; SERIES];
    let runs: &[&[usize]] = if in_pairs { &[&[0, 1]] } else { &[&[0], &[1]] };
    for sides in runs {
        let run = machine.run * normal(rng);
        for round in 0..trials {
            let mut order: Vec<usize> = (0..SERIES).collect();
            rng.shuffle(&mut order);
            for series in order {
                firsts[series] = if round % 2 == 0 { usize::from(rng.bool()) } else { 1 - firsts[series] };
                for place in 0..sides.len() {
                    state = keep * state + (1.0 - keep * keep).sqrt() * normal(rng);
                    let side = sides[(place + firsts[series]) % sides.len()];
                    levels[series][side].push(responses[series] * (run + machine.spread * state));
                }
            }
        }
    }
    levels
}

/// Gates the series, each as the sweeps of both sides, and applies the rules of other programs.
pub(crate) fn outcome(
    sides: &[Vec<Sweep<'_>>],
    ratio: f64,
    in_pairs: bool,
    settings: &JudgeSettings,
) -> BuildOutcome {
    let design = if in_pairs { Design::Paired } else { Design::Independent };
    let contrast = |sides: &[Vec<Sweep<'_>>]| Contrast::new(&sides[0], &sides[1], design, 0.0, settings);
    let mut contrasts: Vec<Contrast> = sides.chunks_exact(2).filter_map(contrast).collect();
    let trials = sides.first().map_or(0, Vec::len);
    moderate(contrasts.iter_mut(), (SERIES * trials.saturating_sub(1)) as f64);
    let evidence: Vec<_> = contrasts.iter().map(Contrast::evidence).collect();
    let decided = gate(&evidence, RatioClaim { margin: MARGIN, is_either_way: false }, 1);
    let is_certain = |place: usize| decided.get(place).is_some_and(|one| one.decision == Decision::Certain);
    let has_change = ratio != 1.0;
    let costs: Vec<[Vec<f64>; 2]> =
        sides.chunks_exact(2).map(|sides| [costs(&sides[0]), costs(&sides[1])]).collect();
    let any = |rule: fn(&[Vec<f64>; 2]) -> bool| costs.iter().any(rule);
    BuildOutcome {
        is_found: has_change && is_certain(CHANGED),
        is_false: (0..SERIES).any(|place| !(has_change && place == CHANGED) && is_certain(place)),
        is_passed: decided.iter().all(|one| one.decision == Decision::Excluded),
        others: [any(t_test), any(threshold), any(benchstat)],
    }
}

/// The mean of each trial, as a benchmark prints it.
fn costs(trials: &[Sweep<'_>]) -> Vec<f64> {
    trials.iter().map(|trial| mean(trial.values)).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Welch (Biometrika 34, 1947).
fn t_test([first, second]: &[Vec<f64>; 2]) -> bool {
    let error = |values: &[f64]| {
        let middle = mean(values);
        let squares: f64 = values.iter().map(|value| (value - middle).powi(2)).sum();
        squares / (values.len() as f64 - 1.0) / values.len() as f64
    };
    let (a, b) = (error(first), error(second));
    let freedom = |values: &[f64]| values.len() as f64 - 1.0;
    let freedom = (a + b).powi(2) / (a.powi(2) / freedom(first) + b.powi(2) / freedom(second));
    let t = (mean(second) - mean(first)) / (a + b).sqrt();
    t > 0.0 && StudentsT::new(0.0, 1.0, freedom).is_ok_and(|student| 2.0 * student.sf(t) < ALPHA)
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

    /// Neighbours in time resemble each other: in pairs the machine cancels, between two runs it does not.
    #[test]
    fn the_machine_cancels_in_pairs_only() {
        let machine = SharedNoise { name: "", spread: 0.10, lasting: 200.0, run: 0.10 };
        let mut rng = Rng::with_seed(1);
        let mut apart = |in_pairs: bool| {
            let differences = |[first, second]: &[Vec<f64>; 2]| (mean(second) - mean(first)).powi(2);
            let builds = (0..20).flat_map(|_| levels(&machine, &mut rng, 10, in_pairs));
            let squares: Vec<f64> = builds.map(|sides| differences(&sides)).collect();
            mean(&squares).sqrt()
        };
        let (in_pairs, in_runs) = (apart(true), apart(false));
        assert!(in_pairs < 0.01 && in_runs > 0.05, "{in_pairs} {in_runs}");
    }
}
