//! The loop against a simulated network. A seed decides what is split, delayed, refused, reset or never
//! answered, and when the generator itself has no processor. The network knows what it has delivered, and so
//! what must be counted. A failing seed is printed; `OSDYNO_SEED=N` runs it alone, `OSDYNO_SEEDS=N` that
//! many.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io::{self, ErrorKind, IoSlice, Read};
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use sys::event::{Event, Interest};

use super::super::Engine;
use crate::client::ClientSettings;
use crate::client::echo::EchoClientSettings;
use crate::load::measured::Measured;
use crate::load::{Load, LoadSettings, Schedule, unwatched};
use crate::network::{Connected, LoadNetwork, Socket, SocketSet};
use crate::output::Sender;
use crate::{Error, ServerAddress};

pub(super) const MS: u64 = 1_000_000;
pub(super) const REQUEST_BYTES: usize = 16;
const TIMEOUT_NS: u64 = 300 * MS;
/// The generator has no processor for so long at most, at a time.
const PREEMPTED_MAX_NS: u64 = 30 * MS;
/// What has arrived is read within this time, though the generator be preempted time and again.
const READ_MAX_NS: u64 = 200 * MS;

/// What comes to a connection.
enum Arrival {
    Connected,
    Refused,
    /// Whether a right response is complete with them.
    Bytes(Vec<u8>, bool),
    End,
    Reset,
}

#[derive(Default)]
struct Peer {
    is_connected: bool,
    is_refused: bool,
    is_reset: bool,
    has_ended: bool,
    is_closed: bool,
    inbox: VecDeque<u8>,
    request: Vec<u8>,
    /// When a right response was complete that was not read yet.
    good_ns: Option<u64>,
    /// When the request was complete that was not answered yet.
    asked_ns: Option<u64>,
    waited: Option<(usize, Interest)>,
    /// What comes to one connection comes in order.
    last_ns: u64,
}

/// Nanoseconds from the arrival of a request to its response, by the number of the request and the time;
/// `None` for no response.
pub(super) type Delays = Box<dyn FnMut(u64, u64) -> Option<u64>>;

pub(super) struct World {
    now_ns: u64,
    random: fastrand::Rng,
    /// A calm server and a calm network, whose delays are these; else nothing is certain.
    calm: Option<Delays>,
    requests: u64,
    peers: Vec<Peer>,
    arrivals: BTreeMap<(u64, u64), (usize, Arrival)>,
    number: u64,
    loses_wakeups: bool,
    /// Right responses that were read.
    good: u64,
    /// What must never happen.
    faults: Vec<String>,
}

impl World {
    pub(super) fn new(random: fastrand::Rng, calm: Option<Delays>) -> World {
        World {
            now_ns: 0,
            random,
            calm,
            requests: 0,
            peers: Vec::new(),
            arrivals: BTreeMap::new(),
            number: 0,
            loses_wakeups: false,
            good: 0,
            faults: Vec::new(),
        }
    }

    /// Whether something happens that does so once in so many times, and never where all is calm.
    fn happens(&mut self, once_in: u32) -> bool {
        self.calm.is_none() && self.random.u32(..once_in) == 0
    }

    /// Requests that have arrived.
    pub(super) fn requests(&self) -> u64 {
        self.requests
    }

    /// Connections that were made.
    pub(super) fn connections(&self) -> usize {
        self.peers.len()
    }

    fn send_back(&mut self, peer: usize, delay_ns: u64, arrival: Arrival) {
        let at = (self.now_ns + delay_ns).max(self.peers[peer].last_ns);
        self.peers[peer].last_ns = at;
        self.number += 1;
        self.arrivals.insert((at, self.number), (peer, arrival));
    }

    /// The request is complete: what the server makes of it.
    fn respond(&mut self, peer: usize) {
        let request = std::mem::take(&mut self.peers[peer].request);
        self.peers[peer].asked_ns = Some(self.now_ns);
        self.requests += 1;
        if let Some(delays) = &mut self.calm {
            if let Some(delay_ns) = delays(self.requests, self.now_ns) {
                self.send_back(peer, delay_ns, Arrival::Bytes(request, true));
            }
            return;
        }
        let delay_ns = self.random.u64(..3 * MS);
        match self.random.u32(..20) {
            0 => {}
            1 => self.send_back(peer, delay_ns, Arrival::Reset),
            2 => self.send_back(peer, delay_ns, Arrival::End),
            3 => self.send_back(peer, delay_ns, Arrival::Bytes(vec![b'?'; REQUEST_BYTES], false)),
            4 => {
                let twice = [&request[..], &request[..]].concat();
                self.send_back(peer, delay_ns, Arrival::Bytes(twice, false));
            }
            5 => {
                let part = self.random.usize(1..REQUEST_BYTES);
                self.send_back(peer, delay_ns, Arrival::Bytes(request[..part].to_vec(), false));
                let end = if self.random.bool() { Arrival::End } else { Arrival::Reset };
                self.send_back(peer, delay_ns, end);
            }
            6..=9 => {
                let part = self.random.usize(1..REQUEST_BYTES);
                self.send_back(peer, delay_ns, Arrival::Bytes(request[..part].to_vec(), false));
                let more_ns = self.random.u64(..60 * MS);
                self.send_back(peer, delay_ns + more_ns, Arrival::Bytes(request[part..].to_vec(), true));
            }
            10 => {
                self.send_back(peer, delay_ns, Arrival::Bytes(request, true));
                self.send_back(peer, delay_ns, Arrival::End);
            }
            _ => self.send_back(peer, delay_ns, Arrival::Bytes(request, true)),
        }
    }

