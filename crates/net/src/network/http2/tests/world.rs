//! A network in simulated time, whose servers speak HTTP/2. Where it is not calm, a seed decides what is cut,
//! delayed, refused, reset or never answered; the network knows which responses were read.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io::{self, ErrorKind, IoSlice, Read};
use std::net::SocketAddr;
use std::rc::Rc;

use sys::event::{Event, Interest};

use super::peer::{self, BODY, Peer};
use crate::network::{Connected, LoadNetwork, Socket, SocketSet};
use crate::output::Sender;
use crate::{Error, ServerAddress};

pub(super) const MS: u64 = 1_000_000;

/// What comes to a connection.
enum Arrival {
    Connected,
    Refused,
    /// With the streams whose right responses are complete with them.
    Bytes(Vec<u8>, Option<u32>),
    End,
    Reset,
}

struct Link {
    peer: Peer,
    is_connected: bool,
    is_refused: bool,
    is_reset: bool,
    has_ended: bool,
    is_closed: bool,
    /// The server says nothing more.
    is_done: bool,
    inbox: VecDeque<u8>,
    /// Right responses that are in the inbox, and when they came.
    good: Vec<(u32, u64)>,
    waited: Option<(usize, Interest)>,
    last_ns: u64,
    seen: u32,
}

pub(super) struct World {
    now_ns: u64,
    random: fastrand::Rng,
    /// Nanoseconds to each response of a calm server.
    calm_ns: Option<u64>,
    /// Whether bytes are cut on their way to the server.
    pub(super) cuts_requests: bool,
    /// Whether what a calm server says arrives only once in its delay.
    pub(super) comes_together: bool,
    /// What the servers say first.
    pub(super) greeting: Vec<u8>,
    /// Nanoseconds to the first response of a calm server, which nobody waits for any more.
    pub(super) late_first_ns: Option<u64>,
    /// Responses of a connection until the server asks for another one.
    pub(super) each: Option<u32>,
    links: Vec<Link>,
    arrivals: BTreeMap<(u64, u64), (usize, Arrival)>,
    number: u64,
    pub(super) requests: Vec<peer::Asked>,
    /// Right responses that were read, and that somebody waited for.
    pub(super) good: u64,
    pub(super) faults: Vec<String>,
    /// The most requests that came in one piece.
    pub(super) together_max: usize,
}

impl World {
    pub(super) fn new(random: fastrand::Rng, calm_ns: Option<u64>) -> World {
        World {
            now_ns: 0,
            random,
            calm_ns,
            cuts_requests: false,
            comes_together: false,
            greeting: peer::frame(4, 0, 0, &[]),
            late_first_ns: None,
            each: None,
            links: Vec::new(),
            arrivals: BTreeMap::new(),
            number: 0,
            requests: Vec::new(),
            good: 0,
            faults: Vec::new(),
            together_max: 0,
        }
    }

    pub(super) fn connections(&self) -> usize {
        self.links.len()
    }

    fn send_back(&mut self, link: usize, delay_ns: u64, arrival: Arrival) {
        let at = (self.now_ns + delay_ns).max(self.links[link].last_ns);
        self.links[link].last_ns = at;
        self.number += 1;
        self.arrivals.insert((at, self.number), (link, arrival));
    }

    fn say(&mut self, link: usize, delay_ns: u64, bytes: Vec<u8>) {
        self.send_back(link, delay_ns, Arrival::Bytes(bytes, None));
    }

    fn say_good(&mut self, link: usize, delay_ns: u64, stream: u32, bytes: Vec<u8>) {
        self.send_back(link, delay_ns, Arrival::Bytes(bytes, Some(stream)));
    }

    /// Bytes from the client.
    fn serve(&mut self, link: usize, bytes: &[u8]) {
        let asked = self.links[link].peer.take(bytes);
        let words = std::mem::take(&mut self.links[link].peer.output);
        if !words.is_empty() {
            self.say(link, MS / 100, words);
        }
        for one in asked {
            self.links[link].seen += 1;
            self.requests.push(one.clone());
            if !self.links[link].is_done {
                self.respond(link, one.stream);
            }
        }
    }

