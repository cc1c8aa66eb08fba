//! Sweeps with known truth.

use fastrand::Rng;
use stats::{JudgeSettings, Sweep};

/// Noise as it was measured on a shared virtual machine; shares are standard deviations of the logarithm.
#[derive(Clone, Copy)]
pub(crate) struct Noise {
    /// The level of a whole trial.
    pub(crate) level: f64,
    /// Drift inside a trial: an autoregression over `DRIFT` neighbouring operations.
    pub(crate) drift: f64,
    /// One operation against the next.
    pub(crate) operation: f64,
    /// Operations that take ten times as long: interrupts.
    pub(crate) spikes: f64,
    /// Trials half of which take half as long again: a neighbour came.
    pub(crate) neighbours: f64,
}

/// Contrasts of block medians then spread by about 4 %.
pub(crate) const QUIET: Noise =
    Noise { level: 0.2, drift: 0.03, operation: 0.1, spikes: 0.01, neighbours: 0.0 };
/// Contrasts of block medians then spread by about 8 %.
pub(crate) const NOISY: Noise =
    Noise { level: 0.2, drift: 0.065, operation: 0.15, spikes: 0.02, neighbours: 0.025 };

/// How many operations a drift lasts.
const DRIFT: usize = 50;
const BASE_SECONDS: f64 = 1e-6;

/// `trials` sweeps over `sizes` sizes; the i-th costs `truth(i)` microseconds.
pub(crate) fn sweeps(
    rng: &mut Rng,
    trials: usize,
    sizes: usize,
    noise: Noise,
    truth: impl Fn(f64) -> f64,
) -> Vec<Vec<f64>> {
    (0..trials)
        .map(|_| {
            let level = noise.level * normal(rng);
            sweep(rng, sizes, level, noise, &truth)
        })
        .collect()
}

/// Sweeps over 60 sizes of a machine that drifts from trial to trial by `drift` over about `lasting`
/// trials, on top of `level` of each trial's own; `state` is where the machine is.
pub(crate) fn drifting(
    rng: &mut Rng,
    trials: usize,
    (drift, lasting): (f64, f64),
    level: f64,
    state: &mut f64,
) -> Vec<Vec<f64>> {
    let keep = (-1.0 / lasting).exp();
    let calm = Noise { level: 0.0, drift: 0.0, operation: 0.05, spikes: 0.0, neighbours: 0.0 };
    (0..trials)
        .map(|_| {
            *state = keep * *state + (1.0 - keep * keep).sqrt() * normal(rng);
            let level = drift * *state + level * normal(rng);
            sweep(rng, 60, level, calm, |_| 1.0)
        })
        .collect()
}

/// One sweep whose level is given.
pub(crate) fn sweep(
    rng: &mut Rng,
    sizes: usize,
    level: f64,
    noise: Noise,
    truth: impl Fn(f64) -> f64,
) -> Vec<f64> {
    let keep = (-1.0 / DRIFT as f64).exp();
    let mut drift = normal(rng);
    let neighbour = (rng.f64() < noise.neighbours).then(|| rng.usize(..sizes));
    (1..=sizes)
        .map(|n| {
            drift = keep * drift + (1.0 - keep * keep).sqrt() * normal(rng);
            let mut log = level + noise.drift * drift + noise.operation * normal(rng);
            if rng.f64() < noise.spikes {
                log += 10f64.ln();
            }
            if neighbour.is_some_and(|from| (from..from + sizes / 2).contains(&n)) {
                log += 1.5f64.ln();
            }
            BASE_SECONDS * truth(n as f64) * log.exp()
        })
        .collect()
}

/// Box & Muller, Annals of Mathematical Statistics 29, 1958.
pub(crate) fn normal(rng: &mut Rng) -> f64 {
    (-2.0 * (1.0 - rng.f64()).ln()).sqrt() * (std::f64::consts::TAU * rng.f64()).cos()
}

/// Every tenth n of a sweep: as long as real ones, judged from n = 100 on, and ten times as fast to make.
pub(crate) const SPACING: u64 = 10;

/// Trials that measured every tenth n.
pub(crate) fn long(values: &[Vec<f64>]) -> Vec<Sweep<'_>> {
    values.iter().map(|values| Sweep::even(SPACING, SPACING as i64, values)).collect()
}

/// Trials that measured every n.
pub(crate) fn up(values: &[Vec<f64>]) -> Vec<Sweep<'_>> {
    values.iter().map(|values| Sweep::even(1, 1, values)).collect()
}

pub(crate) fn settings(seed: u64) -> JudgeSettings {
    JudgeSettings { margin: 0.10, alpha: 0.05, looks: 1, tick_seconds: 1e-9, seed, whole: false }
}
