//! The places for connections: their state, how they are opened, kept and closed, a request at one of them,
//! over the connection that is there or over a new one, and the counts over all.

use std::io::ErrorKind;

use sys::event::Interest;

use super::{CONNECTING_MAX, EDGE_NS, Engine, NEVER};
use crate::Error;
use crate::client::Client;
use crate::load::counts::RequestStage;
use crate::load::measured::RequestCounts;
use crate::network::{LoadNetwork, Socket};
use crate::output::Sender;

/// Attempts without a connection, after which growing is given up.
const HOPELESS: usize = 2 * CONNECTING_MAX;

impl<C: Client, N: LoadNetwork> Engine<C, N> {
    pub(super) fn add_place(&mut self) -> u32 {
        let session = self.client.session();
        self.slots.push(Slot {
            socket: None,
            state: State::Closed,
            session,
            intended_ns: 0,
            sent_ns: 0,
            free_ns: 0,
            counted: false,
            awaited: 0,
            served: 0,
        });
        self.vacant += 1;
        (self.slots.len() - 1) as u32
    }

    /// Connects at every place without a connection, at the requested rate.
    pub(super) fn open_places(&mut self, wanted: usize) -> Result<(), Error> {
        while self.slots.len() < wanted {
            self.add_place();
        }
        let begin_ns = self.network.now_ns();
        let gap_ns = 1e9 / (self.settings.connect_rate * self.network.streams() as f64);
        let missing: Vec<u32> =
            (0..wanted as u32).filter(|&place| self.slots[place as usize].socket.is_none()).collect();
        let mut begun = 0;
        let mut goes_on = true;
        while goes_on && begun < missing.len() || self.vacant < self.slots.len() {
            // A server that accepts no connection is not tried ten thousand times.
            let hopeless = begun >= HOPELESS && self.connect.count() == 0;
            goes_on = !hopeless && !sys::signal::stop_ordered();
            let mut now = self.network.now_ns();
            let due = |begun: usize| begin_ns + (begun as f64 * gap_ns) as u64;
            while goes_on
                && begun < missing.len()
                && due(begun) <= now
                && self.slots.len() - self.vacant < CONNECTING_MAX
            {
                self.begin_connect(missing[begun], now);
                begun += 1;
                now = self.network.now_ns();
            }
            let has_room = self.slots.len() - self.vacant < CONNECTING_MAX;
            let next = if goes_on && has_room && begun < missing.len() { due(begun) } else { NEVER };
            self.wait((now + EDGE_NS).min(next.max(now)))?;
            self.scan(self.network.now_ns());
        }
        Ok(())
    }

    /// Begins a connection that carries no request yet.
    fn begin_connect(&mut self, place: u32, now: u64) {
        self.leave_rest(place);
        let from = self.settings.sources.address(self.connects_begun);
        self.connects_begun += 1;
        let slot = &mut self.slots[place as usize];
        (slot.sent_ns, slot.served, slot.awaited, slot.counted) = (now, 0, 0, false);
        slot.session = self.client.session();
        slot.state = State::Connecting { request: false };
        match self.network.connect(&self.settings.target, from) {
            Ok(socket) => {
                let added = self.network.add(&socket, place as usize, Interest::Write);
                slot.socket = Some(socket);
                self.open += 1;
                if let Err(error) = added {
                    self.fail(place, error.into(), now);
                }
            }
            Err(error) => self.fail(place, error.into(), now),
        }
    }

    fn leave_rest(&mut self, place: u32) {
        if self.slots[place as usize].state.is_vacant() {
            self.vacant -= 1;
        }
    }

    pub(super) fn rest(&mut self, place: u32, state: State, now: u64) {
        let slot = &mut self.slots[place as usize];
        if !slot.state.is_vacant() {
            self.vacant += 1;
        }
        slot.state = state;
        slot.free_ns = now;
    }

    /// Closes, in whatever state the place is, and leaves it closed.
    pub(super) fn close(&mut self, place: u32) {
        let reset = self.settings.reset;
        let slot = &mut self.slots[place as usize];
        if let Some(socket) = slot.socket.take() {
            self.open -= 1;
            if reset {
                let _ = socket.reset_on_close();
            }
            self.network.forget(&socket, place as usize);
            let _ = socket.close();
        }
        if matches!(slot.state, State::Sending | State::Connecting { .. }) {
            self.unsent.remove(&place);
        }
        let free_ns = slot.free_ns;
        self.rest(place, State::Closed, free_ns);
    }

    /// Sends the next request of a place, or several together, over a new connection if it has none.
    #[inline]
    pub(super) fn start(&mut self, place: u32, together: u32, intended_ns: u64, now: u64) {
        self.leave_rest(place);
        let counted = self.counted_at(intended_ns);
        let slot = &mut self.slots[place as usize];
        slot.intended_ns = intended_ns;
        slot.sent_ns = now;
        (slot.awaited, slot.counted) = (together, counted);
        if counted {
            self.counts.requests.started += u64::from(together);
            self.slices.started(u64::from(together));
        }
        if self.slots[place as usize].socket.is_some() {
            self.send(place, now);
        } else {
            self.connect_and_send(place, now);
        }
    }

