//! References remove noise that they share with a series, and nothing else.

use crate::simulation;

use fastrand::Rng;
use proptest::prelude::*;
use simulation::{QUIET, SPACING, normal, settings, sweep};
use stats::{Class, JudgeSettings, ReferenceStanding, Sweep, Verdict, judge};

const SIZES: usize = 1_000;
/// One operation in so many is followed by the references.
const EVERY: usize = 8;

/// The values of a trial, and of its references.
struct Trial {
    values: Vec<f64>,
    controls: Vec<Vec<f64>>,
}

/// The noise of references: the machine drifts by `drift` (SD), and they grow by `growth`.
#[derive(Clone, Copy)]
struct Met {
    drift: f64,
    growth: f64,
}

/// References as they should be, on a noisy machine.
const FLAT: Met = Met { drift: 0.1, growth: 0.0 };

/// A trial whose noise is mostly that of the machine, which its references meet too.
fn trial(rng: &mut Rng, truth: &dyn Fn(f64) -> f64, Met { drift, growth }: Met) -> Trial {
    let own = sweep(rng, SIZES, 0.0, QUIET, truth);
    let keep = (-1.0 / 200_f64).exp();
    let mut state = normal(rng);
    let machine: Vec<f64> = (0..SIZES)
        .map(|_| {
            state = keep * state + (1.0 - keep * keep).sqrt() * normal(rng);
            (drift * state).exp()
        })
        .collect();
    let values = own.iter().zip(&machine).map(|(own, machine)| own * machine).collect();
    let mut reference = || {
        let places = (EVERY - 1..SIZES).step_by(EVERY);
        let grown = |place: usize| 1.0 + growth * place as f64 / SIZES as f64;
        places.map(|place| 1e-7 * grown(place) * machine[place] * (0.05 * normal(rng)).exp()).collect()
    };
    Trial { values, controls: vec![reference(), reference()] }
}

fn trials(seed: u64, count: usize, truth: impl Fn(f64) -> f64, met: Met) -> Vec<Trial> {
    let mut rng = Rng::with_seed(seed);
    (0..count).map(|_| trial(&mut rng, &truth, met)).collect()
}

/// The verdict on these trials, with each reference changed as wanted.
fn verdict(trials: &[Trial], seed: u64, change: impl Fn(&[f64]) -> Vec<f64>) -> Verdict {
    let spacing = SPACING * EVERY as u64;
    let values: Vec<Vec<Vec<f64>>> =
        trials.iter().map(|trial| trial.controls.iter().map(|values| change(values)).collect()).collect();
    let controls: Vec<Vec<Sweep<'_>>> = values
        .iter()
        .map(|trial| trial.iter().map(|values| Sweep::even(spacing, spacing as i64, values)).collect())
        .collect();
    let sweeps: Vec<Sweep<'_>> = trials
        .iter()
        .zip(&controls)
        .map(|(trial, of)| Sweep::even(SPACING, SPACING as i64, &trial.values).with_controls(of))
        .collect();
    let settings = JudgeSettings { tick_seconds: 0.0, ..settings(seed) };
    judge(&sweeps, &settings).expect("there are values")
}

fn plain(trials: &[Trial], seed: u64) -> Verdict {
    let sweeps: Vec<Sweep<'_>> =
        trials.iter().map(|trial| Sweep::even(SPACING, SPACING as i64, &trial.values)).collect();
    let settings = JudgeSettings { tick_seconds: 0.0, ..settings(seed) };
    judge(&sweeps, &settings).expect("there are values")
}

fn as_it_is(values: &[f64]) -> Vec<f64> {
    values.to_vec()
}

/// The middle one.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}

