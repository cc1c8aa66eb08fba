//! The loop of the load generator: one thread, one set of events, every client by the same steps.
//!
//! A response costs one recv(2), the next request one send(2), and both share an epoll_wait(2) with all
//! connections that were ready; nothing is allocated, and no memory of another thread is written. Connections
//! are added to the set once, with level-triggered reading, and a short read is the end of the waiting bytes.
//!
//! The clock is read once for every piece received. That reading ends the response, and in a closed loop
//! begins the next request, so a latency holds the recv, the send, and the time for which a response lay
//! ready while the loop was busy with others; resolution is that of the clock, some 20 ns.
//!
//! It never sleeps before it reads: that would save wake-ups, and be added to every latency. io_uring saves
//! nothing more than TCP itself costs.

mod drive;
mod offer;
mod places;
#[cfg(test)]
mod tests;

pub(crate) use self::drive::Drive;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::io::{self, ErrorKind};

use sys::event::{Event, Interest};

use self::places::{Counts, Mode, Slot, State};
use super::Starts;
use super::counts::{Cause, Failures, RequestStage, Times};
use super::measured::{Mark, Slices, Statuses};
use super::plan::LoadSettings;
use crate::Error;
use crate::client::{Client, Received, ResponseError, ResponseState};
use crate::network::{ALARM, Connected, LoadNetwork, Socket, TlsFault};

pub(crate) struct Engine<C: Client, N: LoadNetwork> {
    client: C,
    settings: LoadSettings,
    /// Whether no connection outlives its request.
    one_request_each: bool,
    network: N,
    events: Vec<Event>,
    /// When timeouts are checked next.
    edge_ns: u64,
    slots: Vec<Slot<N::Socket, C::Session>>,
    /// The first places are those of connections that stay silent.
    silent: usize,
    /// Where an open loop may send, those that have been free for longest first.
    free: VecDeque<u32>,
    /// Places to start at later: a time and a place.
    later: BinaryHeap<Reverse<(u64, u32)>>,
    /// No place connects again after a failure before this time.
    retry_ns: u64,
    connects_begun: usize,
    /// Sockets that are open.
    open: usize,
    vacant: usize,
    /// Requests that did not fit into the socket as a whole.
    unsent: HashMap<u32, Vec<u8>>,
    buffer: Box<[u8]>,
    batch: Vec<u8>,
    scanned: usize,
    /// When places are checked next.
    scan_ns: u64,

    mode: Mode,
    measuring: bool,
    /// From when on requests of an open loop count, and until when responses do.
    from_ns: u64,
    until_ns: u64,
    /// Requests that may still be started.
    allowance: u64,
    starts: Option<std::iter::Peekable<Starts>>,
    /// Their number in a second.
    rate: f64,
    begin_ns: u64,

    counts: Counts,
    failures: Failures,
    statuses: Statuses,
    slices: Slices,
    /// The watcher, if there is one.
    look: Option<Look>,
    service: Times,
    lag: Times,
    lateness: Times,
    connect: Times,
    handshake: Times,
}

/// When the latencies of the last second are reported next, and which were before.
#[derive(Default)]
struct Look {
    due_ns: u64,
    mark: Mark,
}

/// Bytes of one recv(2).
const BUFFER_BYTES: usize = 64 << 10;
/// One connection receives so often in a row at most, then others have their turn.
const RECEIVES_MAX: usize = 16;
/// Starts of an open loop in a row, after which it checks for responses.
const STARTS_MAX: usize = 16;
/// Connections that are being made at once, so that this client does not overflow the queue of a server.
const CONNECTING_MAX: usize = 64;
/// How often timeouts are checked.
const EDGE_NS: u64 = 10_000_000;
/// Places checked each time for overdue responses, or a sixteenth of all.
const SCAN: usize = 1024;
/// A connection that never answered is tried again after this time,
const RETRY_NS: u64 = 100_000_000;
/// and no two of them closer together than this.
const RETRY_GAP_NS: u64 = 100_000;
/// Starts of a closed loop are spread over this time, or a twentieth of the load.
const SPREAD_NS: u64 = 100_000_000;
/// After the end, the longest wait for responses under way.
const DRAIN_NS: u64 = 2_000_000_000;
/// The time for a server to close where it announced that. Then this side closes, as RFC 9112, section 9.6,
/// requires anyway: it waits so that the port stays in TIME_WAIT at the server.
const CLOSE_NS: u64 = 100_000_000;
/// How often progress is reported.
const PROGRESS_NS: u64 = 100_000_000;
/// How often it holds latencies.
const LOOK_NS: u64 = 1_000_000_000;

const NEVER: u64 = u64::MAX;

