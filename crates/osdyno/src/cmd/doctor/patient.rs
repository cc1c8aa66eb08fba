//! One system with its diagnosis.

use inspect::doctor::Diagnosis;
use record::System;

/// One system with its diagnosis.
pub(super) struct Patient {
    pub(super) system: System,
    pub(super) diagnosis: Diagnosis,
}
