//! Times in a histogram of three significant digits, from a nanosecond to ten minutes.

use std::io;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};
use serde::{Deserialize, Serialize};

use crate::Error;

/// A histogram of nanoseconds. In JSON it is the compressed form of HdrHistogram V2 in base64, as other tools
/// of that family read and write it.
#[derive(Clone, Debug)]
pub struct Times(Histogram<u64>);

/// What takes longer is counted as this.
pub(crate) const LONGEST_NS: u64 = 600_000_000_000;

/// Known to one part in a thousand.
const SIGNIFICANT_DIGITS: u8 = 3;

impl Times {
    /// An empty one, of 250 KB whatever it counts.
    ///
    /// # Errors
    /// None: the bounds are sound.
    pub fn new() -> Result<Times, Error> {
        Histogram::new_with_bounds(1, LONGEST_NS, SIGNIFICANT_DIGITS)
            .map(Times)
            .map_err(|error| Error::at("make a histogram of ten minutes")(io::Error::other(error)))
    }

    /// Counts a time.
    #[inline(always)]
    pub fn record(&mut self, time_ns: u64) {
        self.0.saturating_record(time_ns);
    }

    /// Adds all of another.
    pub fn add(&mut self, other: &Times) {
        // Both have the same bounds, so nothing can be out of them.
        let _ = self.0.add(&other.0);
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        if !self.0.is_empty() {
            self.0.reset();
        }
    }

    /// How many times were counted.
    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// The largest.
    pub(crate) fn max_ns(&self) -> u64 {
        self.0.max()
    }

    /// The smallest; 0 of none.
    pub(crate) fn min_ns(&self) -> u64 {
        if self.0.is_empty() { 0 } else { self.0.min() }
    }

    /// The mean.
    pub(crate) fn mean_ns(&self) -> f64 {
        self.0.mean()
    }

    /// The time below which this share lies, from 0 to 1.
    pub fn quantile_ns(&self, share: f64) -> u64 {
        self.0.value_at_quantile(share)
    }

    /// The times that came, and how often; to one part in a thousand.
    pub(super) fn counts(&self) -> impl Iterator<Item = (u64, u64)> {
        self.0.iter_recorded().map(|step| (step.value_iterated_to(), step.count_at_value()))
    }

    /// For each of these rising times, how many are not longer.
    pub fn counts_until(&self, rising_ns: &[u64]) -> Vec<u64> {
        let mut counts = Vec::with_capacity(rising_ns.len());
        let mut sum = 0;
        for step in self.0.iter_recorded() {
            while rising_ns.get(counts.len()).is_some_and(|&time| time < step.value_iterated_to()) {
                counts.push(sum);
            }
            sum += step.count_at_value();
        }
        counts.resize(rising_ns.len(), sum);
        counts
    }

    /// The compressed form of V2 in base64.
    pub fn encoded(&self) -> String {
        let mut bytes = Vec::new();
        // Writing into memory does not fail.
        let _ = V2DeflateSerializer::new().serialize(&self.0, &mut bytes);
        STANDARD.encode(bytes)
    }

    /// Reads what [`Times::encoded`] wrote.
    pub(crate) fn decoded(text: &str) -> Option<Times> {
        let bytes = STANDARD.decode(text).ok()?;
        let read: Histogram<u64> = Deserializer::new().deserialize(&mut bytes.as_slice()).ok()?;
        // Its own bounds are as narrow as its contents.
        let mut times = Times::new().ok()?;
        times.0.add(&read).ok()?;
        Some(times)
    }
}

impl Serialize for Times {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&self.encoded())
    }
}

impl<'de> Deserialize<'de> for Times {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Times, D::Error> {
        let text = String::deserialize(from)?;
        Times::decoded(&text).ok_or_else(|| serde::de::Error::custom("not a histogram"))
    }
}
