//! What the rules decided of a server.

use super::answer::{Clue, Confidence, ServerArchitecture};

/// What the rules decided, before it is compared with what limits it.
pub(super) struct Ruling {
    pub(super) architecture: ServerArchitecture,
    pub(super) mechanism: ServerArchitecture,
    pub(super) workers: usize,
    pub(super) threads: usize,
    pub(super) has_pool: bool,
    pub(super) reasons: Vec<Clue>,
    pub(super) doubts: Vec<Clue>,
    pub(super) alternatives: Vec<ServerArchitecture>,
    pub(super) confidence: Confidence,
}

impl Ruling {
    pub(super) fn of(architecture: ServerArchitecture, confidence: Confidence, reasons: Vec<Clue>) -> Ruling {
        Ruling {
            architecture,
            mechanism: architecture,
            workers: 1,
            threads: 1,
            has_pool: false,
            reasons,
            doubts: Vec::new(),
            alternatives: Vec::new(),
            confidence,
        }
    }
}
