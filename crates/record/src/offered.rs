//! What all rivals are offered.

use serde::{Deserialize, Serialize};

/// What all rivals are offered at one level, so that what they need for it can be compared: bursts of n
/// requests each, in an open loop.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OfferedLevel {
    /// The level.
    pub n: u64,
    /// Requests that are meant to start, per second.
    pub per_second: f64,
    /// From the start of a request to that of the next one in its burst.
    pub spacing_seconds: f64,
    /// The variant, or the system, that answered least in a closed loop at this level.
    pub slowest: String,
    /// What that answered, per second: the reason for the rate.
    pub slowest_per_second: f64,
    /// Processor time of the load generator for each response: the reason for the spacing.
    pub generator_seconds: f64,
}
