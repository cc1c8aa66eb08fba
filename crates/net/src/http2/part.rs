//! What a connection hands on.

use super::fault::Http2Fault;

/// What comes of a request, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResponsePart<'a> {
    /// Bytes of the response, in the form that HTTP/1.1 gives it.
    Bytes(&'a [u8]),
    /// It is complete.
    End,
    /// Nothing more comes: for this reason, or because the response was shorter than it said.
    Cut(Option<Http2Fault>),
    /// The server has not seen the request, and asks for another connection for it.
    Unprocessed,
}
