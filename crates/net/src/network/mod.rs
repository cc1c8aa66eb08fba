//! The layer below the event loops: sockets, a set or a ring of them to wait for, a clock, and the addresses
//! of servers. It is the kernel's, or in tests a simulated one, which can produce, and repeat, any order of
//! events.
//!
//! - `load` the network of a load generator, `tls` the same with encryption in between, `http2` with streams;
//! - `server` the network of a reactor, `ring` that of a proactor.

mod http2;
mod load;
#[cfg(any(target_os = "linux", windows))]
mod ring;
mod server;
#[cfg(test)]
pub(crate) mod simulated;
mod tls;

pub(crate) use http2::Http2Network;
pub(crate) use load::{ALARM, Carried, FORGETS_CLOSED, LoadKernel, LoadNetwork};
pub(crate) use server::{LISTENER, ServerKernel, ServerNetwork, milliseconds};
pub(crate) use tls::{Alpn, TlsFault, TlsNetwork, TlsServer, TlsSession};
pub use tls::{Handshake, TlsClient, TlsConnection, TlsIdentity, TlsSettings};

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use sys::clock::Clock;
use sys::event::Interest;
use sys::tcp::Connection;

use crate::output::Sender;

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
