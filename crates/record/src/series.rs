//! The measurements of one kind that one trial made, and their unit.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::Direction;

/// The measurements of one kind that one trial made. Value i was taken while `n_first + i × n_step`
/// objects were alive, or `sizes[i]` where they are listed, before the operation took effect.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Its system.
    pub system: String,
    /// Its workload.
    pub workload: String,
    /// Its variant; may be empty.
    pub variant: String,
    /// Number of the trial.
    pub trial: u32,
    /// Name of the operation, as in the workload's `SeriesKind`.
    pub name: String,
    /// Whether n rises or falls.
    pub direction: Direction,
    /// n of the first value.
    pub n_first: u64,
    /// Difference of n between neighbours; negative on the way down. 0 where the sizes are listed.
    pub n_step: i64,
    /// n of each value where they are not evenly spaced: rising, on the way down falling, equal ones side by
    /// side. Empty where `n_first` and `n_step` suffice.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sizes: Vec<u64>,
    /// Operations per value when one alone is too short for the clock; values are per operation already.
    pub batch: u32,
    /// Seconds per operation, or the unit in `SeriesKind::unit`.
    pub values: Vec<f64>,
    /// Where the measurements were reduced, how many of them each value stands for, as their median: they
    /// began at `n_first` and followed each other by `n_step`. Empty in a series of measurements.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counts: Vec<u32>,
}

/// The most measurements that a reduced series, and all trials of one, may stand for. A few bytes could
/// claim any number of them, and a reader needs room for each.
pub(crate) const REDUCED_OF_TRIAL_MAX: usize = 1 << 24;
pub(crate) const REDUCED_OF_SERIES_MAX: usize = 1 << 27;

impl Series {
    /// Objects alive when value `i` was taken. A file may claim anything; values out of range are clamped.
    #[must_use]
    pub fn n(&self, i: usize) -> u64 {
        if let Some(last) = self.sizes.last() {
            return *self.sizes.get(i).unwrap_or(last);
        }
        let steps = i64::try_from(i).unwrap_or(i64::MAX);
        self.n_first.saturating_add_signed(self.n_step.saturating_mul(steps))
    }

    /// Whether its values are medians of several measurements.
    #[must_use]
    pub fn is_reduced(&self) -> bool {
        !self.counts.is_empty()
    }

    /// How many measurements were made.
    #[must_use]
    pub fn measurements(&self) -> usize {
        if self.is_reduced() { total(&self.counts) } else { self.values.len() }
    }

    /// A value for each measurement: of those that were reduced, the median that stands for it.
    #[must_use]
    pub fn every_value(&self) -> Cow<'_, [f64]> {
        if !self.is_reduced() {
            return Cow::Borrowed(&self.values);
        }
        let each = self.values.iter().zip(&self.counts);
        Cow::Owned(each.flat_map(|(value, count)| std::iter::repeat_n(*value, *count as usize)).collect())
    }

    /// All values, each with its n: (objects, cost of the operation).
    pub fn points(&self) -> impl Iterator<Item = (u64, f64)> {
        self.values.iter().enumerate().map(|(i, value)| (self.n(i), *value))
    }
}

/// The sum of such counts.
pub(crate) fn total(counts: &[u32]) -> usize {
    counts.iter().fold(0, |sum: usize, count| sum.saturating_add(*count as usize))
}

/// Names one series of a run across its trials.
///
/// It shows as `bind/v6 close`, and with `{:#}` in full as `local bind/v6 close down`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SeriesKey {
    /// Its system.
    pub system: String,
    /// Its workload.
    pub workload: String,
    /// Its variant; may be empty.
    pub variant: String,
    /// Its name.
    pub name: String,
    /// Whether n rises or falls.
    pub direction: Direction,
}

impl SeriesKey {
    /// The key under which `series` is found.
    #[must_use]
    pub fn from_series(series: &Series) -> Self {
        SeriesKey {
            system: series.system.clone(),
            workload: series.workload.clone(),
            variant: series.variant.clone(),
            name: series.name.clone(),
            direction: series.direction,
        }
    }
}

impl fmt::Display for SeriesKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if f.alternate() {
            write!(f, "{} ", self.system)?;
        }
        f.write_str(&self.workload)?;
        if !self.variant.is_empty() {
            write!(f, "/{}", self.variant)?;
        }
        write!(f, " {}", self.name)?;
        if f.alternate() {
            write!(f, " {}", self.direction)?;
        }
        Ok(())
    }
}

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

/// The unit of a series' values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Unit {
    /// A duration in seconds.
    #[default]
    Seconds,
    /// A rate per second: more is better.
    PerSecond,
    /// A size in bytes.
    Bytes,
    /// A throughput in bytes per second: more is better.
    BytesPerSecond,
    /// Bare numbers: their unit is unnamed, or unknown to this version.
    None,
}

impl Unit {
    /// Its name in a record; empty for bare numbers.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Unit::Seconds => "s",
            Unit::PerSecond => "1/s",
            Unit::Bytes => "B",
            Unit::BytesPerSecond => "B/s",
            Unit::None => "",
        }
    }

    /// The unit of that name; [`Unit::None`] for a name that this version does not know.
    #[must_use]
    pub fn named(name: &str) -> Unit {
        let known = [Unit::Seconds, Unit::PerSecond, Unit::Bytes, Unit::BytesPerSecond];
        known.into_iter().find(|unit| unit.name() == name).unwrap_or(Unit::None)
    }

    /// Whether more is better.
    #[must_use]
    pub const fn more_is_better(self) -> bool {
        matches!(self, Unit::PerSecond | Unit::BytesPerSecond)
    }
}

impl Serialize for Unit {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Unit {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Unit, D::Error> {
        String::deserialize(from).map(|name| Unit::named(&name))
    }
}
