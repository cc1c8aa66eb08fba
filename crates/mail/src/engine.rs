//! The loop of an engine: it opens connections as long as the queue has work for them, and dispatches events
//! to them, over any event interface. One thread drives all connections.

use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use net::Timer;
use net::output::Output;
use slab::Slab;
use sys::event::{Event, Interest, Poller};
use sys::handle::AsHandle;
use sys::tcp::{Connection, Waiting};

use crate::MailError;
use crate::connection::{End, EngineTls, Exchanged, Slot, Transport, exchange};
use crate::context::{DeliveryContext, DeliveryEnding, MailMeasured, Results};
use crate::queue::Queue;
use crate::recipients::Recipients;
use crate::route::Router;
use crate::session::Session;
use crate::settings::{EngineSettings, SessionSettings};

/// Connections begun in one turn, unless more have been served in it: those that exist do not wait for long,
/// and however many end, as many take their places.
const CONNECTS_MAX: usize = 64;

/// How often timeouts are checked: connections that wait for minutes need no finer.
const SCAN_NS: u64 = 100_000_000;

/// The longest wait, for an order to stop.
const TICK_NS: u64 = 100_000_000;

/// An engine over any event interface.
pub trait DeliveryEngine {
    /// Nanoseconds since the engine was made.
    fn now_ns(&self) -> u64;
    /// Connections that exist.
    fn open(&self) -> usize;
    /// The most connections that existed at once since the last call of [`DeliveryEngine::run`].
    fn peak(&self) -> usize;
    /// Nanoseconds in which there was nothing to do before the time of another attempt: no connection, and no
    /// question to DNS.
    fn waiting_ns(&self) -> u64;
    /// Why this system made no further connection, if it has refused one since the last call.
    fn take_refusal(&mut self) -> Option<io::Error>;
    /// The counts and times.
    fn measured(&mut self) -> &mut MailMeasured;
    /// Delivers over up to this many connections at once, until every recipient has ended or the time is
    /// over.
    ///
    /// # Errors
    /// Errors of the event interface, and results that cannot be written.
    fn run(&mut self, connections: usize, until: Until<'_>) -> Result<(), MailError>;
    /// Ends: transactions under way are finished if that takes no longer than the grace, and all recipients
    /// that have not ended are reported as queued.
    ///
    /// # Errors
    /// Those of [`DeliveryEngine::run`].
    fn finish(&mut self, grace: Duration) -> Result<(), MailError>;
}

/// Until when an engine goes on.
#[derive(Clone, Copy, Debug)]
pub struct Until<'a> {
    /// By its own clock, see [`DeliveryEngine::now_ns`]; work that is not begun by then is left.
    pub end_ns: u64,
    /// Ends it earlier.
    pub stop: Option<&'a AtomicBool>,
}

/// The names of all event interfaces, of every system.
pub const EVENT_INTERFACES: [&str; 5] = ["poll", "select", "epoll", "uring", "kqueue"];

/// An engine for that list over the interface of that name. Nothing is connected to yet.
///
/// # Errors
/// A missing event interface; a relay that may not be connected to.
pub fn open<'list, R: Results + 'list>(
    interface: &str,
    recipients: &'list Recipients,
    settings: EngineSettings,
    results: R,
) -> Result<Box<dyn DeliveryEngine + 'list>, MailError> {
    match interface {
        "poll" => boxed::<sys::event::Poll, R>(recipients, settings, results),
        #[cfg(unix)]
        "select" => boxed::<sys::event::Select, R>(recipients, settings, results),
        #[cfg(target_os = "linux")]
        "epoll" => boxed::<sys::event::Epoll, R>(recipients, settings, results),
        #[cfg(target_os = "linux")]
        "uring" => boxed::<sys::event::Uring, R>(recipients, settings, results),
        #[cfg(any(
            target_vendor = "apple",
            target_os = "dragonfly",
            target_os = "freebsd",
            target_os = "netbsd",
            target_os = "openbsd"
        ))]
        "kqueue" => boxed::<sys::event::Kqueue, R>(recipients, settings, results),
        _ => Err(MailError::NoInterface(interface.to_owned())),
    }
}

fn boxed<'list, P: Poller + 'list, R: Results + 'list>(
    recipients: &'list Recipients,
    settings: EngineSettings,
    results: R,
) -> Result<Box<dyn DeliveryEngine + 'list>, MailError> {
    Ok(Box::new(Engine::<P, R>::new(recipients, settings, results)?))
}

