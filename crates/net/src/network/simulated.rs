//! A load network in simulated time, for tests: connections to a server that the test provides, as events
//! that arrive at known times. Where the network is not calm, a seed decides which connections are made, and
//! when the generator has no processor. A failing seed is printed; `OSDYNO_SEED=N` runs it alone,
//! `OSDYNO_SEEDS=N` that many.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io::{self, ErrorKind, IoSlice, Read};
use std::net::SocketAddr;
use std::rc::Rc;

use sys::event::{Event, Interest};

use super::{Connected, LoadNetwork, Socket, SocketSet};
use crate::output::Sender;
use crate::{Error, ServerAddress};

pub(crate) const MS: u64 = 1_000_000;
/// The longest time for which the generator has no processor.
const PREEMPTED_MAX_NS: u64 = 30 * MS;
/// A response that has arrived is read within this time, however often the generator is preempted.
pub(crate) const READ_MAX_NS: u64 = 200 * MS;

/// An arrival at the client's end of a connection.
pub(crate) enum Arrival {
    Connected,
    Refused,
    /// With the mark of the right response that is complete with these bytes.
    Bytes(Vec<u8>, Option<u32>),
    End,
    Reset,
}

/// Bytes that pass in one direction.
pub(crate) enum Passing {
    Bytes(usize),
    /// None before the next wait.
    Blocked,
    /// The connection ends here.
    End,
}

/// The servers of all connections; a connection is known by its number.
pub(crate) trait Server {
    fn accept(&mut self, link: usize);

    /// Passes some of the bytes that the client sends.
    fn to_server(&mut self, wire: &mut Wire, link: usize, bytes: usize) -> Passing;

    /// Handles bytes that have passed.
    fn serve(&mut self, wire: &mut Wire, link: usize, bytes: &[u8]);

    /// Passes some of the bytes that have arrived.
    fn to_client(&mut self, _link: usize, bytes: usize) -> Passing {
        Passing::Bytes(bytes)
    }

    /// The client has read all that arrived, and with it the right responses of these marks.
    fn on_read(&mut self, link: usize, good: &[u32]);

    fn on_wait(&mut self) {}

    /// The client has closed the connection.
    fn on_close(&mut self, _wire: &mut Wire, _link: usize) {}
}

/// The client's end of a connection.
#[derive(Default)]
struct Link {
    is_connected: bool,
    is_refused: bool,
    is_reset: bool,
    has_ended: bool,
    is_closed: bool,
    inbox: VecDeque<u8>,
    /// The marks of right responses in the inbox, and their arrivals.
    good: Vec<(u32, u64)>,
    /// Whether a right response or the end arrived after the last request.
    is_settled: bool,
    waited: Option<(usize, Interest)>,
    /// Arrivals at one connection keep their order.
    last_ns: u64,
}

/// The connections, and all bytes in flight.
pub(crate) struct Wire {
    pub(crate) now_ns: u64,
    pub(crate) random: fastrand::Rng,
    is_calm: bool,
    /// Whether wake-ups are lost: a fault that a test must find.
    pub(crate) loses_wakeups: bool,
    links: Vec<Link>,
    arrivals: BTreeMap<(u64, u64), (usize, Arrival)>,
    number: u64,
    /// Events that must never happen.
    pub(crate) faults: Vec<String>,
}

impl Wire {
    /// Whether an event of this rarity happens now; never where all is calm.
    pub(crate) fn happens(&mut self, once_in: u32) -> bool {
        !self.is_calm && self.random.u32(..once_in) == 0
    }

    pub(crate) fn connections(&self) -> usize {
        self.links.len()
    }

    /// An arrival after a delay, behind all earlier ones of the connection.
    pub(crate) fn send_back(&mut self, link: usize, delay_ns: u64, arrival: Arrival) {
        let at = (self.now_ns + delay_ns).max(self.links[link].last_ns);
        self.links[link].last_ns = at;
        self.send_anyhow(link, at, arrival);
    }

    /// An arrival at a time, independent of others.
    pub(crate) fn send_anyhow(&mut self, link: usize, at_ns: u64, arrival: Arrival) {
        self.number += 1;
        self.arrivals.insert((at_ns, self.number), (link, arrival));
    }

    /// A request has arrived that needs a response.
    pub(crate) fn begin_request(&mut self, link: usize) {
        self.links[link].is_settled = false;
    }

