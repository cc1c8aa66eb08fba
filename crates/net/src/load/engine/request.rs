//! One request: over a connection that is there, or over a new one.

use std::io::ErrorKind;

use sys::event::Interest;

use super::Engine;
use super::places::{Mode, State};
use crate::client::Client;
use crate::network::{LoadNetwork, Socket};
use crate::output::Sender;

impl<C: Client, N: LoadNetwork> Engine<C, N> {
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
    pub(super) fn connect_and_send(&mut self, place: u32, now: u64) {
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
    pub(super) fn send(&mut self, place: u32, now: u64) {
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
