//! The error rates of `compare`, on pairs of systems with known truth.

use crate::simulation;

use fastrand::Rng;
use simulation::{Noise, drifting, normal, settings, sweeps, up};
use stats::{
    Answer, Contrast, Design, JudgeSettings, Match, PerClaim, SeriesComparison, Sweep, answers, compare,
    geometric_mean, ranks,
};

fn margin(seed: u64) -> JudgeSettings {
    JudgeSettings { margin: 0.03, ..settings(seed) }
}

/// Trials whose levels move by `level`.
fn levels(level: f64) -> Noise {
    Noise { level, drift: 0.01, operation: 0.05, spikes: 0.0, neighbours: 0.0 }
}

/// Comparisons of a constant cost with one that is `ratio` times as high.
fn comparisons(
    replicates: u64,
    trials: usize,
    judged: usize,
    level: f64,
    ratio: f64,
) -> Vec<SeriesComparison> {
    (0..replicates)
        .map(|seed| {
            let mut rng = Rng::with_seed(seed);
            let first = sweeps(&mut rng, trials, 60, levels(level), |_| 1.0);
            let second = sweeps(&mut rng, trials, 60, levels(level), |_| ratio);
            compare(&up(&first), &up(&second), judged, &margin(seed)).expect("common n")
        })
        .collect()
}

