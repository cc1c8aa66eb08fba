//! What was found wrong in a turn.

use std::sync::{Mutex, PoisonError};

/// Findings of all threads of a turn, in their order.
#[derive(Default)]
pub(super) struct Findings(Mutex<Vec<String>>);

/// The first are enough to look at.
const FINDINGS_MAX: usize = 20;

impl Findings {
    pub(super) fn add(&self, text: &str) {
        let mut found = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if found.len() < FINDINGS_MAX {
            found.push(text.to_owned());
        }
    }

    /// Adds that something was lost, which then has no count.
    pub(super) fn lost(&self, text: &str) -> u64 {
        self.add(text);
        0
    }

    pub(super) fn into_texts(self) -> Vec<String> {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}
