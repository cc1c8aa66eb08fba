//! Our own authoritative DNS server: it answers for `test` from a [`ZonePlan`], in one thread, over UDP and
//! TCP, and delays, loses and forges responses by its settings.
//!
//! [`NameServer`] starts it as a role in a process of its own: it receives its plan, replies with its
//! address, and then to every request with its processor time. At the end of its input it stops, and sends
//! its counters.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, UdpSocket};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use fastrand::Rng;
use host::{Deadline, FrameReader, FrameWriter, Host, Process};
use serde::{Deserialize, Serialize};
use slab::Slab;
use sys::event::{Event, Interest, Poll, Poller};
use sys::handle::AsHandle;
use sys::tcp::{Connection, Listener, Listening, Waiting};

use super::lookup::Transport;
use super::zone::{AuthorityCounts, ZonePlan, respond};

/// The longest wait before it checks whether to stop.
const TICK: Duration = Duration::from_millis(50);

/// Datagrams of one turn, so that connections are served under a flood.
const DATAGRAMS_MAX: usize = 256;

/// Connections at once; a further one takes the place of that which has been idle for longest (RFC 7766,
/// section 6.1). Each may be idle so long.
const STREAMS_MAX: usize = 256;
const STREAM_IDLE: Duration = Duration::from_secs(10);

/// Connections accepted in one turn.
const ACCEPTS_MAX: usize = 64;

/// How long a query may take from its first byte to its last.
const QUERY_AGE_MAX: Duration = Duration::from_secs(5);

/// Responses that are held back at once; more are lost.
const DELAYED_MAX: usize = 1 << 16;

/// The longest query over TCP, and the longest unsent output before reading stops.
const INPUT_MAX: usize = 4096;

const DATAGRAMS: usize = 0;
const LISTENER: usize = 1;
const FIRST_STREAM: usize = 2;

struct Stream {
    connection: Connection,
    input: Vec<u8>,
    output: Vec<u8>,
    accepted: Instant,
    /// When it was accepted, sent the last byte of a query, or took some of a response.
    active: Instant,
    /// When the first byte of the incomplete query came.
    query_began: Option<Instant>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Destination {
    Peer(SocketAddr),
    /// With the time at which it was accepted: another may have its place by now.
    Stream(usize, Instant),
}

/// A server; see the module.
pub struct Authority {
    plan: ZonePlan,
    conduct: AuthorityConduct,
    poller: Poll,
    socket: UdpSocket,
    listener: Listener,
    streams: Slab<Stream>,
    delayed: BinaryHeap<Reverse<(Instant, Destination, Vec<u8>)>>,
    random: Rng,
    counts: AuthorityCounts,
}

impl Authority {
    /// Takes the address, for UDP and TCP; port 0 lets the system choose one.
    ///
    /// # Errors
    /// Those of socket(2), bind(2) and listen(2), and of the event interface.
    pub fn bind(address: SocketAddr, plan: ZonePlan, conduct: AuthorityConduct) -> io::Result<Authority> {
        let listener = Listener::bind(address, Listening::default())?;
        let socket = UdpSocket::bind(listener.address()?)?;
        socket.set_nonblocking(true)?;
        let mut poller = Poll::new()?;
        poller.add(socket.handle(), DATAGRAMS, Interest::Read)?;
        poller.add(listener.handle(), LISTENER, Interest::Read)?;
        Ok(Authority {
            plan,
            random: Rng::with_seed(conduct.seed),
            conduct,
            poller,
            socket,
            listener,
            streams: Slab::new(),
            delayed: BinaryHeap::new(),
            counts: AuthorityCounts::default(),
        })
    }

    /// Where it answers.
    ///
    /// # Errors
    /// Those of getsockname(2).
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.address()
    }

    /// Serves until it is to stop, and returns the counters.
    ///
    /// # Errors
    /// Those of the event interface.
    pub fn run(mut self, stop: &AtomicBool) -> io::Result<AuthorityCounts> {
        let mut events = Vec::new();
        let mut buffer = vec![0; 1 << 16];
        while !stop.load(Ordering::Relaxed) {
            let due =
                self.delayed.peek().map(|Reverse((due, _, _))| due.saturating_duration_since(Instant::now()));
            self.poller.wait(&mut events, Some(due.map_or(TICK, |due| due.min(TICK))))?;
            for event in &events {
                match event.token {
                    DATAGRAMS => self.receive(&mut buffer),
                    LISTENER => self.accept(),
                    _ => self.exchange(*event, &mut buffer),
                }
            }
            self.send_due();
            self.close_idle();
        }
        Ok(self.counts)
    }

