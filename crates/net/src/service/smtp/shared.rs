//! What all sessions of a server share.

use std::sync::atomic::AtomicU64;

use super::faults::Faults;
use crate::smtp::Extensions;

/// What all sessions share.
pub(super) struct Shared {
    pub(super) greeting: String,
    pub(super) ehlo: Vec<u8>,
    pub(super) helo: String,
    pub(super) extensions: Extensions,
    pub(super) message_bytes: u64,
    pub(super) recipients: usize,
    pub(super) faults: Faults,
    pub(super) seed: u64,
    pub(super) sessions: AtomicU64,
    pub(super) keeps_ledger: bool,
}
