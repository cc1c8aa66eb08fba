//! Requests as they are sent, made once before the load begins.

use super::hpack::{Blocks, TABLE_BYTES};

/// A request: its fields, those with a colon first, and its body.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// Names in lower case, with their values.
    pub fields: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

/// The requests of a load, by their numbers.
pub struct Requests {
    pub(super) requests: Vec<Prepared>,
    /// What they share needs so large a table at the server; 0 if it is larger than any.
    pub(super) table_bytes: usize,
}

pub(super) struct Prepared {
    pub(super) blocks: Blocks,
    pub(super) body: Vec<u8>,
    /// Whether the response has no body, whatever its fields say.
    pub(super) is_head: bool,
}

impl Requests {
    /// Prepares them.
    pub fn new(requests: Vec<Request>) -> Requests {
        let fields: Vec<&[(String, String)]> = requests.iter().map(|one| one.fields.as_slice()).collect();
        let (blocks, size) = Blocks::of(&fields);
        let is_head = |request: &Request| request.fields.contains(&(":method".to_owned(), "HEAD".to_owned()));
        let prepared = requests.iter().zip(blocks).map(|(request, blocks)| Prepared {
            blocks,
            is_head: is_head(request),
            body: request.body.clone(),
        });
        Requests { requests: prepared.collect(), table_bytes: if size > TABLE_BYTES { 0 } else { size } }
    }
}
