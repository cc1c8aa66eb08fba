//! The layer below the event loops: sockets, a set or a ring of them to wait for, a clock, and the addresses
//! of servers. It is the kernel's, or in tests a simulated one, which can produce, and repeat, any order of
//! events.
//!
//! - here are sockets and sets of them, the network of a load generator, and that of a reactor; `ring` is
//!   that of a proactor;
//! - `tls` and `http2` are the network of a load generator with encryption, or with streams, in between.

mod http2;
#[cfg(any(target_os = "linux", windows))]
mod ring;
#[cfg(test)]
pub(crate) mod simulated;
mod tls;

pub(crate) use http2::Http2Network;
pub(crate) use tls::{Alpn, TlsFault, TlsNetwork, TlsServer, TlsSession};
pub use tls::{Handshake, TlsClient, TlsConnection, TlsIdentity, TlsSettings};

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use sys::alarm::Alarm;
use sys::clock::Clock;
use sys::event::{Event, Interest, Poller};
use sys::handle::AsHandle;
use sys::tcp::{Connection, Waiting};

use crate::Error;
use crate::output::Sender;
use crate::worker::{Accept, WorkerContext};

#[cfg(any(target_os = "linux", windows))]
pub(crate) use ring::{RingKernel, ServerRing};

/// A connection that never blocks a call; see [`Connection`]. Dropped, it is closed.
pub(crate) trait Socket: Sender {
    /// The result of connecting, once the socket is ready.
    fn connected(&self, now_ns: u64) -> io::Result<Connected>;

    /// Whether the connection was made for this socket: true for one of several that share it.
    fn is_opener(&self) -> bool {
        true
    }

    /// One recv(2); 0 is the end.
    fn receive(&self, buffer: &mut [u8]) -> io::Result<usize>;

    /// Small pieces leave at once.
    fn send_at_once(&self) -> io::Result<()>;

    /// Nothing more will be sent.
    fn finish_sending(&self) -> io::Result<()>;

    /// Makes the close reset the connection.
    fn reset_on_close(&self) -> io::Result<()>;

    /// Bytes that the other end has acknowledged; see [`sys::tcp::acknowledged`].
    fn acknowledged(&self) -> io::Result<u64>;

    /// The address of the other end.
    fn peer(&self) -> io::Result<SocketAddr>;

    /// One close(2).
    fn close(self) -> io::Result<()>;
}

/// Whether requests can be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Connected {
    /// They can.
    Yes {
        /// When the handshake began that was needed before, if there was one.
        handshake_from_ns: Option<u64>,
    },
    /// The readiness to wait for first.
    NotYet(Interest),
}

/// A set of sockets that are waited for together.
pub(crate) trait SocketSet: Sized {
    /// A connection, or one that is being made.
    type Socket: Socket;

    /// Waits for the socket too; see [`sys::event::Poller::add`].
    fn add(&mut self, socket: &Self::Socket, token: usize, interest: Interest) -> io::Result<()>;

    /// Waits for something else on the socket.
    fn change(&mut self, socket: &Self::Socket, token: usize, interest: Interest) -> io::Result<()>;

    /// Removes the socket, before it is closed, where the set does not notice that by itself.
    #[inline]
    fn forget(&mut self, _socket: &Self::Socket, _token: usize) {}
}

impl Socket for Connection {
    fn connected(&self, _now_ns: u64) -> io::Result<Connected> {
        self.connected().map(|()| Connected::Yes { handshake_from_ns: None })
    }

    #[inline]
    fn receive(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.receive(buffer)
    }

    #[inline]
    fn send_at_once(&self) -> io::Result<()> {
        self.send_at_once()
    }

    fn finish_sending(&self) -> io::Result<()> {
        self.finish_sending()
    }

    fn reset_on_close(&self) -> io::Result<()> {
        self.reset_on_close()
    }

    fn acknowledged(&self) -> io::Result<u64> {
        sys::tcp::acknowledged(self)
    }

    fn peer(&self) -> io::Result<SocketAddr> {
        self.peer()
    }

    #[inline]
    fn close(self) -> io::Result<()> {
        self.close()
    }
}

/// The token of a load generator's timer.
pub(crate) const ALARM: usize = u32::MAX as usize - 1;

/// The network of a load generator: connections that are made, the set in which they are waited for, and the
/// clock.
pub(crate) trait LoadNetwork: SocketSet {
    /// Whether a connection needs a further step before requests are sent.
    const HAS_HANDSHAKE: bool = false;

    /// Nanoseconds since some beginning.
    fn now_ns(&self) -> u64;

    /// Begins to connect, without waiting.
    fn connect(&mut self, to: &ServerAddress, from: Option<SocketAddr>) -> io::Result<Self::Socket>;

