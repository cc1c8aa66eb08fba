//! Load generators: closed and open loops that drive any client.
//!
//! - [`Generator`] holds connections to one server and offers one [`Load`] after the other;
//! - `engine` is its loop, on the traits of `network`; `schedule` has the starts of an open loop;
//! - [`Measured`] has the counts of one generator, [`Level`] the result of one load, from all generators;
//! - `joint` decides whether several of them were at work at the same time;
//! - `search` looks for the highest rate at which latency stays below a bound.
//!
//! A generator is one thread of one process. More of them are more processes, here or on other hosts:
//! [`coordinator`] starts them.

pub mod coordinator;
mod engine;
mod failure;
mod generator;
mod histogram;
mod joint;
mod level;
mod measured;
mod plan;
mod schedule;
pub mod search;

pub use crate::network::TlsSettings;
pub use failure::{Failure, FailureKind, RequestStage};
pub use generator::Generator;
pub use histogram::{Recent, Times};
pub use joint::{GeneratorReport, JointLoad, JointWindow, ObserverLevel, VoidReason, WorkerPresence};
pub use level::{Distribution, Level, PERCENTS, Percentile, write_interval_log};
pub use measured::{Measured, RequestCounts, Slice, Watch, Window};
pub use plan::{FROM_ONE_ADDRESS, Load, LoadSettings, Sources};
pub use schedule::{Schedule, Starts};

use std::time::Duration;

use crate::Error;

#[cfg(test)]
pub(crate) use engine::Engine;

/// One load generator, or several.
pub trait OffersLoad {
    /// Offers a load, and returns its result.
    ///
    /// # Errors
    /// Those of [`Generator::offer`] and [`coordinator::Coordinator::offer`].
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
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
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
    /// The latencies of the last second, once a second; see [`Generator::follow`].
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
