//! How our own DNS server behaves, and what it counts.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// How a server behaves.
#[derive(Clone, Copy, Debug, Default)]
pub struct AuthorityConduct {
    /// How long each response is held back.
    pub latency: Duration,
    /// The share of datagrams that are lost, between 0 and 1.
    pub drops: f64,
    /// The share of responses over UDP before which two others come that must not be believed: one with
    /// another id, and one to another question.
    pub lies: f64,
    /// Decides which.
    pub seed: u64,
}

/// What a server was asked, and what it responded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuthorityCounts {
    /// Queries for MX.
    pub mx: u64,
    /// Queries for A.
    pub a: u64,
    /// Queries for AAAA.
    pub aaaa: u64,
    /// Queries for anything else.
    pub other: u64,
    /// Messages that are no query that it can read.
    pub malformed: u64,
    /// Responses with records, or without because there is none of the type.
    pub answered: u64,
    /// NXDOMAIN.
    pub no_such_domain: u64,
    /// SERVFAIL.
    pub server_failure: u64,
    /// REFUSED: names of other zones.
    pub refused: u64,
    /// Responses that were cut.
    pub truncated: u64,
    /// Datagrams dropped on purpose.
    pub dropped: u64,
    /// Responses sent with lies before them.
    pub lies: u64,
    /// Connections.
    pub streams: u64,
}
