//! What event loops stand on: sockets, a set or a ring of them to wait for, and a clock. They are those of
//! the kernel, or in tests simulated ones, in which any order of events can be had, and had again.
//!
//! - `load` the network of a load generator, `tls` the same with encryption in between, `http2` with streams;
//! - `server` the network of a reactor, `ring` that of a proactor.

mod http2;
mod load;
#[cfg(any(target_os = "linux", windows))]
mod ring;
mod server;
mod timer;
mod tls;

use std::io;
use std::net::SocketAddr;

use sys::event::Interest;
use sys::tcp::Connection;

pub(crate) use http2::Http2Network;
pub(crate) use load::{ALARM, Carried, FORGETS_CLOSED, LoadKernel, LoadNetwork};
#[cfg(any(target_os = "linux", windows))]
pub(crate) use ring::{RingKernel, ServerRing};
pub(crate) use server::{LISTENER, ServerKernel, ServerNetwork, milliseconds};
pub use timer::Timer;
pub(crate) use tls::{Alpn, TlsFault, TlsNetwork, TlsServer, TlsSession};
pub use tls::{Handshake, TlsClient, TlsConnection, TlsIdentity, TlsSettings};

use crate::output::Sender;

/// One connection, of which no call waits; see [`Connection`]. Dropped, it is closed.
pub(crate) trait Socket: Sender {
    /// What came of connecting, once the socket is ready.
    fn connected(&self, now_ns: u64) -> io::Result<Connected>;

    /// Whether the connection was made for this socket: one of several that share a connection was.
    fn is_opener(&self) -> bool {
        true
    }

    /// One recv(2); 0 is the end.
    fn receive(&self, buffer: &mut [u8]) -> io::Result<usize>;

    /// Small pieces leave at once.
    fn send_at_once(&self) -> io::Result<()>;

    /// Nothing more will be sent.
    fn finish_sending(&self) -> io::Result<()>;

    /// Has the close reset the connection.
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
    /// What is to be waited for first.
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

    /// Forgets the socket, before it is closed, where the set does not notice that by itself.
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
