//! The error rates of `judge`, on sweeps with known truth.

use crate::simulation;

use fastrand::Rng;
use simulation::{NOISY, Noise, QUIET, SPACING, long, normal, settings, sweep, sweeps, up};
use stats::{Class, Sweep, Verdict, Warning, judge};

const SIZES: usize = 1_000;

/// Verdicts on `replicates` runs of `trials` trials.
pub(crate) fn verdicts(
    replicates: u64,
    trials: usize,
    noise: Noise,
    truth: impl Fn(f64) -> f64,
) -> Vec<Verdict> {
    (0..replicates)
        .map(|seed| {
            let values = sweeps(&mut Rng::with_seed(seed), trials, SIZES, noise, &truth);
            judge(&long(&values), &settings(seed)).expect("there are values")
        })
        .collect()
}

/// Share of the verdicts that are `class`.
pub(crate) fn share(verdicts: &[Verdict], class: Class) -> f64 {
    verdicts.iter().filter(|verdict| verdict.class == class).count() as f64 / verdicts.len() as f64
}

/// n/SIZES, for truths over the whole range.
pub(crate) fn along(n: f64) -> f64 {
    n / SIZES as f64
}

#[test]
fn growth_of_exactly_the_margin_is_not_called_flat() {
    for (noise, trials) in [(QUIET, 40), (NOISY, 40), (QUIET, 10), (NOISY, 10)] {
        let flat = share(&verdicts(300, trials, noise, |n| 1.0 + 0.1 * along(n)), Class::Flat);
        assert!(flat <= 0.05, "{flat} flat of {trials} trials");
    }
    let step = |n: f64| if n > 900.0 { 1.1 } else { 1.0 };
    let flat = share(&verdicts(300, 40, QUIET, step), Class::Flat);
    assert!(flat <= 0.05, "{flat} flat after a step");
}

#[test]
fn a_constant_cost_is_flat_with_enough_trials_and_never_grows() {
    for (noise, trials, expected) in [(QUIET, 20, 0.95), (NOISY, 40, 0.90), (NOISY, 10, 0.0)] {
        let verdicts = verdicts(300, trials, noise, |_| 1.0);
        let flat = share(&verdicts, Class::Flat);
        assert!(flat >= expected, "{flat} flat of {trials} trials");
        let right =
            [Class::Flat, Class::SmallGrowth, Class::Inconclusive].map(|class| share(&verdicts, class));
        let wrong = 1.0 - right.iter().sum::<f64>();
        assert!(wrong <= 0.02, "{wrong} wrong of {trials} trials");
        let certain = verdicts.iter().filter(|verdict| verdict.certain > 0.0).count();
        assert!(certain <= 24, "{certain} changes certain of {trials} trials");
    }
}

#[test]
fn inconclusive_asks_for_trials_that_then_suffice() {
    let few = verdicts(100, 10, NOISY, |_| 1.0);
    assert!(share(&few, Class::Inconclusive) >= 0.9);
    let mut needed: Vec<u32> = few.iter().filter_map(|verdict| verdict.trials_needed).collect();
    needed.sort_unstable();
    let middle = needed[needed.len() / 2];
    assert!((20..=320).contains(&middle), "{middle} trials");
    let enough = verdicts(100, middle as usize, NOISY, |_| 1.0);
    assert!(share(&enough, Class::Flat) >= 0.9);
}

