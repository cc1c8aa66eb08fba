//! No input panics, and every result is consistent.

use proptest::collection::vec;
use proptest::prelude::*;
use stats::{Class, Interval, JudgeSettings, Sweep, compare, judge};

/// Costs, and what a broken measurement may hold instead.
fn value() -> impl Strategy<Value = f64> {
    prop_oneof![
        6 => 1e-9..1e-3_f64,
        2 => Just(1e-6),
        1 => prop::sample::select(vec![0.0, -0.0, -1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY]),
        1 => prop::sample::select(vec![f64::MAX, f64::MIN_POSITIVE, 5e-324, 1e300, 1e-50, 1e50]),
    ]
}

/// The n of a trial, in any order, and its values.
#[derive(Clone, Debug)]
enum Trial {
    /// First n and step.
    Even(u64, i64, Vec<f64>),
    /// n of each value.
    Listed(Vec<u64>, Vec<f64>),
}

/// Sizes in no order, of no count, most of them near each other.
fn sizes() -> impl Strategy<Value = Vec<u64>> {
    let size = prop_oneof![4 => 0..3_000_u64, 1 => 0..4_u64, 1 => any::<u64>(), 1 => Just(u64::MAX)];
    prop_oneof![vec(size.clone(), 0..8), vec(size, 0..200)].prop_flat_map(|sizes| {
        let mut rising = sizes.clone();
        rising.sort_unstable();
        let falling = rising.iter().rev().copied().collect();
        prop::sample::select(vec![sizes, rising, falling])
    })
}

fn listed() -> impl Strategy<Value = Trial> {
    (sizes(), vec(value(), 0..200)).prop_map(|(sizes, values)| Trial::Listed(sizes, values))
}

fn trial() -> impl Strategy<Value = Trial> {
    prop_oneof![even(), listed()]
}

fn even() -> impl Strategy<Value = Trial> {
    let n_first = prop_oneof![4 => Just(1_u64), 2 => 0..2_000_u64, 1 => any::<u64>()];
    let n_step = prop_oneof![4 => Just(1_i64), 1 => Just(0), 2 => -60..60_i64, 1 => any::<i64>()];
    let values = prop_oneof![vec(value(), 0..8), vec(value(), 0..300)];
    (n_first, n_step, values).prop_map(|(first, step, values)| Trial::Even(first, step, values))
}

/// Trials alike in their sizes, as a runner makes them, or unlike.
fn trials() -> impl Strategy<Value = Vec<Trial>> {
    let alike = (trial(), vec(vec(value(), 0..200), 0..25)).prop_map(|(trial, values)| {
        let of = |values| match &trial {
            Trial::Even(first, step, _) => Trial::Even(*first, *step, values),
            Trial::Listed(sizes, _) => Trial::Listed(sizes.clone(), values),
        };
        values.into_iter().map(of).collect()
    });
    prop_oneof![vec(trial(), 0..6), alike]
}

fn settings() -> impl Strategy<Value = JudgeSettings> {
    let odd = prop::sample::select(vec![0.0, -1.0, 1.0, 2.0, f64::NAN, f64::INFINITY, 1e-300]);
    let alpha = prop_oneof![Just(0.05), odd.clone()];
    let margin = prop_oneof![Just(0.1), odd.clone()];
    let tick_seconds = prop_oneof![Just(1e-9), odd];
    (margin, alpha, any::<u32>(), tick_seconds, any::<u64>()).prop_map(
        |(margin, alpha, looks, tick_seconds, seed)| JudgeSettings {
            margin,
            alpha,
            looks,
            tick_seconds,
            seed,
            whole: false,
        },
    )
}

fn sweeps(trials: &[Trial]) -> Vec<Sweep<'_>> {
    fn sweep(trial: &Trial) -> Sweep<'_> {
        match trial {
            Trial::Even(n_first, n_step, values) => Sweep::even(*n_first, *n_step, values),
            Trial::Listed(sizes, values) => Sweep::listed(sizes, values),
        }
    }
    trials.iter().map(sweep).collect()
}