    fn respond(&mut self, link: usize, stream: u32) {
        if let Some(late_ns) = self.late_first_ns.filter(|_| self.requests.len() == 1) {
            // What other streams get is not behind it.
            self.number += 1;
            let late = Arrival::Bytes(peer::response(stream, b"LATE!"), None);
            self.arrivals.insert((self.now_ns + late_ns, self.number), (link, late));
            return;
        }
        let good = peer::response(stream, BODY);
        if let Some(calm_ns) = self.calm_ns {
            let delay_ns = if self.comes_together { calm_ns - self.now_ns % calm_ns } else { calm_ns };
            let is_last = self.each.is_some_and(|each| self.links[link].seen >= each);
            if is_last {
                self.links[link].is_done = true;
                self.say(link, delay_ns, peer::go_away(stream, 0));
            }
            self.say_good(link, delay_ns, stream, good);
            if is_last {
                self.send_back(link, delay_ns, Arrival::End);
            }
            return;
        }
        let delay_ns = self.random.u64(..3 * MS);
        let (head, body) = good.split_at(peer::head(stream, BODY.len()).len());
        let action = self.random.u32(..30);
        self.links[link].is_done = matches!(action, 1..=4);
        match action {
            0 => {}
            1 => self.send_back(link, delay_ns, Arrival::Reset),
            2 => self.send_back(link, delay_ns, Arrival::End),
            3 => {
                // No server may push.
                self.say(link, delay_ns, peer::frame(5, 4, stream, &[0, 0, 0, 2]));
                self.send_back(link, delay_ns, Arrival::End);
            }
            4 => {
                let (last, end) = if self.random.bool() { (stream, true) } else { (stream - 1, false) };
                self.say(link, delay_ns, peer::go_away(last, 0));
                if end {
                    self.say_good(link, delay_ns, stream, good);
                }
                self.send_back(link, delay_ns + MS, Arrival::End);
            }
            5 => self.say(link, delay_ns, peer::reset(stream, 7)),
            6 => self.say(link, delay_ns, peer::busy(stream)),
            // The first ones decide what is right.
            7 if self.good > 20 => self.say(link, delay_ns, peer::response(stream, b"HELLO")),
            8 => {
                let longer = peer::frame(0, 1, stream, b"hello and more");
                self.say(link, delay_ns, [head, &longer].concat());
            }
            9 => self.say(link, delay_ns, [head, &peer::frame(0, 1, stream, b"hel")].concat()),
            10..=13 => {
                self.say(link, delay_ns, head.to_vec());
                let more_ns = self.random.u64(..60 * MS);
                self.say_good(link, delay_ns + more_ns, stream, body.to_vec());
            }
            14 => {
                let whole = [head, &peer::frame(0, 0, stream, BODY)].concat();
                self.say(link, delay_ns, whole);
                self.say_good(link, delay_ns, stream, peer::frame(0, 1, stream, &[]));
            }
            _ => self.say_good(link, delay_ns, stream, good),
        }
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
                    link.good.extend(good.map(|stream| (stream, self.now_ns)));
                }
                Arrival::End => link.has_ended = true,
                Arrival::Reset => link.is_reset = true,
            }
        }
    }

    fn ready(&mut self, events: &mut Vec<Event>) {
        for link in self.links.iter().filter(|link| !link.is_closed) {
            let Some((token, interest)) = link.waited else { continue };
            let readable = !link.inbox.is_empty() || link.has_ended || link.is_reset || link.is_refused;
            let writable = link.is_connected || link.is_refused;
            let wanted = match interest {
                Interest::Write => writable,
                Interest::Read => readable,
                Interest::Both => readable || writable,
                Interest::Nothing => false,
            };
            if wanted {
                events.push(Event { token, readable, writable });
            }
        }
        self.random.shuffle(events);
    }

    fn close(&mut self, number: usize) {
        let (now, link) = (self.now_ns, &mut self.links[number]);
        link.is_closed = true;
        if link.good.iter().any(|&(_, at)| now - at > 200 * MS) {
            self.faults.push(format!("connection {number}: a response was there and never read"));
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
        self.0.borrow_mut().links[socket.number].waited = Some((token, interest));
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
        let number = world.links.len();
        let peer = Peer::saying(world.greeting.clone());
        let is_connected = world.calm_ns.is_some();
        world.links.push(Link {
            peer,
            is_connected,
            is_refused: false,
            is_reset: false,
            has_ended: false,
            is_closed: false,
            is_done: false,
            inbox: VecDeque::new(),
            good: Vec::new(),
            waited: None,
            last_ns: 0,
            seen: 0,
        });
        if !is_connected {
            let delay_ns = world.random.u64(..2 * MS);
            match world.random.u32(..20) {
                0 => world.send_back(number, delay_ns, Arrival::Refused),
                1 => return Err(ErrorKind::ConnectionRefused.into()),
                2..10 => world.links[number].is_connected = true,
                _ => world.send_back(number, delay_ns, Arrival::Connected),
            }
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
        if world.calm_ns.is_none() && world.random.u32(..50) == 0 {
            world.now_ns += world.random.u64(..30 * MS);
        }
        Ok(())
    }

    fn rang(&mut self) {}
}

impl Sender for SimulatedSocket {
    fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        let mut world = self.world.borrow_mut();
        let link = &world.links[self.number];
        if link.is_refused || link.is_reset {
            return Err(ErrorKind::ConnectionReset.into());
        }
        if !link.is_connected {
            return Err(ErrorKind::WouldBlock.into());
        }
        let mut count = bytes.len();
        if world.cuts_requests && world.random.u32(..3) == 0 {
            count = world.random.usize(..=bytes.len());
        }
        if count == 0 {
            return Err(ErrorKind::WouldBlock.into());
        }
        let before = world.requests.len();
        world.serve(self.number, &bytes[..count]);
        world.together_max = world.together_max.max(world.requests.len() - before);
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
        match self.world.borrow().links[self.number].is_refused {
            true => Err(ErrorKind::ConnectionRefused.into()),
            false => Ok(Connected::Yes { handshake_from_ns: None }),
        }
    }

    fn receive(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut world = self.world.borrow_mut();
        let link = &mut world.links[self.number];
        if link.inbox.is_empty() {
            return match (link.is_refused, link.is_reset, link.has_ended) {
                (true, ..) => Err(ErrorKind::ConnectionRefused.into()),
                (_, true, _) => Err(ErrorKind::ConnectionReset.into()),
                (.., true) => Ok(0),
                _ => Err(ErrorKind::WouldBlock.into()),
            };
        }
        let count = link.inbox.len();
        assert!(count <= buffer.len(), "no test needs more");
        link.inbox.read_exact(&mut buffer[..count])?;
        let cancelled = &link.peer.cancelled;
        let good = link.good.drain(..).filter(|(stream, _)| !cancelled.contains(stream)).count();
        world.good += good as u64;
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