    /// Waits until a socket is ready or it is this time; 0 does not wait. A time that has come may be an
    /// event with the token [`ALARM`], after which [`LoadNetwork::rang`] must be called.
    fn wait(&mut self, events: &mut Vec<Event>, until_ns: u64) -> Result<(), Error>;

    /// The alarm is to be set anew by the next wait.
    fn rang(&mut self);

    /// Sockets that share a connection, at most.
    fn streams(&self) -> usize {
        1
    }

    /// The traffic of the connections since the last call, if several sockets share one.
    fn carried(&mut self) -> Option<Carried> {
        None
    }
}

/// The traffic of connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Carried {
    /// Connections that were made.
    pub(crate) connected: u64,
    pub(crate) sent_bytes: u64,
    pub(crate) received_bytes: u64,
    pub(crate) sends_blocked: u64,
}

#[cfg(target_os = "linux")]
type Set = sys::event::Epoll;
#[cfg(not(target_os = "linux"))]
type Set = sys::event::Poll;

/// Whether a connection can be closed without [`SocketSet::forget`].
pub(crate) const FORGETS_CLOSED: bool = Set::FORGETS_CLOSED;

/// The network of a load generator that is the kernel's.
pub(crate) struct LoadKernel {
    timer: Timer,
    set: Set,
    alarm: Option<Alarm>,
    /// When the alarm rings; 0 if it has rung, or was never set.
    alarm_ns: u64,
}

impl LoadKernel {
    pub(crate) fn new() -> Result<LoadKernel, Error> {
        let mut set = Set::new().map_err(Error::at("open an event interface"))?;
        let alarm = Alarm::new().ok();
        if let Some(alarm) = &alarm {
            set.add(alarm.descriptor(), ALARM, Interest::Read).map_err(Error::at("wait for an alarm"))?;
        }
        Ok(LoadKernel { timer: Timer::start(), set, alarm, alarm_ns: 0 })
    }
}

impl SocketSet for LoadKernel {
    type Socket = Connection;

    #[inline]
    fn add(&mut self, socket: &Connection, token: usize, interest: Interest) -> io::Result<()> {
        self.set.add(socket.handle(), token, interest)
    }

    #[inline]
    fn change(&mut self, socket: &Connection, token: usize, interest: Interest) -> io::Result<()> {
        self.set.change(socket.handle(), token, interest)
    }

    #[inline]
    fn forget(&mut self, socket: &Connection, token: usize) {
        if !Set::FORGETS_CLOSED {
            // A refused socket was never added.
            let _ = self.set.remove(socket.handle(), token);
        }
    }
}

impl LoadNetwork for LoadKernel {
    #[inline(always)]
    fn now_ns(&self) -> u64 {
        self.timer.now_ns()
    }

    #[inline]
    fn connect(&mut self, to: &ServerAddress, from: Option<SocketAddr>) -> io::Result<Connection> {
        match to {
            ServerAddress::Network(to) => Connection::connect(*to, from, Waiting::NonBlocking),
            ServerAddress::Unix(path) => Connection::connect_unix(path, Waiting::NonBlocking),
        }
    }

    /// The alarm is set when the time has changed, which in a closed loop happens a hundred times per second.
    /// A timeout of the wait itself would make the kernel set a timer for every wait.
    #[inline]
    fn wait(&mut self, events: &mut Vec<Event>, until_ns: u64) -> Result<(), Error> {
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
        self.set.wait(events, timeout).map_err(Error::at("wait for events"))
    }

    #[inline]
    fn rang(&mut self) {
        // It rings until it is set anew.
        self.alarm_ns = 0;
    }
}

/// The token of a reactor's listener; connections have those that they were added with.
pub(crate) const LISTENER: usize = u32::MAX as usize - 1;

/// The network of a reactor: a listener that is waited for from the beginning, a set of the connections that
/// it accepts, and a clock.
pub(crate) trait ServerNetwork: SocketSet {
    /// See [`Poller::EDGE`].
    const EDGE: bool;

    /// See [`Poller::FORGETS_CLOSED`].
    const FORGETS_CLOSED: bool;

    /// Milliseconds since some beginning.
    fn now_ms(&self) -> u64;

    /// Accepts one connection, without waiting.
    fn accept(&mut self) -> io::Result<Self::Socket>;

    /// Waits for the listener, or no longer.
    fn listen(&mut self, interest: Interest) -> io::Result<()>;

    /// Refuses connections from now on.
    fn refuse_more(&mut self);

    /// Forgets the socket, before it is closed.
    fn remove(&mut self, socket: &Self::Socket, token: usize) -> io::Result<()>;

    /// Waits until something is ready or the time is over; see [`Poller::wait`].
    fn wait(&mut self, events: &mut Vec<Event>, timeout: Duration) -> io::Result<()>;
}

