//! What was seen of one server: what every form of output is made of.

use inspect::snoop::{Collector, Missing, ObservedServer, SnoopAnswer};

/// What is printed of one server.
pub(super) struct Seen {
    pub(super) server: ObservedServer,
    pub(super) collector: Collector,
    /// `None` where nothing was seen of how it waits.
    pub(super) answer: Option<SnoopAnswer>,
    /// How the connections were used, where some were held.
    pub(super) manner: Option<Manner>,
}

impl Seen {
    pub(super) fn missing(&self) -> Missing {
        self.collector.evidence().missing
    }
}

/// How connections are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Manner {
    /// Each has a response of HTTP, and is kept.
    Http,
    /// An unfinished request is sent: the server would close the connection after its response.
    Unfinished,
    /// Nothing is sent.
    Silent,
}