fn share(comparisons: &[SeriesComparison], answers: &[Answer]) -> f64 {
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

/// Counts have no noise, but few trials of two runs may differ by chance all the same.
#[test]
fn equal_values_of_few_trials_are_no_proof_among_many_series() {
    let compared = |trials: usize| {
        let [first, second] = [4096.0, 8192.0].map(|value| vec![vec![value; 60]; trials]);
        compare(&up(&first), &up(&second), 30, &margin(1)).expect("common n").answer
    };
    assert_eq!([4, 10].map(compared), [Answer::Unresolved, Answer::Slower]);
}

/// Drift that lasts as long as the run is hardly seen from inside it.
#[test]
fn drift_is_not_taken_for_a_difference() {
    for (drift, lasting, level) in
        [(0.05, 3.0, 0.02), (0.05, 40.0, 0.02), (0.1, 200.0, 0.1), (0.05, 200.0, 0.05)]
    {
        let compared: Vec<[SeriesComparison; 2]> = (0..150)
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
        let covers =
            |comparison: &&SeriesComparison| (comparison.ratio.low..=comparison.ratio.high).contains(&1.2);
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

/// Pairs of trials of 8 sizes: noise of both, noise of each alone, and how often a disturbance that adds a
/// half affects only one.
#[derive(Clone, Copy)]
struct Pairs {
    shared: f64,
    own: f64,
    disturbed: f64,
}

const DRIFTING: Pairs = Pairs { shared: 0.2, own: 0.02, disturbed: 0.0 };
const DISTURBED: Pairs = Pairs { shared: 0.2, own: 0.02, disturbed: 0.1 };

/// Trials of two systems, the second at `ratio` times the cost; each round has its `shared` noise.
fn paired(rng: &mut Rng, shared: &[f64], noise: Pairs, ratio: f64) -> [Vec<Vec<f64>>; 2] {
    let mut trial = |shared: &f64, factor: f64| {
        let disturbed = if rng.f64() < noise.disturbed { 1.5 } else { 1.0 };
        let level = shared + noise.own * normal(rng);
        (0..8).map(|_| 1e-6 * factor * disturbed * (level + 0.01 * normal(rng)).exp()).collect()
    };
    let (mut first, mut second) = (Vec::new(), Vec::new());
    for shared in shared {
        first.push(trial(shared, 1.0));
        second.push(trial(shared, ratio));
    }
    [first, second]
}

/// The shared noise of rounds: a random walk, which no widening covers wholly.
fn walk(rng: &mut Rng, rounds: usize, step: f64) -> Vec<f64> {
    let mut at = 0.0;
    (0..rounds)
        .map(|_| {
            at += step * normal(rng);
            at
        })
        .collect()
}

fn contrast(sides: &[Vec<Vec<f64>>; 2], design: Design, floor: f64, seed: u64) -> Contrast {
    Contrast::new(&up(&sides[0]), &up(&sides[1]), design, floor, &margin(seed)).expect("common n")
}

fn contrasts(replicates: u64, rounds: usize, noise: Pairs, ratio: f64, design: Design) -> Vec<Contrast> {
    (0..replicates)
        .map(|seed| {
            let mut rng = Rng::with_seed(seed);
            let shared = walk(&mut rng, rounds, noise.shared / 4.0);
            contrast(&paired(&mut rng, &shared, noise, ratio), design, 0.0, seed)
        })
        .collect()
}

fn alone(contrasts: &[Contrast]) -> Vec<SeriesComparison> {
    contrasts.iter().map(|contrast| contrast.at(&PerClaim::all(0.05))).collect()
}

#[test]
fn pairs_cancel_drift_and_cover_the_truth() {
    for noise in [DRIFTING, DISTURBED] {
        for rounds in [6, 10, 20, 40] {
            let compared = alone(&contrasts(300, rounds, noise, 1.2, Design::Paired));
            let covers = |one: &&SeriesComparison| (one.ratio.low..=one.ratio.high).contains(&1.2);
            let covered = compared.iter().filter(covers).count() as f64 / 300.0;
            println!("disturbed {}, {rounds} pairs: {covered}", noise.disturbed);
            assert!(covered >= 0.92, "{covered} of {rounds} pairs, disturbed {}", noise.disturbed);
            let same = alone(&contrasts(300, rounds, noise, 1.0, Design::Paired));
            assert!(share(&same, &DIFFERENT) <= 0.06, "{} of {rounds} pairs", share(&same, &DIFFERENT));
        }
    }
}

/// 10 % and pairs that differ by 3 %: hidden from two means by a drift of 20 %.
#[test]
fn pairs_see_what_drift_hides() {
    let found = |design| share(&alone(&contrasts(200, 10, DRIFTING, 1.1, design)), &[Answer::Slower]);
    let (with, without) = (found(Design::Paired), found(Design::Independent));
    assert!(with >= 0.9 && without <= 0.2, "{with} paired, {without} not");
    let none = alone(&contrasts(50, 20, DRIFTING, 1.0, Design::Paired));
    assert!(share(&none, &[Answer::Equivalent]) >= 0.8);
}

/// A disturbance that lasts longer than a pair, and affects only one of the two.
#[test]
fn pairs_that_resemble_their_neighbours_are_widened() {
    let mut different = 0;
    for seed in 0..300 {
        let mut rng = Rng::with_seed(seed);
        let mut state = normal(&mut rng);
        let shared = vec![0.0; 40];
        let [first, mut second] = paired(&mut rng, &shared, DRIFTING, 1.0);
        for trial in &mut second {
            state = 0.6 * state + 0.8 * normal(&mut rng);
            trial.iter_mut().for_each(|value| *value *= (0.05 * state).exp());
        }
        let compared = contrast(&[first, second], Design::Paired, 0.0, seed).at(&PerClaim::all(0.05));
        different += u32::from(DIFFERENT.contains(&compared.answer));
    }
    assert!(different <= 24, "{different} of 300");
}

#[test]
fn a_trial_without_its_pair_is_left_out() {
    let mut rng = Rng::with_seed(1);
    let [first, mut second] = paired(&mut rng, &[0.0; 12], DRIFTING, 1.0);
    second[3].clear();
    second[7].truncate(2);
    let one = contrast(&[first, second], Design::Paired, 0.0, 1);
    assert_eq!((one.at(&PerClaim::all(0.05)).trials, one.pairs().len()), ((10, 10), 10));
}

#[test]
fn nothing_below_the_noise_floor_is_claimed() {
    let calm = Pairs { own: 0.001, ..DRIFTING };
    let answer = |ratio: f64, floor: f64| {
        let mut rng = Rng::with_seed(2);
        let shared = walk(&mut rng, 20, 0.05);
        let one = contrast(&paired(&mut rng, &shared, calm, ratio), Design::Paired, floor, 2);
        one.at(&PerClaim::all(0.05))
    };
    assert_eq!(answer(1.05, 0.0).answer, Answer::Slower);
    assert_eq!(answer(1.05, 0.10).answer, Answer::Equivalent);
    assert_eq!(answer(1.20, 0.10).answer, Answer::Slower);
    assert_eq!(answer(1.02, 0.0).answer, Answer::DifferentButSmall);
    assert_eq!(answer(1.02, 0.01).answer, Answer::DifferentButSmall);
    assert_eq!(answer(1.02, 0.025).answer, Answer::Equivalent);
    let one = answer(1.05, 0.10);
    assert!((one.margin - 0.10).abs() < 1e-12 && (one.floor - 0.10).abs() < 1e-12);
}

/// A suite of series whose rounds share their disturbances; `ratios` are the truths.
fn suite(seed: u64, rounds: usize, noise: Pairs, ratios: &[f64], design: Design) -> Vec<Vec<Contrast>> {
    let mut rng = Rng::with_seed(seed);
    let shared = walk(&mut rng, rounds, noise.shared / 4.0);
    let mut series =
        |ratio: &f64| vec![contrast(&paired(&mut rng, &shared, noise, *ratio), design, 0.0, seed)];
    ratios.iter().map(&mut series).collect()
}

fn answers_of(suite: &[Vec<Contrast>]) -> Vec<SeriesComparison> {
    let suite: Vec<Vec<&Contrast>> = suite.iter().map(|family| family.iter().collect()).collect();
    answers(&suite, 0.05).into_iter().flatten().collect()
}

#[test]
fn a_suite_of_equal_systems_is_free_of_differences() {
    for noise in [DRIFTING, DISTURBED] {
        let any = |seed: u64| {
            let compared = answers_of(&suite(seed, 10, noise, &[1.0; 20], Design::Paired));
            compared.iter().any(|one| DIFFERENT.contains(&one.answer))
        };
        let found = (0..300).filter(|seed| any(*seed)).count();
        assert!(found <= 18, "{found} of 300 suites, disturbed {}", noise.disturbed);
    }
}

/// Half of the series differ: at most one in twenty that are called different is not, and more are found than
/// with the error rate of all for each answer.
#[test]
fn false_differences_of_a_suite_are_few_and_true_ones_found() {
    let truths: Vec<f64> = (0..20).map(|place| if place % 2 == 0 { 1.0 } else { 1.08 }).collect();
    let (mut wrong_share, mut found, mut found_by_bonferroni, mut missed_share) = (0.0, 0, 0, 0.0);
    for seed in 0..200 {
        let suite = suite(seed, 10, DRIFTING, &truths, Design::Paired);
        let compared: Vec<SeriesComparison> = answers_of(&suite);
        let told = || compared.iter().zip(&truths).filter(|(one, _)| DIFFERENT.contains(&one.answer));
        let wrong = told().filter(|(_, truth)| **truth == 1.0).count();
        wrong_share += wrong as f64 / told().count().max(1) as f64 / 200.0;
        let missed = compared
            .iter()
            .zip(&truths)
            .filter(|(one, truth)| !(one.ratio.low..=one.ratio.high).contains(truth));
        missed_share += missed.count() as f64 / 20.0 / 200.0;
        found += told().filter(|(_, truth)| **truth > 1.0).count();
        let bonferroni = suite.iter().flatten().map(|one| one.at(&PerClaim::all(0.05 / 20.0)));
        found_by_bonferroni += bonferroni.filter(|one| one.answer == Answer::Slower).count();
    }
    println!("false {wrong_share}, missed {missed_share}, found {found}, Bonferroni {found_by_bonferroni}");
    assert!(wrong_share <= 0.05 && missed_share <= 0.05, "{wrong_share} {missed_share}");
    assert!(
        found as f64 > 1.3 * f64::from(found_by_bonferroni as u32),
        "{found} against {found_by_bonferroni}"
    );
}

/// Answer and interval never contradict each other, whatever the error rates.
#[test]
fn the_interval_of_an_answer_shows_it() {
    for seed in 0..60 {
        let truths: Vec<f64> = (0..12).map(|place| 0.94 + 0.01 * f64::from(place)).collect();
        for one in answers_of(&suite(seed, 12, DRIFTING, &truths, Design::Paired)) {
            let (low, high) = (1.0 / 1.03 + 1e-9, 1.03 - 1e-9);
            let within = one.ratio.low > low - 2e-9 && one.ratio.high < high + 2e-9;
            match one.answer {
                Answer::Slower => assert!(one.ratio.low >= high, "{one:?}"),
                Answer::Faster => assert!(one.ratio.high <= low, "{one:?}"),
                Answer::Equivalent => assert!(within, "{one:?}"),
                Answer::DifferentButSmall => {
                    assert!(
                        within && (one.ratio.low >= 1.0 - 1e-9 || one.ratio.high <= 1.0 + 1e-9),
                        "{one:?}"
                    );
                }
                Answer::Unresolved => {
                    assert!(!within && one.ratio.low < high && one.ratio.high > low, "{one:?}")
                }
            }
        }
    }
}

/// Five systems, two of which are equal, in six series.
#[test]
fn ranks_cover_the_true_ones() {
    let truths = [1.0, 0.9, 1.0, 1.3, 1.31];
    let true_ranks = [(2, 3), (1, 1), (2, 3), (4, 4), (5, 5)];
    let (mut held, mut exact, replicates) = (0, 0, 60);
    for seed in 0..replicates {
        let mut rng = Rng::with_seed(seed);
        let series: Vec<Vec<Vec<Vec<f64>>>> = (0..6)
            .map(|_| {
                let shared = walk(&mut rng, 12, 0.05);
                truths.iter().map(|cost| paired(&mut rng, &shared, DRIFTING, *cost)[1].clone()).collect()
            })
            .collect();
        let pairs: Vec<(usize, usize)> = (0..5).flat_map(|a| (a + 1..5).map(move |b| (a, b))).collect();
        let contrasts: Vec<Vec<Contrast>> = series
            .iter()
            .map(|s| {
                let of = |(a, b): &(usize, usize)| {
                    contrast(&[s[*a].clone(), s[*b].clone()], Design::Paired, 0.0, seed)
                };
                pairs.iter().map(of).collect()
            })
            .collect();
        let matches: Vec<Vec<Match<'_>>> = contrasts
            .iter()
            .map(|series| {
                let one = |((first, second), contrast): (&(usize, usize), _)| Match {
                    first: *first,
                    second: *second,
                    contrast,
                };
                pairs.iter().zip(series).map(one).collect()
            })
            .collect();
        for ranks in ranks(&matches, 5, 0.05) {
            let ranks: Vec<_> = ranks.into_iter().flatten().collect();
            // Equal systems share their places: each interval holds both.
            let holds = ranks
                .iter()
                .zip(true_ranks)
                .all(|(rank, (best, worst))| rank.best <= best && rank.worst >= worst && rank.of == 5);
            held += u32::from(holds);
            exact += u32::from(ranks[1].best == 1 && ranks[1].worst == 1);
        }
    }
    let all = 6.0 * replicates as f64;
    println!("held {}, first found {}", f64::from(held) / all, f64::from(exact) / all);
    assert!(f64::from(held) / all >= 0.95 && f64::from(exact) / all >= 0.95);
}

#[test]
fn the_geometric_mean_covers_the_truth() {
    let truths = [1.3, 0.8, 1.1, 1.0, 1.0, 0.95, 1.02, 1.2];
    let truth = (truths.iter().map(|ratio: &f64| ratio.ln()).sum::<f64>() / 8.0).exp();
    let calm = Pairs { shared: 0.0, own: 0.05, disturbed: 0.05 };
    let cases =
        [(Design::Paired, DRIFTING, 6), (Design::Paired, DRIFTING, 10), (Design::Paired, DISTURBED, 40)];
    for (design, noise, rounds) in cases {
        let covers = |seed: &u64| {
            let suite = suite(*seed, rounds, noise, &truths, design);
            let flat: Vec<&Contrast> = suite.iter().flatten().collect();
            let mean = geometric_mean(&flat, 0.05, *seed).expect("enough trials");
            (mean.low..=mean.high).contains(&truth)
        };
        let covered = (0..200).filter(covers).count() as f64 / 200.0;
        println!("{design:?}, {rounds} rounds: {covered}");
        assert!(covered >= 0.92, "{covered}: {design:?}, {rounds} rounds");
    }
    let runs = suite(1, 10, calm, &truths, Design::Independent);
    let mean = geometric_mean(&runs.iter().flatten().collect::<Vec<_>>(), 0.05, 1).expect("an estimate");
    assert!((mean.value / truth).ln().abs() < 0.05, "{mean:?}");
    assert_eq!((mean.low, mean.high), (0.0, f64::INFINITY), "two runs claim nothing");
    let few = suite(1, 3, calm, &truths, Design::Paired);
    assert_eq!(geometric_mean(&few.iter().flatten().collect::<Vec<_>>(), 0.05, 1), None);
    assert_eq!(geometric_mean(&[], 0.05, 1), None);
}

/// The second costs 0.8 + n/4 000 of the first: they cross at n = 800.
#[test]
fn a_crossing_is_found_where_it_is() {
    let (mut found, mut covered) = (0, 0);
    for seed in 0..100 {
        let mut rng = Rng::with_seed(seed);
        let first = sweeps(&mut rng, 12, 2_000, levels(0.02), |_| 1.0);
        let second = sweeps(&mut rng, 12, 2_000, levels(0.02), |n| 0.8 + n / 4_000.0);
        let compared = compare(&up(&first), &up(&second), 1, &margin(seed)).expect("common n");
        if let [one] = compared.crossings.as_slice() {
            assert!(one.faster_below && one.n_low < one.n && one.n < one.n_high);
            found += 1;
            covered += u32::from((one.n_low..=one.n_high).contains(&800.0));
        }
    }
    assert!(found >= 95 && covered >= found - 2, "{found} found, {covered} covered");
    let same = (0..100).flat_map(|seed| {
        let mut rng = Rng::with_seed(seed);
        let first = sweeps(&mut rng, 12, 400, levels(0.02), |_| 1.0);
        let second = sweeps(&mut rng, 12, 400, levels(0.02), |_| 1.0);
        compare(&up(&first), &up(&second), 1, &margin(seed)).expect("common n").crossings
    });
    assert_eq!(same.count(), 0);
}

/// A system that stopped at a limit is compared to there, and the comparison knows.
#[test]
fn a_limit_censors_the_comparison() {
    let values = vec![1e-6; 5_000];
    let whole = vec![Sweep::even(1, 1, &values); 6];
    let stopped = vec![Sweep::even(1, 1, &values[..1_999]); 6];
    let compared = compare(&whole, &stopped, 1, &margin(0)).expect("common n");
    assert_eq!((compared.n_high, compared.ends), (1_999, (5_000, 1_999)));
}