    fn receive(&mut self, buffer: &mut [u8]) {
        for _ in 0..DATAGRAMS_MAX {
            let (length, from) = match self.socket.recv_from(buffer) {
                Ok(received) => received,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                // The network's error for an earlier response.
                Err(_) => continue,
            };
            if self.random.f64() < self.conduct.drops {
                self.counts.responses.dropped += 1;
                continue;
            }
            let response = respond(&self.plan, &buffer[..length], Transport::Udp, &mut self.counts);
            let Some(response) = response else { continue };
            if self.random.f64() < self.conduct.lies {
                self.counts.responses.lies += 1;
                for lie in lies(&response) {
                    self.send(Destination::Peer(from), lie);
                }
            }
            self.send(Destination::Peer(from), response);
        }
    }

    /// Now, or when its time has come.
    fn send(&mut self, to: Destination, response: Vec<u8>) {
        if self.conduct.latency.is_zero() {
            self.send_now(to, &response);
        } else if self.delayed.len() < DELAYED_MAX {
            self.delayed.push(Reverse((Instant::now() + self.conduct.latency, to, response)));
        }
    }

    fn send_now(&mut self, to: Destination, response: &[u8]) {
        match to {
            // Datagrams that do not leave count as lost.
            Destination::Peer(peer) => drop(self.socket.send_to(response, peer)),
            Destination::Stream(number, accepted) => {
                let stream = self.streams.get_mut(number).filter(|stream| stream.accepted == accepted);
                let Some(stream) = stream else { return };
                let length = u16::try_from(response.len()).unwrap_or(u16::MAX);
                stream.output.extend(length.to_be_bytes());
                stream.output.extend(response);
                self.flush(number);
            }
        }
    }

    fn send_due(&mut self) {
        let now = Instant::now();
        while self.delayed.peek().is_some_and(|Reverse((due, _, _))| *due <= now) {
            let Some(Reverse((_, to, response))) = self.delayed.pop() else { return };
            self.send_now(to, &response);
        }
    }

    fn accept(&mut self) {
        for _ in 0..ACCEPTS_MAX {
            let connection = match self.listener.accept(Waiting::NonBlocking) {
                Ok(connection) => connection,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                // Such as no descriptor: the next turn has one.
                Err(_) => return self.close_longest_idle(),
            };
            let entry = self.streams.vacant_entry();
            if self.poller.add(connection.handle(), FIRST_STREAM + entry.key(), Interest::Read).is_ok() {
                let now = Instant::now();
                let (input, output) = (Vec::new(), Vec::new());
                entry.insert(Stream {
                    connection,
                    input,
                    output,
                    accepted: now,
                    active: now,
                    query_began: None,
                });
                self.counts.connections += 1;
            }
            if self.streams.len() > STREAMS_MAX {
                self.close_longest_idle();
            }
        }
    }

    fn exchange(&mut self, event: Event, buffer: &mut [u8]) {
        let number = event.token - FIRST_STREAM;
        let Some(stream) = self.streams.get_mut(number) else { return };
        let accepted = stream.accepted;
        if event.readable && stream.output.len() < INPUT_MAX {
            match stream.connection.receive(&mut buffer[..INPUT_MAX]) {
                Ok(length) if length > 0 => stream.input.extend_from_slice(&buffer[..length]),
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
                _ => return self.close(number),
            }
            let now = Instant::now();
            let mut queries = Vec::new();
            while let Some((length, rest)) = stream.input.split_first_chunk::<2>()
                && let Some(query) = rest.get(..usize::from(u16::from_be_bytes(*length)))
            {
                queries.push(query.to_vec());
                stream.input.drain(..2 + query.len());
                (stream.active, stream.query_began) = (now, None);
            }
            if !stream.input.is_empty() {
                stream.query_began.get_or_insert(now);
            }
            if stream.input.len() > INPUT_MAX {
                return self.close(number);
            }
            for query in queries {
                if let Some(response) = respond(&self.plan, &query, Transport::Tcp, &mut self.counts) {
                    self.send(Destination::Stream(number, accepted), response);
                }
            }
        }
        self.flush(number);
    }

