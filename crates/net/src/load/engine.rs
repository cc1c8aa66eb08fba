//! The loop that asks: one thread, one set of events, every client by the same steps.
//!
//! An answer costs one recv(2), the next request one send(2), and both share an epoll_wait(2) with whoever else was
//! ready; nothing is allocated, and nobody else's memory is written. Connections are added to the set once, with
//! level-triggered reading, and a short read is the end of what is there.
//!
//! The clock is read once for every piece received. That reading ends the answer, and in a closed loop begins the
//! next request, so a latency holds the recv, the send, and the time for which an answer lay ready while the loop
//! was busy with others; resolution is that of the clock, some 20 ns.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::io::{self, ErrorKind};
use std::os::fd::AsFd;
use std::time::Duration;

use sys::alarm::Alarm;
use sys::event::{Event, Interest, Poller};
use sys::tcp::{Connection, Waiting};

use super::failure::{Cause, Failure, Failures, Stage};
use super::histogram::Times;
use super::measured::{Measured, Slices};
use super::plan::{Load, Settings};
use super::schedule::Starts;
use super::timer::Timer;
use super::watch::Before;
use super::{Grown, Progress, Watched};
use crate::Error;
use crate::client::{Answer, Client, Fed, Wrong};

#[cfg(target_os = "linux")]
type Set = sys::event::Epoll;
#[cfg(all(unix, not(target_os = "linux")))]
type Set = sys::event::Poll;

/// One place for a connection.
struct Slot<S> {
    socket: Option<Connection>,
    state: State,
    session: S,
    /// When the request was meant to start.
    intended_ns: u64,
    /// When it was sent, or its connection begun.
    sent_ns: u64,
    /// Since when the place has been free.
    free_ns: u64,
    /// Answers that have still to come.
    awaited: u32,
    /// Answers that have come on this connection.
    served: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Closed,
    /// With a request to be sent once the connection is there, or without.
    Connecting {
        request: bool,
    },
    Sending,
    Waiting,
    Reading,
    /// The answer is there, the server is to close.
    Closing,
    Free,
}

impl State {
    fn stage(self) -> Stage {
        match self {
            State::Connecting { .. } => Stage::Connect,
            State::Sending => Stage::Send,
            State::Waiting => Stage::FirstByte,
            State::Reading => Stage::Body,
            State::Closing => Stage::Close,
            State::Closed | State::Free => Stage::Idle,
        }
    }

    fn is_resting(self) -> bool {
        matches!(self, State::Closed | State::Free)
    }
}

/// What comes after an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// Nothing, and every failure is told: no load is offered.
    Alone,
    /// Nothing: the load is over.
    Rest,
    /// The next request.
    Closed,
    /// Whatever the schedule says.
    Open,
}

/// What is counted while a load is measured.
#[derive(Default)]
struct Counts {
    started: u64,
    completed: u64,
    failed: u64,
    late: u64,
    connected: u64,
    sent_bytes: u64,
    received_bytes: u64,
    sends_blocked: u64,
    waits: u64,
    events: u64,
}

pub(super) struct Engine<C: Client> {
    client: C,
    settings: Settings,
    timer: Timer,
    set: Set,
    events: Vec<Event>,
    alarm: Option<Alarm>,
    /// When the alarm rings; 0 if it has rung, or was never set.
    alarm_ns: u64,
    /// When slow matters are looked at next.
    edge_ns: u64,
    slots: Vec<Slot<C::Session>>,
    /// The first places are those of connections that stay silent.
    silent: usize,
    /// Where an open loop may send, those that have been free for longest first.
    free: VecDeque<u32>,
    /// Places to start at later: a time and a place.
    later: BinaryHeap<Reverse<(u64, u32)>>,
    /// Before this nobody connects again after a failure.
    retry_ns: u64,
    connects_begun: usize,
    resting: usize,
    /// Requests of which a part did not fit into the socket.
    unsent: HashMap<u32, Vec<u8>>,
    buffer: Box<[u8]>,
    batch: Vec<u8>,
    scanned: usize,

    mode: Mode,
    measuring: bool,
    /// From when on requests of an open loop count, and until when answers do.
    from_ns: u64,
    until_ns: u64,
    /// Requests that may still be started.
    allowance: u64,
    starts: Option<std::iter::Peekable<Starts>>,
    begin_ns: u64,

    counts: Counts,
    failures: Failures,
    slices: Slices,
    service: Times,
    lag: Times,
    lateness: Times,
    connect: Times,
}

