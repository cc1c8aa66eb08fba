//! Load generators: closed and open loops that drive any client.
//!
//! - here are the progress of a load, and the intended starts of an open loop: fixed in advance, independent
//!   of the server;
//! - [`Generator`] holds connections to one server and offers one [`Load`] after the other;
//! - `engine` is its loop, on the traits of `network`; `counts` has the times and failures that it counts;
//! - [`Measured`] has the counts of one generator, [`Level`] the result of one load, from all generators;
//! - `joint` decides whether several of them were at work at the same time;
//! - `search` looks for the highest rate at which latency stays below a bound.
//!
//! A generator is one thread of one process. More of them are more processes, here or on other hosts:
//! [`coordinator`] starts them.

pub mod coordinator;
mod counts;
mod distribution;
mod engine;
mod generator;
mod joint;
mod level;
mod measured;
mod plan;
pub mod search;

pub use crate::network::TlsSettings;
pub use counts::{Failure, FailureKind, Recent, RequestStage, Times};
pub use distribution::{Distribution, PERCENTS, Percentile};
pub use generator::Generator;
pub use joint::{GeneratorReport, JointLoad, JointWindow, ObserverLevel, VoidReason, WorkerPresence};
pub use level::{Level, write_interval_log};
pub use measured::{Measured, RequestCounts, Slice, Watch, Window};
pub use plan::{FROM_ONE_ADDRESS, Load, LoadSettings, Sources};

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::Error;

#[cfg(test)]
pub(crate) use engine::{Drive, Engine};

/// One load generator, or several.
pub trait OffersLoad {
    /// Offers a load, and returns its result.
    ///
    /// # Errors
    /// [`Error::Settings`] for an invalid load, [`Error::System`] where waiting for events fails, and those
    /// of [`coordinator::Coordinator::offer`]. A fault of the server is no error, but counted.
    fn offer(&mut self, load: &Load, watched: &mut Watched<'_>) -> Result<Level, Error>;
}

/// The result of opening connections.
#[derive(Clone, Debug)]
pub struct Grown {
    /// Connections that are open now.
    pub connections: usize,
    /// How long each of the new ones took.
    pub connect: Times,
    /// Those that could not be made.
    pub failures: Vec<Failure>,
}

/// The progress of a load.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Progress {
    /// From 0 to 1, by the time.
    pub share: f64,
    /// Nothing is counted yet.
    pub warming_up: bool,
    /// How long has been measured.
    pub seconds: f64,
    /// Right responses so far.
    pub completed: u64,
    /// Failures so far.
    pub failed: u64,
    /// Connections with a request under way.
    pub busy: usize,
    /// Connections that are open, or being made.
    pub open: usize,
    /// The latencies of the last second, once a second; see [`coordinator::JointWork::follow`].
    pub recent: Option<Recent>,
}

/// Called ten times per second with the progress of a load; `false` ends it.
pub type Watched<'a> = dyn FnMut(&Progress) -> bool + 'a;

/// For loads without a watcher.
pub fn unwatched(_: &Progress) -> bool {
    true
}

/// A closed loop on this number of connections.
pub fn closed_loop(connections: usize, duration: Duration) -> Load {
    Load { connections, duration, ..Load::default() }
}

/// An open loop of this number of requests per second.
pub fn open_loop(connections: usize, rate: f64, schedule: Schedule, duration: Duration) -> Load {
    Load { connections, rate: Some(rate), schedule, duration, ..Load::default() }
}

/// How the starts of an open loop lie in time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Schedule {
    /// Equal intervals.
    ///
    /// They can synchronise with periodic work of the server.
    Constant,
    /// One request in every interval, at a random time within it.
    Uniform,
    /// Independent requests, as from many users.
    ///
    /// The intervals are exponential.
    #[default]
    Poisson,
}

/// The starts, in nanoseconds from the beginning, rising, without end. The same seed gives the same ones.
#[derive(Clone, Debug)]
pub struct Starts {
    schedule: Schedule,
    gap_ns: f64,
    /// The phase of this generator among several, as a share of the gap.
    phase: f64,
    random: fastrand::Rng,
    number: f64,
    last_ns: f64,
    burst: Burst,
}

/// Requests that start together.
#[derive(Clone, Copy, Debug)]
struct Burst {
    size: u64,
    spacing_ns: f64,
    /// How many of the present burst are still to start, and when the first was.
    left: u64,
    begin_ns: f64,
}

