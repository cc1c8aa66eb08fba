//! The places of a loop: what each holds, where it stands, and what is counted over all of them.

use crate::load::failure::RequestStage;

/// One place for a connection.
pub(super) struct Slot<K, S> {
    pub(super) socket: Option<K>,
    pub(super) state: State,
    pub(super) session: S,
    /// When the request was meant to start.
    pub(super) intended_ns: u64,
    /// When it was sent, or its connection begun.
    pub(super) sent_ns: u64,
    /// Since when the place has been free.
    pub(super) free_ns: u64,
    /// Whether the requests whose responses are awaited are among those that were counted as started.
    pub(super) counted: bool,
    /// Answers that have still to come.
    pub(super) awaited: u32,
    /// Answers that have come on this connection.
    pub(super) served: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Closed,
    /// With a request to be sent once the connection is there, or without.
    Connecting {
        request: bool,
    },
    Sending,
    Waiting,
    Reading,
    /// The response is there, the server is to close.
    Closing,
    Free,
}

impl State {
    pub(super) fn stage(self) -> RequestStage {
        match self {
            State::Connecting { .. } => RequestStage::Connect,
            State::Sending => RequestStage::Send,
            State::Waiting => RequestStage::FirstByte,
            State::Reading => RequestStage::Body,
            State::Closing => RequestStage::Close,
            State::Closed | State::Free => RequestStage::Idle,
        }
    }

    pub(super) fn is_vacant(self) -> bool {
        matches!(self, State::Closed | State::Free)
    }
}

/// What comes after a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// Nothing, and every failure is reported: no load is offered.
    Alone,
    /// Nothing: the load is over.
    Rest,
    /// The next request.
    Closed,
    /// Whatever the schedule says.
    Open,
}

/// What is counted while a load is measured. Every request that was started has one outcome: it is completed,
/// failed, late or unanswered.
#[derive(Default)]
pub(super) struct Counts {
    pub(super) started: u64,
    pub(super) completed: u64,
    pub(super) failed: u64,
    /// The part of `failed` that had no response within the timeout.
    pub(super) timed_out: u64,
    pub(super) late: u64,
    pub(super) unanswered: u64,
    pub(super) connected: u64,
    pub(super) sent_bytes: u64,
    pub(super) received_bytes: u64,
    pub(super) sends_blocked: u64,
    pub(super) waits: u64,
    pub(super) events: u64,
}
