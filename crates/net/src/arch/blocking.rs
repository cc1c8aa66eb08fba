//! One connection served by calls that wait; the architectures of processes and of threads share it.
//!
//! Time limits are those of the socket: a receive is late by a tick at most. A send waits for a quarter of
//! its limit, and is repeated while the client acknowledges anything. A client that reads nothing holds it
//! for up to twice the limit.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering, fence};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sys::tcp::{Connection, Waiting};

use crate::output::{Output, Sent};
use crate::service::{Flow, Session, SessionStage};
use crate::worker::{
    Counter, Counters, LINGER, LINGER_MAX, SEND_LOOKS, TICK, Terms, WorkerContext, write_log,
};

/// One receive takes at most this much. It lies on the stack of each process or thread.
const CHUNK_BYTES: usize = 8 << 10;

/// The stack that suffices for every service. Only touched pages cost memory, but address space and its
/// accounting are finite.
const STACK_BYTES: usize = 64 << 10;

/// The stack of a thread that serves connections of that worker.
pub(super) fn stack_bytes(worker: &WorkerContext) -> usize {
    STACK_BYTES + worker.service.stack_bytes()
}

/// How long to wait for other connections to end when descriptors, memory or processes have run out.
const PAUSE: Duration = Duration::from_millis(10);

/// A wait for the end of threads or processes looks this often.
pub(super) const LOOK: Duration = Duration::from_millis(20);

/// After the time of grace, a connection gets this much time to end when it is cut off.
const CUT: Duration = Duration::from_secs(1);

/// A connection that is being served.
#[derive(Debug)]
pub(crate) struct Live {
    connection: Connection,
    /// Whether it waits for a request, or for the other end's close: it may be ended at once.
    idle: AtomicBool,
}

impl Live {
    pub(crate) fn new(connection: Connection) -> Live {
        Live { connection, idle: AtomicBool::new(false) }
    }
}

