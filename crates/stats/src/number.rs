//! Numbers of a verdict that JSON cannot hold: it has `null` where a bound is infinite or a value unknown.

use serde::{Deserialize, Deserializer};

/// A lower bound: without one it is infinite.
pub(crate) fn low<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    number(from, f64::NEG_INFINITY)
}

/// An upper bound: without one it is infinite.
pub(crate) fn high<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    number(from, f64::INFINITY)
}

/// A value that may be unknown.
pub(crate) fn unknown<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    number(from, f64::NAN)
}

fn number<'de, D: Deserializer<'de>>(from: D, missing: f64) -> Result<f64, D::Error> {
    Ok(Option::<f64>::deserialize(from)?.unwrap_or(missing))
}
