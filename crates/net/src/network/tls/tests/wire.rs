//! A network in memory: connections to a web server that speaks TLS, cut and ended as a test wants it.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;

use rustls::{ServerConfig, ServerConnection};
use sys::event::{Event, Interest};

use super::identity::Identity;
use crate::network::{Connected, LoadNetwork, Socket, SocketSet};
use crate::output::Sender;
use crate::{Error, ServerAddress};

/// How the server ends a connection, when it has answered.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// It does not.
    Open,
    CloseNotify,
    Silent,
    /// With the word, and connection n ends behind byte n of all that the server sends.
    CutShort,
}

pub(super) struct World {
    pub(super) server: Arc<ServerConfig>,
    pub(super) response: &'static str,
    /// Whether connection n is cut behind its byte n.
    pub(super) cuts: bool,
    pub(super) end: End,
    pub(super) now_ns: u64,
    pub(super) peers: Vec<Peer>,
}

pub(super) struct Peer {
    tls: ServerConnection,
    request: Vec<u8>,
    waited: Option<(usize, Interest)>,
    to_client: VecDeque<u8>,
    /// Bytes that have passed, to the server and to the client.
    passed: (u64, u64),
    /// Whether each direction has been cut already.
    was_cut: (bool, bool),
    /// Bytes behind a cut come with the next wait.
    pauses: (bool, bool),
    has_ended: bool,
    is_closed: bool,
}

impl World {
    pub(super) fn new(response: &'static str) -> World {
        World {
            server: Identity::local().server(),
            response,
            cuts: false,
            end: End::Open,
            now_ns: 0,
            peers: Vec::new(),
        }
    }

    pub(super) fn connections(&self) -> usize {
        self.peers.len()
    }

    /// Bytes that passed on the first connection.
    pub(super) fn lengths(&self) -> (u64, u64) {
        self.peers[0].passed
    }
}

impl Peer {
    /// What the server makes of bytes.
    fn serve(&mut self, mut bytes: &[u8], response: &str, end: End) {
        while !bytes.is_empty() {
            self.tls.read_tls(&mut bytes).expect("room");
            // A client that has gone away may break off anywhere.
            if self.tls.process_new_packets().is_err() {
                break;
            }
            let _ = self.tls.reader().read_to_end(&mut self.request);
        }
        while let Some(at) = self.request.windows(4).position(|four| four == b"\r\n\r\n") {
            self.request.drain(..at + 4);
            self.tls.writer().write_all(response.as_bytes()).expect("room");
            if matches!(end, End::CloseNotify | End::CutShort) {
                self.tls.send_close_notify();
            }
            self.has_ended |= end != End::Open;
        }
        let mut out = Vec::new();
        while self.tls.wants_write() {
            self.tls.write_tls(&mut out).expect("memory");
        }
        self.to_client.extend(out);
    }
}

/// How many of these bytes pass now, if the direction is cut behind byte `cut`.
fn passing(count: usize, passed: u64, cut: Option<u64>, was_cut: &mut bool) -> usize {
    match cut.and_then(|cut| cut.checked_sub(passed)) {
        Some(left) if !*was_cut && (left as usize) < count => {
            *was_cut = true;
            left as usize
        }
        _ => count,
    }
}

pub(super) struct Wire(pub(super) Rc<RefCell<World>>);

pub(super) struct WireSocket {
    world: Rc<RefCell<World>>,
    number: usize,
}

impl SocketSet for Wire {
    type Socket = WireSocket;

    fn add(&mut self, socket: &WireSocket, token: usize, interest: Interest) -> io::Result<()> {
        self.0.borrow_mut().peers[socket.number].waited = Some((token, interest));
        Ok(())
    }

    fn change(&mut self, socket: &WireSocket, token: usize, interest: Interest) -> io::Result<()> {
        self.add(socket, token, interest)
    }
}

impl LoadNetwork for Wire {
    fn now_ns(&self) -> u64 {
        let mut world = self.0.borrow_mut();
        world.now_ns += 50;
        world.now_ns
    }

    fn connect(&mut self, _to: &ServerAddress, _from: Option<SocketAddr>) -> io::Result<WireSocket> {
        let mut world = self.0.borrow_mut();
        let tls = ServerConnection::new(Arc::clone(&world.server)).expect("a server");
        world.peers.push(Peer {
            tls,
            request: Vec::new(),
            waited: None,
            to_client: VecDeque::new(),
            passed: (0, 0),
            was_cut: (false, false),
            pauses: (false, false),
            has_ended: false,
            is_closed: false,
        });
        Ok(WireSocket { world: Rc::clone(&self.0), number: world.peers.len() - 1 })
    }

    fn wait(&mut self, events: &mut Vec<Event>, until_ns: u64) -> Result<(), Error> {
        let mut world = self.0.borrow_mut();
        events.clear();
        for peer in world.peers.iter_mut().filter(|peer| !peer.is_closed) {
            peer.pauses = (false, false);
            let Some((token, interest)) = peer.waited else { continue };
            let readable = !peer.to_client.is_empty() || peer.has_ended;
            if interest == Interest::Write || readable {
                events.push(Event { token, readable, writable: true });
            }
        }
        if events.is_empty() {
            world.now_ns = world.now_ns.max(until_ns);
        }
        Ok(())
    }

    fn rang(&mut self) {}
}

impl Sender for WireSocket {
    fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        let world = &mut *self.world.borrow_mut();
        let cut = world.cuts.then_some(self.number as u64);
        let peer = &mut world.peers[self.number];
        if peer.pauses.0 {
            return Err(ErrorKind::WouldBlock.into());
        }
        let count = passing(bytes.len(), peer.passed.0, cut, &mut peer.was_cut.0);
        peer.pauses.0 = count < bytes.len();
        if count == 0 {
            return Err(ErrorKind::WouldBlock.into());
        }
        peer.passed.0 += count as u64;
        peer.serve(&bytes[..count], world.response, world.end);
        Ok(count)
    }

    fn send_and_more(&self, bytes: &[u8]) -> io::Result<usize> {
        self.send(bytes)
    }

    fn send_pieces(&self, _pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        unreachable!("TLS sends one piece at a time")
    }

    fn send_file(&self, _file: &File, _offset: &mut u64, _count: usize) -> io::Result<usize> {
        unreachable!("a generator sends no files")
    }
}

impl Socket for WireSocket {
    fn connected(&self, _now_ns: u64) -> io::Result<Connected> {
        Ok(Connected::Yes { handshake_from_ns: None })
    }

    fn receive(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let world = &mut *self.world.borrow_mut();
        let cut = world.cuts.then_some(self.number as u64);
        let (peer, end) = (&mut world.peers[self.number], world.end);
        let mut left = peer.to_client.len().min(buffer.len());
        if end == End::CutShort {
            // Behind this byte everything ends.
            left = left.min((self.number as u64).saturating_sub(peer.passed.1) as usize);
            if left == 0 && peer.passed.1 == self.number as u64 && !peer.to_client.is_empty() {
                return Ok(0);
            }
        }
        if left == 0 && peer.has_ended && !peer.pauses.1 {
            return Ok(0);
        }
        let count = passing(left, peer.passed.1, cut, &mut peer.was_cut.1);
        if count == 0 || peer.pauses.1 {
            peer.pauses.1 = true;
            return Err(ErrorKind::WouldBlock.into());
        }
        peer.pauses.1 = count < left;
        peer.passed.1 += count as u64;
        for (to, from) in buffer.iter_mut().zip(peer.to_client.drain(..count)) {
            *to = from;
        }
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
        self.world.borrow_mut().peers[self.number].is_closed = true;
        Ok(())
    }
}
