//! The result of one load: rates, latencies with their intervals, and the generators' observations of
//! themselves; also as an interval log of HdrHistogram. The rule for recorded loads judges its limit.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::{Deserialize, Serialize};
use stats::mean_reach;

use super::counts::{Failure, Times, merged_failures};
use super::distribution::Distribution;
use super::joint::{JointLoad, VoidReason};
use super::measured::{Measured, RequestCounts, Slice, Watch, merged_statuses};
use super::plan::Load;
use crate::Error;

/// One load, and its result.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Level {
    /// The load.
    pub load: Load,
    /// Connections open at the end.
    pub connections: usize,
    /// Duration.
    pub elapsed_seconds: f64,
    /// Requests that were meant to start; `None` in a closed loop.
    pub intended: Option<u64>,
    /// Its requests.
    #[serde(flatten)]
    pub requests: RequestCounts,
    /// Requests sent in a second.
    pub started_per_second: f64,
    /// Correct responses per second.
    pub completed_per_second: f64,
    /// Its interval.
    pub completed_per_second_interval: Option<(f64, f64)>,
    /// Connections made in a second.
    pub connected_per_second: f64,
    /// Bytes sent.
    pub sent_bytes: u64,
    /// Bytes received.
    pub received_bytes: u64,
    /// From the intended start in an open loop, else from sending, to the last byte.
    pub latency: Distribution,
    /// From sending, in an open loop.
    pub service: Option<Distribution>,
    /// From the intended start to sending, in an open loop.
    pub lag: Option<Distribution>,
    /// Part of `lag` that the generator caused.
    pub lateness: Option<Distribution>,
    /// To when requests could be sent.
    pub connect: Option<Distribution>,
    /// Part of `connect` which is the TLS handshake.
    #[serde(default)]
    pub handshake: Option<Distribution>,
    /// The time in pieces.
    pub slices: Vec<Slice>,
    /// The most frequent first.
    pub failures: Vec<Failure>,
    /// How often each status came, in protocols that have one.
    #[serde(default)]
    pub statuses: BTreeMap<u16, u64>,
    /// Generators.
    pub workers: usize,
    /// Generators about themselves.
    pub watch: Watch,
    /// Each of several generators.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub joint: Option<JointLoad>,
}

impl Level {
    /// Joins the measurements of several generators that offered one load together.
    ///
    /// # Errors
    /// [`Error::NothingMeasured`] where no generator measured anything.
    pub fn from_measured(load: &Load, measured: Vec<Measured>) -> Result<Level, Error> {
        let workers = measured.len();
        let sum = |field: fn(&Measured) -> u64| measured.iter().map(field).sum::<u64>();
        let joined = |field: fn(&Measured) -> &Times| join(measured.iter().map(field));
        let elapsed_seconds = measured.iter().map(|one| one.elapsed_seconds).fold(0.0, f64::max);
        let intended = measured
            .iter()
            .map(|one| one.intended)
            .try_fold(0, |sum, one| Some(sum + one?))
            .filter(|_| workers > 0);
        let mut requests = RequestCounts::default();
        measured.iter().for_each(|one| requests.add(&one.requests));
        requests.unanswered += intended.map_or(0, |intended| intended.saturating_sub(requests.started));
        let (service, lag) = (joined(|one| &one.service), joined(|one| &one.lag));
        let (lateness, connect) = (joined(|one| &one.lateness), joined(|one| &one.connect));
        let handshake = joined(|one| &one.handshake);
        let connected = sum(|one| one.connected);
        let (sent_bytes, received_bytes) = (sum(|one| one.sent_bytes), sum(|one| one.received_bytes));
        let connections = measured.iter().map(|one| one.connections).sum();
        let mut watch = Watch::default();
        measured.iter().for_each(|one| watch.add(&one.watch));
        let failures = merged_failures(measured.iter().map(|one| one.failures.clone()));
        let statuses = merged_statuses(measured.iter().map(|one| &one.statuses));
        let slices = join_slices(measured);
        let latency = join(slices.iter().map(|slice| &slice.latency)).ok_or(Error::NothingMeasured)?;
        let per_second = |count: u64| count as f64 / elapsed_seconds.max(1e-9);
        let some =
            |times: Option<Times>| times.filter(|times| times.count() > 0).map(Distribution::from_times);
        let latency = Distribution::with_slices(latency, &slices, requests.unanswered + requests.timed_out);
        Ok(Level {
            load: load.clone(),
            connections,
            elapsed_seconds,
            intended,
            requests,
            started_per_second: per_second(slices.iter().map(|slice| slice.started).sum()),
            completed_per_second: per_second(requests.completed),
            completed_per_second_interval: rate_interval(&slices, per_second(requests.completed)),
            connected_per_second: per_second(connected),
            sent_bytes,
            received_bytes,
            latency,
            service: some(service),
            lag: some(lag),
            lateness: some(lateness),
            connect: some(connect),
            handshake: some(handshake),
            slices,
            failures,
            statuses,
            workers,
            watch,
            joint: None,
        })
    }

