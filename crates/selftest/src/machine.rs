//! The noise of a whole machine, as it was measured on a shared virtual one.

use fastrand::Rng;

use crate::chance::normal;

/// Noise as it was measured on a shared virtual machine; shares are standard deviations of the logarithm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Machine {
    /// Drift inside a trial: an autoregression over neighbouring operations.
    pub drift: f64,
    /// How many operations it lasts.
    pub lasts: f64,
    /// One operation against the next.
    pub operation: f64,
    /// Share of the operations that take ten times as long: interrupts.
    pub spikes: f64,
    /// Share of the trials half of which take half as long again: a neighbour came.
    pub neighbours: f64,
}

/// How many operations the drift of a machine lasts.
pub(crate) const DRIFT_LASTS: f64 = 50.0;
const NEIGHBOUR_RATIO: f64 = 1.5;
const SPIKE: f64 = 10.0;

impl Machine {
    /// Contrasts spread by about 4 % in a dense sweep.
    pub(crate) const QUIET: Machine =
        Machine { drift: 0.03, lasts: DRIFT_LASTS, operation: 0.1, spikes: 0.01, neighbours: 0.0 };

    /// Logarithms of the factors of one trial of `count` values.
    pub(crate) fn trial(self, rng: &mut Rng, count: usize) -> Vec<f64> {
        let keep = (-1.0 / self.lasts).exp();
        let mut drift = normal(rng);
        let mut logs: Vec<f64> = (0..count)
            .map(|_| {
                drift = keep * drift + (1.0 - keep * keep).sqrt() * normal(rng);
                let spike = if rng.f64() < self.spikes { SPIKE.ln() } else { 0.0 };
                self.drift * drift + self.operation * normal(rng) + spike
            })
            .collect();
        neighbour(rng, self.neighbours, &mut logs);
        logs
    }
}

/// With this chance another program makes half of the trial more expensive, from a random place on.
pub(crate) fn neighbour(rng: &mut Rng, chance: f64, logs: &mut [f64]) {
    if rng.f64() < chance {
        let from = rng.usize(..logs.len());
        let half = logs.len() / 2;
        logs.iter_mut().skip(from).take(half).for_each(|log| *log += NEIGHBOUR_RATIO.ln());
    }
}
