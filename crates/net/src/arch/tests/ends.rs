//! The two ends of a simulated connection: a client, which is the program's own state machine with a script
//! that decides how it requests, sends, reads and closes; and the server's socket, as the loops use it.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, IoSlice};
use std::net::SocketAddr;

use super::world::{CLIENT, Happening, MS, SERVER, Shared, World};
use crate::client::{Client, ResponseError, ResponseState};
use crate::network::{Connected, Socket};
use crate::output::Sender;

/// The action of a client that has all of its responses.
#[derive(Clone, Copy, Debug)]
enum Ending {
    Close,
    /// It finishes sending, and waits for the end.
    Finish,
    /// It stays until the server ends it.
    Stay,
    Reset,
}

struct Peer<S> {
    link: Option<usize>,
    session: Option<S>,
    is_over: bool,
    ending: Ending,
    /// Batches of requests that are still to be sent, and requests in each.
    batches: u32,
    together: u32,
    asked: u64,
    answered: u64,
    unsent: VecDeque<u8>,
    sent: u64,
    asked_bytes: u64,
    /// At this byte it makes a pause of so long.
    pause: Option<(u64, u64)>,
    /// It does nothing of the kind before this time.
    sends_ns: u64,
    reads_ns: u64,
    asks_ns: u64,
    /// It reads so much at a time.
    piece: usize,
    leaves_ns: u64,
}

/// All clients of one simulation.
pub(super) struct Clients<C: Client> {
    client: C,
    peers: Vec<Peer<C::Session>>,
    /// Whether the service closes after the first response.
    closes: bool,
    buffer: Vec<u8>,
}

/// So much is read at a time at most.
const PIECE: usize = 16 << 10;

impl<C: Client> Clients<C> {
    /// Clients that begin at various times.
    pub(super) fn new(client: C, closes: bool, world: &mut World) -> Clients<C> {
        let count = world.random.usize(1..7);
        let closes = closes || C::SERVER_BEGINS;
        let peers = (0..count).map(|number| peer(number, closes, world)).collect();
        Clients { client, peers, closes, buffer: vec![0; PIECE] }
    }

    pub(super) fn are_over(&self) -> bool {
        self.peers.iter().all(|peer| peer.is_over)
    }

    /// A client makes the steps that are possible now.
    pub(super) fn step(&mut self, number: usize, world: &mut World) {
        if self.peers[number].is_over {
            return;
        }
        let Some(link) = self.peers[number].link else { return self.begin(number, world) };
        if world.now_ns >= self.peers[number].leaves_ns {
            world.links[link].witness.excuse("the client left");
            if world.random.bool() {
                world.reset_on_close(link, CLIENT);
            }
            return self.leave(number, world);
        }
        if self.receive(number, link, world) && self.send(number, link, world) {
            self.go_on(number, link, world);
        }
    }

    fn begin(&mut self, number: usize, world: &mut World) {
        let link = world.connect(number);
        if world.random.u8(..12) == 0 {
            let delay_ns = world.random.u64(..500 * MS);
            world.plan(delay_ns, Happening::Break(link));
        }
        let peer = &mut self.peers[number];
        peer.link = Some(link);
        peer.session = Some(self.client.session());
        if C::SERVER_BEGINS {
            world.links[link].witness.closes_at = Some(0);
            world.links[link].witness.boundaries.push(0);
        }
        self.ask(number, link, world);
        world.plan(0, Happening::Step(number));
    }

    fn leave(&mut self, number: usize, world: &mut World) {
        world.trace(&("client", number), &"leaves");
        self.peers[number].is_over = true;
        if let Some(link) = self.peers[number].link {
            world.close(link, CLIENT);
        }
    }

    fn ask(&mut self, number: usize, link: usize, world: &mut World) {
        let peer = &mut self.peers[number];
        let Some(session) = &mut peer.session else { return };
        peer.batches -= 1;
        for _ in 0..peer.together {
            let request = self.client.request(session);
            peer.unsent.extend(request);
            peer.asked_bytes += request.len() as u64;
            peer.asked += 1;
            if !C::SERVER_BEGINS {
                world.links[link].witness.boundaries.push(peer.asked_bytes);
            }
        }
        if self.closes {
            world.links[link].witness.closes_at = Some(peer.asked_bytes);
        }
    }