    /// Whether a right response or the end has arrived since the last request.
    pub(crate) fn is_settled(&self, link: usize) -> bool {
        self.links[link].is_settled
    }

    fn connect(&mut self) -> io::Result<usize> {
        let number = self.links.len();
        self.links.push(Link { is_connected: self.is_calm, ..Link::default() });
        if self.is_calm {
            return Ok(number);
        }
        let delay_ns = self.random.u64(..2 * MS);
        match self.random.u32(..20) {
            0 => self.send_back(number, delay_ns, Arrival::Refused),
            1 => return Err(ErrorKind::ConnectionRefused.into()),
            2..10 => self.links[number].is_connected = true,
            _ => self.send_back(number, delay_ns, Arrival::Connected),
        }
        Ok(number)
    }

    fn deliver(&mut self) {
        while let Some(entry) = self.arrivals.first_entry()
            && entry.key().0 <= self.now_ns
        {
            let (number, arrival) = entry.remove();
            let link = &mut self.links[number];
            match arrival {
                Arrival::Connected => link.is_connected = true,
                Arrival::Refused => link.is_refused = true,
                Arrival::Bytes(bytes, good) => {
                    link.inbox.extend(bytes);
                    link.is_settled |= good.is_some();
                    link.good.extend(good.map(|mark| (mark, self.now_ns)));
                }
                Arrival::End => (link.has_ended, link.is_settled) = (true, true),
                Arrival::Reset => (link.is_reset, link.is_settled) = (true, true),
            }
        }
    }

    fn ready(&mut self, events: &mut Vec<Event>) {
        for link in self.links.iter().filter(|link| !link.is_closed) {
            let Some((token, interest)) = link.waited else { continue };
            let readable = !link.inbox.is_empty() || link.has_ended || link.is_reset || link.is_refused;
            let writable = link.is_connected || link.is_refused;
            let is_ready = match interest {
                Interest::Write => writable,
                Interest::Read => readable,
                Interest::Both => readable || writable,
                Interest::Nothing => false,
            };
            if is_ready {
                events.push(Event { token, readable, writable });
            }
        }
        self.random.shuffle(events);
    }

    fn wait(&mut self, events: &mut Vec<Event>, until_ns: u64) {
        events.clear();
        loop {
            self.deliver();
            self.ready(events);
            if !events.is_empty() || self.now_ns >= until_ns {
                break;
            }
            let next_ns = self.arrivals.first_key_value().map_or(u64::MAX, |(key, _)| key.0);
            self.now_ns = next_ns.min(until_ns);
        }
        if self.happens(50) {
            self.now_ns += self.random.u64(..PREEMPTED_MAX_NS);
        }
        if self.loses_wakeups && self.random.u32(..20) == 0 {
            // Like an edge that was consumed and not handled: this connection is never reported again.
            for event in events.drain(..) {
                let is_lost = |link: &&mut Link| {
                    !link.is_closed && link.waited.is_some_and(|(token, _)| token == event.token)
                };
                if let Some(link) = self.links.iter_mut().find(is_lost) {
                    link.waited = None;
                }
            }
        }
    }

    fn close(&mut self, number: usize) {
        let link = &mut self.links[number];
        link.is_closed = true;
        if link.good.iter().any(|&(_, at)| self.now_ns - at > READ_MAX_NS) {
            self.faults.push(format!("connection {number}: a response was there and never read"));
        }
    }
}

/// The wire and the servers behind it.
pub(crate) struct World<S> {
    pub(crate) wire: Wire,
    pub(crate) server: S,
}

impl<S> World<S> {
    pub(crate) fn new(random: fastrand::Rng, is_calm: bool, server: S) -> World<S> {
        let wire = Wire {
            now_ns: 0,
            random,
            is_calm,
            loses_wakeups: false,
            links: Vec::new(),
            arrivals: BTreeMap::new(),
            number: 0,
            faults: Vec::new(),
        };
        World { wire, server }
    }
}

/// The network of a generator in such a world.
pub(crate) struct Simulated<S>(pub(crate) Rc<RefCell<World<S>>>);

pub(crate) struct SimulatedSocket<S> {
    world: Rc<RefCell<World<S>>>,
    number: usize,
}

impl<S: Server> SocketSet for Simulated<S> {
    type Socket = SimulatedSocket<S>;

