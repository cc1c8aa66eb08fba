//! The observed steps of one connection of a server, and those that it must have made by now: the requests to
//! answer, and the end of each time limit.

use std::io::{self, ErrorKind};

use super::world::MS;
use crate::worker::{LINGER, LINGER_MAX, Limits};

/// A time-out comes this late at most: a tick of the wheel, a tick of the loop, and a loop without processor.
pub(super) const SLACK_NS: u64 = (128 + 200 + 60) * MS;

/// One connection, as its server handled it.
#[derive(Debug, Default)]
pub(super) struct Witness {
    /// Why a response may be missing.
    pub(super) excuse: Option<&'static str>,
    accepted_ns: Option<u64>,
    closed_ns: Option<u64>,
    /// Bytes that the loop received, and those of them that it did not drop.
    pub(super) received: u64,
    pub(super) consumed: u64,
    /// Input that came while a response was leaving, and is handled after it.
    held: u64,
    /// When that was last handled, and the bytes consumed before.
    before_held: (u64, u64),
    pub(super) sent: u64,
    pub(super) acknowledged_bytes: u64,
    /// Where in the client's bytes its requests end.
    pub(super) boundaries: Vec<u64>,
    /// From so many bytes on the service itself may close.
    pub(super) closes_at: Option<u64>,
    /// Right responses that the client has read.
    pub(super) answered: u64,
    last_ns: u64,
    /// Since when a part of a request has arrived.
    request_ns: Option<u64>,
    /// Whether output waits, and when some of it was last known to leave.
    pub(super) is_sending: bool,
    progress_ns: u64,
    finished_ns: Option<u64>,
    saw_end: bool,
    pub(super) saw_error: bool,
    pub(super) is_slow: bool,
    has_given_up: bool,
    /// An operation on it was cancelled: later input may have been dropped.
    pub(super) is_cancelled: bool,
    /// For a service without stages there is no limit.
    request_limit_ns: Option<u64>,
}

impl Witness {
    pub(super) fn excuse(&mut self, reason: &'static str) {
        self.excuse.get_or_insert(reason);
    }

    pub(super) fn accepted(&mut self, now_ns: u64, limits: &Limits, has_stages: bool) {
        (self.accepted_ns, self.last_ns) = (Some(now_ns), now_ns);
        self.request_limit_ns = has_stages.then_some(limits.request.as_nanos() as u64);
    }

    pub(super) fn is_open(&self) -> bool {
        self.accepted_ns.is_some() && self.closed_ns.is_none()
    }

    /// Requests that the loop has received as a whole.
    pub(super) fn complete(&self) -> u64 {
        self.boundaries.iter().filter(|&&end| end <= self.consumed).count() as u64
    }

    pub(super) fn received(&mut self, received: &io::Result<usize>, now_ns: u64) {
        match received {
            Ok(0) => self.saw_end = true,
            Ok(count) => {
                self.received += *count as u64;
                if self.is_cancelled && !self.is_sending {
                    self.excuse("it came when the connection was over");
                }
                self.last_ns = now_ns;
                if self.finished_ns.is_none() && self.is_sending {
                    self.held += *count as u64;
                } else if self.finished_ns.is_none() {
                    self.took(*count as u64, now_ns);
                }
            }
            Err(error) => self.failed(error),
        }
    }

    fn took(&mut self, count: u64, now_ns: u64) {
        let before = self.complete();
        self.consumed += count;
        let is_whole = self.boundaries.contains(&self.consumed);
        if is_whole {
            self.request_ns = None;
        } else if self.complete() > before || self.request_ns.is_none() {
            self.request_ns = Some(now_ns);
        }
    }

    fn failed(&mut self, error: &io::Error) {
        if !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) && !self.has_given_up {
            self.saw_error = true;
            self.excuse("it broke");
        }
    }

    /// Some output was handed to the socket; `waits` if some could not be.
    pub(super) fn sent(&mut self, sent: &io::Result<usize>, waits: bool, now_ns: u64) {
        let due_ns = self.request_due_ns();
        if !self.is_sending && due_ns.is_some_and(|due_ns| now_ns + MS >= due_ns) {
            self.is_slow = true;
            self.excuse("its request was slow");
        }
        match sent {
            Ok(count) => {
                self.sent += *count as u64;
                self.last_ns = now_ns;
            }
            Err(error) => self.failed(error),
        }
        if self.is_sending && !waits {
            self.request_ns = self.request_ns.map(|_| now_ns);
        }
        if waits && (!self.is_sending || sent.is_ok()) {
            self.progress_ns = now_ns;
        }
        self.is_sending = waits;
    }

    /// A send of so many bytes is over; fewer mean that the connection broke on the way.
    pub(super) fn sent_all(&mut self, sent: &io::Result<usize>, all: usize, now_ns: u64) {
        self.sent(sent, false, now_ns);
        if sent.as_ref().is_ok_and(|&sent| sent < all) {
            self.failed(&ErrorKind::ConnectionReset.into());
        }
        self.before_held = (now_ns, self.consumed);
        let held = std::mem::take(&mut self.held);
        if held > 0 {
            self.took(held, now_ns);
        }
    }

    fn request_due_ns(&self) -> Option<u64> {
        Some(self.request_ns? + self.request_limit_ns?)
    }

    pub(super) fn acknowledged(&mut self, count: usize, now_ns: u64) {
        self.acknowledged_bytes += count as u64;
        self.progress_ns = now_ns;
    }

    pub(super) fn finished(&mut self, now_ns: u64) {
        (self.finished_ns, self.last_ns) = (Some(now_ns), now_ns);
        if self.before_held.0 == now_ns {
            // The server stops, and drops input behind the response.
            self.consumed = self.consumed.min(self.before_held.1);
        }
    }

    /// The server lets the system drop unsent output.
    pub(super) fn gave_up(&mut self) {
        (self.is_slow, self.has_given_up) = (true, true);
        self.excuse("it did not take its responses");
    }

    /// When the time limit that holds now is over, and when the server must have noticed.
    pub(super) fn due_ns(&self, limits: &Limits) -> (u64, u64) {
        let ns = |duration: std::time::Duration| duration.as_nanos() as u64;
        if let Some(finished_ns) = self.finished_ns {
            let due = (self.last_ns + ns(LINGER)).min(finished_ns + ns(LINGER_MAX));
            (due, due + SLACK_NS)
        } else if self.is_sending {
            let due = self.progress_ns + ns(limits.send);
            // The progress of the other end is checked four times within the limit.
            (due, due + ns(limits.send) / 4 + 2 * SLACK_NS)
        } else if let Some(due_ns) = self.request_due_ns() {
            (due_ns, due_ns + SLACK_NS)
        } else {
            (self.last_ns + ns(limits.idle), self.last_ns + ns(limits.idle) + SLACK_NS)
        }
    }

    /// Notes that the server has closed; whether it had a reason of the connection's own.
    pub(super) fn closed(&mut self, now_ns: u64, limits: &Limits) -> bool {
        self.closed_ns = Some(now_ns);
        let is_late = now_ns + MS >= self.due_ns(limits).0;
        let may_close = self.closes_at.is_some_and(|bytes| self.consumed >= bytes);
        self.saw_end || self.saw_error || is_late || may_close
    }
}
