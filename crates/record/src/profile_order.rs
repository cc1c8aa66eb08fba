//! What a trial is to sample, so that it tells where the time of an operation goes.

use serde::{Deserialize, Serialize};

use crate::Direction;

/// What a trial samples. Such a trial is not judged: the sampler takes part of its time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProfileOrder {
    /// Processor time from one sample to the next.
    pub period_seconds: f64,
    /// The series, each with the n at which it is sampled.
    pub series: Vec<ProfiledSeries>,
}

/// A series of a trial that is sampled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProfiledSeries {
    /// Name of the operation.
    pub name: String,
    /// Whether n rises or falls.
    pub direction: Direction,
    /// The n where it is cheap.
    pub low: NRange,
    /// The n where it is expensive.
    pub high: NRange,
}

/// A range of n, with both ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NRange {
    /// Smallest n.
    pub n_low: u64,
    /// Largest n.
    pub n_high: u64,
}

impl NRange {
    /// Whether n is in it.
    #[must_use]
    pub fn contains(self, n: u64) -> bool {
        (self.n_low..=self.n_high).contains(&n)
    }
}