    /// Why the level does not count; empty where it does.
    pub fn void(&self) -> &[VoidReason] {
        self.joint.as_ref().map_or(&[], |joint| &joint.window.void)
    }
}

fn join<'a>(all: impl Iterator<Item = &'a Times>) -> Option<Times> {
    all.fold(None, |sum: Option<Times>, times| {
        Some(match sum {
            Some(mut sum) => {
                sum.add(times);
                sum
            }
            None => times.clone(),
        })
    })
}

/// Slices of several generators, which began together: those of the same time are one. A generator that was
/// at work for longer than another may have longer slices, each of which holds several of the other's.
fn join_slices(measured: Vec<Measured>) -> Vec<Slice> {
    let length = |slices: &[Slice]| slices.iter().map(|slice| slice.seconds).fold(0.0, f64::max);
    let mut all: Vec<Vec<Slice>> = measured.into_iter().map(|one| one.slices).collect();
    all.sort_by(|one, other| length(other).total_cmp(&length(one)));
    let longest = all.first().map_or(0.0, |slices| length(slices)).max(1e-9);
    let mut joined: Vec<Slice> = Vec::new();
    for slice in all.into_iter().flatten() {
        // Short ones begin anywhere within one of the longest; those of the same length begin with it.
        let place = ((slice.begin_seconds + slice.seconds.min(longest) / 2.0) / longest) as usize;
        match joined.get_mut(place) {
            Some(sum) => {
                let end = (slice.begin_seconds + slice.seconds).max(sum.begin_seconds + sum.seconds);
                sum.seconds = (end - sum.begin_seconds).min(longest);
                sum.started += slice.started;
                sum.completed += slice.completed;
                sum.latency.add(&slice.latency);
            }
            None => joined.push(slice),
        }
    }
    joined
}

/// From the rates of whole slices.
fn rate_interval(slices: &[Slice], rate: f64) -> Option<(f64, f64)> {
    let longest = slices.iter().map(|slice| slice.seconds).fold(0.0, f64::max);
    let whole = slices.iter().filter(|slice| slice.seconds > 0.99 * longest);
    let rates: Vec<f64> = whole.map(|slice| slice.completed as f64 / slice.seconds).collect();
    let half = mean_reach(&rates)?;
    Some(((rate - half).max(0.0), rate + half))
}

/// Writes all slices of all levels as an interval log of HdrHistogram, which HistogramLogAnalyzer and
/// hdr-plot read: start and length in seconds, the largest in milliseconds, and the histogram of nanoseconds.
/// Tags distinguish levels.
///
/// # Errors
/// Those of writing.
pub fn write_interval_log<'a>(
    levels: impl IntoIterator<Item = &'a Level>,
    out: &mut dyn Write,
) -> io::Result<()> {
    writeln!(out, "#[Histogram log format version 1.3]")?;
    writeln!(out, "#[Latencies in nanoseconds; the column of the largest is in milliseconds]")?;
    writeln!(out, "#[StartTime: 0 (seconds since the level began)]")?;
    writeln!(
        out,
        "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\""
    )?;
    let mut begin_seconds = 0.0;
    for level in levels {
        let tag = match level.load.rate {
            Some(rate) => format!("rate-{rate}"),
            None => format!("connections-{}", level.load.connections),
        };
        for slice in &level.slices {
            let start = begin_seconds + slice.begin_seconds;
            let max_ms = slice.latency.max_ns() as f64 / 1e6;
            let histogram = slice.latency.encoded();
            writeln!(out, "Tag={tag},{start:.3},{:.3},{max_ms:.3},{histogram}", slice.seconds)?;
        }
        begin_seconds += level.elapsed_seconds;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A generator with slices of this length, each with as many responses as it is long.
    fn measured(count: usize, seconds: u64) -> Measured {
        let slice = |place: usize| {
            let mut latency = Times::new().expect("a histogram");
            (0..seconds).for_each(|_| latency.record(1000 + place as u64));
            let begin_seconds = (place as u64 * seconds) as f64;
            let seconds_long = seconds as f64;
            Slice { begin_seconds, seconds: seconds_long, started: seconds, completed: seconds, latency }
        };
        let slices = (0..count).map(slice).collect();
        Measured { slices, ..Measured::nothing().expect("histograms") }
    }

    /// One that measured for longer has halved its slices once more.
    #[test]
    fn slices_of_different_length_are_joined_by_their_time() {
        for all in [vec![measured(6, 1), measured(3, 2)], vec![measured(3, 2), measured(7, 1)]] {
            let responses: u64 = all.iter().flat_map(|one| &one.slices).map(|slice| slice.completed).sum();
            let joined = join_slices(all);
            let of = |slice: &Slice| (slice.begin_seconds, slice.completed, slice.latency.count());
            let first: Vec<_> = joined.iter().take(3).map(of).collect();
            assert_eq!(first, [(0.0, 4, 4), (2.0, 4, 4), (4.0, 4, 4)]);
            assert_eq!(joined.iter().map(|slice| slice.completed).sum::<u64>(), responses);
        }
    }
}