fn ordered(interval: Interval) -> bool {
    interval.low <= interval.value && interval.value <= interval.high
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_verdict_makes_sense(trials in trials(), settings in settings()) {
        let Some(verdict) = judge(&sweeps(&trials), &settings) else { return Ok(()) };
        prop_assert!(verdict.trials >= 1 && verdict.trials <= trials.len());
        prop_assert_eq!(verdict.n_low, verdict.blocks[0].n_low);
        prop_assert_eq!(verdict.n_high, verdict.blocks[verdict.blocks.len() - 1].n_high);
        prop_assert!(verdict.blocks.iter().all(|block| block.n_low <= block.n_high));
        prop_assert!(verdict.blocks.windows(2).all(|pair| pair[0].n_high < pair[1].n_low));
        prop_assert!(verdict.blocks.iter().all(|block| ordered(block.cost) && ordered(block.relative)));
        prop_assert!(ordered(verdict.growth) && ordered(verdict.cost_low) && ordered(verdict.cost_high));
        prop_assert!(ordered(verdict.marginal_cost) && ordered(verdict.top_decade_slope));
        prop_assert!(verdict.doubling_size.is_none_or(|size| ordered(size) && size.low > 0.0));
        prop_assert!(verdict.bound >= verdict.peak.abs() || verdict.peak < 0.0);
        prop_assert!(verdict.class != Class::Flat || verdict.bound <= settings.margin * (1.0 + 1e-12));
    }

    #[test]
    fn references_of_any_kind_break_nothing(
        trials in trials(), controls in vec(vec(trial(), 0..4), 1..4), settings in settings()
    ) {
        let controls: Vec<Vec<Sweep<'_>>> = controls.iter().map(|trials| sweeps(trials)).collect();
        let trials: Vec<Sweep<'_>> = sweeps(&trials).into_iter().enumerate()
            .map(|(place, sweep)| sweep.with_controls(&controls[place % controls.len()])).collect();
        let Some(verdict) = judge(&trials, &settings) else { return Ok(()) };
        prop_assert!(verdict.blocks.iter().all(|block| ordered(block.cost) && ordered(block.relative)));
        prop_assert!(ordered(verdict.growth) && ordered(verdict.cost_low) && ordered(verdict.marginal_cost));
        prop_assert!(verdict.class != Class::Flat || verdict.bound <= settings.margin * (1.0 + 1e-12));
        prop_assert!(compare(&trials, &trials, 1, &settings).is_none_or(|compared| ordered(compared.ratio)));
    }

    #[test]
    fn a_comparison_makes_sense(first in trials(), second in trials(), judged in any::<usize>(), settings in settings()) {
        let Some(compared) = compare(&sweeps(&first), &sweeps(&second), judged, &settings) else { return Ok(()) };
        prop_assert!(compared.n_low <= compared.n_high);
        prop_assert!(ordered(compared.ratio));
        prop_assert!(!compared.blocks.is_empty());
        prop_assert!(compared.blocks.iter().all(|block| block.0 <= block.1 && ordered(block.2)));
    }

    #[test]
    fn a_run_compared_with_itself_is_no_different(trials in trials()) {
        let settings = JudgeSettings { margin: 0.03, alpha: 0.05, looks: 1, tick_seconds: 1e-9, seed: 1, whole: false };
        if let Some(compared) = compare(&sweeps(&trials), &sweeps(&trials), 1, &settings) {
            prop_assert!(compared.ratio.low <= 1.0 && compared.ratio.high >= 1.0);
        }
    }
}

#[test]
fn nothing_to_judge_is_no_verdict() {
    let settings =
        JudgeSettings { margin: 0.1, alpha: 0.05, looks: 1, tick_seconds: 1e-9, seed: 1, whole: false };
    assert_eq!(judge(&[], &settings), None);
    assert_eq!(judge(&[Sweep::even(1, 1, &[])], &settings), None);
    assert_eq!(judge(&[Sweep::even(1, 1, &[0.0, f64::NAN])], &settings), None);
}

/// Trials so short that each size is its own block: tests of workloads run n = 1…4.
#[test]
fn tiny_sweeps_are_judged() {
    let settings =
        JudgeSettings { margin: 0.1, alpha: 0.05, looks: 1, tick_seconds: 1e-9, seed: 1, whole: false };
    for sizes in [1, 2, 4, 50, 200] {
        let values = vec![1e-6; sizes];
        let trials = vec![Sweep::even(1, 1, &values); 5];
        let verdict = judge(&trials, &settings).expect("values");
        assert_eq!((verdict.n_high, verdict.trials), (sizes as u64, 5));
        // Equal values are flat; of a single size there is its cost.
        assert_eq!(verdict.class, if sizes == 1 { Class::Value } else { Class::Flat });
        assert_eq!(judge(&trials[..1], &settings).expect("values").class, Class::Inconclusive);
    }
}
