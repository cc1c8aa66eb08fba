//! Which architecture does a running server use? It is recognised from its processes, without its source.
//!
//! - `scan` reads the system's processes and sockets, `server` finds where a server listens and which
//!   processes belong to it, `holder` holds connections to it, `collector` observes it;
//! - `evidence` is the result, `mechanism` recognises how one process waits, `judgement` the architecture,
//!   and `idle` that of servers without connections; `prediction` continues to many connections;
//! - `answer` has all decisions, `words` their sentences, `document` the page.

mod activity;
mod answer;
mod collector;
mod document;
mod evidence;
mod holder;
mod idle;
mod judgement;
mod mechanism;
mod prediction;
mod scan;
mod server;
mod words;

pub use answer::{
    Clue, Confidence, ConnectionScaling, NotSeen, Prediction, ProbeMode, Recognition, ServerAnswer,
    ServerArchitecture, ServerGrowth, SnoopAnswer,
};
pub use collector::Collector;
pub use evidence::{
    ConnectionEvidence, DescriptorCounts, EpollEvidence, Missing, Moment, ProcessEvidence, ServerEvidence,
    Stage, TaskEvidence,
};
pub use holder::Holder;
pub use server::{ListeningPlace, ObservedServer, SnoopError};

impl Recognition {
    /// Recognises the architecture; `None` where the waits of the server were not seen.
    pub fn of(evidence: &ServerEvidence) -> Option<Recognition> {
        judgement::of(evidence)
    }
}
