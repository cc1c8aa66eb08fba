//! What all sessions of a server share.

use std::sync::atomic::AtomicU64;

use super::faults::Faults;
use super::greylist::Greylist;
use crate::network::TlsServer;
use crate::smtp::Extensions;

/// What all sessions share.
pub(super) struct Shared {
    pub(super) greeting: String,
    pub(super) ehlo: Vec<u8>,
    /// The same over TLS, which is not offered twice.
    pub(super) ehlo_encrypted: Vec<u8>,
    pub(super) helo: String,
    pub(super) extensions: Extensions,
    /// Where it is offered.
    pub(super) tls: Option<TlsServer>,
    pub(super) message_bytes: u64,
    pub(super) recipients: usize,
    pub(super) faults: Faults,
    pub(super) greylist: Option<Greylist>,
    pub(super) seed: u64,
    pub(super) sessions: AtomicU64,
    pub(super) keeps_ledger: bool,
}