    /// Whether a request that was meant to start then is counted.
    #[inline(always)]
    fn counted_at(&self, intended_ns: u64) -> bool {
        if self.starts.is_some() { intended_ns >= self.from_ns } else { self.measuring }
    }

    #[inline(never)]
    fn connect_and_send(&mut self, place: u32, now: u64) {
        let from = self.settings.sources.address(self.connects_begun);
        self.connects_begun += 1;
        let slot = &mut self.slots[place as usize];
        (slot.served, slot.state) = (0, State::Connecting { request: true });
        slot.session = self.client.session();
        let socket = match self.network.connect(&self.settings.target, from) {
            Ok(socket) => socket,
            Err(error) => return self.fail(place, error.into(), now),
        };
        let slot = &mut self.slots[place as usize];
        if C::SERVER_BEGINS {
            let added = self.network.add(&socket, place as usize, Interest::Read);
            slot.socket = Some(socket);
            self.open += 1;
            self.client.request(&mut slot.session);
            slot.state = State::Waiting;
            if let Err(error) = added {
                self.fail(place, error.into(), now);
            }
            return;
        }
        // On this machine the connection is there when connect(2) returns. Elsewhere the send finds no room.
        let connected_ns = self.network.now_ns();
        let bytes = requests(&self.client, &mut slot.session, &mut self.batch, slot.awaited);
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
        let added = self.network.add(&socket, place as usize, interest);
        slot.socket = Some(socket);
        self.open += 1;
        if sent > 0 {
            slot.state = if whole { State::Waiting } else { State::Sending };
            self.connected(place, connected_ns);
        }
        if let Err(error) = added {
            self.fail(place, error.into(), now);
        }
    }

    pub(super) fn connected(&mut self, place: u32, now: u64) {
        let slot = &self.slots[place as usize];
        let is_opener = slot.socket.as_ref().is_none_or(Socket::is_opener);
        if is_opener && (self.measuring || self.mode == Mode::Alone) {
            self.connect.record(now.saturating_sub(slot.sent_ns));
            self.counts.connected += 1;
        }
        if !self.one_request_each
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
        let bytes = requests(&self.client, &mut slot.session, &mut self.batch, slot.awaited);
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
            let _ = self.network.change(socket, place as usize, Interest::Write);
        }
    }

    /// Sends the bytes that did not fit before.
    pub(super) fn send_rest(&mut self, place: u32, now: u64) {
        let slot = &mut self.slots[place as usize];
        let (Some(socket), Some(rest)) = (&slot.socket, self.unsent.get_mut(&place)) else { return };
        match socket.send(rest) {
            Ok(sent) => {
                self.counts.sent_bytes += sent as u64;
                rest.drain(..sent);
                if rest.is_empty() {
                    self.unsent.remove(&place);
                    slot.state = State::Waiting;
                    if let Err(error) = self.network.change(socket, place as usize, Interest::Read) {
                        self.fail(place, error.into(), now);
                    }
                }
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => self.fail(place, error.into(), now),
        }
    }
}

pub(super) struct Slot<K, S> {
    pub(super) socket: Option<K>,
    pub(super) state: State,
    pub(super) session: S,
    /// When the request was meant to start.
    pub(super) intended_ns: u64,
    /// When it was sent, or its connection begun.
    pub(super) sent_ns: u64,
    /// Since when the place has been free.
    pub(super) free_ns: u64,
    /// Whether the requests whose responses are awaited are among those that were counted as started.
    pub(super) counted: bool,
    /// Responses that have still to come.
    pub(super) awaited: u32,
    /// Responses that have come on this connection.
    pub(super) served: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Closed,
    /// With a request to be sent once the connection is there, or without.
    Connecting {
        request: bool,
    },
    Sending,
    Waiting,
    Reading,
    /// The response is there, the server is to close.
    Closing,
    Free,
}

impl State {
    pub(super) fn stage(self) -> RequestStage {
        match self {
            State::Connecting { .. } => RequestStage::Connect,
            State::Sending => RequestStage::Send,
            State::Waiting => RequestStage::FirstByte,
            State::Reading => RequestStage::Body,
            State::Closing => RequestStage::Close,
            State::Closed | State::Free => RequestStage::Idle,
        }
    }

    pub(super) fn is_vacant(self) -> bool {
        matches!(self, State::Closed | State::Free)
    }
}

/// The step after a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// Nothing, and every failure is reported: no load is offered.
    Alone,
    /// Nothing: the load is over.
    Rest,
    /// The next request.
    Closed,
    /// The next request of the schedule.
    Open,
}

/// The counts of a load that is measured.
#[derive(Default)]
pub(super) struct Counts {
    pub(super) requests: RequestCounts,
    pub(super) connected: u64,
    pub(super) sent_bytes: u64,
    pub(super) received_bytes: u64,
    pub(super) sends_blocked: u64,
    pub(super) waits: u64,
    pub(super) events: u64,
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
