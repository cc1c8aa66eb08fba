//! The load that was held beside a trial.

use serde::{Deserialize, Serialize};

use crate::Unit;

/// A load to be held beside a trial, by a process of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Background {
    /// What and how much, in its canonical form: `cpu:50%`, `disk:20MB/s`. With the processor, if the user
    /// chose that: `cpu:50%#1`.
    pub load: String,
    /// The processor to which its process is bound; `None` leaves it to the scheduler.
    #[serde(default)]
    pub processor: Option<u32>,
}

/// What became of a load beside a trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HeldBackground {
    /// The load.
    #[serde(flatten)]
    pub background: Background,
    /// Unit of the rates; empty for a share of a processor.
    pub unit: Unit,
    /// The rate that was wanted.
    pub target: f64,
    /// The rate of every second of the trial, by `counter`. The last second ends after the trial.
    pub rates: Vec<f64>,
    /// Where the kernel counted what the process did: `/proc/PID/io syscr`. Empty where it counts no such
    /// thing, and the rates are those that the process counted itself.
    #[serde(default)]
    pub counter: String,
    /// Where the kernel counts the same of the whole system, be it of this process or of others:
    /// `/proc/net/dev lo`; empty where it does not.
    #[serde(default)]
    pub system_counter: String,
    /// The rate by `system_counter` over all of these seconds.
    #[serde(default)]
    pub system_rate: Option<f64>,
    /// Bytes of memory that were resident, or connections that were open, of loads that hold any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holds: Option<f64>,
    /// Whether it was there in every second, within 5 % of the target.
    pub is_held: bool,
    /// Why there are no rates, or not of all seconds; empty where it was there to the end.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub ended: String,
}
