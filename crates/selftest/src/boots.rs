//! What a boot adds to all of its trials.

use fastrand::Rng;

use crate::chance::{normal, student3};

/// How boots of one system differ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BootNoise {
    /// Names a cell together with noise, design and trials.
    pub name: &'static str,
    offset: Offset,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Offset {
    /// A normal distribution of the logarithm, with this standard deviation.
    Normal(f64),
    /// One of two states that are so far apart, each as likely: a table does or does not share its cache
    /// sets.
    TwoStates(f64),
    /// Student's t with three degrees of freedom, times this: now and then a boot is far off.
    Tailed(f64),
}

/// Boots that differ by more than the margin of a comparison.
pub(crate) const NORMAL: BootNoise = BootNoise { name: "normal", offset: Offset::Normal(0.05) };
pub(crate) const ALL: [BootNoise; 3] = [
    NORMAL,
    BootNoise { name: "states", offset: Offset::TwoStates(0.10) },
    BootNoise { name: "tailed", offset: Offset::Tailed(0.03) },
];

/// Trials of a boot.
pub(crate) const BOOT_TRIALS: usize = 4;

impl BootNoise {
    /// What the next boot adds to the logarithm of every cost.
    pub(crate) fn next(&self, rng: &mut Rng) -> f64 {
        match self.offset {
            Offset::Normal(spread) => spread * normal(rng),
            Offset::TwoStates(apart) => {
                if rng.bool() {
                    apart
                } else {
                    0.0
                }
            }
            Offset::Tailed(spread) => spread * student3(rng),
        }
    }
}
