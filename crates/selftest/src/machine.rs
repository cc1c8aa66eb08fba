//! The noise of a whole machine: as measured on a shared virtual one; of references, operations that do not
//! depend on n, which are timed between the others and show some of that noise; and as residuals of real
//! runs.

use fastrand::Rng;

use crate::noises::{autoregress, normal};

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
                drift = autoregress(rng, keep, drift);
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

/// The noise of a trial and of its references.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct References {
    /// The noise of the trial beside its own…
    pub common: Machine,
    /// …which references have at the same moment; otherwise they have similar noise at other moments.
    pub shared: bool,
    /// By how much the references themselves grow to the largest n, as a line.
    pub growth: f64,
}

/// One operation in so many is followed by the references.
const EVERY: usize = 8;
/// How strongly the common noise affects each reference.
const EXPOSURES: [f64; 3] = [1.0, 0.8, 0.6];
/// How far a single value of each spreads.
const SPREADS: [f64; 3] = [0.03, 0.06, 0.12];
/// Share of their values that are spikes, and how high these are.
const SPIKES: f64 = 0.01;

impl References {
    /// The places of a trial at which references are timed, as it has so many values.
    pub(crate) fn places(count: usize) -> impl Iterator<Item = usize> {
        (EVERY - 1..count).step_by(EVERY)
    }

    /// Whether they do not depend on n, as references should not.
    pub(crate) fn are_flat(&self) -> bool {
        self.growth == 0.0
    }

    /// Adds the common noise to the logarithms of a trial, and returns those of each of its references.
    pub(crate) fn add(&self, rng: &mut Rng, logs: &mut [f64], sizes: &[u64]) -> Vec<Vec<f64>> {
        let common = self.common.trial(rng, logs.len());
        logs.iter_mut().zip(&common).for_each(|(log, common)| *log += common);
        let met = if self.shared { common } else { self.common.trial(rng, logs.len()) };
        let (low, high) = (sizes.first().copied().unwrap_or(0), sizes.last().copied().unwrap_or(1));
        let grown = |place: usize| {
            let along = (sizes[place] - low) as f64 / (high - low).max(1) as f64;
            (self.growth * along).ln_1p()
        };
        let of_each = EXPOSURES.into_iter().zip(SPREADS);
        of_each
            .map(|(exposure, operation)| {
                let own = Machine { drift: 0.0, operation, spikes: SPIKES, ..Machine::QUIET };
                let own = own.trial(rng, logs.len());
                Self::places(logs.len())
                    .map(|place| exposure * met[place] + own[place] + grown(place))
                    .collect()
            })
            .collect()
    }
}

/// The series with residuals, in the order of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResidualSeries {
    /// One more socket.
    Socket,
    /// One more process.
    Fork,
    /// One more mapping.
    Mmap,
}

impl ResidualSeries {
    /// All of them.
    pub const ALL: [ResidualSeries; 3] = [ResidualSeries::Socket, ResidualSeries::Fork, ResidualSeries::Mmap];
}

/// Trials of a series with residuals.
pub const TRIALS: usize = 40;
/// Values of a trial.
pub const VALUES: usize = 1_000;
/// Logarithms are stored in this unit.
pub const UNIT: f64 = 0.001;

/// Series by series, trial by trial: little-endian `i16`. These are real trials without their common part:
/// `examples/residuals.rs` makes them, and `data/README.md` lists the runs.
static RESIDUALS: &[u8] = include_bytes!("../data/residuals.i16");

/// Logarithms of one trial of `count` values: a whole real trial, which starts at a random place, wraps
/// around at its end, and is reversed every second time. The noise keeps its tails and its autocorrelation,
/// but is no longer bound to an n, so a constant cost stays constant.
pub(crate) fn window(rng: &mut Rng, series: ResidualSeries, count: usize) -> Vec<f64> {
    let trial = (series as usize * TRIALS + rng.usize(..TRIALS)) * VALUES;
    let (start, backwards) = (rng.usize(..VALUES), rng.bool());
    (0..count)
        .map(|place| {
            let step = place % VALUES;
            let at = if backwards { start + VALUES - step } else { start + step } % VALUES;
            match RESIDUALS.as_chunks().0.get(trial + at) {
                Some(bytes) => UNIT * f64::from(i16::from_le_bytes(*bytes)),
                None => 0.0,
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_series_has_all_its_trials() {
        assert_eq!(RESIDUALS.len(), 2 * ResidualSeries::ALL.len() * TRIALS * VALUES);
    }

    #[test]
    fn the_middle_of_a_trial_is_zero() {
        for series in ResidualSeries::ALL {
            let mut logs = window(&mut Rng::with_seed(1), series, VALUES);
            logs.sort_unstable_by(f64::total_cmp);
            assert!(logs[VALUES / 2].abs() < 0.005, "{series:?}: {}", logs[VALUES / 2]);
            assert!(logs[VALUES - 1] > logs[0]);
        }
    }
}
