//! A pair of architecture and service at work, and the book that is kept of its clients.

use std::path::Path;

use net::arch::Architecture;

use crate::common::served::Served;
use crate::common::until;
use crate::common::wire::Wire;

/// Clients that come at the same time.
pub(crate) const CROWD: usize = 200;

/// Processes of prefork and threads of pool: fewer than the crowd.
pub(crate) const POOL: usize = 8;

/// A file that is sent as a file, and fits in no buffer of a connection.
pub(crate) const LARGE: usize = 24 << 20;

/// The counts of the clients of one server.
#[derive(Default)]
pub(crate) struct Book {
    pub(crate) connections: u64,
    /// That may have been accepted, or not any more.
    pub(crate) late: u64,
    pub(crate) responses: u64,
    pub(crate) sent_bytes: u64,
    pub(crate) received_bytes: u64,
}

impl Book {
    /// A connection is over; it had so many responses.
    pub(crate) fn enter(&mut self, wire: Wire, responses: u64) {
        self.connections += 1;
        self.responses += responses;
        self.sent_bytes += wire.sent_bytes;
        self.received_bytes += wire.received_bytes;
    }
}

/// A pair at work.
pub(crate) struct Case<'a> {
    pub(crate) architecture: &'static Architecture,
    pub(crate) served: &'a Served,
    pub(crate) book: Book,
}

impl Case<'_> {
    pub(crate) fn connect(&self) -> Wire {
        Wire::connect(self.served.address)
    }

    /// Connections that can be open at the same time: each takes one of a pool's few processes or threads.
    pub(crate) fn crowd(&self) -> usize {
        if self.architecture.has_pool() { POOL } else { CROWD }
    }
}

pub(crate) type Check = fn(&mut Case<'_>);

/// The checks of a service.
pub(crate) struct Row {
    pub(crate) service: &'static str,
    /// Makes what it serves in a folder, which is there.
    pub(crate) prepare: fn(&Path),
    /// Opens whatever is opened once for good.
    pub(crate) first_use: Check,
    /// In this order.
    pub(crate) checks: &'static [(&'static str, Check)],
    /// SIGTERM while responses leave and a request arrives: both are finished, and idle connections are closed.
    pub(crate) stop: Check,
    /// Whether each request counts as one response, however it is cut.
    pub(crate) counts_requests: bool,
}

pub(crate) fn pattern(length: usize) -> Vec<u8> {
    // Byte by byte an unoptimized build would spend its time here.
    let mut bytes = (0..251).collect::<Vec<u8>>().repeat(length.div_ceil(251));
    bytes.truncate(length);
    bytes
}

/// Waits until the server has received so much since its start.
pub(crate) fn until_received(served: &Served, bytes: u64) {
    until("all has arrived", || served.counter("received bytes") == bytes);
}
