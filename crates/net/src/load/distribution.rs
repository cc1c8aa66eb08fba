//! The distribution of times, with the intervals of its percentiles. The slices of time are the clusters of
//! `stats::share_reach`.

use serde::{Deserialize, Serialize};
use stats::{Cluster, share_reach};

use super::counts::Times;
use super::measured::{Measured, Slice};
use crate::Error;

/// The percentiles that are reported.
pub const PERCENTS: [f64; 6] = [50.0, 75.0, 90.0, 99.0, 99.9, 99.99];

/// Times of one kind.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Distribution {
    /// How many.
    pub count: u64,
    /// The smallest.
    pub min_seconds: f64,
    /// The mean.
    pub mean_seconds: f64,
    /// The largest.
    pub max_seconds: f64,
    /// The percentiles.
    pub percentiles: Vec<Percentile>,
    /// HdrHistogram V2, compressed, in base64; nanoseconds.
    pub hdr: Times,
}

/// The time that this share of requests does not exceed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Percentile {
    /// Percent, from 0 to 100.
    pub percent: f64,
    /// `None` beyond all responses.
    pub seconds: Option<f64>,
    /// Lower end of its 95 % interval.
    pub low: Option<f64>,
    /// Upper end of its 95 % interval.
    pub high: Option<f64>,
}

impl Distribution {
    /// Times without slices have percentiles without intervals.
    pub(super) fn from_times(times: Times) -> Distribution {
        Distribution::with_slices(times, &[], 0)
    }

    pub(super) fn with_slices(times: Times, slices: &[Slice], beyond: u64) -> Distribution {
        let percentiles = percentiles(&times, slices, beyond);
        Distribution {
            count: times.count(),
            min_seconds: seconds(times.min_ns()),
            mean_seconds: times.mean_ns() / 1e9,
            max_seconds: seconds(times.max_ns()),
            percentiles,
            hdr: times,
        }
    }

    /// The latencies of one generator.
    ///
    /// # Errors
    /// None: the bounds of a histogram are sound.
    pub(super) fn from_measured(measured: &Measured) -> Result<Distribution, Error> {
        let unsent =
            measured.intended.map_or(0, |intended| intended.saturating_sub(measured.requests.started));
        let beyond = unsent + measured.requests.unanswered + measured.requests.timed_out;
        Ok(Distribution::with_slices(measured.latency()?, &measured.slices, beyond))
    }

    /// The percentile of [`PERCENTS`].
    pub fn percentile(&self, percent: f64) -> Option<&Percentile> {
        self.percentiles.iter().find(|percentile| percentile.percent == percent)
    }

    /// Any quantile, as a share from 0 to 1, in seconds.
    pub fn quantile(&self, share: f64) -> f64 {
        seconds(self.hdr.quantile_ns(share))
    }
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

/// `beyond` requests have no time, and are slower than all others.
fn percentiles(times: &Times, slices: &[Slice], beyond: u64) -> Vec<Percentile> {
    let answered = times.count();
    if answered == 0 {
        return Vec::new();
    }
    let all = (answered + beyond) as f64;
    // Shares of all requests; those without a response lie beyond every time.
    let at = |share: f64| {
        let share = share * all / answered as f64;
        (share <= 1.0).then(|| times.quantile_ns(share))
    };
    let values: Vec<Option<u64>> = PERCENTS.iter().map(|percent| at(percent / 100.0)).collect();
    let known: Vec<u64> = values.iter().flatten().copied().collect();
    let below: Vec<(f64, Vec<u64>)> = slices
        .iter()
        .map(|slice| (slice.latency.count() as f64, slice.latency.counts_until(&known)))
        .collect();
    let percentile = |(index, &percent): (usize, &f64)| {
        let share = percent / 100.0;
        let Some(value) = values[index] else {
            return Percentile {
                percent,
                seconds: None,
                low: at(share - 1.0 / all).map(seconds),
                high: None,
            };
        };
        let clusters =
            below.iter().map(|(count, below)| Cluster { count: *count, inside: below[index] as f64 });
        let (low, high) = match share_reach(share, all, clusters) {
            // A share of 0 or less is that of the smallest.
            Some(error) => (at((share - error).max(0.0)), at(share + error)),
            None => (None, None),
        };
        Percentile { percent, seconds: Some(seconds(value)), low: low.map(seconds), high: high.map(seconds) }
    };
    PERCENTS.iter().enumerate().map(percentile).collect()
}