/// The network of a reactor that is the kernel's.
pub(crate) struct ServerKernel<'worker, P> {
    poller: P,
    worker: &'worker WorkerContext,
    began: Instant,
}

impl<'worker, P: Poller> ServerKernel<'worker, P> {
    pub(crate) fn new(worker: &'worker WorkerContext) -> io::Result<ServerKernel<'worker, P>> {
        let mut kernel = ServerKernel { poller: P::new()?, worker, began: Instant::now() };
        kernel.add_listener()?;
        Ok(kernel)
    }

    fn add_listener(&mut self) -> io::Result<()> {
        let listener = self.worker.listener.handle();
        match self.worker.accept {
            Accept::Exclusive => self.poller.add_exclusive(listener, LISTENER),
            Accept::ReusePort | Accept::Shared => self.poller.add(listener, LISTENER, Interest::Read),
        }
    }
}

impl<P: Poller> SocketSet for ServerKernel<'_, P> {
    type Socket = Connection;

    #[inline]
    fn add(&mut self, socket: &Connection, token: usize, interest: Interest) -> io::Result<()> {
        self.poller.add(socket.handle(), token, interest)
    }

    #[inline]
    fn change(&mut self, socket: &Connection, token: usize, interest: Interest) -> io::Result<()> {
        self.poller.change(socket.handle(), token, interest)
    }
}

impl<P: Poller> ServerNetwork for ServerKernel<'_, P> {
    const EDGE: bool = P::EDGE;
    const FORGETS_CLOSED: bool = P::FORGETS_CLOSED;

    #[inline]
    fn now_ms(&self) -> u64 {
        milliseconds(self.began.elapsed())
    }

    #[inline]
    fn accept(&mut self) -> io::Result<Connection> {
        self.worker.listener.accept(Waiting::NonBlocking)
    }

    fn listen(&mut self, interest: Interest) -> io::Result<()> {
        // An exclusive wait cannot be changed, but it was given up before.
        if self.worker.accept == Accept::Exclusive && interest == Interest::Read {
            return self.add_listener();
        }
        self.poller.change(self.worker.listener.handle(), LISTENER, interest)
    }

    fn refuse_more(&mut self) {
        self.worker.refuse_more();
    }

    #[inline]
    fn remove(&mut self, socket: &Connection, token: usize) -> io::Result<()> {
        self.poller.remove(socket.handle(), token)
    }

    #[inline]
    fn wait(&mut self, events: &mut Vec<Event>, timeout: Duration) -> io::Result<()> {
        self.poller.wait(events, Some(timeout))
    }
}

/// Nanoseconds since its start, by the clock that times operations: one reading takes about 20 ns.
#[derive(Clone, Debug)]
pub struct Timer {
    clock: Clock,
    start_ticks: u64,
    /// Nanoseconds in a tick, in units of 2^-32.
    scale: u64,
}

impl Timer {
    /// Starts counting. Takes 10 ms where the rate of the processor's counter must be found out.
    pub fn start() -> Timer {
        let clock = Clock::start();
        let scale = (clock.seconds_per_tick() * 1e9 * (1_u64 << 32) as f64) as u64;
        let start_ticks = clock.now();
        Timer { clock, start_ticks, scale }
    }

    /// Nanoseconds since the start.
    #[inline(always)]
    pub fn now_ns(&self) -> u64 {
        // A counter that another processor reads a little behind must not wrap around.
        let ticks = self.clock.now().saturating_sub(self.start_ticks);
        ((u128::from(ticks) * u128::from(self.scale)) >> 32) as u64
    }
}

/// Where a server is. As text it is `127.0.0.1:8080` or `unix:/run/server.sock`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum ServerAddress {
    /// An address of IPv4 or IPv6.
    Network(SocketAddr),
    /// A path, see unix(7).
    Unix(PathBuf),
}

impl ServerAddress {
    /// The address in a network; `None` for a path.
    pub fn network(&self) -> Option<SocketAddr> {
        match self {
            ServerAddress::Network(address) => Some(*address),
            ServerAddress::Unix(_) => None,
        }
    }
}

impl fmt::Display for ServerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ServerAddress::Network(address) => write!(f, "{address}"),
            ServerAddress::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

impl From<SocketAddr> for ServerAddress {
    fn from(address: SocketAddr) -> ServerAddress {
        ServerAddress::Network(address)
    }
}

impl From<ServerAddress> for String {
    fn from(address: ServerAddress) -> String {
        address.to_string()
    }
}

impl TryFrom<String> for ServerAddress {
    type Error = std::net::AddrParseError;

    fn try_from(text: String) -> Result<ServerAddress, Self::Error> {
        match text.strip_prefix("unix:") {
            Some(path) => Ok(ServerAddress::Unix(path.into())),
            None => text.parse().map(ServerAddress::Network),
        }
    }
}

/// Whole milliseconds, as many as a number holds.
pub(crate) fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