    fn flush(&mut self, number: usize) {
        let Some(stream) = self.streams.get_mut(number) else { return };
        let before = stream.output.len();
        while !stream.output.is_empty() {
            match stream.connection.send(&stream.output) {
                Ok(count) => {
                    stream.output.drain(..count);
                    stream.active = Instant::now();
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(_) => return self.close(number),
            }
        }
        if stream.output.len() != before || before > 0 {
            let interest = if stream.output.is_empty() { Interest::Read } else { Interest::Write };
            if self.poller.change(stream.connection.handle(), FIRST_STREAM + number, interest).is_err() {
                self.close(number);
            }
        }
    }

    fn close(&mut self, number: usize) {
        let Some(stream) = self.streams.try_remove(number) else { return };
        // A failure here ends with the descriptor all the same.
        let _ = self.poller.remove(stream.connection.handle(), FIRST_STREAM + number);
    }

    fn close_longest_idle(&mut self) {
        let longest = self.streams.iter().min_by_key(|(_, stream)| stream.active);
        if let Some(number) = longest.map(|(number, _)| number) {
            self.close(number);
        }
    }

    /// Closes those that have done nothing for too long, or are too slow with a query.
    fn close_idle(&mut self) {
        let now = Instant::now();
        let is_idle = |(_, stream): &(usize, &Stream)| {
            let query_age = stream.query_began.map_or(Duration::ZERO, |began| now - began);
            now.saturating_duration_since(stream.active) > STREAM_IDLE || query_age > QUERY_AGE_MAX
        };
        let idle: Vec<usize> = self.streams.iter().filter(is_idle).map(|(number, _)| number).collect();
        for number in idle {
            self.close(number);
        }
    }
}

/// The response with another id, and with another letter at the start of its question.
fn lies(response: &[u8]) -> [Vec<u8>; 2] {
    let with = |at: usize| {
        let mut lie = response.to_vec();
        if let Some(byte) = lie.get_mut(at) {
            *byte ^= 1;
        }
        lie
    };
    [with(0), with(13)]
}

/// How a server behaves.
#[derive(Clone, Copy, Debug, Default)]
pub struct AuthorityConduct {
    /// How long each response is held back.
    pub latency: Duration,
    /// The share of datagrams that are lost, between 0 and 1.
    pub drops: f64,
    /// The share of responses over UDP before which two others come that must not be believed: one with
    /// another id, and one to another question.
    pub lies: f64,
    /// Decides them.
    pub seed: u64,
}

/// The name of the server in errors.
const ROLE: &str = "the DNS server";

/// The word for which a program calls [`serve_names`].
pub const NAMES_ROLE: &str = "names";

/// How long it may take to begin, to reply, or to end.
const PATIENCE: Duration = Duration::from_secs(10);

/// The plan of a server.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NameServerPlan {
    /// Where it answers; port 0 lets the system choose.
    pub address: SocketAddr,
    /// Its zone.
    pub zone: ZonePlan,
    /// The processor that it stays on, where the system can do that.
    pub cpu: Option<u32>,
}

#[derive(Debug, Serialize, Deserialize)]
enum Reply {
    Listening(SocketAddr),
    /// Processor time in seconds, where the system reports it.
    Taken(Option<f64>),
    /// The last one.
    Counted(AuthorityCounts),
    /// It cannot be set up or go on.
    Refused(String),
}

/// The request for the processor time.
#[derive(Debug, Serialize, Deserialize)]
struct TakenNow;

/// A DNS server in another process. Dropped, it is killed.
#[derive(Debug)]
pub struct NameServer {
    process: Process,
    address: SocketAddr,
}