    fn deliver(&mut self) {
        while let Some(entry) = self.arrivals.first_entry()
            && entry.key().0 <= self.now_ns
        {
            let (number, arrival) = entry.remove();
            let peer = &mut self.peers[number];
            match arrival {
                Arrival::Connected => peer.is_connected = true,
                Arrival::Refused => peer.is_refused = true,
                Arrival::Bytes(bytes, is_good) => {
                    peer.inbox.extend(bytes);
                    if is_good {
                        (peer.good_ns, peer.asked_ns) = (Some(self.now_ns), None);
                    }
                }
                Arrival::End => (peer.has_ended, peer.asked_ns) = (true, None),
                Arrival::Reset => (peer.is_reset, peer.asked_ns) = (true, None),
            }
        }
    }

    fn ready(&mut self, events: &mut Vec<Event>) {
        for peer in self.peers.iter().filter(|peer| !peer.is_closed) {
            let Some((token, interest)) = peer.waited else { continue };
            let readable = !peer.inbox.is_empty() || peer.has_ended || peer.is_reset || peer.is_refused;
            let writable = peer.is_connected || peer.is_refused;
            let is_ready = if interest == Interest::Write { writable } else { readable };
            if is_ready {
                events.push(Event { token, readable, writable });
            }
        }
        self.random.shuffle(events);
    }

    fn close(&mut self, number: usize) {
        let (now, peer) = (self.now_ns, &mut self.peers[number]);
        peer.is_closed = true;
        if peer.good_ns.is_some_and(|at| now - at > READ_MAX_NS) {
            self.faults.push(format!("connection {number}: a response was there and never read"));
        }
        if peer.asked_ns.is_some_and(|at| now - at > TIMEOUT_NS + READ_MAX_NS) {
            self.faults.push(format!("connection {number}: the timeout was not kept"));
        }
    }
}

pub(super) struct Simulated(pub(super) Rc<RefCell<World>>);

pub(super) struct SimulatedSocket {
    world: Rc<RefCell<World>>,
    number: usize,
}

impl SocketSet for Simulated {
    type Socket = SimulatedSocket;

    fn add(&mut self, socket: &SimulatedSocket, token: usize, interest: Interest) -> io::Result<()> {
        self.0.borrow_mut().peers[socket.number].waited = Some((token, interest));
        Ok(())
    }

    fn change(&mut self, socket: &SimulatedSocket, token: usize, interest: Interest) -> io::Result<()> {
        self.add(socket, token, interest)
    }
}

impl LoadNetwork for Simulated {
    fn now_ns(&self) -> u64 {
        let mut world = self.0.borrow_mut();
        world.now_ns += 50;
        world.now_ns
    }

    fn connect(&mut self, _to: &ServerAddress, _from: Option<SocketAddr>) -> io::Result<SimulatedSocket> {
        let mut world = self.0.borrow_mut();
        let number = world.peers.len();
        let is_connected = world.calm.is_some();
        world.peers.push(Peer { is_connected, ..Peer::default() });
        if is_connected {
            return Ok(SimulatedSocket { world: Rc::clone(&self.0), number });
        }
        let delay_ns = world.random.u64(..2 * MS);
        match world.random.u32(..20) {
            0 => world.send_back(number, delay_ns, Arrival::Refused),
            1 => return Err(ErrorKind::ConnectionRefused.into()),
            2..10 => world.peers[number].is_connected = true,
            _ => world.send_back(number, delay_ns, Arrival::Connected),
        }
        Ok(SimulatedSocket { world: Rc::clone(&self.0), number })
    }

    fn wait(&mut self, events: &mut Vec<Event>, until_ns: u64) -> Result<(), Error> {
        let mut world = self.0.borrow_mut();
        events.clear();
        loop {
            world.deliver();
            world.ready(events);
            if !events.is_empty() || world.now_ns >= until_ns {
                break;
            }
            let next_ns = world.arrivals.first_key_value().map_or(u64::MAX, |(key, _)| key.0);
            world.now_ns = next_ns.min(until_ns);
        }
        if world.happens(50) {
            world.now_ns += world.random.u64(..PREEMPTED_MAX_NS);
        }
        if world.loses_wakeups && world.random.u32(..20) == 0 {
            // As an edge that was consumed and not handled: this connection is never reported again.
            for event in events.drain(..) {
                let lost = world.peers.iter_mut().find(|peer| {
                    !peer.is_closed && peer.waited.is_some_and(|(token, _)| token == event.token)
                });
                if let Some(peer) = lost {
                    peer.waited = None;
                }
            }
        }
        Ok(())
    }