/// Bytes of one recv(2).
const BUFFER_BYTES: usize = 64 << 10;
/// One connection receives so often in a row at most, then others have their turn.
const RECEIVES_MAX: usize = 16;
/// An open loop looks for answers after so many starts in a row.
const STARTS_MAX: usize = 16;
/// Connections that are being made at once, so that no queue of a server overflows by our doing.
const CONNECTING_MAX: usize = 64;
/// How often slow matters are looked at.
const EDGE_NS: u64 = 10_000_000;
/// Places looked at each time for answers that are overdue.
const SCAN: usize = 1024;
/// A connection that never answered is tried again after this time,
const RETRY_NS: u64 = 100_000_000;
/// and no two of them closer together than this.
const RETRY_GAP_NS: u64 = 100_000;
/// Starts of a closed loop are spread over this time, or a twentieth of the load.
const SPREAD_NS: u64 = 100_000_000;
/// After the end, answers under way are waited for so long at most.
const DRAIN_NS: u64 = 2_000_000_000;
/// How often the user is told.
const PROGRESS_NS: u64 = 100_000_000;

const ALARM: usize = u32::MAX as usize - 1;
const NEVER: u64 = u64::MAX;

impl<C: Client> Engine<C> {
    pub(super) fn new(client: C, settings: Settings) -> Result<Engine<C>, Error> {
        settings.check()?;
        let mut set = Set::new().map_err(Error::at("open an event interface"))?;
        let alarm = Alarm::new().ok();
        if let Some(alarm) = &alarm {
            set.add(alarm.descriptor(), ALARM, Interest::Read).map_err(Error::at("wait for an alarm"))?;
        }
        Ok(Engine {
            client,
            settings,
            timer: Timer::start(),
            set,
            events: Vec::with_capacity(1024),
            alarm,
            alarm_ns: 0,
            edge_ns: 0,
            slots: Vec::new(),
            silent: 0,
            free: VecDeque::new(),
            later: BinaryHeap::new(),
            retry_ns: 0,
            connects_begun: 0,
            resting: 0,
            unsent: HashMap::new(),
            buffer: vec![0; BUFFER_BYTES].into_boxed_slice(),
            batch: Vec::new(),
            scanned: 0,
            mode: Mode::Alone,
            measuring: false,
            from_ns: 0,
            until_ns: 0,
            allowance: 0,
            starts: None,
            begin_ns: 0,
            counts: Counts::default(),
            failures: Failures::default(),
            slices: Slices::new()?,
            service: Times::new()?,
            lag: Times::new()?,
            lateness: Times::new()?,
            connect: Times::new()?,
        })
    }

    // ---- connections ----

    pub(super) fn connections(&self) -> usize {
        self.slots[self.silent..].iter().filter(|slot| slot.socket.is_some()).count()
    }

    /// Has this many places, and, where connections outlive a request, a connection at each.
    pub(super) fn grow_to(&mut self, connections: usize) -> Result<Grown, Error> {
        self.mode = Mode::Alone;
        self.starts = None;
        self.failures.take();
        self.connect.clear();
        let idle = self.settings.idle;
        if self.silent < idle && self.slots.len() == self.silent {
            self.open_places(idle)?;
            self.silent = self.slots.len();
        }
        let wanted = self.silent + connections;
        while self.slots.len() > wanted {
            let place = self.slots.len() - 1;
            self.close(place as u32);
            self.slots.pop();
            self.resting -= 1;
        }
        if self.settings.one_request_each() {
            while self.slots.len() < wanted {
                self.add_place();
            }
        } else {
            self.open_places(wanted)?;
        }
        Ok(Grown {
            connections: self.connections(),
            connect: self.connect.clone(),
            failures: self.failures.take(),
        })
    }

    fn add_place(&mut self) -> u32 {
        let session = self.client.session();
        self.slots.push(Slot {
            socket: None,
            state: State::Closed,
            session,
            intended_ns: 0,
            sent_ns: 0,
            free_ns: 0,
            awaited: 0,
            served: 0,
        });
        self.resting += 1;
        (self.slots.len() - 1) as u32
    }

    /// Connects at every place without a connection, at the rate that was asked for.
    fn open_places(&mut self, wanted: usize) -> Result<(), Error> {
        while self.slots.len() < wanted {
            self.add_place();
        }
        let begin_ns = self.timer.now_ns();
        let gap_ns = 1e9 / self.settings.connect_rate;
        let missing: Vec<u32> =
            (0..wanted as u32).filter(|&place| self.slots[place as usize].socket.is_none()).collect();
        let mut begun = 0;
        while begun < missing.len() || self.resting < self.slots.len() {
            let mut now = self.timer.now_ns();
            let due = |begun: usize| begin_ns + (begun as f64 * gap_ns) as u64;
            while begun < missing.len()
                && due(begun) <= now
                && self.slots.len() - self.resting < CONNECTING_MAX
            {
                self.begin_connect(missing[begun], now);
                begun += 1;
                now = self.timer.now_ns();
            }
            let next = if begun < missing.len() { due(begun).max(now) } else { NEVER };
            self.wait((now + EDGE_NS).min(next))?;
            self.scan(self.timer.now_ns());
        }
        Ok(())
    }

