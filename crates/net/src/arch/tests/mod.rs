//! The event loops against a simulated network: every one of them, with every service and every client that
//! speaks with it, under the same seeds. A seed decides which bytes are split, delayed, refused, reset or
//! never read, when descriptors run out and when the order to stop comes. Loop, connection, time limits,
//! service and client are the program's own; only sockets, sets, rings and the clock are simulated.
//!
//! A failing seed is printed; `OSDYNO_SEED=N cargo test -p net --lib arch::tests -- --nocapture` runs it
//! alone and prints its events.
//!
//! A [`Witness`] notes the steps of a connection, and knows those that its server must have made by now.

mod ends;
mod kernel;
mod simulation;
mod world;

use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::time::Duration;

use self::simulation::{Attempt, FOREIGN_LOOP, LOOPS};
use self::world::{Fault, MS};
use crate::arch;
use crate::client::busy::BusyClientSettings;
use crate::client::echo::EchoClientSettings;
use crate::client::http::HttpClientSettings;
use crate::client::{self, ClientChoice, ClientKind};
use crate::service::busy::BusySettings;
use crate::service::echo::EchoSettings;
use crate::service::http::HttpSettings;
use crate::service::{OpenService, ServiceSettings};
use crate::worker::{LINGER, LINGER_MAX, Limits};

/// A planted fault must show within so many seeds.
const SEEDS_OF_FAULT: u64 = 100;

/// A file that is served from memory, one that is sent as a file, and the largest response.
const FILES: [(&str, usize); 2] = [("small.txt", 700), ("large.bin", 90_000)];

/// The services, opened once, and the folder of one of them.
struct Services {
    open: Vec<(&'static str, Arc<dyn OpenService>)>,
    _folder: tempfile::TempDir,
}

impl Services {
    fn open() -> Services {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, length) in FILES {
            let bytes: Vec<u8> = (0..length).map(|at| (at * 31 % 251) as u8).collect();
            std::fs::write(folder.path().join(name), bytes).expect("a file");
        }
        let http = HttpSettings { root: folder.path().to_owned(), ..HttpSettings::default() };
        let opened = [
            (BusySettings::NAME, BusySettings::default().open(false)),
            (EchoSettings::NAME, EchoSettings::default().open(false)),
            (HttpSettings::NAME, http.open(false)),
        ];
        let open = opened.map(|(name, service)| (name, service.expect("a service"))).into_iter().collect();
        Services { open, _folder: folder }
    }

    fn get(&self, name: &str) -> &dyn OpenService {
        let found = self.open.iter().find(|(own, _)| *own == name);
        &*found.unwrap_or_else(|| panic!("no simulation opens the service {name:?}")).1
    }
}

/// A client's settings, as a seed chooses them, and the bytes of its largest response.
fn choice(kind: &ClientKind, seed: u64) -> (ClientChoice, usize) {
    let mut random = fastrand::Rng::with_seed(seed);
    match kind.name {
        "busy" => (ClientChoice::new(&BusyClientSettings {}), 14),
        "echo" => {
            let bytes = [16, 700, 5000][random.usize(..3)];
            (ClientChoice::new(&EchoClientSettings { bytes }), bytes)
        }
        "http" => {
            let count = random.usize(1..=FILES.len());
            let paths = FILES[..count].iter().map(|(name, _)| format!("/{name}")).collect();
            let (head, close) = (random.u8(..4) == 0, random.u8(..4) == 0);
            let settings = HttpClientSettings { paths, head, close, ..HttpClientSettings::default() };
            (ClientChoice::new(&settings), FILES[count - 1].1)
        }
        other => panic!("no simulation chooses settings for the client {other:?}"),
    }
}

/// Simulates one loop with one client and its service; the first promise that was broken.
fn attempt(
    seed: u64,
    name: &str,
    kind: &ClientKind,
    fault: Fault,
    services: &Services,
) -> Result<(), String> {
    let (choice, response_bytes) = choice(kind, seed);
    let service = services.get(kind.service);
    if crate::seeds::repeated().is_some() {
        println!("{name} with {}", kind.name);
    }
    let attempt = Attempt { seed, name, service, service_name: kind.service, response_bytes, fault };
    let broken = choice.visit(attempt).expect("a client");
    broken.map_err(|text| format!("{name} with {}: {text}", kind.name))
}

/// Every loop and every client, under one seed.
fn attempt_all(seed: u64, services: &Services) -> Vec<String> {
    let pairs = LOOPS.iter().flat_map(|name| client::ALL.iter().map(move |kind| (name, kind)));
    pairs.filter_map(|(name, kind)| attempt(seed, name, kind, Fault::None, services).err()).collect()
}

#[test]
fn every_loop_keeps_its_promises() {
    let services = Services::open();
    crate::seeds::every(|seed| attempt_all(seed, &services));
}

/// Every loop of ours is simulated. The conformance table lists the services without a client.
#[test]
fn every_loop_is_simulated() {
    for architecture in arch::ALL {
        let name = architecture.name;
        let has_loop = architecture.serve.is_ok() && !architecture.is_blocking() && name != FOREIGN_LOOP;
        assert_eq!(LOOPS.contains(&name), has_loop, "{name}");
    }
}

