//! The error rates of `compare`, on pairs of systems of which the truth is known.

mod simulation;

use fastrand::Rng;
use simulation::{Noise, drifting, normal, settings, sweeps, up};
use stats::{Answer, Comparison, Settings, Sweep, compare};

fn margin(seed: u64) -> Settings {
    Settings { margin: 0.03, ..settings(seed) }
}

/// Trials whose levels move by `level`.
fn levels(level: f64) -> Noise {
    Noise { level, drift: 0.01, operation: 0.05, spikes: 0.0, neighbours: 0.0 }
}

/// Comparisons of a constant cost with one that is `ratio` times as high.
fn comparisons(replicates: u64, trials: usize, judged: usize, level: f64, ratio: f64) -> Vec<Comparison> {
    (0..replicates)
        .map(|seed| {
            let mut rng = Rng::with_seed(seed);
            let first = sweeps(&mut rng, trials, 60, levels(level), |_| 1.0);
            let second = sweeps(&mut rng, trials, 60, levels(level), |_| ratio);
            compare(&up(&first), &up(&second), judged, &margin(seed)).expect("common n")
        })
        .collect()
}

fn share(comparisons: &[Comparison], answers: &[Answer]) -> f64 {
    let found = comparisons.iter().filter(|comparison| answers.contains(&comparison.answer)).count();
    found as f64 / comparisons.len() as f64
}

const DIFFERENT: [Answer; 3] = [Answer::Faster, Answer::Slower, Answer::DifferentButSmall];

#[test]
fn a_system_does_not_differ_from_itself() {
    for (trials, level) in [(5, 0.2), (10, 0.02), (40, 0.2), (40, 0.02)] {
        let different = share(&comparisons(300, trials, 1, level, 1.0), &DIFFERENT);
        assert!(different <= 0.06, "{different} of {trials} trials");
    }
    let family = comparisons(300, 40, 30, 0.1, 1.0);
    assert!(share(&family, &DIFFERENT) <= 0.01);
}

/// Drift that lasts as long as the run is hardly seen from inside it.
#[test]
fn drift_is_not_taken_for_a_difference() {
    for (drift, lasting, level) in
        [(0.05, 3.0, 0.02), (0.05, 40.0, 0.02), (0.1, 200.0, 0.1), (0.05, 200.0, 0.05)]
    {
        let compared: Vec<[Comparison; 2]> = (0..150)
            .map(|seed| {
                let mut rng = Rng::with_seed(seed);
                let mut state = normal(&mut rng);
                let first = drifting(&mut rng, 40, (drift, lasting), level, &mut state);
                let second = drifting(&mut rng, 40, (drift, lasting), level, &mut state);
                [1, 30].map(|judged| {
                    compare(&up(&first), &up(&second), judged, &margin(seed)).expect("common n")
                })
            })
            .collect();
        let (alone, of_thirty): (Vec<_>, Vec<_>) =
            compared.into_iter().map(|[alone, of]| (alone, of)).unzip();
        let (alone, of_thirty) = (share(&alone, &DIFFERENT), share(&of_thirty, &DIFFERENT));
        println!("drift {drift} over {lasting}, level {level}: {alone} alone, {of_thirty} of thirty");
        assert!(alone <= 0.10, "{alone} alone, drift {drift} over {lasting} trials");
        assert!(of_thirty <= 0.02, "{of_thirty} of thirty, drift {drift} over {lasting} trials");
    }
}

#[test]
fn a_difference_of_exactly_the_margin_is_not_called_equivalent() {
    for trials in [10, 40] {
        for ratio in [1.03, 1.0 / 1.03] {
            let compared = comparisons(300, trials, 1, 0.02, ratio);
            let within = share(&compared, &[Answer::Equivalent, Answer::DifferentButSmall]);
            assert!(within <= 0.05, "{within} within the margin of {trials} trials at {ratio}");
            let beyond = share(&compared, &[Answer::Faster, Answer::Slower]);
            assert!(beyond <= 0.05, "{beyond} beyond the margin of {trials} trials at {ratio}");
        }
    }
}