    /// Begins a connection that carries no request yet.
    fn begin_connect(&mut self, place: u32, now: u64) {
        self.leave_rest(place);
        let from = self.settings.sources.of(self.connects_begun);
        self.connects_begun += 1;
        let slot = &mut self.slots[place as usize];
        (slot.sent_ns, slot.served, slot.awaited) = (now, 0, 0);
        slot.session = self.client.session();
        slot.state = State::Connecting { request: false };
        match Connection::connect(self.settings.target, from, Waiting::NonBlocking) {
            Ok(socket) => {
                let added = self.set.add(socket.as_fd(), place as usize, Interest::Write);
                slot.socket = Some(socket);
                if let Err(error) = added {
                    self.fail(place, error.into(), now);
                }
            }
            Err(error) => self.fail(place, error.into(), now),
        }
    }

    fn leave_rest(&mut self, place: u32) {
        if self.slots[place as usize].state.is_resting() {
            self.resting -= 1;
        }
    }

    fn rest(&mut self, place: u32, state: State, now: u64) {
        let slot = &mut self.slots[place as usize];
        if !slot.state.is_resting() {
            self.resting += 1;
        }
        slot.state = state;
        slot.free_ns = now;
    }

    /// Closes, in whatever state the place is, and leaves it closed.
    fn close(&mut self, place: u32) {
        let reset = self.settings.reset;
        let slot = &mut self.slots[place as usize];
        if let Some(socket) = slot.socket.take() {
            if reset {
                let _ = socket.reset_on_close();
            }
            // The set forgets a descriptor that is closed, for nobody else has it.
            let _ = socket.close();
        }
        if matches!(slot.state, State::Sending | State::Connecting { .. }) {
            self.unsent.remove(&place);
        }
        let free_ns = slot.free_ns;
        self.rest(place, State::Closed, free_ns);
    }

    // ---- one request ----

    /// Sends the next request of a place, over a new connection if it has none.
    #[inline]
    fn start(&mut self, place: u32, intended_ns: u64, now: u64) {
        self.leave_rest(place);
        let slot = &mut self.slots[place as usize];
        slot.intended_ns = intended_ns;
        slot.sent_ns = now;
        if self.counted_at(intended_ns) {
            self.counts.started += u64::from(self.settings.pipeline);
            self.slices.started(u64::from(self.settings.pipeline));
        }
        if self.slots[place as usize].socket.is_some() {
            self.send(place, now);
        } else {
            self.connect_and_send(place, now);
        }
    }

    /// Whether a request that was meant to start then is counted, if it is still to come or under way.
    #[inline(always)]
    fn counted_at(&self, intended_ns: u64) -> bool {
        if self.starts.is_some() { intended_ns >= self.from_ns } else { self.measuring }
    }

    #[inline(never)]
    fn connect_and_send(&mut self, place: u32, now: u64) {
        let from = self.settings.sources.of(self.connects_begun);
        self.connects_begun += 1;
        let slot = &mut self.slots[place as usize];
        (slot.served, slot.state) = (0, State::Connecting { request: true });
        slot.session = self.client.session();
        let socket = match Connection::connect(self.settings.target, from, Waiting::NonBlocking) {
            Ok(socket) => socket,
            Err(error) => return self.fail(place, error.into(), now),
        };
        let slot = &mut self.slots[place as usize];
        if C::SERVER_BEGINS {
            let added = self.set.add(socket.as_fd(), place as usize, Interest::Read);
            slot.socket = Some(socket);
            self.client.request(&mut slot.session);
            (slot.awaited, slot.state) = (1, State::Waiting);
            if self.measuring {
                self.counts.connected += 1;
            }
            if let Err(error) = added {
                self.fail(place, error.into(), now);
            }
            return;
        }
        // On this machine the connection is there when connect(2) returns. Elsewhere the send finds no room.
        let connected_ns = self.timer.now_ns();
        slot.awaited = self.settings.pipeline;
        let bytes = requests(&self.client, &mut slot.session, &mut self.batch, self.settings.pipeline);
        let sent = match socket.send(bytes) {
            Ok(sent) => sent,
            Err(error) if error.kind() == ErrorKind::WouldBlock => 0,
            Err(error) => return self.fail(place, error.into(), now),
        };
        self.counts.sent_bytes += sent as u64;
        let whole = sent == bytes.len();
        if !whole {
            self.unsent.insert(place, bytes[sent..].to_vec());
        }
        let interest = if whole { Interest::Read } else { Interest::Write };
        let added = self.set.add(socket.as_fd(), place as usize, interest);
        slot.socket = Some(socket);
        if sent > 0 {
            slot.state = if whole { State::Waiting } else { State::Sending };
            self.connected(place, connected_ns);
        }
        if let Err(error) = added {
            self.fail(place, error.into(), now);
        }
    }

