//! Which architecture has a running server? It is answered from what the system shows of its processes, and
//! without its source.
//!
//! - `scan` reads the system's processes and sockets, `server` finds where it listens and which processes
//!   belong to it, `collector` looks at them;
//! - `evidence` is what was seen, `mechanism` how one process waits, `judgement` which architecture that is,
//!   and `idle` which it may be without connections;
//! - `prediction` says what follows for many connections.

mod activity;
mod answer;
mod collector;
mod evidence;
mod idle;
mod judgement;
mod mechanism;
mod prediction;
mod ruling;
mod scan;
mod server;

pub use answer::{Clue, Confidence, Prediction, ServerArchitecture, ServerGrowth, SnoopAnswer};
pub use collector::Collector;
pub use evidence::{
    ConnectionEvidence, DescriptorCounts, EpollEvidence, Missing, Moment, ProcessEvidence, ServerEvidence,
    Stage, TaskEvidence,
};
pub use server::{ListeningPlace, ObservedServer, SnoopError};

impl SnoopAnswer {
    /// What the evidence says; `None` where nothing was seen of how the server waits.
    pub fn of(evidence: &ServerEvidence) -> Option<SnoopAnswer> {
        judgement::of(evidence)
    }
}