impl<C: Client, N: LoadNetwork> Engine<C, N> {
    pub(crate) fn new(client: C, settings: LoadSettings, network: N) -> Result<Engine<C, N>, Error> {
        settings.check()?;
        let one_request_each = settings.one_request_each();
        let empty = Times::new()?;
        Ok(Engine {
            client,
            settings,
            one_request_each,
            network,
            events: Vec::with_capacity(1024),
            edge_ns: 0,
            slots: Vec::new(),
            silent: 0,
            free: VecDeque::new(),
            later: BinaryHeap::new(),
            retry_ns: 0,
            connects_begun: 0,
            open: 0,
            vacant: 0,
            unsent: HashMap::new(),
            buffer: vec![0; BUFFER_BYTES].into_boxed_slice(),
            batch: Vec::new(),
            scanned: 0,
            scan_ns: 0,
            mode: Mode::Alone,
            measuring: false,
            from_ns: 0,
            until_ns: 0,
            allowance: 0,
            starts: None,
            rate: 0.0,
            begin_ns: 0,
            counts: Counts::default(),
            failures: Failures::default(),
            statuses: Statuses::new(),
            slices: Slices::new(&empty),
            look: None,
            service: empty.clone(),
            lag: empty.clone(),
            lateness: empty.clone(),
            connect: empty.clone(),
            handshake: empty,
        })
    }

