//! Simulated sweeps with a known true curve, for tests.

use crate::sweep::Sweep;
use fastrand::Rng;

/// The noise between the truth and a measurement; shares are standard deviations of the logarithm.
#[derive(Clone, Copy)]
pub(crate) struct Noise {
    /// The level of a whole trial.
    pub(crate) level: f64,
    /// Drift inside a trial, an autoregression that keeps `keep` of itself from value to value.
    pub(crate) drift: f64,
    pub(crate) keep: f64,
    /// One operation against the next.
    pub(crate) operation: Operation,
    /// Operations that take ten times as long.
    pub(crate) spikes: f64,
    /// Trials half of which take half as long again.
    pub(crate) neighbours: f64,
    /// The tick of the clock in seconds.
    pub(crate) tick: f64,
}

/// How one operation differs from the next, as a factor.
#[derive(Clone, Copy)]
pub(crate) enum Operation {
    Lognormal(f64),
    /// Lognormal with a spread that grows threefold over the sweep.
    Widening(f64),
    Gamma(u32),
    Pareto(f64),
}

/// A quiet machine.
pub(crate) const CALM: Noise = Noise {
    level: 0.15,
    drift: 0.0,
    keep: 0.0,
    operation: Operation::Lognormal(0.1),
    spikes: 0.0,
    neighbours: 0.0,
    tick: 0.0,
};

/// `trials` sweeps over n = 1…`sizes`; each value costs `truth(rng, trial, n)` microseconds.
pub(crate) fn sweeps(
    rng: &mut Rng,
    trials: usize,
    sizes: usize,
    noise: &Noise,
    truth: impl Fn(&mut Rng, usize, f64) -> f64,
) -> Vec<Vec<f64>> {
    let mut sweep = |trial: usize| -> Vec<f64> {
        let level = noise.level * normal(rng);
        let mut drift = normal(rng);
        let neighbour = if rng.f64() < noise.neighbours { rng.usize(..sizes) } else { usize::MAX - sizes };
        let mut value = |place: usize| {
            drift = noise.keep * drift + (1.0 - noise.keep * noise.keep).sqrt() * normal(rng);
            let mut factor = (level + noise.drift * drift).exp();
            factor *= operation(rng, noise.operation, place as f64 / sizes as f64);
            factor *= if rng.f64() < noise.spikes { 10.0 } else { 1.0 };
            factor *= if (neighbour..neighbour + sizes / 2).contains(&place) { 1.5 } else { 1.0 };
            let cost = 1e-6 * factor * truth(rng, trial, (place + 1) as f64);
            if noise.tick > 0.0 { (cost / noise.tick).round().max(1.0) * noise.tick } else { cost }
        };
        (0..sizes).map(&mut value).collect()
    };
    (0..trials).map(&mut sweep).collect()
}

fn operation(rng: &mut Rng, operation: Operation, way: f64) -> f64 {
    match operation {
        Operation::Lognormal(spread) => (spread * normal(rng)).exp(),
        Operation::Widening(spread) => (spread * (1.0 + 2.0 * way) * normal(rng)).exp(),
        Operation::Gamma(shape) => {
            (0..shape).map(|_| -(1.0 - rng.f64()).ln()).sum::<f64>() / f64::from(shape)
        }
        Operation::Pareto(shape) => (1.0 - rng.f64()).powf(-1.0 / shape),
    }
}

/// Box & Muller, Annals of Mathematical Statistics 29, 1958.
pub(crate) fn normal(rng: &mut Rng) -> f64 {
    (-2.0 * (1.0 - rng.f64()).ln()).sqrt() * (std::f64::consts::TAU * rng.f64()).cos()
}

/// Trials that measured every n.
pub(crate) fn up(values: &[Vec<f64>]) -> Vec<Sweep<'_>> {
    values.iter().map(|values| Sweep::even(1, 1, values)).collect()
}

/// The blocks of a sweep over 1…`sizes`, from 10 or 100 on, as in a verdict.
pub(crate) fn ranges(sizes: usize) -> Vec<(u64, u64)> {
    let first = if sizes >= 1000 { 100 } else { 10.min(sizes as u64) };
    crate::block::Grid::new(&(first..=sizes as u64).collect::<Vec<u64>>(), 40).ranges
}

/// Sweeps that are not measurements.
pub(crate) fn broken() -> Vec<Vec<f64>> {
    let odd = [0.0, -1.0, f64::NAN, f64::INFINITY, 5e-324, f64::MAX, 1e300, 1.0];
    let mixed: Vec<f64> = (0..300).map(|place| odd[place % odd.len()]).collect();
    vec![vec![], vec![1.0], vec![1e-6; 300], odd.to_vec(), mixed, vec![f64::NAN; 40], vec![0.0; 40]]
}

/// Calls `find` with every kind of sweep there is.
pub(crate) fn any_input(mut find: impl FnMut(&[Sweep<'_>], &[(u64, u64)])) {
    let values = broken();
    let sizes: Vec<u64> = (0..300).map(|place| 1 + place / 7).collect();
    let falling: Vec<u64> = sizes.iter().rev().copied().collect();
    let kinds = [(1, 1), (7, 0), (300, -1), (u64::MAX - 5, i64::MAX)];
    let all = [vec![(1, 43)], vec![], vec![(5, 5), (7, 7)], ranges(300), vec![(0, u64::MAX)], vec![(9, 2)]];
    for ranges in &all {
        for (first, step) in kinds {
            let sweeps: Vec<Sweep<'_>> =
                values.iter().map(|values| Sweep::even(first, step, values)).collect();
            find(&sweeps, ranges);
            sweeps.iter().for_each(|sweep| find(std::slice::from_ref(sweep), ranges));
        }
        for sizes in [&sizes, &falling] {
            let sweeps: Vec<Sweep<'_>> = values.iter().map(|values| Sweep::listed(sizes, values)).collect();
            find(&sweeps, ranges);
            find(&vec![sweeps[2]; 12], ranges);
        }
        find(&[], ranges);
    }
}