#[test]
fn common_noise_is_removed() {
    let runs: Vec<(Verdict, Verdict)> = (0..40)
        .map(|seed| {
            let trials = trials(seed, 20, |_| 1.0, FLAT);
            (verdict(&trials, seed, as_it_is), plain(&trials, seed))
        })
        .collect();
    let flat = runs.iter().filter(|(with, _)| with.class == Class::Flat).count();
    let flat_without = runs.iter().filter(|(_, without)| without.class == Class::Flat).count();
    assert!(flat >= 24 && flat_without <= 2, "{flat} flat, {flat_without} without");
    let bound = |of: fn(&(Verdict, Verdict)) -> f64| median(runs.iter().map(of).collect());
    let (with, without) = (bound(|run| run.0.bound), bound(|run| run.1.bound));
    assert!(with < 0.6 * without, "{with} {without}");
    // The reported level is the measured one.
    for (with, without) in &runs {
        assert_eq!(with.cost_low, without.cost_low);
        assert_eq!((&with.spikes, &with.modes), (&without.spikes, &without.modes));
        assert_eq!(with.bound < without.bound, with.adjustment.as_ref().is_some_and(|of| of.is_used()));
    }
}

#[test]
fn a_growth_that_references_share_is_not_cancelled() {
    // So noisy that the references often do not show it themselves.
    let met = Met { drift: 0.2, growth: 0.15 };
    let truth = |n: f64| 1.0 + met.growth * n / SIZES as f64;
    let verdicts: Vec<Verdict> =
        (0..100).map(|seed| verdict(&trials(seed, 20, truth, met), seed, as_it_is)).collect();
    let flat = verdicts.iter().filter(|verdict| verdict.class == Class::Flat).count();
    assert!(flat <= 5, "{flat} flat");
}

#[test]
fn a_growth_of_the_cost_alone_is_seen_better() {
    let truth = |n: f64| 1.0 + 0.5 * n / SIZES as f64;
    let named = |with: bool| {
        let of = |seed: u64| {
            let trials = trials(seed, 10, truth, FLAT);
            let verdict = if with { verdict(&trials, seed, as_it_is) } else { plain(&trials, seed) };
            u32::from(verdict.class == Class::LinearLike)
        };
        (0..40).map(of).sum::<u32>()
    };
    let (with, without) = (named(true), named(false));
    assert!(with > without + 5, "{with} {without}");
}

/// Counts of bytes, or a coarse clock.
#[test]
fn values_without_noise_need_no_references() {
    let equal = |trial: Trial| Trial { values: vec![4096.0; SIZES], ..trial };
    let trials: Vec<Trial> = trials(5, 10, |_| 1.0, FLAT).into_iter().map(equal).collect();
    let verdict = verdict(&trials, 5, as_it_is);
    assert_eq!(verdict.class, Class::Flat);
}

#[test]
fn references_without_values_change_nothing_but_the_remark() {
    let trials = trials(3, 12, |_| 1.0, FLAT);
    let empty = verdict(&trials, 3, |_| Vec::new());
    let adjustment = empty.adjustment.clone().expect("there are controls");
    assert!(adjustment.controls.iter().all(|of| of.standing == ReferenceStanding::TooFew));
    assert_eq!(Verdict { adjustment: None, ..empty }, plain(&trials, 3));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn constant_references_change_nothing_but_the_remark(seed in any::<u64>(), cost in 1e-9..1e-3_f64) {
        let trials = trials(seed, 10, |_| 1.0, FLAT);
        let constant = verdict(&trials, seed, |values| vec![cost; values.len()]);
        prop_assert!(constant.adjustment.as_ref().is_some_and(|of| !of.is_used() && of.error == 1.0));
        prop_assert_eq!(Verdict { adjustment: None, ..constant }, plain(&trials, seed));
    }

    #[test]
    fn the_unit_of_a_reference_does_not_matter(seed in any::<u64>(), power in -20..20_i32) {
        let trials = trials(seed, 10, |_| 1.0, FLAT);
        let scaled = |values: &[f64]| values.iter().map(|value| value * 2_f64.powi(power)).collect();
        let (one, other) = (verdict(&trials, seed, as_it_is), verdict(&trials, seed, scaled));
        prop_assert!((one.bound / other.bound - 1.0).abs() < 1e-6, "{} {}", one.bound, other.bound);
        prop_assert_eq!(one.class, other.class);
    }
}