#[test]
fn each_answer_is_found_where_it_is_true() {
    let cases = [
        (0.1, 1.35, Answer::Slower),
        (0.1, 1.0 / 1.35, Answer::Faster),
        (0.015, 1.0, Answer::Equivalent),
        (0.01, 1.015, Answer::DifferentButSmall),
        (0.2, 1.05, Answer::Unresolved),
    ];
    for (level, ratio, answer) in cases {
        let found = share(&comparisons(100, 40, 1, level, ratio), &[answer]);
        assert!(found >= 0.8, "{answer:?}: {found}");
    }
}

#[test]
fn the_ratio_covers_the_truth() {
    for (trials, judged, least) in [(6, 1, 0.92), (40, 1, 0.92), (40, 20, 0.99)] {
        let compared = comparisons(300, trials, judged, 0.1, 1.2);
        let covers = |comparison: &&Comparison| (comparison.ratio.low..=comparison.ratio.high).contains(&1.2);
        let covered = compared.iter().filter(covers).count() as f64 / 300.0;
        assert!(covered >= least, "{covered} of {trials} trials");
    }
}

#[test]
fn unresolved_asks_for_trials_that_then_suffice() {
    let few = comparisons(100, 8, 1, 0.03, 1.0);
    let mut needed: Vec<u32> = few.iter().filter_map(|comparison| comparison.trials_needed).collect();
    needed.sort_unstable();
    assert!(needed.len() > 50 && needed[0] > 8);
    let middle = needed[needed.len() / 2] as usize;
    assert!(share(&comparisons(100, middle, 1, 0.03, 1.0), &[Answer::Equivalent]) >= 0.7, "{middle} trials");
}

#[test]
fn blocks_show_where_the_second_is_slower() {
    let mut rng = Rng::with_seed(8);
    let first = sweeps(&mut rng, 20, 2_000, levels(0.02), |_| 1.0);
    let second = sweeps(&mut rng, 20, 2_000, levels(0.02), |n| if n > 400.0 { 2.0 } else { 1.0 });
    let compared = compare(&up(&first), &up(&second), 1, &margin(8)).expect("common n");
    assert_eq!((compared.n_low, compared.n_high, compared.trials), (100, 2_000, (20, 20)));
    for (n_low, n_high, ratio) in compared.blocks {
        if n_high < 400 {
            assert!(ratio.low < 1.0 && ratio.high > 1.0, "{n_low}: {ratio:?}");
        } else if n_low > 400 {
            assert!(ratio.low > 1.8 && ratio.high < 2.2, "{n_low}: {ratio:?}");
        }
    }
}

#[test]
fn three_trials_a_side_resolve_nothing() {
    for ratio in [1.0, 10.0] {
        let compared = comparisons(20, 3, 1, 0.01, ratio);
        assert_eq!(share(&compared, &[Answer::Unresolved]), 1.0);
        assert!(compared.iter().all(|comparison| comparison.trials_needed.is_none_or(|trials| trials >= 4)));
    }
}

#[test]
fn only_common_sizes_are_compared() {
    let values = vec![1e-6; 100];
    let sweep = |n_first, n_step| vec![Sweep::even(n_first, n_step, &values); 5];
    assert_eq!(compare(&sweep(1, 1), &sweep(101, 1), 1, &margin(0)), None);
    assert_eq!(compare(&sweep(1, 1), &[], 1, &margin(0)), None);
    let partly = compare(&sweep(1, 1), &sweep(51, 1), 1, &margin(0)).expect("n = 51…100");
    assert_eq!((partly.n_low, partly.n_high), (51, 100));
    let coarse = compare(&sweep(100, -1), &sweep(1, 9), 1, &margin(0)).expect("n = 10…100");
    assert_eq!((coarse.n_low, coarse.n_high), (10, 100));
}
