//! Pure mathematics: numbers in, values with intervals and warnings out.
//!
//! May import: quantiles (statrs) and a seeded generator (fastrand). Must never: do I/O, read a clock,
//! know what a workload or a file is, or produce sentences; words belong to `report`.

#![forbid(unsafe_code)]

mod bend;
mod block;
mod centre;
mod choice;
mod cluster;
mod compare;
mod drift;
mod family;
mod finding;
mod flat;
mod geometric_mean;
mod growth;
mod hysteresis;
mod lines;
mod median;
mod modes;
mod noise_floor;
mod passes;
mod range;
mod rank;
mod shape;
#[cfg(test)]
mod simulate;
mod spikes;
mod step;
mod suite;
mod sweep;
mod verdict;
mod view;

pub use cluster::{Cluster, mean_reach, share_reach};
pub use compare::{Answer, Comparison, Contrast, Crossing, Design, PerClaim, compare};
pub use finding::{Drift, Hysteresis, Limit, Line, Lines, Modes, Period, Repeated, Segment, Spikes, Step};
pub use geometric_mean::geometric_mean;
pub use noise_floor::{FLOOR_PAIRS, NoiseFloor, SelfRatio, noise_floor};
pub use range::steady_range;
pub use rank::{Match, Rank, ranks};
pub use suite::answers;
pub use sweep::Sizes;
pub use verdict::{Block, Class, Settings, Verdict, Warning, judge};

/// An estimate with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The estimate.
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// The measurements of one trial, in seconds or whatever unit the caller has.
#[derive(Clone, Copy, Debug)]
pub struct Sweep<'a> {
    /// n of each value.
    pub sizes: Sizes<'a>,
    /// Cost of each operation.
    pub values: &'a [f64],
}