/// Connections, and the queue for which they work.
struct Engine<'list, P, R> {
    poller: P,
    router: Router,
    timer: Timer,
    settings: EngineSettings,
    session_settings: Arc<SessionSettings>,
    tls: EngineTls,
    context: DeliveryContext<'list, R>,
    slots: Slab<Slot>,
    /// Connections that may exist at once.
    connections: usize,
    /// This machine had no room for another one: until one ends, none is tried.
    is_exhausted: bool,
    connects: usize,
    /// Events of the last turn: as many connections may be begun after it.
    served: usize,
    /// The most connections that existed at once since the last call of [`DeliveryEngine::run`].
    peak: usize,
    /// Why this system made no further connection, the last time that it did not.
    refusal: Option<io::Error>,
    next_scan_ns: u64,
    /// Time in which there was nothing to do before the time of another attempt.
    waiting_ns: u64,
    /// Connections that need no event to go on.
    in_line: Vec<usize>,
    buffer: Vec<u8>,
}

impl<P: Poller, R: Results> DeliveryEngine for Engine<'_, P, R> {
    fn now_ns(&self) -> u64 {
        self.timer.now_ns()
    }

    fn open(&self) -> usize {
        self.slots.len()
    }

    fn peak(&self) -> usize {
        self.peak
    }

    fn waiting_ns(&self) -> u64 {
        self.waiting_ns
    }

    fn take_refusal(&mut self) -> Option<io::Error> {
        self.refusal.take()
    }

    fn measured(&mut self) -> &mut MailMeasured {
        &mut self.context.measured
    }

    fn run(&mut self, connections: usize, until: Until<'_>) -> Result<(), MailError> {
        self.connections = connections;
        self.peak = self.slots.len();
        self.context.now_ns = self.timer.now_ns();
        let mut events = Vec::new();
        loop {
            let is_done = self.context.queue.unfinished() == 0 && self.slots.is_empty();
            let is_ordered = until.stop.is_some_and(|stop| stop.load(Ordering::Relaxed));
            if is_done || is_ordered || self.context.now_ns >= until.end_ns {
                return Ok(());
            }
            self.turn(until.end_ns, &mut events)?;
        }
    }

    fn finish(&mut self, grace: Duration) -> Result<(), MailError> {
        self.context.is_stopping = true;
        self.context.now_ns = self.timer.now_ns();
        let end_ns = self.context.now_ns + grace.as_nanos() as u64;
        let mut events = Vec::new();
        while !self.slots.is_empty() && self.context.now_ns < end_ns {
            self.turn(end_ns, &mut events)?;
        }
        for slot in self.slots.drain() {
            slot.session.lost("the engine was stopped", &mut self.context);
        }
        let waiting = self.context.queue.drain_all();
        self.context.end_waiting(waiting, DeliveryEnding::Queued, "the engine was stopped");
        self.check()?;
        self.context.results.flush().map_err(MailError::at("write results"))
    }
}

