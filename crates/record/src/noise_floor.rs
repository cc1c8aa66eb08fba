//! The noise floor of a system: the smallest difference that a comparison can resolve.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::SeriesKey;

/// The noise floor of one system, found by measuring it against itself (`osdyno run --aa`).
///
/// All floors are shares: 0.02 says that two measurements of one and the same thing differ by up to 2 %,
/// in 95 % of the cases. No comparison on this system may claim a smaller difference.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NoiseFloor {
    /// The floor over all series.
    pub share: f64,
    /// Share of the series that were called different at 5 %, though nothing differed.
    pub false_alarm_rate: f64,
    /// Trials of each side, of the series with the fewest.
    pub trials: u32,
    /// When it was measured: RFC 3339, UTC.
    pub measured_at: String,
    /// The run file that it was measured in, as it was named then; empty for this file itself.
    #[serde(default)]
    pub run: String,
    /// The floor of each series, by [`NoiseFloor::name`].
    #[serde(default)]
    pub series: BTreeMap<String, f64>,
}

impl NoiseFloor {
    /// The name under which a series has its floor: `bind/v6 close down`. Settings that the user chose are
    /// part of it, as in `files create up per-folder=1000`.
    #[must_use]
    pub fn name(key: &SeriesKey, settings: &BTreeMap<String, String>) -> String {
        let settings: String = settings.iter().map(|(name, value)| format!(" {name}={value}")).collect();
        format!("{key} {}{settings}", key.direction)
    }

    /// The smallest difference that this series can support with these settings, as a share: its own floor
    /// where it has one, else the one over all series.
    #[must_use]
    pub fn of(&self, key: &SeriesKey, settings: &BTreeMap<String, String>) -> f64 {
        self.series.get(&Self::name(key, settings)).copied().unwrap_or(self.share)
    }
}
