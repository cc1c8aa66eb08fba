//! The figures of a shape beside its name: the places of a limit, a bend and a step, and the exponent of a
//! power.

use crate::simulation::{NOISY, QUIET, normal, settings};
use crate::verdict::{along, share, verdicts};
use fastrand::Rng;
use stats::{Bend, Class, Interval, JudgeSettings, Sweep, Verdict, judge};

/// A cost at one n.
type Truth = fn(f64) -> f64;

/// Half a decade.
const NEAR: f64 = 3.17;

#[test]
fn a_limit_lies_beyond_what_was_measured_and_near() {
    // Truths, and how many of twelve verdicts name their limit at least; those without one have none.
    let truths: [(&str, Truth, usize); 7] = [
        ("just beyond", |n| 1.0 + 3.0 / (1.0 - along(n) / 1.001), 10),
        ("near", |n| 1.0 + 0.1 / (1.0 - along(n) / 1.05), 11),
        ("far", |n| 100.0 / (1.0 - along(n) / 3.0) - 99.9, 0),
        ("too far", |n| 100.0 / (1.0 - along(n) / 10.0) - 99.9, 0),
        ("too far, and little", |n| 1.0 / (1.0 - along(n) / 10.0), 0),
        ("passed", |n| 1.0 + 3.0 / (1.0 - along(n) / 0.997).max(0.003), 0),
        ("just passed", |n| 1.0 + 3.0 / (1.0 - along(n) / 0.999).max(0.001), 0),
    ];
    for (name, truth, at_least) in truths {
        let verdicts = verdicts(12, 10, QUIET, truth);
        let limits: Vec<_> =
            verdicts.iter().filter_map(|verdict| Some((verdict, verdict.limit?.n))).collect();
        assert!(limits.len() >= at_least, "{name}: {} of 12", limits.len());
        for (verdict, n) in &limits {
            let n_high = verdict.n_high as f64;
            assert!(n.low > n_high && n.value <= NEAR * n_high, "{name}: {n:?}");
        }
        let none = name.starts_with("too far") || name.ends_with("passed");
        assert!(!none || share(&verdicts, Class::ApproachingLimit) == 0.0, "{name}");
    }
}

/// Costs of ten trials at each of `sizes`, which spread by 1 %.
fn at_sizes(sizes: &[u64], seed: u64, truth: impl Fn(f64) -> f64) -> Verdict {
    let mut rng = Rng::with_seed(seed);
    let mut cost = |n: &u64| truth(*n as f64) * (0.01 * normal(&mut rng)).exp();
    let values: Vec<Vec<f64>> = (0..10).map(|_| sizes.iter().map(&mut cost).collect()).collect();
    judged(sizes, &values)
}

/// The verdict on the whole of a table.
fn judged<Values: AsRef<[f64]>>(sizes: &[u64], values: &[Values]) -> Verdict {
    let trials: Vec<Sweep<'_>> = values.iter().map(|values| Sweep::listed(sizes, values.as_ref())).collect();
    judge(&trials, &JudgeSettings { whole: true, ..settings(1) }).expect("there are values")
}

#[test]
fn n_may_begin_at_zero() {
    let off = [1.0005, 1.0067, 1.0102, 1.0057, 1.0134, 0.9998, 1.0135, 0.9876, 0.9916, 1.0008];
    let lock = [0.9937, 1.0069, 1.0042, 1.0007, 1.0103, 1.0018, 0.9944, 0.9964, 1.0104, 1.012];
    let hash = [1.0538, 1.0674, 1.0699, 1.0605, 1.0615, 1.0537, 1.0608, 1.0601, 1.0622, 1.05];
    for (name, on, most) in [("lock", lock, 0.02), ("hash", hash, 0.08)] {
        let values: Vec<[f64; 2]> = off.into_iter().zip(on).map(<[f64; 2]>::from).collect();
        let [from_zero, from_one] = [[0, 1], [1, 2]].map(|sizes| judged(&sizes, &values));
        assert_eq!((from_zero.class, from_zero.bound), (from_one.class, from_one.bound), "{name}");
        assert_eq!(from_zero.class, Class::Flat, "{name}");
        assert!(from_zero.bound <= most, "{name}: {}", from_zero.bound);
    }
}

#[test]
fn a_step_lies_in_the_gap_between_two_n() {
    let sizes = [10, 20, 50, 100, 1_000, 2_000, 5_000, 10_000];
    for seed in 0..5 {
        let verdict = at_sizes(&sizes, seed, |n| if n > 150.0 { 2.0 } else { 1.0 });
        assert_eq!(verdict.class, Class::Stepped);
        let places: Vec<_> = verdict.steps.iter().map(|step| (step.n, step.n_low, step.n_high)).collect();
        assert_eq!(places, [(1_000, 101, 1_000)]);
    }
}

#[test]
fn a_growth_over_little_more_than_a_decade_has_no_limit() {
    let sizes: Vec<u64> = (1..=17).map(|place| place * 6_000).collect();
    let found: Vec<Verdict> =
        (0..20).map(|seed| at_sizes(&sizes, seed, |n| 1.0 + n / 1e5 + (n / 1e5).powi(2))).collect();
    let limits =
        found.iter().filter(|verdict| verdict.limit.is_some() || verdict.class == Class::ApproachingLimit);
    let steps = found.iter().filter(|verdict| !verdict.steps.is_empty());
    assert!(limits.count() <= 1);
    assert!(steps.count() <= 1);
}

#[test]
fn a_bend_is_found_with_its_slopes() {
    let truth = |n: f64| 1.0 + 10.0 * (along(n).min(0.3) + 3.0 * (along(n) - 0.3).max(0.0));
    let verdicts = verdicts(60, 10, QUIET, truth);
    let bends: Vec<Bend> = verdicts.iter().filter_map(|verdict| verdict.bend).collect();
    assert!(bends.len() >= 54, "{} of 60", bends.len());
    let covered = bends.iter().filter(|bend| bend.n.low <= 3_000.0 && 3_000.0 <= bend.n.high).count();
    assert!(covered >= 54, "{covered} of {}", bends.len());
    for Bend { n, before, after } in bends {
        assert!((2_850.0..3_150.0).contains(&n.value), "{n:?}");
        assert!((2.0..4.5).contains(&(after / before)), "{before} {after}");
    }
}

#[test]
fn the_interval_of_an_exponent_holds_it() {
    for exponent in [0.6, 1.7] {
        let verdicts = verdicts(30, 10, NOISY, |n| 0.05 + along(n).powf(exponent));
        let found: Vec<Interval> = verdicts.iter().filter_map(|verdict| verdict.exponent).collect();
        let covered = found.iter().filter(|found| found.low <= exponent && exponent <= found.high).count();
        // 95 %, less three standard errors.
        assert!(found.len() >= 27 && covered + 5 >= found.len(), "{exponent}: {covered} of {}", found.len());
    }
}