    fn connected(&mut self, place: u32, now: u64) {
        let slot = &self.slots[place as usize];
        if self.measuring || self.mode == Mode::Alone {
            self.connect.record(now.saturating_sub(slot.sent_ns));
            self.counts.connected += 1;
        }
        if !self.settings.one_request_each()
            && let Some(socket) = &slot.socket
        {
            // A request in two pieces would wait for the acknowledgement of the first.
            let _ = socket.send_at_once();
        }
    }

    /// Sends the next request, or several together.
    #[inline]
    fn send(&mut self, place: u32, now: u64) {
        let slot = &mut self.slots[place as usize];
        let Some(socket) = &slot.socket else { return };
        slot.awaited = self.settings.pipeline;
        let bytes = requests(&self.client, &mut slot.session, &mut self.batch, self.settings.pipeline);
        let sent = match socket.send(bytes) {
            Ok(sent) => sent,
            Err(error) if error.kind() == ErrorKind::WouldBlock => 0,
            Err(error) => {
                slot.state = State::Sending;
                return self.fail(place, error.into(), now);
            }
        };
        self.counts.sent_bytes += sent as u64;
        slot.state = State::Waiting;
        if sent < bytes.len() {
            self.counts.sends_blocked += 1;
            slot.state = State::Sending;
            self.unsent.insert(place, bytes[sent..].to_vec());
            let _ = self.set.change(socket.as_fd(), place as usize, Interest::Write);
        }
    }

