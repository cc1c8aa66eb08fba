//! References of simulated trials: operations that do not depend on n, timed between those that do.

use fastrand::Rng;

use crate::machine::Machine;

/// What a trial and its references meet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct References {
    /// What disturbs the trial beside its own noise…
    pub common: Machine,
    /// …and the references at the same moment; otherwise they meet the like of it at other moments.
    pub shared: bool,
    /// By how much the references themselves grow to the largest n, as a line.
    pub growth: f64,
}

/// One operation in so many is followed by the references.
const EVERY: usize = 8;
/// How strongly each reference feels what is common.
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

    /// Adds to the logarithms of a trial what is common, and gives those of each of its references.
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