    /// Waits until something is ready or it is this time, and handles it.
    #[inline]
    fn wait(&mut self, until_ns: u64) -> Result<(), Error> {
        self.network.wait(&mut self.events, until_ns)?;
        self.counts.waits += 1;
        self.counts.events += self.events.len() as u64;
        for index in 0..self.events.len() {
            let event = self.events[index];
            if event.token == ALARM {
                self.network.rang();
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
            State::Sending => self.send_rest(place, self.network.now_ns()),
            // An event of a connection that an earlier one of the same wait has closed.
            State::Closed => {}
        }
    }

    fn on_connected(&mut self, place: u32, request: bool) {
        let now = self.network.now_ns();
        let slot = &self.slots[place as usize];
        let Some(socket) = &slot.socket else { return };
        let done = socket.connected(now);
        let waits_for = match &done {
            Ok(Connected::NotYet(interest)) => Some(*interest),
            Ok(Connected::Yes { .. }) if !request => Some(Interest::Read),
            // A handshake may have ended with the client waiting for something to read.
            Ok(Connected::Yes { .. }) if N::HAS_HANDSHAKE => Some(Interest::Write),
            _ => None,
        };
        let changed = waits_for.map(|interest| self.network.change(socket, place as usize, interest));
        match changed.unwrap_or(Ok(())).and(done) {
            Err(error) => self.fail(place, error.into(), now),
            Ok(Connected::NotYet(_)) => {}
            Ok(Connected::Yes { handshake_from_ns }) => self.on_ready(place, request, now, handshake_from_ns),
        }
    }

    /// Requests can be sent from here on.
    fn on_ready(&mut self, place: u32, request: bool, now: u64, handshake_from_ns: Option<u64>) {
        // The last step of a handshake takes a time that belongs to it.
        let now = if N::HAS_HANDSHAKE { self.network.now_ns() } else { now };
        self.connected(place, now);
        if let Some(from_ns) = handshake_from_ns
            && (self.measuring || self.mode == Mode::Alone)
        {
            self.handshake.record(now.saturating_sub(from_ns));
        }
        if request {
            self.slots[place as usize].state = State::Sending;
            self.send_rest(place, now);
        } else {
            self.rest(place, State::Free, now);
        }
    }

    #[inline]
    fn receive(&mut self, place: u32) {
        for _ in 0..RECEIVES_MAX {
            let slot = &self.slots[place as usize];
            let Some(socket) = &slot.socket else { return };
            match socket.receive(&mut self.buffer) {
                Ok(0) => {
                    let now = self.network.now_ns();
                    return self.ended(place, now);
                }
                Ok(received) => {
                    let now = self.network.now_ns();
                    self.counts.received_bytes += received as u64;
                    let waits_for_end = self.digest(place, received, now);
                    if !waits_for_end && received < BUFFER_BYTES {
                        return;
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) => return self.on_receive_error(place, error),
            }
        }
    }

    #[cold]
    fn on_receive_error(&mut self, place: u32, error: io::Error) {
        let now = self.network.now_ns();
        let is_done = matches!(self.slots[place as usize].state, State::Closing | State::Free);
        match TlsFault::in_error(&error) {
            // Many servers omit `close_notify`, and nothing is missing (RFC 9112, section 9.8).
            Some(TlsFault::Truncated) if is_done => self.ended(place, now),
            _ => self.fail(place, error.into(), now),
        }
    }

    /// Handles received bytes. True if the end of the connection comes next: it mostly lies right behind.
    #[inline]
    fn digest(&mut self, place: u32, received: usize, now: u64) -> bool {
        let mut at = 0;
        while at < received {
            let slot = &mut self.slots[place as usize];
            match self.client.on_input(&mut slot.session, &self.buffer[at..received]) {
                Ok(Received { state: ResponseState::Partial, .. }) => {
                    slot.state = State::Reading;
                    return false;
                }
                Ok(parsed) => {
                    at += parsed.taken;
                    let last = parsed.state == ResponseState::Last;
                    if at < received && (last || slot.awaited == 1) {
                        // Bytes behind the last response that was requested: it is a wrong one.
                        slot.state = State::Reading;
                        slot.served += 1;
                        let wrong = parsed.error.unwrap_or(ResponseError::Unasked);
                        self.fail(place, Cause::ResponseError(wrong), now);
                        return false;
                    }
                    self.answered(place, parsed, now);
                    let slot = &mut self.slots[place as usize];
                    if last {
                        if slot.awaited > 0 {
                            self.fail(place, Cause::ResponseError(ResponseError::Short), now);
                            return false;
                        }
                        (slot.state, slot.free_ns) = (State::Closing, now);
                        if self.settings.reset {
                            self.close(place);
                            self.next(place, now);
                        }
                        return !self.settings.reset;
                    }
                    if slot.awaited == 0 {
                        self.next(place, now);
                        return false;
                    }
                }
                Err(wrong) => {
                    self.fail(place, Cause::ResponseError(wrong), now);
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
                Ok(parsed) => {
                    self.answered(place, parsed, now);
                    if self.slots[place as usize].awaited > 0 {
                        return self.fail(place, Cause::ResponseError(ResponseError::Short), now);
                    }
                    self.close(place);
                    self.next(place, now);
                }
                Err(wrong) => {
                    self.counts.connected += u64::from(C::SERVER_BEGINS && self.measuring);
                    self.fail(place, Cause::ResponseError(wrong), now);
                }
            },
            _ => self.fail(place, Cause::ResponseError(ResponseError::Short), now),
        }
    }

    /// One response is complete.
    #[inline]
    fn answered(&mut self, place: u32, parsed: Received, now: u64) {
        let slot = &mut self.slots[place as usize];
        slot.awaited -= 1;
        slot.served += 1;
        // Where the server speaks first, this is the first sign of the connection.
        self.counts.connected += u64::from(C::SERVER_BEGINS && self.measuring);
        let (intended_ns, sent_ns, counted) = (slot.intended_ns, slot.sent_ns, slot.counted);
        if counted {
            self.statuses.count(parsed.status);
        }
        if let Some(wrong) = parsed.error
            && (counted || self.mode == Mode::Alone)
        {
            self.counts.requests.failed += 1;
            return self.failures.count(RequestStage::Body, Cause::ResponseError(wrong));
        }
        if !counted {
            return;
        }
        let latency_ns = now.saturating_sub(intended_ns);
        if now < self.until_ns {
            self.counts.requests.completed += 1;
            self.slices.completed(latency_ns);
        } else {
            self.counts.requests.late += 1;
        }
        if self.starts.is_some() {
            if now >= self.until_ns {
                self.slices.late(latency_ns);
            }
            self.service.record(now.saturating_sub(sent_ns));
        }
    }

    /// A place has its responses: its next step.
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
            Mode::Closed if now >= self.until_ns => self.set_free(place, now),
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
        let together = self.together(place);
        if together == 0 {
            return self.set_free(place, now);
        }
        self.allowance -= u64::from(together);
        self.start(place, together, now, now);
    }

    /// Requests that this place may send together: the last ones of a load or of a connection may be fewer.
    #[inline]
    fn together(&self, place: u32) -> u32 {
        let left = u32::try_from(self.allowance).unwrap_or(u32::MAX).min(self.settings.pipeline);
        let slot = &self.slots[place as usize];
        let served = if slot.socket.is_some() { slot.served } else { 0 };
        let limit = self.settings.requests_per_connection;
        limit.map_or(left, |limit| left.min(limit.saturating_sub(served)))
    }

    /// Counts a failure, closes, and lets the place go on later.
    #[cold]
    fn fail(&mut self, place: u32, cause: Cause, now: u64) {
        let slot = &mut self.slots[place as usize];
        let mut stage = slot.state.stage();
        if stage == RequestStage::FirstByte && slot.served == 0 && means_unconnected(cause) {
            stage = RequestStage::Connect;
        }
        let had_answered = slot.served > 0;
        let counted = match stage {
            // It may have no request yet, or never one.
            RequestStage::Idle => self.measuring,
            _ => slot.counted,
        };
        if counted || self.mode == Mode::Alone {
            self.failures.count(stage, cause);
        }
        // None is awaited where the response is complete, nor on an idle connection.
        if slot.counted {
            self.counts.requests.failed += u64::from(slot.awaited);
            self.counts.requests.timed_out +=
                if cause == Cause::Timeout { u64::from(slot.awaited) } else { 0 };
        }
        slot.awaited = 0;
        self.close(place);
        if stage != RequestStage::Idle {
            // Until now it could not send: an open loop that waited for it was not late.
            self.slots[place as usize].free_ns = now;
        }
        match (self.mode, stage) {
            // Its next request, if it has one, opens a connection.
            (_, RequestStage::Idle) | (Mode::Rest | Mode::Alone, _) => {}
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
