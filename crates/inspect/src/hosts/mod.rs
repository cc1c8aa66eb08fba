//! Which hosts of a fleet can be measured: reachable, free for a trial, and with a clock that is right.

mod document;

use record::{Examination, System};
use serde::Serialize;

pub use document::document;

/// From this share of lost time on, something else is at work.
const BUSY: f64 = 0.05;

/// The answer of `osdyno hosts`.
#[derive(Clone, Debug, Serialize)]
pub struct HostsAnswer {
    /// Version of this answer.
    pub schema: u32,
    /// The hosts, in the order given.
    pub hosts: Vec<HostAnswer>,
}

/// A host.
#[derive(Clone, Debug, Serialize)]
pub struct HostAnswer {
    /// Its name.
    pub name: String,
    /// Words of the command that leads there; none for this machine.
    pub command: Vec<String>,
    /// Whether a run can use it.
    pub state: ProbeState,
    /// Why it is lost or busy; `None` where it is free.
    pub reason: Option<String>,
    /// Kernel with its release.
    pub kernel: Option<String>,
    /// Processors online.
    pub processors: Option<u32>,
    /// Model of the processors.
    pub processor_model: Option<String>,
    /// Memory.
    pub memory_bytes: Option<u64>,
    /// How far its date is ahead of the date here.
    pub clock_offset_seconds: Option<f64>,
    /// Half of the shortest round trip: the offset is wrong by no more.
    pub clock_error_seconds: Option<f64>,
    /// Shortest round trip of a request.
    pub round_trip_seconds: Option<f64>,
    /// From the start of its command to its first reply.
    pub start_seconds: Option<f64>,
    /// Conditions that show in figures, each a sentence.
    pub conditions: Vec<String>,
}

/// Whether a run can use a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProbeState {
    /// Nothing else is at work there.
    Free,
    /// Something else has the processor for a part of the time.
    Busy,
    /// It cannot be reached, or nothing can be started there.
    Lost,
}

/// The figures of a probe, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProbeTimes {
    /// How far its date is ahead.
    pub clock_offset: f64,
    /// By how much that may be wrong.
    pub clock_error: f64,
    /// Shortest round trip.
    pub round_trip: f64,
    /// To its first reply.
    pub start: f64,
}

impl HostsAnswer {
    /// Version of the answer; it rises when a field changes its meaning or goes.
    pub const SCHEMA: u32 = 1;

    /// The answer about these hosts.
    pub fn new(hosts: Vec<HostAnswer>) -> HostsAnswer {
        HostsAnswer { schema: HostsAnswer::SCHEMA, hosts }
    }

    /// How many are in this state.
    pub fn count(&self, state: ProbeState) -> usize {
        self.hosts.iter().filter(|host| host.state == state).count()
    }
}

impl HostAnswer {
    /// A host that is lost.
    pub fn lost(name: String, command: Vec<String>, reason: String) -> HostAnswer {
        HostAnswer {
            name,
            command,
            state: ProbeState::Lost,
            reason: Some(reason),
            kernel: None,
            processors: None,
            processor_model: None,
            memory_bytes: None,
            clock_offset_seconds: None,
            clock_error_seconds: None,
            round_trip_seconds: None,
            start_seconds: None,
            conditions: Vec::new(),
        }
    }

    /// A host that was reached.
    pub fn reached(
        name: String,
        command: Vec<String>,
        (system, examination): (&System, &Examination),
        times: ProbeTimes,
    ) -> HostAnswer {
        let fact = |key: &str| system.environment.get(key).cloned();
        let kernel: Vec<String> = ["kernel.name", "kernel.release"].into_iter().filter_map(fact).collect();
        let steadiness = examination.steadiness.as_ref();
        let lost = steadiness
            .map_or(0.0, |steadiness| steadiness.lost_share.max(steadiness.waited_share.unwrap_or(0.0)));
        let is_busy = lost >= BUSY;
        let reason =
            is_busy.then(|| format!("others had the processor for {:.0} % of the time", lost * 100.0));
        HostAnswer {
            name,
            command,
            state: if is_busy { ProbeState::Busy } else { ProbeState::Free },
            reason,
            kernel: (!kernel.is_empty()).then(|| kernel.join(" ")),
            processors: system.processors.as_ref().map(|processors| processors.online),
            processor_model: fact("cpu.model"),
            memory_bytes: fact("memory.total_bytes").and_then(|bytes| bytes.parse().ok()),
            clock_offset_seconds: Some(times.clock_offset),
            clock_error_seconds: Some(times.clock_error),
            round_trip_seconds: Some(times.round_trip),
            start_seconds: Some(times.start),
            conditions: examination.conditions.iter().map(|condition| condition.text.clone()).collect(),
        }
    }
}