    fn rang(&mut self) {}
}

impl Sender for SimulatedSocket {
    fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        let mut world = self.world.borrow_mut();
        let peer = &mut world.peers[self.number];
        if peer.is_refused || peer.is_reset {
            return Err(ErrorKind::ConnectionReset.into());
        }
        if !peer.is_connected {
            return Err(ErrorKind::WouldBlock.into());
        }
        let count = if world.happens(8) { world.random.usize(1..=bytes.len()) } else { bytes.len() };
        let peer = &mut world.peers[self.number];
        peer.request.extend_from_slice(&bytes[..count]);
        if peer.request.len() == REQUEST_BYTES {
            world.respond(self.number);
        }
        Ok(count)
    }

    fn send_and_more(&self, bytes: &[u8]) -> io::Result<usize> {
        self.send(bytes)
    }

    fn send_pieces(&self, _pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        unreachable!("a generator has its requests in one piece")
    }

    fn send_file(&self, _file: &File, _offset: &mut u64, _count: usize) -> io::Result<usize> {
        unreachable!("a generator sends no files")
    }
}

impl Socket for SimulatedSocket {
    fn connected(&self, _now_ns: u64) -> io::Result<Connected> {
        match self.world.borrow().peers[self.number].is_refused {
            true => Err(ErrorKind::ConnectionRefused.into()),
            false => Ok(Connected::Yes { handshake_from_ns: None }),
        }
    }

    fn receive(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut world = self.world.borrow_mut();
        let peer = &mut world.peers[self.number];
        if peer.inbox.is_empty() {
            return match (peer.is_refused, peer.is_reset, peer.has_ended) {
                (true, ..) => Err(ErrorKind::ConnectionRefused.into()),
                (_, true, _) => Err(ErrorKind::ConnectionReset.into()),
                (.., true) => Ok(0),
                _ => Err(ErrorKind::WouldBlock.into()),
            };
        }
        let count = peer.inbox.len();
        peer.inbox.read_exact(&mut buffer[..count])?;
        let is_good = peer.good_ns.take().is_some();
        world.good += u64::from(is_good);
        Ok(count)
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
        unreachable!("a generator does not ask what has arrived")
    }

    fn peer(&self) -> io::Result<SocketAddr> {
        unreachable!("a generator has chosen its target")
    }

    fn close(self) -> io::Result<()> {
        self.world.borrow_mut().close(self.number);
        Ok(())
    }
}

/// What was counted of one load, what the network knows, and what it saw that must never happen.
fn run(seed: u64, loses_wakeups: bool) -> Result<(Measured, u64, Vec<String>), Error> {
    let mut random = fastrand::Rng::with_seed(seed);
    let echo = EchoClientSettings { bytes: REQUEST_BYTES };
    let settings = LoadSettings {
        timeout: Duration::from_nanos(TIMEOUT_NS),
        connections_max: 8,
        requests_per_connection: random.bool().then_some(3),
        reset: random.bool(),
        seed,
        ..LoadSettings::new(SocketAddr::from(([127, 0, 0, 1], 9)), &echo)
    };
    let load = Load {
        connections: random.usize(1..6),
        rate: random.bool().then_some(400.0),
        schedule: Schedule::Poisson,
        duration: Duration::from_millis(random.u64(50..1500)),
        requests: random.bool().then_some(50),
        ..Load::default()
    };
    let world = Rc::new(RefCell::new(World { loses_wakeups, ..World::new(random, None) }));
    let mut engine = Engine::new(echo.open()?, settings, Simulated(Rc::clone(&world)))?;
    let measured = engine.offer(&load, &mut unwatched)?;
    drop(engine);
    let world = world.borrow();
    Ok((measured, world.good, world.faults.clone()))
}

/// What a seed shows that must never be.
fn broken(seed: u64) -> Vec<String> {
    let (measured, good, mut faults) = match run(seed, false) {
        Ok(outcome) => outcome,
        Err(error) => return vec![error.to_string()],
    };
    if measured.completed + measured.late != good {
        let counted = measured.completed + measured.late;
        faults.push(format!("{counted} right responses counted, {good} read: {:?}", measured.failures));
    }
    faults
}

#[test]
fn every_seed_is_counted_exactly() {
    sys::memory::keep_freed();
    crate::seeds::every(broken);
}

#[test]
fn a_lost_wake_up_is_found() {
    let found =
        (0..50).filter(|&seed| run(seed, true).is_ok_and(|(_, _, faults)| !faults.is_empty())).count();
    assert!(found > 0, "50 seeds with lost wake-ups and none was seen");
}
