//! The latencies of the last second, for a person that watches.
//!
//! No request records anything for them: they are what the slices have and did not have at the last look.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::histogram::Times;

/// Latencies, rounded to one part in 32, and how often each came.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Recent(BTreeMap<u64, u64>);

/// Bits of a latency that are kept; the first one is always set.
const BITS: u32 = 6;

impl Recent {
    pub(super) fn of(times: &Times) -> Recent {
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

    /// The latency that this share does not exceed, from 0 to 1, in seconds; `None` of none.
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
        let recent = Recent::of(&times);
        assert_eq!(recent.quantile(0.5), Some(25e-9));
        assert_eq!((recent.quantile(0.0), recent.quantile(1.0)), (Some(1e-9), Some(50e-9)));
        assert_eq!(Recent::default().quantile(0.5), None);
    }
}
