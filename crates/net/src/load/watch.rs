//! The generator watches itself: a result that it limited says more of it than of the server.

use std::time::Instant;

use serde::{Deserialize, Serialize};
use sys::activity::{self, Snapshot};

/// What the generator and its system did meanwhile.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Watch {
    /// Processor time of the generator's thread.
    pub cpu_seconds: f64,
    /// That, as a share of the time that passed.
    pub cpu_share: f64,
    /// How long it could have run, and waited for a processor; `None` where the system does not count that.
    pub run_delay_seconds: Option<f64>,
    /// That, as a share of the time from the beginning of the warm-up to the last response.
    pub run_delay_share: Option<f64>,
    /// Sends that found no room.
    pub sends_blocked: u64,
    /// Waits for events, and events.
    pub waits: u64,
    /// See `waits`.
    pub events: u64,
    /// Segments that this system sent again, whoever they belonged to.
    pub retransmits: Option<f64>,
    /// Connections that this system dropped because nobody accepted them in time.
    pub listen_overflows: Option<f64>,
    /// Those, and all others that it dropped before they were accepted.
    pub listen_drops: Option<f64>,
}

/// The counters when the measuring began.
#[derive(Clone, Debug)]
pub(super) struct Before {
    cpu_ns: Option<u64>,
    snapshot: Snapshot,
    at: Instant,
}

impl Before {
    pub(super) fn now() -> Before {
        // The processor time last: reading the rest takes some.
        let snapshot = activity::snapshot();
        Before { snapshot, at: Instant::now(), cpu_ns: sys::thread::cpu_ns().ok() }
    }

    /// The processor time counts from here on.
    pub(super) fn begin_cpu(&mut self) {
        self.cpu_ns = sys::thread::cpu_ns().ok();
    }

    /// What came since.
    pub(super) fn since(&self, elapsed_seconds: f64, cpu_ns: Option<u64>) -> Watch {
        let cpu_seconds =
            cpu_ns.zip(self.cpu_ns).map_or(0.0, |(now, then)| now.saturating_sub(then) as f64 / 1e9);
        let grown = activity::difference(&self.snapshot, &activity::snapshot());
        let count = |name: &str| grown.get(name).copied();
        Watch {
            cpu_seconds,
            cpu_share: cpu_seconds / elapsed_seconds.max(1e-9),
            run_delay_seconds: count("run_delay_seconds"),
            run_delay_share: count("run_delay_seconds").map(|delay| delay / self.at.elapsed().as_secs_f64()),
            retransmits: count("tcp_retransmits"),
            listen_overflows: count("listen_overflows"),
            listen_drops: count("listen_drops"),
            ..Watch::default()
        }
    }
}

impl Watch {
    /// Adds what another generator saw. What the system counts is the same for both.
    pub(super) fn add(&mut self, other: &Watch) {
        let larger = |one: Option<f64>, other: Option<f64>| match (one, other) {
            (Some(one), Some(other)) => Some(one.max(other)),
            (one, other) => one.or(other),
        };
        self.cpu_seconds += other.cpu_seconds;
        self.cpu_share = self.cpu_share.max(other.cpu_share);
        self.run_delay_seconds = larger(self.run_delay_seconds, other.run_delay_seconds);
        self.run_delay_share = larger(self.run_delay_share, other.run_delay_share);
        self.sends_blocked += other.sends_blocked;
        self.waits += other.waits;
        self.events += other.events;
        self.retransmits = larger(self.retransmits, other.retransmits);
        self.listen_overflows = larger(self.listen_overflows, other.listen_overflows);
        self.listen_drops = larger(self.listen_drops, other.listen_drops);
    }
}
