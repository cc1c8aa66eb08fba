//! How often a search through an ordered list is right, on simulated boots of kernels whose costs are known.

use fastrand::Rng;
use judge::bisect::{ListPart, RoundAnswers, Search};
use stats::{Change, Contrast, Design, JudgeSettings, Sweep};

/// Boots of each after which the simulated run looks.
const LOOKS: [usize; 3] = [8, 16, 32];
const BOOT_TRIALS: usize = 2;
const VALUES: usize = 8;
const MARGIN: f64 = 0.03;

/// How costs of one kernel vary, as standard deviations of the logarithm.
struct Noise {
    boot: f64,
    trial: f64,
}

fn normal(rng: &mut Rng) -> f64 {
    (-2.0 * (1.0 - rng.f64()).ln()).sqrt() * (std::f64::consts::TAU * rng.f64()).cos()
}

/// The trials of one kernel, each with its boot.
fn trials(rng: &mut Rng, log_cost: f64, boots: usize, noise: &Noise) -> Vec<(u32, Vec<f64>)> {
    let mut trials = Vec::new();
    for boot in 1..=boots {
        let offset = log_cost + noise.boot * normal(rng);
        for _ in 0..BOOT_TRIALS {
            let level = offset + noise.trial * normal(rng);
            let values = (0..VALUES).map(|_| 1e-6 * (level + 0.02 * normal(rng)).exp()).collect();
            trials.push((boot as u32, values));
        }
    }
    trials
}

/// The result of a round, with boots until each step is decided.
fn round(rng: &mut Rng, costs: &[f64], places: &[usize], noise: &Noise) -> RoundAnswers {
    let most = LOOKS[LOOKS.len() - 1];
    let all: Vec<_> = places.iter().map(|place| trials(rng, costs[*place], most, noise)).collect();
    let mut pairs: Vec<ListPart> = (1..places.len()).map(|place| (place - 1, place)).collect();
    if places.len() > 2 {
        pairs.push((0, places.len() - 1));
    }
    let level = 0.05 / (pairs.len() * LOOKS.len()) as f64;
    let settings = JudgeSettings { margin: MARGIN, whole: true, ..JudgeSettings::default() };
    let mut changes = Vec::new();
    for boots in LOOKS {
        let sweeps: Vec<Vec<Sweep<'_>>> = all
            .iter()
            .map(|trials| {
                let taken = &trials[..boots * BOOT_TRIALS];
                taken.iter().map(|(boot, values)| Sweep::even(1, 1, values).of_boot(*boot)).collect()
            })
            .collect();
        let change = |&(first, second): &ListPart| {
            Contrast::new(&sweeps[first], &sweeps[second], Design::Paired, 0.0, &settings)
                .map_or(Change::Open, |contrast| contrast.change(level).0)
        };
        changes = pairs.iter().map(change).collect();
        if !changes[..places.len() - 1].contains(&Change::Open) {
            break;
        }
    }
    let ends = changes[changes.len() - 1];
    changes.truncate(places.len() - 1);
    RoundAnswers { measured: places.to_vec(), steps: changes, ends }
}

fn search(seed: u64, costs: &[f64], noise: &Noise) -> Search {
    let mut rng = Rng::with_seed(seed);
    let mut search = Search::new(costs.len());
    for _ in 0..100 {
        let Some(next) = search.next() else { return search };
        let answers = round(&mut rng, costs, &next.places, noise);
        search.learn(&next, &answers);
    }
    panic!("seed {seed}: the search does not end");
}

/// Costs that rise by a share at these places.
fn list(count: usize, rises: &[(usize, f64)]) -> Vec<f64> {
    let of = |place: usize| rises.iter().filter(|(at, _)| *at <= place).map(|(_, rise)| rise.ln_1p()).sum();
    (0..count).map(of).collect()
}

const QUIET: Noise = Noise { boot: 0.01, trial: 0.02 };
const LOUD: Noise = Noise { boot: 0.05, trial: 0.05 };

#[test]
fn a_list_without_a_change_has_no_culprit() {
    for (count, noise) in [(2, QUIET), (2, LOUD), (5, LOUD), (9, QUIET), (30, LOUD)] {
        let costs = list(count, &[]);
        let wrong = (0..200).filter(|seed| !search(*seed, &costs, &noise).changes().is_empty()).count();
        println!("{wrong} of 200 lists of {count} without a change have a culprit");
        assert!(wrong <= 10, "{wrong} of 200 lists of {count}");
    }
    let quiet = (0..50).filter(|seed| search(*seed, &list(9, &[]), &QUIET).open().is_empty()).count();
    assert!(quiet >= 45, "only {quiet} of 50 quiet lists are decided");
}

#[test]
fn a_planted_change_is_found() {
    for (count, at, rise, noise) in [
        (2, 1, 0.10, QUIET),
        (5, 3, 0.10, QUIET),
        (9, 8, 0.20, QUIET),
        (40, 17, -0.20, QUIET),
        (9, 4, 0.50, LOUD),
    ] {
        let costs = list(count, &[(at, rise)]);
        let found = (0..50).filter(|seed| search(*seed, &costs, &noise).changes() == [(at - 1, at)]).count();
        println!("{found} of 50: {rise} at {at} of {count}");
        assert!(found >= 45, "{found} of 50: {rise} at {at} of {count}");
    }
}

#[test]
fn two_changes_are_both_found() {
    for rises in [[(2, 0.20), (6, 0.15)], [(2, 0.25), (6, -0.20)]] {
        let costs = list(9, &rises);
        let both = (0..50).filter(|seed| search(*seed, &costs, &QUIET).changes() == [(1, 2), (5, 6)]).count();
        println!("{both} of 50: {rises:?}");
        assert!(both >= 45, "{both} of 50: {rises:?}");
    }
}
