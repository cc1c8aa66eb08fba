//! The answer, and what it was asked with: what every form of output is made of.

use inspect::impact::{Impact, ImpactQuestion};

/// The answer, and what it was asked with.
pub(super) struct Answer {
    pub(super) impact: Impact,
    pub(super) question: ImpactQuestion,
    /// Whether the path is the user's.
    pub(super) has_path: bool,
    /// The same costs on paths of today: name, path and answer.
    pub(super) elsewhere: Vec<(&'static str, Impact)>,
}