/// Accepts a connection; `None` when it is time to check for the order to stop.
///
/// # Errors
/// Those of accept(2) that do not pass.
pub(super) fn accept(worker: &WorkerContext, counters: &Counters) -> io::Result<Option<Connection>> {
    match worker.listener.accept(Waiting::Blocking) {
        Ok(connection) => {
            counters.add(Counter::Accepted, 1);
            Ok(Some(connection))
        }
        Err(_) if worker.stop.is_ordered() => Ok(None),
        Err(error) if is_passing(&error) => Ok(None),
        Err(error) if is_exhaustion(&error) => {
            exhausted(counters);
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Counts an exhausted resource, and waits a little.
pub(super) fn exhausted(counters: &Counters) {
    counters.add(Counter::Exhausted, 1);
    std::thread::sleep(PAUSE);
}

/// Closes a connection for which there is no thread or process.
pub(super) fn refuse(counters: &Counters, connection: Connection) {
    drop(connection);
    counters.add(Counter::Refused, 1);
    counters.add(Counter::Ended, 1);
}

/// Whether descriptors, memory, threads or processes have run out.
pub(super) fn is_exhaustion(error: &io::Error) -> bool {
    matches!(sys::error::name(error).as_str(), "EMFILE" | "ENFILE" | "ENOMEM" | "ENOBUFS" | "EAGAIN")
}

/// Time over, a signal, or an error of the connection that was to be accepted, which accept(2) passes on.
fn is_passing(error: &io::Error) -> bool {
    use io::ErrorKind::{
        ConnectionAborted, ConnectionReset, HostUnreachable, Interrupted, NetworkDown, NetworkUnreachable,
        PermissionDenied, WouldBlock,
    };
    let kind = error.kind();
    matches!(kind, WouldBlock | Interrupted | ConnectionAborted | ConnectionReset | PermissionDenied)
        || matches!(kind, HostUnreachable | NetworkDown | NetworkUnreachable)
        || sys::error::name(error) == "EPROTO"
}

/// Serves the connection to its end. Dropping `live` closes it.
pub(crate) fn serve(terms: Terms<'_>, live: &Live) {
    let peer = if terms.service.wants_peer() { live.connection.peer().ok() } else { None };
    let session = terms.service.session(peer);
    let mut conversation = Conversation { terms, live, session, output: Output::default(), patience: TICK };
    if let Err(trouble) = conversation.hold() {
        terms.counters.add(trouble, 1);
        if trouble == Counter::Slow {
            // The system would keep untaken output for minutes.
            let _ = live.connection.reset_on_close();
        }
    }
}

struct Conversation<'a> {
    terms: Terms<'a>,
    live: &'a Live,
    session: Box<dyn Session>,
    output: Output,
    /// The connection's receive timeout; inherited from the listener until it is set.
    patience: Duration,
}

enum Input {
    Bytes(usize),
    End,
    Late,
}

impl Conversation<'_> {
    /// The whole connection; the error is the counter for it.
    fn hold(&mut self) -> Result<(), Counter> {
        let mut flow = self.session.begin(&mut self.output);
        if flow != Flow::Reset {
            self.deliver()?;
        }
        if flow == Flow::More {
            flow = self.listen()?;
        }
        match flow {
            Flow::Linger => self.linger(),
            Flow::Reset => self.reset(),
            Flow::More | Flow::Close => Ok(()),
        }
    }

    /// Takes input and answers it until the session ends. It is apart from `hold` because a service that only
    /// speaks needs none of this stack.
    #[inline(never)]
    fn listen(&mut self) -> Result<Flow, Counter> {
        let mut chunk = [0_u8; CHUNK_BYTES];
        let mut since = Instant::now();
        loop {
            let stage = self.session.stage();
            let until = since.checked_add(self.terms.limits.of_stage(stage));
            if matches!(stage, SessionStage::Paused(_)) {
                self.pause(until);
            }
            let mut is_resumed = false;
            let flow = match self.receive(&mut chunk, until, stage == SessionStage::Idle)? {
                Input::Bytes(count) => self.session.on_input(&chunk[..count], &mut self.output),
                Input::End => {
                    self.session.end(&mut self.output);
                    self.deliver()?;
                    return Ok(Flow::Close);
                }
                Input::Late if stage == SessionStage::Idle => return Ok(Flow::Close),
                Input::Late if matches!(stage, SessionStage::Paused(_)) => {
                    is_resumed = true;
                    self.session.resume(&mut self.output)
                }
                Input::Late => {
                    let flow = self.session.too_slow(&mut self.output);
                    let delivered = self.deliver();
                    // A connection that is slow to take this too is counted as slow once.
                    if delivered != Err(Counter::Slow) {
                        self.terms.counters.add(Counter::Slow, 1);
                    }
                    delivered?;
                    return Ok(if flow == Flow::More { Flow::Close } else { flow });
                }
            };
            if flow == Flow::Reset {
                return Ok(flow);
            }
            let responses = self.deliver()?;
            if flow != Flow::More {
                return Ok(flow);
            }
            // A request's time runs from its first byte, however many pieces follow.
            let is_within_request = self.session.stage() == SessionStage::Request;
            let is_within_pause = matches!(stage, SessionStage::Paused(_)) && !is_resumed;
            if responses > 0 || stage == SessionStage::Idle || !(is_within_request || is_within_pause) {
                since = Instant::now();
            }
        }
    }

    /// Receives nothing until then, or until the order to stop, after which the end of the connection has to
    /// be seen.
    fn pause(&self, until: Option<Instant>) {
        loop {
            let remaining =
                until.map_or(Duration::MAX, |until| until.saturating_duration_since(Instant::now()));
            if remaining.is_zero() || self.terms.stop.is_ordered() {
                return;
            }
            std::thread::sleep(remaining.min(TICK));
        }
    }

    /// Drops the output, and has the close reset the connection. The log stays.
    fn reset(&mut self) -> Result<(), Counter> {
        self.terms.counters.add_responses(&mut self.output);
        write_log(self.terms.log, &mut self.output.log, self.terms.counters);
        self.live.connection.reset_on_close().map_err(|_| Counter::Broken)
    }

    /// Sends all output; the requests that it answers.
    fn deliver(&mut self) -> Result<u64, Counter> {
        let mut sent_bytes = 0;
        let mut taken = Taken { since: None, acknowledged: 0 };
        let sent = loop {
            match self.output.send(&self.live.connection, &mut sent_bytes) {
                Ok(Sent::Blocked) if taken.goes_on(&self.live.connection, self.terms.limits.send) => {}
                sent => break sent,
            }
        };
        let responses = self.terms.counters.add_responses(&mut self.output);
        self.terms.counters.add(Counter::Sent, sent_bytes);
        write_log(self.terms.log, &mut self.output.log, self.terms.counters);
        match sent {
            Ok(Sent::All) => Ok(responses),
            Ok(Sent::Blocked) => Err(Counter::Slow),
            Err(_) => Err(Counter::Broken),
        }
    }

    fn receive(&mut self, chunk: &mut [u8], until: Option<Instant>, idle: bool) -> Result<Input, Counter> {
        let connection = &self.live.connection;
        loop {
            let remaining =
                until.map_or(Duration::MAX, |until| until.saturating_duration_since(Instant::now()));
            if remaining.is_zero() {
                return Ok(Input::Late);
            }
            // Late by a tick at most, so that not every receive needs a setsockopt beside it.
            if remaining.saturating_add(TICK) < self.patience {
                self.wait_for(remaining)?;
            }
            self.live.idle.store(idle, Ordering::Relaxed);
            // The thread that orders to stop reads `idle` after the order: one of the two sees the other.
            fence(Ordering::SeqCst);
            if idle && self.terms.stop.is_ordered() {
                // Input that has arrived can still be received; then comes the end.
                let _ = connection.finish_receiving();
            }
            let received = connection.receive(chunk);
            self.live.idle.store(false, Ordering::Relaxed);
            match received {
                Ok(0) => return Ok(Input::End),
                Ok(count) => {
                    self.terms.counters.add(Counter::Received, count as u64);
                    return Ok(Input::Bytes(count));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.wait_for(remaining)?,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return Err(Counter::Broken),
            }
        }
    }

    fn wait_for(&mut self, patience: Duration) -> Result<(), Counter> {
        let timeout = if patience == Duration::MAX { None } else { Some(patience) };
        self.live.connection.receive_timeout(timeout).map_err(|_| Counter::Broken)?;
        self.patience = patience;
        Ok(())
    }

    /// Gives the other end time to take the output, and drops its further input.
    #[inline(never)]
    fn linger(&mut self) -> Result<(), Counter> {
        let mut chunk = [0_u8; CHUNK_BYTES];
        let end = Instant::now() + LINGER_MAX;
        // An error means that the other end is gone, as expected.
        let _ = self.live.connection.finish_sending();
        while let Ok(Input::Bytes(_)) = self.receive(&mut chunk, Some(end.min(Instant::now() + LINGER)), true)
        {
        }
        Ok(())
    }
}

/// Whether the other end still reads a response that the socket has no more room for.
struct Taken {
    /// When it was last known to read.
    since: Option<Instant>,
    acknowledged: u64,
}

impl Taken {
    /// A send has waited for its part of the limit; whether another one may.
    fn goes_on(&mut self, connection: &Connection, limit: Duration) -> bool {
        let acknowledged = sys::tcp::acknowledged(connection).unwrap_or(0);
        let is_first = self.since.is_none();
        let since = self.since.get_or_insert_with(Instant::now);
        if acknowledged > self.acknowledged && !is_first {
            *since = Instant::now();
        }
        self.acknowledged = acknowledged;
        // The first wait is over already.
        since.elapsed() + limit / SEND_LOOKS < limit
    }
}

/// The connections of a process with threads, so that an order to stop reaches waiting ones.
#[derive(Debug, Default)]
pub(super) struct Registry(Mutex<HashMap<i32, Arc<Live>>>);

/// A connection's slot in the registry, for as long as it is served.
pub(super) struct Registered<'a> {
    registry: &'a Registry,
    counters: &'a Counters,
    pub(super) live: Arc<Live>,
}

impl Registry {
    pub(super) fn enter<'a>(&'a self, counters: &'a Counters, connection: Connection) -> Registered<'a> {
        let live = Arc::new(Live::new(connection));
        self.lock().insert(live.connection.number(), Arc::clone(&live));
        Registered { registry: self, counters, live }
    }

    pub(super) fn len(&self) -> usize {
        self.lock().len()
    }

    /// After the order to stop: ends idle connections, gives responses under way the time of grace, and cuts
    /// off the rest.
    pub(super) fn end(&self, grace: Duration) {
        self.look_until(grace, || {
            for live in self.lock().values().filter(|live| live.idle.load(Ordering::SeqCst)) {
                let _ = live.connection.finish_receiving();
            }
        });
        self.look_until(CUT, || {
            for live in self.lock().values() {
                let _ = live.connection.finish_receiving();
                let _ = live.connection.finish_sending();
            }
        });
    }

    fn look_until(&self, time: Duration, act: impl Fn()) {
        let until = Instant::now().checked_add(time);
        fence(Ordering::SeqCst);
        while self.len() > 0 && until.is_none_or(|until| Instant::now() < until) {
            act();
            std::thread::sleep(LOOK);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<i32, Arc<Live>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Registered<'_> {
    fn drop(&mut self) {
        // Before it is closed, because its number may be reused.
        self.registry.lock().remove(&self.live.connection.number());
        self.counters.add(Counter::Ended, 1);
    }
}