impl NameServer {
    /// Starts a server, and waits until it responds. The program calls [`serve_names`] for [`NAMES_ROLE`].
    ///
    /// # Errors
    /// When it cannot be started, or does not begin.
    pub fn start(program: &Path, plan: &NameServerPlan) -> io::Result<NameServer> {
        let deadline = Deadline::within(PATIENCE);
        let mut host = Host::open(&[], program, program, &[], deadline).map_err(io::Error::other)?;
        let process = host.start(ROLE, program, &[NAMES_ROLE], deadline).map_err(io::Error::other)?;
        let process = process.with_grace(Duration::ZERO);
        process.send(plan).map_err(io::Error::other)?;
        let mut server = NameServer { process, address: plan.address };
        match server.receive()? {
            Reply::Listening(address) => server.address = address,
            other => return Err(unexpected(&other)),
        }
        Ok(server)
    }

    /// Where it answers.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its processor time until now, in seconds; `None` where the system does not report it.
    ///
    /// # Errors
    /// When it does not reply.
    pub fn cpu_seconds(&mut self) -> io::Result<Option<f64>> {
        self.process.send(&TakenNow).map_err(io::Error::other)?;
        match self.receive()? {
            Reply::Taken(seconds) => Ok(seconds),
            other => Err(unexpected(&other)),
        }
    }

    /// Stops it, and waits for its end; returns its counters.
    ///
    /// # Errors
    /// When it does not end in time, or ends without a reply.
    pub fn stop(mut self) -> io::Result<AuthorityCounts> {
        self.process.close_input();
        let counts = match self.receive()? {
            Reply::Counted(counts) => counts,
            other => return Err(unexpected(&other)),
        };
        let ending = self.process.finish(PATIENCE);
        if ending.is_success {
            return Ok(counts);
        }
        Err(io::Error::other(host::with_stderr(&ending.words, &self.process.stderr())))
    }

    fn receive(&mut self) -> io::Result<Reply> {
        self.process.receive(Deadline::within(PATIENCE)).map_err(io::Error::other)
    }
}

fn unexpected(reply: &Reply) -> io::Error {
    let words = match reply {
        Reply::Refused(reason) => format!("{ROLE} {reason}"),
        other => format!("{ROLE} replied {other:?}"),
    };
    io::Error::other(words)
}

/// The other side of [`NameServer`]: receives a plan and serves by it, until the input ends.
///
/// # Errors
/// When it cannot be set up or go on; the other side has the error too.
pub fn serve_names(input: impl Read + Send + 'static, output: impl Write + Send + 'static) -> io::Result<()> {
    let mut requests = FrameReader::new(input);
    let Some(plan) = requests.receive::<NameServerPlan>()? else { return Ok(()) };
    let replies = Arc::new(Mutex::new(FrameWriter::new(output)));
    let served = serve_until_end(plan, requests, &replies);
    let last = match &served {
        Ok(counts) => Reply::Counted(*counts),
        Err(error) => Reply::Refused(format!("cannot go on: {error}")),
    };
    send(&replies, &last)?;
    served.map(drop)
}

fn serve_until_end(
    plan: NameServerPlan,
    mut requests: FrameReader<impl Read + Send + 'static>,
    replies: &Arc<Mutex<FrameWriter<impl Write + Send + 'static>>>,
) -> io::Result<AuthorityCounts> {
    // The system chooses the processor where it cannot be set.
    let _ = plan.cpu.map(sys::cpu::pin);
    let authority = Authority::bind(plan.address, plan.zone, AuthorityConduct::default())?;
    send(replies, &Reply::Listening(authority.address()?))?;
    let stop = Arc::new(AtomicBool::new(false));
    let (replies, ordered) = (Arc::clone(replies), Arc::clone(&stop));
    // It may wait for input as long as the process lives, so it is not joined.
    std::thread::Builder::new().spawn(move || {
        while let Ok(Some(TakenNow)) = requests.receive() {
            let seconds = sys::process::process_tree_usage().ok().map(|taken| taken.cpu_seconds);
            if send(&replies, &Reply::Taken(seconds)).is_err() {
                break;
            }
        }
        ordered.store(true, Ordering::Relaxed);
    })?;
    authority.run(&stop)
}

fn send(replies: &Mutex<FrameWriter<impl Write>>, reply: &Reply) -> io::Result<()> {
    replies.lock().unwrap_or_else(PoisonError::into_inner).send(reply)
}