    /// Sends what did not fit before.
    fn send_rest(&mut self, place: u32, now: u64) {
        let slot = &mut self.slots[place as usize];
        let (Some(socket), Some(rest)) = (&slot.socket, self.unsent.get_mut(&place)) else { return };
        match socket.send(rest) {
            Ok(sent) => {
                self.counts.sent_bytes += sent as u64;
                rest.drain(..sent);
                if rest.is_empty() {
                    self.unsent.remove(&place);
                    slot.state = State::Waiting;
                    if let Err(error) = self.set.change(socket.as_fd(), place as usize, Interest::Read) {
                        self.fail(place, error.into(), now);
                    }
                }
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => self.fail(place, error.into(), now),
        }
    }

    // ---- events ----

    /// Waits until something is ready or it is this time, and does what is to be done.
    ///
    /// The alarm is set when the time is another than before, which in a closed loop is a hundred times a second. A
    /// time given to the wait itself would have the kernel set a timer for every wait.
    #[inline]
    fn wait(&mut self, until_ns: u64) -> Result<(), Error> {
        let timeout = match &self.alarm {
            _ if until_ns == 0 => Some(Duration::ZERO),
            Some(_) if until_ns == self.alarm_ns => None,
            Some(alarm) => {
                let left = until_ns.saturating_sub(self.timer.now_ns());
                alarm.set(Duration::from_nanos(left)).map_err(Error::at("set an alarm"))?;
                self.alarm_ns = until_ns;
                None
            }
            None => Some(Duration::from_nanos(until_ns.saturating_sub(self.timer.now_ns()))),
        };
        self.set.wait(&mut self.events, timeout).map_err(Error::at("wait for events"))?;
        self.counts.waits += 1;
        self.counts.events += self.events.len() as u64;
        for index in 0..self.events.len() {
            let event = self.events[index];
            if event.token == ALARM {
                // It rings until it is set anew.
                self.alarm_ns = 0;
            } else {
                self.on_event(event);
            }
        }
        Ok(())
    }

    #[inline]
    fn on_event(&mut self, event: Event) {
        let place = event.token as u32;
        let Some(slot) = self.slots.get(event.token) else { return };
        match slot.state {
            State::Waiting | State::Reading | State::Closing | State::Free => self.receive(place),
            State::Connecting { request } => self.on_connected(place, request),
            State::Sending => self.send_rest(place, self.timer.now_ns()),
            // An event of a connection that an earlier one of the same wait has closed.
            State::Closed => {}
        }
    }

    fn on_connected(&mut self, place: u32, request: bool) {
        let now = self.timer.now_ns();
        let slot = &self.slots[place as usize];
        let Some(socket) = &slot.socket else { return };
        let done = socket.connected();
        let done = match request {
            true => done,
            false => done.and_then(|()| self.set.change(socket.as_fd(), place as usize, Interest::Read)),
        };
        match done {
            Err(error) => self.fail(place, error.into(), now),
            Ok(()) => {
                self.connected(place, now);
                if request {
                    self.slots[place as usize].state = State::Sending;
                    self.send_rest(place, now);
                } else {
                    self.rest(place, State::Free, now);
                }
            }
        }
    }

    #[inline]
    fn receive(&mut self, place: u32) {
        for _ in 0..RECEIVES_MAX {
            let slot = &self.slots[place as usize];
            let Some(socket) = &slot.socket else { return };
            match socket.receive(&mut self.buffer) {
                Ok(0) => {
                    let now = self.timer.now_ns();
                    return self.ended(place, now);
                }
                Ok(received) => {
                    let now = self.timer.now_ns();
                    self.counts.received_bytes += received as u64;
                    let waits_for_end = self.digest(place, received, now);
                    if !waits_for_end && received < BUFFER_BYTES {
                        return;
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) => {
                    let now = self.timer.now_ns();
                    return self.fail(place, error.into(), now);
                }
            }
        }
    }

    /// Takes what was received. True if the end of the connection is what comes next: it mostly lies right behind.
    #[inline]
    fn digest(&mut self, place: u32, received: usize, now: u64) -> bool {
        let mut at = 0;
        while at < received {
            let slot = &mut self.slots[place as usize];
            match self.client.feed(&mut slot.session, &self.buffer[at..received]) {
                Ok(Fed { answer: Answer::Partial, .. }) => {
                    slot.state = State::Reading;
                    return false;
                }
                Ok(fed) => {
                    at += fed.taken;
                    let last = fed.answer == Answer::Last;
                    self.answered(place, fed.wrong, now);
                    let slot = &mut self.slots[place as usize];
                    if last {
                        if at < received || slot.awaited > 0 {
                            self.fail(place, Cause::Wrong(Wrong::Unasked), now);
                            return false;
                        }
                        slot.state = State::Closing;
                        if self.settings.reset {
                            self.close(place);
                            self.next(place, now);
                        }
                        return !self.settings.reset;
                    }
                    if slot.awaited == 0 {
                        if at < received {
                            self.fail(place, Cause::Wrong(Wrong::Unasked), now);
                            return false;
                        }
                        self.next(place, now);
                        return false;
                    }
                }
                Err(wrong) => {
                    self.fail(place, Cause::Wrong(wrong), now);
                    return false;
                }
            }
        }
        false
    }

    /// The server has closed.
    fn ended(&mut self, place: u32, now: u64) {
        let slot = &mut self.slots[place as usize];
        match slot.state {
            State::Closing => {
                self.close(place);
                self.next(place, now);
            }
            State::Waiting | State::Reading => match self.client.end(&mut slot.session) {
                Ok(fed) => {
                    self.answered(place, fed.wrong, now);
                    self.close(place);
                    self.next(place, now);
                }
                Err(wrong) => self.fail(place, Cause::Wrong(wrong), now),
            },
            _ => self.fail(place, Cause::Wrong(Wrong::Short), now),
        }
    }

    /// One answer is complete.
    #[inline]
    fn answered(&mut self, place: u32, wrong: Option<Wrong>, now: u64) {
        let slot = &mut self.slots[place as usize];
        slot.awaited -= 1;
        slot.served += 1;
        let (intended_ns, sent_ns) = (slot.intended_ns, slot.sent_ns);
        let counted = self.counted_at(intended_ns);
        if let Some(wrong) = wrong
            && (counted || self.mode == Mode::Alone)
        {
            self.counts.failed += 1;
            return self.failures.count(Stage::Body, Cause::Wrong(wrong));
        }
        if !counted {
            return;
        }
        let latency_ns = now.saturating_sub(intended_ns);
        if now < self.until_ns {
            self.counts.completed += 1;
            self.slices.completed(latency_ns);
        } else if self.starts.is_some() {
            self.counts.late += 1;
            self.slices.late(latency_ns);
        }
        if self.starts.is_some() {
            self.service.record(now.saturating_sub(sent_ns));
        }
    }

    /// A place has its answers: what comes next there.
    #[inline]
    fn next(&mut self, place: u32, now: u64) {
        let slot = &self.slots[place as usize];
        let limit = self.settings.requests_per_connection;
        if slot.socket.is_some()
            && (self.settings.new_connections || limit.is_some_and(|limit| slot.served >= limit))
        {
            self.close(place);
        }
        match self.mode {
            Mode::Closed if self.settings.think.is_zero() => self.ask_again(place, now),
            Mode::Closed => {
                self.set_free(place, now);
                self.later.push(Reverse((now + self.settings.think.as_nanos() as u64, place)));
            }
            Mode::Open => {
                self.set_free(place, now);
                self.free.push_back(place);
            }
            Mode::Rest | Mode::Alone => self.set_free(place, now),
        }
    }

    fn set_free(&mut self, place: u32, now: u64) {
        let open = self.slots[place as usize].socket.is_some();
        self.rest(place, if open { State::Free } else { State::Closed }, now);
    }

    /// The next request of a closed loop, while any may be started.
    #[inline]
    fn ask_again(&mut self, place: u32, now: u64) {
        let together = u64::from(self.settings.pipeline);
        if self.allowance < together {
            return self.set_free(place, now);
        }
        self.allowance -= together;
        self.start(place, now, now);
    }

    /// Counts a failure, closes, and has the place go on later.
    #[cold]
    fn fail(&mut self, place: u32, cause: Cause, now: u64) {
        let slot = &mut self.slots[place as usize];
        let mut stage = slot.state.stage();
        if stage == Stage::FirstByte && slot.served == 0 && means_unconnected(cause) {
            stage = Stage::Connect;
        }
        let had_answered = slot.served > 0;
        let counted = self.counted_at(self.slots[place as usize].intended_ns);
        if counted || self.mode == Mode::Alone {
            self.failures.count(stage, cause);
        }
        // Whose answer is complete has been counted, and an idle connection had asked for nothing.
        if counted && !matches!(stage, Stage::Close | Stage::Idle) {
            self.counts.failed += u64::from(self.slots[place as usize].awaited.max(1));
        }
        self.slots[place as usize].awaited = 0;
        self.close(place);
        match (self.mode, stage) {
            // Its next request, if it has one, opens a connection.
            (_, Stage::Idle) | (Mode::Rest | Mode::Alone, _) => {}
            (Mode::Open, _) => self.free.push_back(place),
            (Mode::Closed, _) => {
                let due = if had_answered { now } else { (now + RETRY_NS).max(self.retry_ns + RETRY_GAP_NS) };
                if !had_answered {
                    self.retry_ns = due;
                }
                self.later.push(Reverse((due, place)));
            }
        }
    }

    // ---- a load ----

    pub(super) fn offer(&mut self, load: &Load, watched: &mut Watched<'_>) -> Result<Measured, Error> {
        load.check()?;
        if load.rate.is_some() && self.settings.pipeline > 1 {
            let text = "an open loop sends every request at its own time, so it cannot send several together";
            return Err(Error::Settings(text.to_owned()));
        }
        let mut failures = self.grow_to(load.connections)?.failures;
        let length_ns = load.expected_ns() / 40;
        self.forget();
        let mut before = Before::now();
        self.begin_ns = self.timer.now_ns();
        self.from_ns = self.begin_ns + load.warm_up.as_nanos() as u64;
        let end_ns = self.from_ns + load.duration.as_nanos() as u64;
        self.until_ns = end_ns;
        self.allowance = load.requests.unwrap_or(u64::MAX);
        self.measuring = load.warm_up.is_zero();
        self.slices.begin(self.from_ns, length_ns.clamp(EDGE_NS / 10, 1_000_000_000));
        self.prepare(load);

        let mut told_ns = self.begin_ns;
        let mut now = self.begin_ns;
        let mut stopped = false;
        loop {
            self.wait_for_next(now, end_ns)?;
            now = self.timer.now_ns();
            if !self.measuring && now >= self.from_ns {
                before.begin_cpu();
                self.counts = Counts::default();
                self.failures.take();
                self.measuring = true;
            }
            if self.measuring {
                self.slices.turn(now.min(end_ns - 1));
            }
            if now >= end_ns {
                break;
            }
            self.pace(now);
            self.scan(now);
            if self.is_exhausted() {
                break;
            }
            if now >= told_ns + PROGRESS_NS {
                told_ns = now;
                if !watched(&self.progress(now, end_ns)) {
                    stopped = true;
                    break;
                }
            }
        }
        let cpu_ns = sys::thread::cpu_ns().ok();
        let measured_until_ns = now.min(end_ns).max(self.from_ns + 1);
        let elapsed_seconds = (measured_until_ns - self.from_ns) as f64 / 1e9;
        let waits = (self.counts.waits, self.counts.events);
        let intended = self.intended(measured_until_ns);
        self.until_ns = measured_until_ns;
        self.drain(now, stopped)?;
        let watch = before.since(elapsed_seconds, cpu_ns);
        let slices = self.slices.finished(measured_until_ns);
        let counts = std::mem::take(&mut self.counts);
        failures.append(&mut self.failures.take());
        self.starts = None;
        Ok(Measured {
            connections: self.connections(),
            elapsed_seconds,
            intended,
            started: counts.started,
            completed: counts.completed,
            failed: counts.failed,
            late: counts.late,
            connected: counts.connected,
            sent_bytes: counts.sent_bytes,
            received_bytes: counts.received_bytes,
            service: self.service.clone(),
            lag: self.lag.clone(),
            lateness: self.lateness.clone(),
            connect: self.connect.clone(),
            slices,
            failures,
            watch: super::Watch {
                sends_blocked: counts.sends_blocked,
                waits: waits.0,
                events: waits.1,
                ..watch
            },
        })
    }

    /// Has the first requests wait for their time.
    fn prepare(&mut self, load: &Load) {
        self.later.clear();
        self.free.clear();
        let places = self.silent as u32..self.slots.len() as u32;
        match load.rate {
            None => {
                (self.mode, self.starts) = (Mode::Closed, None);
                // In random order, and not all at once.
                let mut order: Vec<u32> = places.collect();
                fastrand::Rng::with_seed(self.settings.seed).shuffle(&mut order);
                let spread_ns = SPREAD_NS.min(load.duration.as_nanos() as u64 / 20);
                let step = |index: usize| (spread_ns as f64 * index as f64 / order.len() as f64) as u64;
                for (index, &place) in order.iter().enumerate() {
                    self.later.push(Reverse((self.begin_ns + step(index), place)));
                }
            }
            Some(rate) => {
                let Settings { seed, worker, workers, .. } = self.settings;
                self.mode = Mode::Open;
                self.starts = Some(Starts::new(load.schedule, rate, seed, worker, workers).peekable());
                self.free.extend(places);
            }
        }
    }

    /// Forgets what was counted so far.
    fn forget(&mut self) {
        self.counts = Counts::default();
        self.failures.take();
        for times in [&mut self.service, &mut self.lag, &mut self.lateness, &mut self.connect] {
            times.clear();
        }
    }

    /// Waits for events, and no longer than until something is to be done.
    #[inline]
    fn wait_for_next(&mut self, now: u64, end_ns: u64) -> Result<(), Error> {
        let mut due = self.later.peek().map_or(NEVER, |Reverse((due, _))| *due);
        if let Some(starts) = &mut self.starts
            && (!self.free.is_empty() || self.slots.len() - self.silent < self.settings.connections_max)
            && let Some(start) = starts.peek()
        {
            due = due.min(self.begin_ns + start);
        }
        if due <= now {
            return self.wait(0);
        }
        let edge = if self.edge_ns > now { self.edge_ns } else { now + EDGE_NS };
        self.edge_ns = edge.min(end_ns);
        self.wait(due.min(self.edge_ns))
    }

    /// Starts what is due.
    #[inline]
    fn pace(&mut self, now: u64) {
        while let Some(&Reverse((due, place))) = self.later.peek() {
            if due > now {
                break;
            }
            self.later.pop();
            if self.mode == Mode::Closed && self.slots[place as usize].state.is_resting() {
                self.ask_again(place, self.timer.now_ns());
            }
        }
        if self.starts.is_some() {
            self.pace_open(now);
        }
    }

    fn pace_open(&mut self, mut now: u64) {
        for _ in 0..STARTS_MAX {
            let Some(start) = self.starts.as_mut().and_then(|starts| starts.peek().copied()) else { return };
            let intended_ns = self.begin_ns + start;
            if intended_ns > now || intended_ns >= self.until_ns || self.allowance == 0 {
                return;
            }
            let Some(place) = self.free_place() else { return };
            if let Some(starts) = &mut self.starts {
                starts.next();
            }
            self.allowance -= 1;
            if intended_ns >= self.from_ns {
                self.lag.record(now - intended_ns);
                let possible_ns = intended_ns.max(self.slots[place as usize].free_ns);
                self.lateness.record(now.saturating_sub(possible_ns));
            }
            self.start(place, intended_ns, now);
            now = self.timer.now_ns();
        }
    }

    /// The place that has been free for longest, or a new one.
    fn free_place(&mut self) -> Option<u32> {
        while let Some(place) = self.free.pop_front() {
            if self.slots[place as usize].state.is_resting() {
                return Some(place);
            }
        }
        (self.slots.len() - self.silent < self.settings.connections_max).then(|| self.add_place())
    }

    /// Whether all requests that may be started were, and have their answers.
    fn is_exhausted(&self) -> bool {
        self.allowance < u64::from(self.settings.pipeline)
            && self.slots.len() == self.resting
            && self.later.is_empty()
    }

    /// How many starts of an open loop lay in the time that was measured.
    fn intended(&self, until_ns: u64) -> Option<u64> {
        // From the present one on they were not started.
        let unstarted = self.starts.as_ref()?.clone().map(|start| self.begin_ns + start);
        let unstarted =
            unstarted.take_while(|&start| start < until_ns).filter(|&start| start >= self.from_ns);
        let unstarted = unstarted.count() as u64;
        Some(self.counts.started + unstarted.min(self.allowance))
    }

    /// Waits for answers under way, asks no more, and closes what has none by then.
    fn drain(&mut self, now: u64, stopped: bool) -> Result<(), Error> {
        let was_open = self.mode == Mode::Open;
        self.mode = Mode::Rest;
        self.later.clear();
        if !was_open {
            self.measuring = false;
        }
        let patience_ns = if stopped { 0 } else { DRAIN_NS.min(self.settings.timeout.as_nanos() as u64) };
        let deadline = now + patience_ns;
        let mut now = now;
        while self.resting < self.slots.len() && now < deadline {
            self.wait(deadline.min(now + EDGE_NS))?;
            now = self.timer.now_ns();
            self.scan(now);
        }
        for place in 0..self.slots.len() as u32 {
            if !self.slots[place as usize].state.is_resting() {
                self.close(place);
            }
        }
        self.measuring = false;
        Ok(())
    }

    /// Looks at some places for answers that are overdue.
    #[inline]
    fn scan(&mut self, now: u64) {
        let timeout_ns = self.settings.timeout.as_nanos() as u64;
        for _ in 0..SCAN.min(self.slots.len()) {
            self.scanned += 1;
            if self.scanned >= self.slots.len() {
                self.scanned = 0;
            }
            let slot = &self.slots[self.scanned];
            if !slot.state.is_resting() && now.saturating_sub(slot.sent_ns) > timeout_ns {
                self.fail(self.scanned as u32, Cause::Timeout, now);
            }
        }
    }

    fn progress(&self, now: u64, end_ns: u64) -> Progress {
        let span = (end_ns - self.begin_ns).max(1) as f64;
        Progress {
            share: (now - self.begin_ns) as f64 / span,
            warming_up: !self.measuring,
            seconds: now.saturating_sub(self.from_ns) as f64 / 1e9,
            completed: self.counts.completed,
            failed: self.counts.failed,
            busy: self.slots.len() - self.resting,
        }
    }

    // ---- one request alone ----

    /// One request on the connection of that number, and how long its answer took.
    pub(super) fn ask_once(&mut self, number: usize) -> Result<Duration, Error> {
        let place = self.silent + number;
        let refuse = |text: String| Err(Error::Settings(text));
        if place >= self.slots.len() {
            return refuse(format!("there is no connection {number}, of {}", self.slots.len() - self.silent));
        }
        self.mode = Mode::Alone;
        self.starts = None;
        self.failures.take();
        let begin_ns = self.timer.now_ns();
        self.start(place as u32, begin_ns, begin_ns);
        let served = |engine: &Engine<C>| engine.slots[place].state.is_resting();
        let mut now = begin_ns;
        while !served(self) {
            self.wait(now + EDGE_NS)?;
            now = self.timer.now_ns();
            self.scan(now);
        }
        match self.failures.take().as_slice() {
            [] => Ok(Duration::from_nanos(self.slots[place].free_ns.saturating_sub(begin_ns))),
            [Failure { stage, cause, .. }, ..] => {
                refuse(format!("a request to {} failed ({}: {cause})", self.settings.target, stage.name()))
            }
        }
    }
}

/// The next request of a connection, or several in one piece.
#[inline]
fn requests<'a, C: Client>(
    client: &'a C,
    session: &'a mut C::Session,
    batch: &'a mut Vec<u8>,
    together: u32,
) -> &'a [u8] {
    if together == 1 {
        return client.request(session);
    }
    batch.clear();
    for _ in 0..together {
        batch.extend_from_slice(client.request(session));
    }
    batch
}

/// Whether the error can only be that of a connection that was never made.
fn means_unconnected(cause: Cause) -> bool {
    let Cause::Errno(number) = cause else { return false };
    matches!(
        io::Error::from_raw_os_error(number).kind(),
        ErrorKind::ConnectionRefused
            | ErrorKind::HostUnreachable
            | ErrorKind::NetworkUnreachable
            | ErrorKind::TimedOut
    )
}