    /// Reads available bytes; returns whether the connection goes on.
    fn receive(&mut self, number: usize, link: usize, world: &mut World) -> bool {
        if world.now_ns < self.peers[number].reads_ns {
            return true;
        }
        loop {
            let mut buffer = std::mem::take(&mut self.buffer);
            let piece = self.peers[number].piece;
            let received = world.receive(link, CLIENT, &mut buffer[..piece]);
            world.trace(&("client", link), &("received", &received));
            let goes_on = match &received {
                Ok(0) => false,
                Ok(count) => self.on_input(number, link, &buffer[..*count], world),
                Err(error) => error.kind() == ErrorKind::WouldBlock,
            };
            self.buffer = buffer;
            if !goes_on {
                self.leave(number, world);
                return false;
            }
            if received.is_err() {
                return true;
            }
            if piece < PIECE {
                // It takes its time.
                let delay_ns = world.random.u64(..20 * MS);
                self.peers[number].reads_ns = world.now_ns + delay_ns;
                world.plan(delay_ns, Happening::Step(number));
                return true;
            }
        }
    }

    /// Whether the connection goes on.
    fn on_input(&mut self, number: usize, link: usize, input: &[u8], world: &mut World) -> bool {
        let peer = &mut self.peers[number];
        let Some(session) = &mut peer.session else { return false };
        let mut rest = input;
        while !rest.is_empty() {
            let received = match self.client.on_input(session, rest) {
                Ok(received) => received,
                Err(error) => {
                    world.wrong(link, &format!("bytes of the response: {error:?}"));
                    return false;
                }
            };
            rest = &rest[received.taken..];
            if received.state == ResponseState::Partial {
                continue;
            }
            match received.error {
                // The request came too slowly.
                Some(ResponseError::Status(408)) if world.links[link].witness.is_slow => return false,
                Some(error) => {
                    world.wrong(link, &format!("content of the response: {error:?}"));
                    return false;
                }
                None => {
                    peer.answered += 1;
                    world.links[link].witness.answered += 1;
                }
            }
        }
        true
    }

    /// Sends a part of the pending bytes; returns whether the connection goes on.
    fn send(&mut self, number: usize, link: usize, world: &mut World) -> bool {
        let peer = &mut self.peers[number];
        let length = peer.unsent.len();
        if length == 0 || world.now_ns < peer.sends_ns {
            return true;
        }
        let mut most = if world.random.u8(..3) == 0 { world.random.usize(1..=length) } else { length };
        if let Some((at, pause_ns)) = peer.pause
            && peer.sent + most as u64 > at
        {
            most = at.saturating_sub(peer.sent) as usize;
            if most == 0 {
                peer.pause = None;
                peer.sends_ns = world.now_ns + pause_ns;
                world.plan(pause_ns, Happening::Step(number));
                return true;
            }
        }
        let sent = world.send(link, CLIENT, &[&peer.unsent.make_contiguous()[..most]]);
        world.trace(&("client", link), &("sent", &sent));
        match sent {
            Ok(sent) => {
                peer.sent += sent as u64;
                peer.unsent.drain(..sent);
                if !peer.unsent.is_empty() {
                    let delay_ns = world.delay_ns();
                    world.plan(delay_ns, Happening::Step(number));
                }
                true
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => true,
            Err(_) => {
                // Bytes that have arrived can still be read.
                peer.unsent.clear();
                true
            }
        }
    }

    /// The bytes after the responses.
    fn go_on(&mut self, number: usize, link: usize, world: &mut World) {
        let peer = &mut self.peers[number];
        if !peer.unsent.is_empty() || peer.answered < peer.asked || world.now_ns < peer.asks_ns {
            return;
        }
        if peer.batches > 0 {
            if peer.asks_ns == 0 && world.random.bool() {
                let delay_ns = world.random.u64(..100 * MS);
                peer.asks_ns = world.now_ns + delay_ns;
                return world.plan(delay_ns, Happening::Step(number));
            }
            peer.asks_ns = 0;
            self.ask(number, link, world);
            return world.plan(0, Happening::Step(number));
        }
        match peer.ending {
            Ending::Close => self.leave(number, world),
            Ending::Reset => {
                world.reset_on_close(link, CLIENT);
                self.leave(number, world);
            }
            // An error means that the other end has reset it; the next look finds that.
            Ending::Finish => _ = world.finish_sending(link, CLIENT),
            Ending::Stay => {}
        }
    }
}

fn peer<S>(number: usize, closes: bool, world: &mut World) -> Peer<S> {
    let random = &mut world.random;
    let begins_ns = random.u64(..300 * MS);
    let leaves_ns = if random.u8(..8) == 0 { begins_ns + random.u64(..500 * MS) } else { u64::MAX };
    let endings = [Ending::Close, Ending::Finish, Ending::Stay, Ending::Reset];
    let stalls_ns = if random.u8(..8) == 0 { begins_ns + random.u64(..8000 * MS) } else { 0 };
    let pause = (random.u8(..4) == 0).then(|| (random.u64(..200), random.u64(..4000 * MS)));
    let peer = Peer {
        link: None,
        session: None,
        is_over: false,
        ending: endings[random.usize(..endings.len())],
        batches: if closes { 1 } else { random.u32(1..4) },
        together: if closes { 1 } else { [1, 1, 2, 5][random.usize(..4)] },
        asked: 0,
        answered: 0,
        unsent: VecDeque::new(),
        sent: 0,
        asked_bytes: 0,
        pause,
        sends_ns: 0,
        reads_ns: stalls_ns,
        asks_ns: 0,
        piece: if random.u8(..6) == 0 { random.usize(200..PIECE) } else { PIECE },
        leaves_ns,
    };
    world.plan(begins_ns, Happening::Step(number));
    for at_ns in [stalls_ns, leaves_ns].into_iter().filter(|&at_ns| at_ns > 0 && at_ns < u64::MAX) {
        world.plan(at_ns, Happening::Step(number));
    }
    peer
}

/// The server's end of a link.
pub(super) struct ServerSocket {
    pub(super) world: Shared,
    pub(super) link: usize,
}

impl ServerSocket {
    fn sent(&self, world: &mut World, sent: io::Result<usize>) -> io::Result<usize> {
        let now_ns = world.now_ns;
        let blocked = world.links[self.link].ends[SERVER].blocked;
        world.trace(&("server", self.link), &("sent", &sent));
        world.links[self.link].witness.sent(&sent, blocked, now_ns);
        sent
    }
}

impl Sender for ServerSocket {
    fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        let mut world = self.world.borrow_mut();
        let sent = world.send(self.link, SERVER, &[bytes]);
        self.sent(&mut world, sent)
    }