impl Starts {
    /// `rate` a second; worker `worker` of `of` which together make up a schedule of `of * rate`.
    pub fn new(schedule: Schedule, rate: f64, seed: u64, worker: usize, of: usize) -> Starts {
        let phase = worker as f64 / of.max(1) as f64;
        let random = fastrand::Rng::with_seed(seed ^ (worker as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let burst = Burst { size: 1, spacing_ns: 0.0, left: 0, begin_ns: 0.0 };
        Starts { schedule, gap_ns: 1e9 / rate, phase, random, number: 0.0, last_ns: 0.0, burst }
    }

    /// The same rate in bursts of so many requests, with this time between the starts of two of them.
    #[must_use]
    pub fn in_bursts(self, size: u64, spacing: Duration) -> Starts {
        let size = size.max(1);
        let burst = Burst { size, spacing_ns: spacing.as_nanos() as f64, ..self.burst };
        Starts { gap_ns: self.gap_ns * size as f64, burst, ..self }
    }

    /// When the next burst is meant to start: not before the last one has.
    #[inline]
    fn next_burst_ns(&mut self) -> f64 {
        let start_ns = match self.schedule {
            Schedule::Constant => (self.number + self.phase) * self.gap_ns,
            Schedule::Uniform => (self.number + self.random.f64()) * self.gap_ns,
            // 1 - u is never 0. The C library's logarithm would add five mappings to a program that measures
            // fork(2).
            Schedule::Poisson => self.burst.begin_ns - libm::log(1.0 - self.random.f64()) * self.gap_ns,
        };
        self.number += 1.0;
        self.burst.begin_ns = start_ns;
        start_ns.max(self.last_ns)
    }
}

impl Iterator for Starts {
    type Item = u64;

    #[inline]
    fn next(&mut self) -> Option<u64> {
        self.last_ns = match self.burst.left {
            0 => {
                self.burst.left = self.burst.size;
                self.next_burst_ns()
            }
            _ => self.last_ns + self.burst.spacing_ns,
        };
        self.burst.left -= 1;
        Some(self.last_ns as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: f64 = 1e6;

    fn starts(schedule: Schedule, seed: u64, count: usize) -> Vec<u64> {
        Starts::new(schedule, RATE, seed, 0, 1).take(count).collect()
    }

    #[test]
    fn the_seed_decides() {
        for schedule in [Schedule::Uniform, Schedule::Poisson] {
            assert_eq!(starts(schedule, 7, 1000), starts(schedule, 7, 1000));
            assert_ne!(starts(schedule, 7, 1000), starts(schedule, 8, 1000));
        }
    }

    #[test]
    fn starts_rise_at_the_rate() {
        for schedule in [Schedule::Constant, Schedule::Uniform, Schedule::Poisson] {
            let starts = starts(schedule, 1, 100_000);
            assert!(starts.is_sorted(), "{schedule:?}");
            let rate = 1e9 * starts.len() as f64 / starts[starts.len() - 1] as f64;
            assert!((rate / RATE - 1.0).abs() < 0.02, "{schedule:?}: {rate}");
        }
    }

    /// Kolmogorov and Smirnov, at one in a million.
    #[test]
    fn gaps_of_poisson_are_exponential() {
        let starts = starts(Schedule::Poisson, 3, 20_001);
        let mut gaps: Vec<f64> = starts.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
        gaps.sort_by(f64::total_cmp);
        let count = gaps.len() as f64;
        let farthest = gaps.iter().enumerate().map(|(index, gap)| {
            let expected = 1.0 - (-gap * RATE / 1e9).exp();
            (expected - index as f64 / count).abs().max((expected - (index + 1) as f64 / count).abs())
        });
        let farthest = farthest.fold(0.0, f64::max);
        assert!(farthest < 2.7 / count.sqrt(), "{farthest}");
    }

    #[test]
    fn bursts_have_the_same_rate() {
        let of = |schedule| {
            let starts = Starts::new(schedule, 1000.0, 1, 0, 1).in_bursts(4, Duration::from_micros(50));
            starts.take(12).collect::<Vec<u64>>()
        };
        let burst = |begin_ns: u64| (0..4).map(move |place| begin_ns + place * 50_000);
        let expected: Vec<u64> = [0, 4_000_000, 8_000_000].into_iter().flat_map(burst).collect();
        assert_eq!(of(Schedule::Constant), expected);
        for schedule in [Schedule::Uniform, Schedule::Poisson] {
            let starts = of(schedule);
            assert!(starts.is_sorted(), "{schedule:?}: {starts:?}");
            assert!(starts.chunks(4).all(|burst| burst[3] - burst[0] == 150_000), "{schedule:?}: {starts:?}");
        }
    }

    #[test]
    fn workers_share_a_beat() {
        let of = |worker| Starts::new(Schedule::Constant, 500.0, 1, worker, 2).take(3);
        let mut both: Vec<u64> = of(0).chain(of(1)).collect();
        both.sort_unstable();
        assert_eq!(both, [0, 1_000_000, 2_000_000, 3_000_000, 4_000_000, 5_000_000]);
    }
}
