//! A transaction that is under way: what its end, or a fault, must know.

use super::message::Message;

#[derive(Default)]
pub(super) struct Transaction {
    pub(super) recipient_count: usize,
    /// Its address, for a greylist.
    pub(super) sender: String,
    /// Their addresses, for the ledger.
    pub(super) recipients: Vec<String>,
    /// Their domains, where a fault depends on them.
    pub(super) domains: Vec<String>,
    pub(super) message: Message,
    /// Whether a part of the message came by BDAT.
    pub(super) is_chunked: bool,
}