    fn send_pieces(&self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        let mut world = self.world.borrow_mut();
        let pieces: Vec<&[u8]> = pieces.iter().map(|piece| &**piece).collect();
        let sent = world.send(self.link, SERVER, &pieces);
        self.sent(&mut world, sent)
    }

    fn send_file(&self, file: &std::fs::File, offset: &mut u64, count: usize) -> io::Result<usize> {
        let room = self.world.borrow().links[self.link].ends[SERVER].room();
        let mut bytes = vec![0; count.min(room.max(1))];
        let read = sys::file::read_some_at(file, &mut bytes, *offset)?;
        let sent = self.send(&bytes[..read])?;
        *offset += sent as u64;
        Ok(sent)
    }
}

impl Socket for ServerSocket {
    fn connected(&self, _now_ns: u64) -> io::Result<Connected> {
        unreachable!("a server does not connect")
    }

    fn receive(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut world = self.world.borrow_mut();
        let received = world.receive(self.link, SERVER, buffer);
        let now_ns = world.now_ns;
        world.trace(&("server", self.link), &("received", &received));
        world.links[self.link].witness.received(&received, now_ns);
        received
    }

    fn send_at_once(&self) -> io::Result<()> {
        Ok(())
    }

    fn finish_sending(&self) -> io::Result<()> {
        let mut world = self.world.borrow_mut();
        let now_ns = world.now_ns;
        world.trace(&("server", self.link), &"finishes");
        world.links[self.link].witness.finished(now_ns);
        world.finish_sending(self.link, SERVER)
    }

    fn reset_on_close(&self) -> io::Result<()> {
        let mut world = self.world.borrow_mut();
        world.links[self.link].witness.gave_up();
        world.reset_on_close(self.link, SERVER);
        Ok(())
    }

    fn acknowledged(&self) -> io::Result<u64> {
        Ok(self.world.borrow().links[self.link].witness.acknowledged_bytes)
    }

    fn peer(&self) -> io::Result<SocketAddr> {
        Ok(SocketAddr::from(([127, 0, 0, 1], 1)))
    }

    fn close(self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for ServerSocket {
    fn drop(&mut self) {
        let mut world = self.world.borrow_mut();
        world.trace(&("server", self.link), &"closes");
        world.closed_by_server(self.link);
        world.close(self.link, SERVER);
    }
}
