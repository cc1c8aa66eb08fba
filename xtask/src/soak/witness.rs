//! A calm client beside the hostile ones: it requests files whose content it knows, a few times per second,
//! and must see no failure.
//!
//! A failure is excused only by what we did to the server ourselves: it was down, or a worker was killed,
//! while the connection existed. Then the witness tries again, and only so often. While we have the server
//! run out of descriptors, it may answer 503 for a file that it has to open, and serves those in memory.

use std::io::{Error, ErrorKind};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::findings::Findings;
use super::site::{LARGE, Site};
use super::stall::Stalls;
use super::wire::{Wire, get, get_and_close};

/// Between two connections.
const PAUSE: Duration = Duration::from_millis(150);

/// A response takes no longer, even while other clients hold all descriptors until they time out.
const TIMEOUT: Duration = Duration::from_secs(45);

/// A connection whose server was stopped may never hear of it: Linux drops the last segment of a handshake
/// that completes while the listener closes. After this long the witness takes another.
const LOST_AFTER: Duration = Duration::from_secs(2);

/// Excused failures in a row, after which it is no excuse that we keep doing something to the server.
const EXCUSED_MAX: usize = 50;

/// Times in which the server was down or lost a worker, by our doing. The last may be open.
#[derive(Default)]
pub(super) struct Outages(Mutex<Vec<(Instant, Option<Instant>)>>);

impl Outages {
    fn lock(&self) -> MutexGuard<'_, Vec<(Instant, Option<Instant>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on.
    pub(super) fn begin(&self) {
        self.lock().push((Instant::now(), None));
    }

    /// Until now.
    pub(super) fn end(&self) {
        if let Some(last) = self.lock().last_mut() {
            last.1 = Some(Instant::now());
        }
    }

    /// Whether one of them overlaps the time since `start`.
    fn excuse(&self, start: Instant) -> bool {
        self.lock().iter().any(|(_, end)| end.is_none_or(|end| end >= start))
    }

    /// Whether one of them overlaps the time since `start`, and has been over for a while.
    fn is_lost(&self, start: Instant) -> bool {
        let is_over = |end: &Option<Instant>| end.is_some_and(|end| end.elapsed() > LOST_AFTER);
        let outages = self.lock();
        let mut since = outages.iter().filter(|(_, end)| end.is_none_or(|end| end >= start)).peekable();
        since.peek().is_some() && since.all(|(_, end)| is_over(end))
    }
}

/// What the witness saw.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Seen {
    pub(super) right: u64,
    pub(super) excused: u64,
    pub(super) failed: u64,
    pub(super) longest: Duration,
}

/// A client at work, between its start and the end of its server's turn.
pub(super) struct Witness<'a> {
    pub(super) site: &'a Site,
    pub(super) outages: &'a Outages,
    pub(super) findings: &'a Findings,
    pub(super) stalls: &'a Stalls,
    pub(super) is_over: &'a AtomicBool,
    /// Whether the server has few descriptors now.
    pub(super) is_exhausted: &'a AtomicBool,
    /// Held while it has a connection: whoever takes it looks at a server without the witness.
    pub(super) busy: &'a Mutex<()>,
    /// Where the server listens now.
    pub(super) address: &'a Mutex<Option<SocketAddr>>,
}

impl Witness<'_> {
    /// Requests again and again until it is over.
    pub(super) fn watch(&self) -> Seen {
        let (mut seen, mut excused_in_row, mut round) = (Seen::default(), 0, 0);
        while !self.is_over.load(Ordering::Relaxed) {
            std::thread::sleep(PAUSE);
            let address = *self.address.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(address) = address else { continue };
            let _busy = self.busy.lock().unwrap_or_else(PoisonError::into_inner);
            let start = Instant::now();
            round += 1;
            match self.requests(address, round, &mut seen) {
                Ok(()) => excused_in_row = 0,
                Err(failure) if self.excuses(&failure, start) => {
                    seen.excused += 1;
                    excused_in_row += 1;
                    if excused_in_row == EXCUSED_MAX {
                        seen.failed += 1;
                        let text = format!("the witness was refused {EXCUSED_MAX} times in a row");
                        self.findings.add(&format!("{text}, at last: {}", failure.text));
                    }
                }
                Err(failure) => {
                    seen.failed += 1;
                    let stalled = self.stalls.since(start);
                    let text = format!("the witness failed after {:.1?}: {}", start.elapsed(), failure.text);
                    self.findings.add(&format!("{text} (this machine stalled for {stalled:.1?} meanwhile)"));
                }
            }
        }
        seen
    }

    fn excuses(&self, failure: &Failure, start: Instant) -> bool {
        match failure.cause {
            Cause::Lost => self.outages.excuse(start),
            Cause::NoDescriptor => self.is_exhausted.load(Ordering::Relaxed),
            Cause::Wrong => false,
        }
    }

    /// One connection with one to three requests.
    fn requests(&self, address: SocketAddr, round: usize, seen: &mut Seen) -> Result<(), Failure> {
        let start = Instant::now();
        let mut wire = Wire::connect(address).map_err(Failure::of)?;
        let count = 1 + round % 3;
        for number in 1..=count {
            let known = &self.site.known[(round + number) % self.site.known.len()];
            let request = if number == count { get_and_close(known.path) } else { get(known.path) };
            let asked = Instant::now();
            wire.send(request).map_err(Failure::of)?;
            let is_wanted = || !self.outages.is_lost(start);
            let response = wire.response(asked + TIMEOUT, &is_wanted).map_err(Failure::of)?;
            if response.status == 503 && known.path == LARGE {
                let text = format!("{}: status 503", known.path);
                return Err(Failure { text, cause: Cause::NoDescriptor });
            }
            if response.status != 200 || response.length != known.content.len() {
                let (status, length) = (response.status, response.length);
                return Err(Failure::wrong(format!("{}: status {status}, {length} bytes", known.path)));
            }
            if !known.content.starts_with(&response.body) {
                return Err(Failure::wrong(format!("{}: a wrong byte", known.path)));
            }
            if response.body.len() < known.content.len() {
                let text = format!("{}: {} of {} bytes", known.path, response.body.len(), response.length);
                return Err(Failure { text, cause: Cause::Lost });
            }
            seen.right += 1;
            seen.longest = seen.longest.max(asked.elapsed());
            if response.is_last {
                break;
            }
        }
        if wire.has_rest() {
            return Err(Failure::wrong("bytes that it did not request".to_owned()));
        }
        Ok(())
    }
}

struct Failure {
    text: String,
    cause: Cause,
}

enum Cause {
    /// The connection was lost, or could not be made.
    Lost,
    /// Refused, for a file that needs a descriptor.
    NoDescriptor,
    /// Not the response to the request. Nothing excuses it.
    Wrong,
}

impl Failure {
    fn of(error: Error) -> Failure {
        let is_wrong = error.kind() == ErrorKind::InvalidData;
        Failure { cause: if is_wrong { Cause::Wrong } else { Cause::Lost }, text: error.to_string() }
    }

    fn wrong(text: String) -> Failure {
        Failure { text, cause: Cause::Wrong }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outage_excuses_what_it_overlaps() {
        let outages = Outages::default();
        let before = Instant::now();
        assert!(!outages.excuse(before));
        outages.begin();
        assert!(outages.excuse(before) && outages.excuse(Instant::now()));
        outages.end();
        std::thread::sleep(Duration::from_millis(2));
        assert!(outages.excuse(before), "it existed while the server was down");
        assert!(!outages.excuse(Instant::now()), "it began when the server was back");
    }
}
