//! The verdict of a series whose measurements were reduced.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::SeriesKey;

/// The verdict that the measurements of one series gave before they were reduced.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JudgedSeries {
    /// The series.
    #[serde(flatten)]
    pub of: SeriesKey,
    /// Version of the program that judged it.
    pub by: String,
    /// The smallest growth that mattered, as a share.
    pub margin: f64,
    /// How often the runner had looked at the data.
    pub looks: u32,
    /// All figures of the verdict. They are those of that version: this crate knows no statistics.
    pub verdict: Value,
}
