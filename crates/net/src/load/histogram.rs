//! Times in a histogram of three significant digits, from a nanosecond to ten minutes; and the latencies of
//! the last second, for display.

use std::collections::BTreeMap;
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

/// Longer times are counted as this.
pub(crate) const LONGEST_NS: u64 = 600_000_000_000;

/// Known to one part in a thousand.
const SIGNIFICANT_DIGITS: u8 = 3;

impl Times {
    /// An empty one, of 250 KB for any content.
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

    /// The smallest; 0 without any.
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

    /// Reads the output of [`Times::encoded`].
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

/// The latencies of the last second, rounded to one part in 32, and how often each came. Requests do not
/// record them: they are the difference of the slices since the last look.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Recent(BTreeMap<u64, u64>);

/// Bits of a latency that are kept; the first one is always set.
const BITS: u32 = 6;

impl Recent {
    pub(super) fn from_times(times: &Times) -> Recent {
        let mut counts = BTreeMap::new();
        times.counts().for_each(|(ns, count)| *counts.entry(rounded(ns)).or_default() += count);
        Recent(counts)
    }

    /// Adds those of another generator.
    pub(super) fn add(&mut self, other: &Recent) {
        other.0.iter().for_each(|(ns, count)| *self.0.entry(*ns).or_default() += count);
    }

    /// Removes those that were there earlier.
    pub(super) fn subtract(&mut self, earlier: &Recent) {
        for (ns, count) in &mut self.0 {
            *count -= earlier.0.get(ns).copied().unwrap_or(0).min(*count);
        }
    }

    /// The latency that this share does not exceed, from 0 to 1, in seconds; `None` without any.
    pub fn quantile(&self, share: f64) -> Option<f64> {
        let all: u64 = self.0.values().sum();
        let mut left = ((all as f64 * share).ceil() as u64).max(1);
        let reaches = |(_, count): &(&u64, &u64)| {
            let is_there = left <= **count;
            left -= (**count).min(left);
            is_there
        };
        self.0.iter().find(reaches).map(|(ns, _)| *ns as f64 / 1e9)
    }
}

/// The middle of those that begin with the same bits.
fn rounded(ns: u64) -> u64 {
    let shift = (u64::BITS - ns.leading_zeros()).saturating_sub(BITS);
    ((ns >> shift) << shift) + (1_u64 << shift) / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latencies_are_known_to_one_part_in_32() {
        for ns in [1, 31, 32, 63, 64, 1000, 123_456, 98_765_432_100_u64] {
            let error = (rounded(ns) as f64 - ns as f64).abs() / ns as f64;
            assert!(error <= 1.0 / 32.0, "{ns}: {error}");
        }
    }

    #[test]
    fn quantiles_are_those_of_sorted_latencies() {
        let mut times = Times::new().unwrap();
        (1..=50_u64).for_each(|ns| times.record(ns));
        let recent = Recent::from_times(&times);
        assert_eq!(recent.quantile(0.5), Some(25e-9));
        assert_eq!((recent.quantile(0.0), recent.quantile(1.0)), (Some(1e-9), Some(50e-9)));
        assert_eq!(Recent::default().quantile(0.5), None);
    }
}