impl<'list, P: Poller, R: Results> Engine<'list, P, R> {
    fn new(
        recipients: &'list Recipients,
        settings: EngineSettings,
        results: R,
    ) -> Result<Engine<'list, P, R>, MailError> {
        settings.session.check()?;
        let mut poller = P::new().map_err(MailError::at("open an event interface"))?;
        let router = Router::new(&settings.routing, &settings.permission, &mut poller)?;
        let tls = EngineTls::new(&settings.tls)?;
        let (share, queue) = (settings.queue.share, Queue::new(recipients, settings.queue));
        let context = DeliveryContext {
            queue,
            measured: MailMeasured::new()?,
            results,
            now_ns: 0,
            message_id: 1 + u64::from(share.number),
            message_id_step: u64::from(share.of),
            is_stopping: false,
            broken: None,
        };
        let mut engine = Engine {
            poller,
            router,
            timer: Timer::start(),
            session_settings: Arc::new(settings.session.clone()),
            settings,
            tls,
            context,
            slots: Slab::new(),
            connections: 0,
            is_exhausted: false,
            connects: 0,
            served: 0,
            peak: 0,
            refusal: None,
            next_scan_ns: 0,
            waiting_ns: 0,
            in_line: Vec::new(),
            buffer: vec![0; 64 << 10],
        };
        let broken = if share.number == 0 { recipients.broken() } else { &[] };
        engine.context.end_waiting(broken.iter().copied(), DeliveryEnding::Failed, "no valid address");
        engine.check()?;
        Ok(engine)
    }

    fn check(&mut self) -> Result<(), MailError> {
        let broken = self.context.broken.take().map_or(Ok(()), Err);
        broken.and_then(|()| self.context.results.turn_ended()).map_err(MailError::at("write results"))
    }

    /// Waits, and handles events.
    fn turn(&mut self, end_ns: u64, events: &mut Vec<Event>) -> Result<(), MailError> {
        self.router.turn(&mut self.context, &mut self.poller);
        self.connect_more();
        let due_ns = self.context.queue.next_due_ms().map_or(u64::MAX, |due_ms| due_ms * 1_000_000);
        let due_ns = self.router.next_deadline_ns().map_or(due_ns, |deadline_ns| deadline_ns.min(due_ns));
        let until_ns = end_ns.min(due_ns).min(self.context.now_ns + TICK_NS);
        let wait_ns = match self.in_line.is_empty() && !self.has_more_to_connect() {
            true => until_ns.saturating_sub(self.context.now_ns),
            false => 0,
        };
        let (began_ns, is_waiting) = (self.context.now_ns, self.slots.is_empty() && !self.router.is_asking());
        self.poller
            .wait(events, Some(Duration::from_nanos(wait_ns)))
            .map_err(MailError::at("wait for events"))?;
        self.context.now_ns = self.timer.now_ns();
        if is_waiting {
            self.waiting_ns += self.context.now_ns - began_ns;
        }
        self.served = events.len();
        for &event in events.iter() {
            if !self.router.on_event(event, &mut self.poller, self.context.now_ns) {
                self.dispatch(event.token);
            }
        }
        for number in std::mem::take(&mut self.in_line) {
            self.dispatch(number);
        }
        let given_up = self.context.queue.expire(self.context.now_ms());
        self.context.end_waiting(given_up, DeliveryEnding::Queued, "attempts were over");
        if self.context.now_ns >= self.next_scan_ns {
            self.next_scan_ns = self.context.now_ns + SCAN_NS;
            self.end_late();
        }
        self.check()
    }

    /// Whether the last turn began the most connections allowed, so that more may be due.
    fn has_more_to_connect(&self) -> bool {
        self.connects >= CONNECTS_MAX
    }

    fn connect_more(&mut self) {
        self.connects = 0;
        let connects_max = CONNECTS_MAX.max(self.served);
        while self.connects < connects_max
            && self.slots.len() < self.connections
            && !self.is_exhausted
            && !self.context.is_stopping
        {
            let Some((host, transaction)) = self.context.queue.take() else { return };
            let now_ns = self.context.now_ns;
            let batch = self.context.queue.batch(host);
            let settings = self.session_settings.clone();
            let session = Session::new(settings, host, self.tls.of_host(host), batch, transaction, now_ns);
            self.connects += 1;
            self.connect(host, session);
        }
    }

    fn connect(&mut self, host: u32, session: Session) {
        let address = self.context.queue.address(host);
        if let Err(error) = self.settings.permission.check(address) {
            return self.fail(session, &error.to_string());
        }
        let from = self.settings.sources.address(self.settings.queue.share.place(self.slots.vacant_key()));
        let connection = match Connection::connect(address, from, Waiting::NonBlocking) {
            Ok(connection) => connection,
            Err(error) => return self.not_connected(session, error),
        };
        // Reads follow every small write.
        let _ = connection.send_at_once();
        let began_ns = self.context.now_ns;
        let entry = self.slots.vacant_entry();
        if let Err(error) = self.poller.add(connection.handle(), entry.key(), Interest::Both) {
            return self.not_connected(session, error);
        }
        entry.insert(Slot {
            transport: Transport::Plain(connection),
            session,
            output: Output::default(),
            interest: Interest::Both,
            is_connecting: true,
            is_shaking_hands: false,
            began_ns,
            active_ns: began_ns,
        });
        self.peak = self.peak.max(self.slots.len());
    }

    fn not_connected(&mut self, session: Session, error: io::Error) {
        if is_exhaustion(&error) && !self.slots.is_empty() {
            self.context.measured.counts.exhausted += 1;
            self.is_exhausted = true;
            let host = session.host();
            session.lost(&error.to_string(), &mut self.context);
            self.context.queue.connection_ended(host);
        } else {
            self.context.measured.counts.not_connected += 1;
            self.fail(session, &format!("connect: {error}"));
        }
        self.refusal = Some(error);
    }

    /// The session ends early, because of an action of the server or the lack of one.
    fn fail(&mut self, session: Session, reason: &str) {
        let (host, domain) = (session.host(), session.domain());
        let is_of_host = session.is_greeting();
        session.lost(reason, &mut self.context);
        if let Some(domain) = domain.filter(|_| is_of_host) {
            self.context.host_failed(host, domain, reason);
        }
        self.context.queue.connection_ended(host);
    }

    fn dispatch(&mut self, number: usize) {
        let Some(slot) = self.slots.get_mut(number) else { return };
        slot.active_ns = self.context.now_ns;
        match exchange(slot, &mut self.buffer, &mut self.context, P::EDGE) {
            Ok(Exchanged::Wait) => {
                let blocked = !slot.output.is_empty();
                self.wait_for(number, if blocked { Interest::Both } else { Interest::Read });
            }
            Ok(Exchanged::WaitFor(interest)) => self.wait_for(number, interest),
            Ok(Exchanged::StartTls) => self.start_tls(number),
            Ok(Exchanged::Again) => self.in_line.push(number),
            Ok(Exchanged::End(end)) => self.end(number, end),
            Err(error) => self.end(number, End::Broken(error.to_string())),
        }
    }

    fn wait_for(&mut self, number: usize, interest: Interest) {
        let Some(slot) = self.slots.get_mut(number).filter(|slot| slot.interest != interest) else { return };
        slot.interest = interest;
        let Some(handle) = slot.transport.handle() else { return };
        if let Err(error) = self.poller.change(handle, number, interest) {
            self.end(number, End::Broken(error.to_string()));
        }
    }

    /// The server waits for a handshake, which begins with our hello.
    fn start_tls(&mut self, number: usize) {
        let Some(slot) = self.slots.get_mut(number) else { return };
        let to = self.context.queue.address(slot.session.host()).ip();
        slot.is_shaking_hands = true;
        match self.tls.start(&mut slot.transport, to) {
            Ok(()) => self.dispatch(number),
            Err(error) => self.end(number, End::NoTls(error.to_string())),
        }
    }

    fn end(&mut self, number: usize, end: End) {
        let Some(slot) = self.slots.try_remove(number) else { return };
        if !P::FORGETS_CLOSED {
            // An error here does not matter: the descriptor is closed.
            let _ = slot.transport.handle().map(|handle| self.poller.remove(handle, number));
        }
        self.is_exhausted = false;
        let Slot { transport, session, is_connecting, is_shaking_hands, .. } = slot;
        transport.close();
        let counts = &mut self.context.measured.counts;
        let step = session.step().name();
        let reason = match end {
            End::Done => return self.context.queue.connection_ended(session.host()),
            _ if session.is_quitting() => return self.context.queue.connection_ended(session.host()),
            End::SentAway(reason) => {
                counts.lost += 1;
                let (host, domain) = (session.host(), session.domain());
                session.lost(&reason, &mut self.context);
                if let Some(domain) = domain {
                    self.context.host_failed(host, domain, &reason);
                }
                return self.context.queue.connection_ended(host);
            }
            End::NoTls(reason) => return self.end_without_tls(session, &reason),
            End::Late if is_shaking_hands => {
                counts.timeouts += 1;
                return self.end_without_tls(session, "the handshake took too long");
            }
            End::Broken(reason) if is_connecting => {
                counts.not_connected += 1;
                format!("connect: {reason}")
            }
            End::Broken(reason) => {
                counts.lost += 1;
                format!("connection lost at {step}: {reason}")
            }
            End::Fault(reason) => {
                counts.faults += 1;
                format!("broken protocol at {step}: {reason}")
            }
            End::Late => {
                counts.timeouts += 1;
                format!("no reply to {step} in {} s", self.settings.step_timeout.as_secs_f64())
            }
        };
        self.fail(session, &reason);
    }

    /// TLS failed. If it is not required, the next connection to the host does not use it (RFC 7435).
    fn end_without_tls(&mut self, session: Session, reason: &str) {
        self.context.measured.counts.not_encrypted += 1;
        let (host, reason) = (session.host(), format!("TLS: {reason}"));
        if self.tls.is_required() {
            return self.fail(session, &reason);
        }
        self.tls.give_up(host);
        session.lost(&reason, &mut self.context);
        self.context.queue.connection_ended(host);
    }

    /// Ends the connections on which nothing has happened for too long.
    fn end_late(&mut self) {
        let longest_ns = self.settings.step_timeout.as_nanos() as u64;
        let now_ns = self.context.now_ns;
        let is_late = |slot: &Slot| now_ns.saturating_sub(slot.active_ns) > longest_ns;
        let late: Vec<usize> =
            self.slots.iter().filter(|(_, slot)| is_late(slot)).map(|(number, _)| number).collect();
        for number in late {
            self.end(number, End::Late);
        }
    }
}

/// Whether the error is that of this machine, which has no room for another connection now.
fn is_exhaustion(error: &io::Error) -> bool {
    let by_kind = matches!(error.kind(), ErrorKind::AddrNotAvailable | ErrorKind::OutOfMemory);
    by_kind || sys::error::out_of_descriptors(error) || sys::error::name(error) == "ENOBUFS"
}
