//! The shared noise of all series of a run: the state of the machine, which moves them together.
//!
//! A mean over series averages their separate noise, but not this.

use fastrand::Rng;

use crate::chance::normal;

/// Noise that all series share at a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SharedNoise {
    /// Names a cell together with noise, design and trials.
    pub name: &'static str,
    /// How far the machine moves (SD of the logarithm): an autoregression in time.
    pub spread: f64,
    /// After so many trials its correlation with itself has fallen to 1/e.
    pub lasting: f64,
    /// How far whole runs differ (SD of the logarithm).
    pub run: f64,
}

/// Series of a suite.
pub(crate) const SERIES: usize = 10;

const fn drift(name: &'static str, lasting: f64) -> SharedNoise {
    SharedNoise { name, spread: 0.10, lasting, run: 0.0 }
}

/// Drift that averages out inside a run, drift that hardly does, and runs that differ as a whole.
pub const ALL: [SharedNoise; 5] = [
    drift("drift3", 3.0),
    drift("drift40", 40.0),
    drift("drift200", 200.0),
    SharedNoise { name: "runs2", spread: 0.0, lasting: 1.0, run: 0.02 },
    SharedNoise { name: "runs10", spread: 0.0, lasting: 1.0, run: 0.10 },
];

impl SharedNoise {
    /// The logarithm of the machine's state for each trial of two sides. In pairs, trials of one number
    /// follow each other, in an order that is random in every second round and turned round in the next; else
    /// the run of one side follows that of the other.
    pub(crate) fn levels(&self, rng: &mut Rng, trials: usize, in_pairs: bool) -> [Vec<f64>; 2] {
        let keep = (-1.0 / self.lasting).exp();
        let mut state = normal(rng);
        let mut next = |rng: &mut Rng| {
            state = keep * state + (1.0 - keep * keep).sqrt() * normal(rng);
            self.spread * state
        };
        if !in_pairs {
            return [(); 2].map(|()| {
                let run = self.run * normal(rng);
                (0..trials).map(|_| run + next(rng)).collect()
            });
        }
        let run = self.run * normal(rng);
        let mut sides = [Vec::with_capacity(trials), Vec::with_capacity(trials)];
        let mut first = 0;
        for round in 0..trials {
            first = if round % 2 == 0 { usize::from(rng.bool()) } else { 1 - first };
            for side in [first, 1 - first] {
                let level = run + next(rng);
                sides[side].push(level);
            }
        }
        sides
    }
}