#[test]
fn what_doubles_grows_and_what_halves_falls() {
    type Shape = (&'static str, fn(f64) -> f64, Class);
    let shapes: [Shape; 8] = [
        ("logarithm", |n| 1.0 + n.ln() / 3.0, Class::Sublinear),
        ("root", |n| 1.0 + 2.0 * along(n).sqrt(), Class::Sublinear),
        ("line", |n| 1.0 + along(n), Class::LinearLike),
        ("knee", |n| 1.0 + 5.0 * (along(n) - 0.3).max(0.0), Class::LinearLike),
        ("square", |n| 1.0 + 3.0 * along(n).powi(2), Class::Superlinear),
        ("limit", |n| 1.0 + 0.1 / (1.0 - along(n) / 1.05), Class::ApproachingLimit),
        ("step", |n| if n > 600.0 { 2.0 } else { 1.0 }, Class::Stepped),
        ("fall", |n| 1.0 - 0.5 * along(n), Class::Decreasing),
    ];
    for (name, truth, class) in shapes {
        let verdicts = verdicts(60, 10, QUIET, truth);
        let found = share(&verdicts, class);
        assert!(found >= 0.95, "{name}: {found}");
        let noisy = self::verdicts(60, 10, NOISY, truth);
        let names_none = [Class::Composite, Class::Ambiguous, Class::Uneven, Class::Inconclusive];
        let open = |verdict: &&Verdict| names_none.contains(&verdict.class);
        let wrong = noisy.iter().filter(|verdict| verdict.class != class && !open(verdict)).count();
        assert!(wrong <= 1, "{name}: {wrong} of 60 wrong");
    }
}

#[test]
fn growth_below_the_margin_is_small() {
    let verdicts = verdicts(100, 20, QUIET, |n| 1.0 + 0.07 * along(n));
    assert!(share(&verdicts, Class::SmallGrowth) >= 0.5);
    assert!(share(&verdicts, Class::SmallGrowth) + share(&verdicts, Class::Flat) >= 0.95);
}

#[test]
fn intervals_cover_the_truth() {
    let slope = 0.5;
    let truth = |n: f64| 1.0 + slope * along(n);
    let at = |low: u64, high: u64| truth((low + high) as f64 / 2.0);
    for trials in [10, 40] {
        let verdicts = verdicts(300, trials, NOISY, truth);
        let covered = |interval: fn(&Verdict) -> stats::Interval, truth: &dyn Fn(&Verdict) -> f64| {
            let inside = |verdict: &&Verdict| {
                let (interval, truth) = (interval(verdict), truth(verdict));
                interval.low <= truth && truth <= interval.high
            };
            verdicts.iter().filter(inside).count() as f64 / verdicts.len() as f64
        };
        let growth = covered(|verdict| verdict.growth, &|verdict| {
            let (first, last) = (verdict.blocks[0], verdict.blocks[verdict.blocks.len() - 1]);
            at(last.n_low / SPACING, last.n_high / SPACING)
                / at(first.n_low / SPACING, first.n_high / SPACING)
        });
        let marginal_cost =
            covered(|verdict| verdict.marginal_cost, &|_| slope * 1e-6 / (SIZES as u64 * SPACING) as f64);
        // From the middle of the reference, sizes 10…105, on.
        let doubling_size = covered(|verdict| verdict.doubling_size.expect("it grows for certain"), &|_| {
            (SIZES as u64 * SPACING) as f64 / slope * truth(57.0)
        });
        let cost_high = covered(|verdict| verdict.cost_high, &|_| truth(SIZES as f64) * 1e-6);
        // A reader divides the costs, and finds the growth.
        for Verdict { cost_low, cost_high, growth, .. } in &verdicts {
            let ratio = cost_high.value / cost_low.value;
            assert!((ratio / growth.value - 1.0).abs() < 1e-9, "{ratio} is not {growth:?}");
        }
        for (name, share) in [
            ("growth", growth),
            ("marginal cost", marginal_cost),
            ("doubling size", doubling_size),
            ("cost", cost_high),
        ] {
            assert!((0.91..=0.995).contains(&share), "{name}: {share} of {trials} trials");
        }
    }
}

#[test]
fn all_blocks_hold_together() {
    for (trials, noise) in [(10, NOISY), (20, NOISY), (40, QUIET), (40, NOISY)] {
        let verdicts = verdicts(300, trials, noise, |_| 1.0);
        let all = |verdict: &&Verdict| {
            verdict.blocks.iter().all(|block| block.relative.low <= 1.0 && 1.0 <= block.relative.high)
        };
        let held = verdicts.iter().filter(all).count();
        assert!(held >= 276, "{held} of 300 with {trials} trials");
    }
}

#[test]
fn the_top_of_a_line_has_slope_one_and_a_constant_none() {
    let verdicts = verdicts(20, 20, QUIET, |n| 0.001 + along(n));
    assert!(verdicts.iter().all(|verdict| (verdict.top_decade_slope.value - 1.0).abs() < 0.05));
    let flat = sweeps(&mut Rng::with_seed(1), 20, SIZES, QUIET, |_| 1.0);
    let slope = judge(&long(&flat), &settings(1)).expect("values").top_decade_slope;
    assert!(slope.low < 0.0 && slope.high > 0.0);
}

/// Linux bind(2) to port 0: 2,000 times the cost from n = 14,116 on.
#[test]
fn a_cliff_near_the_end_has_blocks_of_its_own() {
    let truth = |n: f64| if n >= 14_116.0 { 2_000.0 } else { 1.0 };
    let values = sweeps(&mut Rng::with_seed(5), 10, 20_000, NOISY, truth);
    let verdict = judge(&up(&values), &settings(5)).expect("values");
    assert_eq!(verdict.class, Class::Stepped);
    assert_eq!((verdict.steps.len(), verdict.steps[0].n), (1, 14_116));
    assert!(verdict.growth.low > 1_500.0 && verdict.growth.high < 2_500.0);
    for block in verdict.blocks {
        let cliff = block.relative.value > 40.0;
        assert!(if cliff { block.n_low >= 14_116 } else { block.n_high < 14_116 }, "{block:?}");
    }
}

#[test]
fn few_trials_say_only_what_is_gross() {
    for trials in 1..=3 {
        assert_eq!(share(&verdicts(50, trials, QUIET, |n| 1.0 + 0.3 * along(n)), Class::Inconclusive), 1.0);
        assert_eq!(share(&verdicts(50, trials, NOISY, |_| 1.0), Class::Inconclusive), 1.0);
    }
    assert_eq!(share(&verdicts(20, 1, QUIET, |n| 1.0 + 9.0 * along(n)), Class::Inconclusive), 1.0);
    assert_eq!(share(&verdicts(20, 2, QUIET, |n| 1.0 + 9.0 * along(n)), Class::Ambiguous), 1.0);
    assert_eq!(share(&verdicts(20, 3, QUIET, |n| 1.0 - 0.9 * along(n)), Class::Decreasing), 1.0);
}

#[test]
fn more_looks_need_more_certainty() {
    let values = sweeps(&mut Rng::with_seed(9), 20, SIZES, QUIET, |_| 1.0);
    let once = judge(&long(&values), &settings(9)).expect("values");
    let often = judge(&long(&values), &stats::JudgeSettings { looks: 5, ..settings(9) }).expect("values");
    assert!(often.bound > 1.1 * once.bound);
    assert!(often.growth.high > once.growth.high && often.growth.low < once.growth.low);
    assert_eq!(judge(&long(&values), &settings(9)), Some(once), "the same seed, the same verdict");
}

#[test]
fn the_way_down_is_judged_like_the_way_up() {
    let mut values = sweeps(&mut Rng::with_seed(2), 12, SIZES, NOISY, |n| 1.0 + along(n));
    let top = SIZES as u64 * SPACING;
    // The first two thousand of the way down find cold caches and are not judged.
    let judged: Vec<Vec<f64>> = values.iter().map(|values| values[..SIZES - 200].to_vec()).collect();
    let rising = judge(&long(&judged), &settings(2));
    values.iter_mut().for_each(|values| values.reverse());
    let falling: Vec<Sweep<'_>> =
        values.iter().map(|values| Sweep::even(top, -(SPACING as i64), values)).collect();
    let (mut falling, mut rising) = (judge(&falling, &settings(2)), rising);
    // Sums of the same numbers in another order.
    for verdict in [&mut falling, &mut rising].into_iter().flatten() {
        verdict.spikes.time_share = (verdict.spikes.time_share * 1e12).round();
    }
    assert_eq!(falling, rising);
}

#[test]
fn warnings_say_what_was_left_out() {
    let mut rng = Rng::with_seed(4);
    let mut values = sweeps(&mut rng, 12, SIZES, QUIET, |_| 1.0);
    let clean = judge(&long(&values), &settings(4)).expect("values");
    assert_eq!((clean.warnings, clean.n_low, clean.n_high), (vec![], 100, 10_000));

    values[0].truncate(40);
    values[1][500] = f64::NAN;
    values[1][501] = 0.0;
    values[1][502] = -1.0;
    values[2][2] = f64::INFINITY;
    let verdict = judge(&long(&values), &settings(4)).expect("values");
    let expected = [Warning::LeftOut { values: 4 }, Warning::UnequalRange { trials_left_out: 1 }];
    assert!(expected.iter().all(|warning| verdict.warnings.contains(warning)), "{:?}", verdict.warnings);
    assert_eq!((verdict.trials, verdict.n_high), (11, 10_000));

    let few = judge(&long(&values[3..6]), &settings(4)).expect("values");
    assert!(few.warnings.contains(&Warning::FewTrials { trials: 3 }));
}

#[test]
fn the_clock_limits_what_can_be_said() {
    let calm = Noise { level: 0.0, drift: 0.0, operation: 0.001, spikes: 0.0, neighbours: 0.0 };
    let mut rng = Rng::with_seed(6);
    let values: Vec<Vec<f64>> = (0..20).map(|_| sweep(&mut rng, 2_000, 0.0, calm, |_| 1.0)).collect();
    let with_tick = |tick_seconds: f64| {
        judge(&long(&values), &stats::JudgeSettings { tick_seconds, ..settings(6) }).expect("values")
    };
    assert_eq!(with_tick(1e-9).class, Class::Flat);
    let coarse = with_tick(50e-9);
    assert_eq!(coarse.class, Class::Flat);
    assert!((0.049..0.051).contains(&coarse.bound), "no finer than a tick: {}", coarse.bound);
    let below_resolution = with_tick(150e-9);
    assert_eq!(below_resolution.class, Class::Inconclusive);
    assert!(below_resolution.warnings.contains(&Warning::BelowResolution));
    assert_eq!(below_resolution.trials_needed, None);
}

#[test]
fn what_rises_to_a_limit_and_jumps_there_is_reported_as_both() {
    // Linux bind(2) to port 0: a search for what is free among c, and the other half from there on.
    let limit = 700.0;
    let truth = |n: f64| if n < limit { 0.8 + 0.2 / (1.0 - n / limit) } else { 400.0 };
    for seed in 0..5 {
        let values = sweeps(&mut Rng::with_seed(seed), 10, SIZES, QUIET, truth);
        let verdict = judge(&long(&values), &settings(seed)).expect("values");
        assert_eq!(verdict.class, Class::Composite);
        assert_eq!(verdict.classes, [Class::ApproachingLimit, Class::Stepped]);
        assert_eq!(verdict.steps.len(), 1, "{:?}", verdict.steps);
        assert!((6_980..=7_010).contains(&verdict.steps[0].n), "{:?}", verdict.steps);
        let found = verdict.limit.expect("a limit").n;
        assert!((6_900.0..7_200.0).contains(&found.value), "{found:?}");
    }
}

/// Twenty sizes a decade, one value each, as people keep them in a table.
#[test]
fn sizes_far_apart_are_judged_like_others() {
    let sizes: Vec<u64> = (0..=80).map(|place| (10f64.powf(f64::from(place) / 20.0)) as u64 * 10).collect();
    let noise = Noise { level: 0.2, drift: 0.0, operation: 0.03, spikes: 0.0, neighbours: 0.0 };
    let verdict = |truth: &dyn Fn(f64) -> f64| {
        let mut rng = Rng::with_seed(5);
        let values: Vec<Vec<f64>> = (0..10)
            .map(|_| {
                sweep(&mut rng, sizes.len(), 0.0, noise, |place| truth(sizes[place as usize - 1] as f64))
            })
            .collect();
        let trials: Vec<Sweep<'_>> = values.iter().map(|values| Sweep::listed(&sizes, values)).collect();
        judge(&trials, &stats::JudgeSettings { whole: true, ..settings(1) }).expect("values")
    };
    assert_eq!(verdict(&|_| 1.0).class, Class::Flat);
    assert_eq!(verdict(&|n| 1.0 + n / 1e4).class, Class::LinearLike);
    assert_eq!(verdict(&|n| 1.0 + n.ln() / 10.0).class, Class::Sublinear);
    let stepped = verdict(&|n| if n >= 5_000.0 { 1.4 } else { 1.0 });
    assert_eq!(stepped.class, Class::Stepped);
    assert!((stepped.steps[0].n_low..=stepped.steps[0].n_high).contains(&5_010), "{:?}", stepped.steps);
}

/// Costs of one n, one value a trial, that spread by `spread`.
fn at_one_n(trials: usize, spread: f64, seed: u64) -> Verdict {
    let mut rng = Rng::with_seed(seed);
    let values: Vec<[f64; 1]> = (0..trials).map(|_| [0.24 * (spread * normal(&mut rng)).exp()]).collect();
    let trials: Vec<Sweep<'_>> = values.iter().map(|values| Sweep::listed(&[5], values)).collect();
    judge(&trials, &settings(seed)).expect("values")
}

#[test]
fn one_n_gives_its_cost() {
    let verdict = at_one_n(10, 0.02, 1);
    assert_eq!((verdict.class, verdict.n_low, verdict.n_high), (Class::Value, 5, 5));
    assert_eq!((verdict.trials_needed, verdict.cost_low), (None, verdict.cost_high));
    let stats::Interval { value, low, high } = verdict.cost_low;
    assert!(low < 0.24 && high > 0.24 && high < 1.05 * value && low > value / 1.05, "{value} {low} {high}");
    assert!(!verdict.warnings.contains(&Warning::NarrowRange));

    // Too few, or too different.
    assert_eq!(at_one_n(3, 1e-4, 1).class, Class::Inconclusive);
    let wide = at_one_n(10, 0.2, 1);
    assert_eq!(wide.class, Class::Inconclusive);
    let needed = wide.trials_needed.expect("more would help") as usize;
    let then: Vec<Class> = (0..20).map(|seed| at_one_n(needed, 0.2, seed).class).collect();
    assert!(then.iter().filter(|class| **class == Class::Value).count() >= 5, "{needed}: {then:?}");
}