/// The fault breaks a promise of these words in some seed that keeps it without the fault, in every loop.
fn finds(fault: Fault, client: &str, promises: &[&str]) {
    let services = Services::open();
    let kind = client::find(client).expect("a client");
    for name in LOOPS {
        let is_broken = |seed: &u64| {
            let broken = attempt(*seed, name, kind, fault, &services).err();
            broken.is_some_and(|text| promises.iter().any(|promise| text.contains(promise)))
        };
        let found = (0..SEEDS_OF_FAULT).find(is_broken);
        let seed = found.unwrap_or_else(|| panic!("{fault:?} in {name} was not found"));
        assert_eq!(attempt(seed, name, kind, Fault::None, &services), Ok(()), "without the fault");
    }
}

#[test]
fn a_lost_wake_up_is_found() {
    finds(Fault::LostWakeUp, "http", &["nothing will wake it"]);
}

#[test]
fn a_response_that_is_counted_twice_is_found() {
    finds(Fault::CountedTwice, "http", &["responses:"]);
}

#[test]
fn a_time_out_that_never_comes_is_found() {
    finds(Fault::StandingClock, "echo", &["time limit"]);
}

#[test]
fn a_wrong_byte_is_found() {
    finds(Fault::WrongByte, "echo", &["of the response"]);
}

/// A time-out comes this late at most: a tick of the wheel, a tick of the loop, and a loop without processor.
const SLACK_NS: u64 = (128 + 200 + 60) * MS;

/// One connection, as its server handled it: the requests to answer, and the end of each time limit.
#[derive(Debug, Default)]
struct Witness {
    /// Why a response may be missing.
    excuse: Option<&'static str>,
    accepted_ns: Option<u64>,
    closed_ns: Option<u64>,
    /// Bytes that the loop received, and those of them that it did not drop.
    received: u64,
    consumed: u64,
    /// Input that came while a response was leaving, and is handled after it.
    held: u64,
    /// When that was last handled, and the bytes consumed before.
    before_held: (u64, u64),
    sent: u64,
    acknowledged_bytes: u64,
    /// Where in the client's bytes its requests end.
    boundaries: Vec<u64>,
    /// From so many bytes on the service itself may close.
    closes_at: Option<u64>,
    /// Right responses that the client has read.
    answered: u64,
    last_ns: u64,
    /// Since when a part of a request has arrived.
    request_ns: Option<u64>,
    /// Whether output waits, and when some of it was last known to leave.
    is_sending: bool,
    progress_ns: u64,
    finished_ns: Option<u64>,
    saw_end: bool,
    saw_error: bool,
    is_slow: bool,
    has_given_up: bool,
    /// An operation on it was cancelled: later input may have been dropped.
    is_cancelled: bool,
    /// For a service without stages there is no limit.
    request_limit_ns: Option<u64>,
}

impl Witness {
    fn excuse(&mut self, reason: &'static str) {
        self.excuse.get_or_insert(reason);
    }

    fn accepted(&mut self, now_ns: u64, limits: &Limits, has_stages: bool) {
        (self.accepted_ns, self.last_ns) = (Some(now_ns), now_ns);
        self.request_limit_ns = has_stages.then_some(limits.request.as_nanos() as u64);
    }

    fn is_open(&self) -> bool {
        self.accepted_ns.is_some() && self.closed_ns.is_none()
    }

    /// Requests that the loop has received as a whole.
    fn complete(&self) -> u64 {
        self.boundaries.iter().filter(|&&end| end <= self.consumed).count() as u64
    }

    fn received(&mut self, received: &io::Result<usize>, now_ns: u64) {
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
    fn sent(&mut self, sent: &io::Result<usize>, waits: bool, now_ns: u64) {
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
    fn sent_all(&mut self, sent: &io::Result<usize>, all: usize, now_ns: u64) {
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

    fn acknowledged(&mut self, count: usize, now_ns: u64) {
        self.acknowledged_bytes += count as u64;
        self.progress_ns = now_ns;
    }

    fn finished(&mut self, now_ns: u64) {
        (self.finished_ns, self.last_ns) = (Some(now_ns), now_ns);
        if self.before_held.0 == now_ns {
            // The server stops, and drops input behind the response.
            self.consumed = self.consumed.min(self.before_held.1);
        }
    }

    /// The server lets the system drop unsent output.
    fn gave_up(&mut self) {
        (self.is_slow, self.has_given_up) = (true, true);
        self.excuse("it did not take its responses");
    }

    /// When the time limit that holds now is over, and when the server must have noticed.
    fn due_ns(&self, limits: &Limits) -> (u64, u64) {
        let ns = |duration: Duration| duration.as_nanos() as u64;
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
    fn closed(&mut self, now_ns: u64, limits: &Limits) -> bool {
        self.closed_ns = Some(now_ns);
        let is_late = now_ns + MS >= self.due_ns(limits).0;
        let may_close = self.closes_at.is_some_and(|bytes| self.consumed >= bytes);
        self.saw_end || self.saw_error || is_late || may_close
    }
}