    fn add(&mut self, socket: &SimulatedSocket<S>, token: usize, interest: Interest) -> io::Result<()> {
        self.0.borrow_mut().wire.links[socket.number].waited = Some((token, interest));
        Ok(())
    }

    fn change(&mut self, socket: &SimulatedSocket<S>, token: usize, interest: Interest) -> io::Result<()> {
        self.add(socket, token, interest)
    }
}

impl<S: Server> LoadNetwork for Simulated<S> {
    fn now_ns(&self) -> u64 {
        let wire = &mut self.0.borrow_mut().wire;
        wire.now_ns += 50;
        wire.now_ns
    }

    fn connect(&mut self, _to: &ServerAddress, _from: Option<SocketAddr>) -> io::Result<SimulatedSocket<S>> {
        let mut world = self.0.borrow_mut();
        let connected = world.wire.connect();
        let number = world.wire.connections() - 1;
        world.server.accept(number);
        connected?;
        Ok(SimulatedSocket { world: Rc::clone(&self.0), number })
    }

    fn wait(&mut self, events: &mut Vec<Event>, until_ns: u64) -> Result<(), Error> {
        let mut world = self.0.borrow_mut();
        world.server.on_wait();
        world.wire.wait(events, until_ns);
        Ok(())
    }

    fn rang(&mut self) {}
}

impl<S: Server> Sender for SimulatedSocket<S> {
    fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        let World { wire, server } = &mut *self.world.borrow_mut();
        let link = &wire.links[self.number];
        if link.is_refused || link.is_reset {
            return Err(ErrorKind::ConnectionReset.into());
        }
        if !link.is_connected {
            return Err(ErrorKind::WouldBlock.into());
        }
        match server.to_server(wire, self.number, bytes.len()) {
            Passing::Bytes(count) if count > 0 => {
                server.serve(wire, self.number, &bytes[..count]);
                Ok(count)
            }
            _ => Err(ErrorKind::WouldBlock.into()),
        }
    }

    fn send_pieces(&self, _pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        unreachable!("a generator has its requests in one piece")
    }

    fn send_file(&self, _file: &File, _offset: &mut u64, _count: usize) -> io::Result<usize> {
        unreachable!("a generator sends no files")
    }
}

impl<S: Server> Socket for SimulatedSocket<S> {
    fn connected(&self, _now_ns: u64) -> io::Result<Connected> {
        match self.world.borrow().wire.links[self.number].is_refused {
            true => Err(ErrorKind::ConnectionRefused.into()),
            false => Ok(Connected::Yes { handshake_from_ns: None }),
        }
    }

    fn receive(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let World { wire, server } = &mut *self.world.borrow_mut();
        let link = &mut wire.links[self.number];
        match server.to_client(self.number, link.inbox.len().min(buffer.len())) {
            Passing::Bytes(0) => match (link.is_refused, link.is_reset, link.has_ended) {
                (true, ..) => Err(ErrorKind::ConnectionRefused.into()),
                (_, true, _) => Err(ErrorKind::ConnectionReset.into()),
                (.., true) => Ok(0),
                _ => Err(ErrorKind::WouldBlock.into()),
            },
            Passing::Bytes(count) => {
                link.inbox.read_exact(&mut buffer[..count])?;
                if link.inbox.is_empty() {
                    let good: Vec<u32> = link.good.drain(..).map(|(mark, _)| mark).collect();
                    server.on_read(self.number, &good);
                }
                Ok(count)
            }
            Passing::Blocked => Err(ErrorKind::WouldBlock.into()),
            Passing::End => Ok(0),
        }
    }

    fn send_at_once(&self) -> io::Result<()> {
        Ok(())
    }

    fn reset_on_close(&self) -> io::Result<()> {
        Ok(())
    }

    fn finish_sending(&self) -> io::Result<()> {
        unreachable!("a generator closes both directions at once")
    }

    fn acknowledged(&self) -> io::Result<u64> {
        unreachable!("a generator does not ask for acknowledged bytes")
    }

    fn peer(&self) -> io::Result<SocketAddr> {
        unreachable!("a generator has chosen its target")
    }

    fn close(self) -> io::Result<()> {
        let World { wire, server } = &mut *self.world.borrow_mut();
        wire.close(self.number);
        server.on_close(wire, self.number);
        Ok(())
    }
}
