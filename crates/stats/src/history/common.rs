//! The part of a night that all series share: the machine on that night.

use super::track::{Level, Noise};
use crate::gate::NORMAL_MAD;
use crate::median::{median, weighted_median};

/// Fewer series do not tell the machine from themselves.
pub(super) const FEWEST: usize = 5;

/// A series on one night.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reading {
    pub(super) log: f64,
    pub(super) level: Level,
    pub(super) noise: Noise,
}

/// How far a night lies from the levels in common, and how many times as far as usual series scatter around
/// that. A weighted median over the series, which the change of one, or of a third of them, hardly moves.
pub(super) fn common(readings: &[Reading]) -> (f64, f64) {
    if readings.len() < FEWEST {
        return (0.0, 1.0);
    }
    let apart = |reading: &Reading| reading.log - reading.level.log;
    let mut pairs: Vec<(f64, f64)> =
        readings.iter().map(|reading| (apart(reading), 1.0 / reading.noise.deviation)).collect();
    let shared = weighted_median(&mut pairs).unwrap_or(0.0);
    let far = |reading: &Reading| {
        (apart(reading) - shared).abs() / (reading.noise.deviation * (1.0 + reading.level.variance).sqrt())
    };
    let mut scatter: Vec<f64> = readings.iter().map(far).collect();
    let spread = NORMAL_MAD * median(&mut scatter).unwrap_or(0.0);
    (shared, spread.max(1.0))
}
