//! TCP by Winsock.

use std::io::{self, IoSlice};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::windows::io::{AsSocket, BorrowedSocket};
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use windows_sys::Win32::Networking::WinSock::{
    LINGER, POLLRDNORM, SD_BOTH, WSABUF, WSAETIMEDOUT, WSAEWOULDBLOCK, WSAPOLLFD, WSASend, accept, connect,
    listen, recv, send, shutdown,
};

use super::{Listening, Waiting};
use crate::Unsupported;
use crate::handle::OwnedHandle;
use crate::winsock::{
    self, IPV6_ONLY, LINGERING, NO_DELAY, RECEIVE_TIMEOUT, SEND_TIMEOUT, count, done, name_of, raw,
};

/// A socket that accepts connections.
#[derive(Debug)]
pub struct Listener {
    socket: TcpListener,
    /// Whether it was made so that accept waits: the system has no call that reads this.
    is_blocking: bool,
    /// How many milliseconds a blocking accept waits; 0 for ever.
    accept_milliseconds: AtomicU32,
}

/// A connection, or one that is being made.
#[derive(Debug)]
pub struct Connection(TcpStream);

impl Listener {
    /// Listens at the address; port 0 lets the system choose. An IPv6 listener serves IPv6 alone. Connections
    /// of an earlier server in TIME_WAIT do not hinder it on Windows.
    ///
    /// # Errors
    /// Those of WSASocketW, setsockopt, bind and listen.
    pub fn bind(address: SocketAddr, how: Listening) -> io::Result<Listener> {
        if how.share_port {
            return Err(Unsupported("listeners cannot share a port here").into());
        }
        if how.loopback {
            return Err(Unsupported("a listener is bound to the loopback device on Linux only").into());
        }
        let socket = TcpListener::from(winsock::stream(address.is_ipv4())?);
        if address.is_ipv6() {
            winsock::set(&socket, IPV6_ONLY, &1)?;
        }
        if !how.blocking {
            socket.set_nonblocking(true)?;
        }
        // Responses leave at once, see [`Connection::send_at_once`]: connections inherit it and pay no call.
        winsock::set(&socket, NO_DELAY, &1)?;
        winsock::bind(&socket, address)?;
        // SAFETY: takes numbers only.
        done(unsafe { listen(raw(&socket), i32::from(how.backlog)) })?;
        Ok(Listener { socket, is_blocking: how.blocking, accept_milliseconds: AtomicU32::new(0) })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// Those of getsockname.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// One accept, and ioctlsocket where the connection is to wait in another way than the listener: it
    /// inherits that. With a time limit one WSAPoll before.
    ///
    /// # Errors
    /// Those of accept; `WouldBlock` when the time is over.
    #[inline]
    pub fn accept(&self, waiting: Waiting) -> io::Result<Connection> {
        let limit = self.accept_milliseconds.load(Ordering::Relaxed);
        if waiting == Waiting::Blocking && limit > 0 {
            let mut entry = [WSAPOLLFD { fd: raw(&self.socket), events: POLLRDNORM, revents: 0 }];
            winsock::poll(&mut entry, Some(Duration::from_millis(limit.into())))?;
        }
        let (address, length) = (std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: no address is requested, so no pointer is followed; the socket is ours.
        let socket = TcpStream::from(unsafe { winsock::owned(accept(raw(&self.socket), address, length)) }?);
        let is_nonblocking = waiting == Waiting::NonBlocking;
        if is_nonblocking != self.is_nonblocking() {
            socket.set_nonblocking(is_nonblocking)?;
        }
        Ok(Connection(socket))
    }

    /// Whether accept does not wait, which connections inherit, see [`Listener::accept_timeout`].
    #[inline]
    fn is_nonblocking(&self) -> bool {
        !self.is_blocking || self.accept_milliseconds.load(Ordering::Relaxed) > 0
    }

    /// A blocking accept gives up after this time, with `WouldBlock`. Windows has no such option, so the
    /// listener itself no longer blocks: one of several threads that learn about a connection gets it, and
    /// the others must not stay in accept.
    ///
    /// # Errors
    /// Those of ioctlsocket.
    pub fn accept_timeout(&self, timeout: Duration) -> io::Result<()> {
        self.accept_milliseconds.store(milliseconds(Some(timeout)), Ordering::Relaxed);
        self.socket.set_nonblocking(true)
    }

    /// A blocking send on a connection gives up after this time, with `WouldBlock`: connections inherit it.
    ///
    /// # Errors
    /// Those of setsockopt.
    pub fn send_timeout(&self, timeout: Duration) -> io::Result<()> {
        winsock::set(&self.socket, SEND_TIMEOUT, &milliseconds(Some(timeout)))
    }

    /// Closing must suffice: Windows goes on accepting for a listener.
    pub fn finish(&self) {
        // SAFETY: takes numbers only.
        unsafe { shutdown(raw(&self.socket), SD_BOTH) };
    }
}

impl Connection {
    /// Unsupported.
    ///
    /// # Errors
    /// Always.
    pub fn on_standard_input() -> io::Result<Connection> {
        Err(NO_STDIO.into())
    }

    /// Unsupported.
    ///
    /// # Errors
    /// Always.
    pub fn into_stdio(self) -> io::Result<(Stdio, Stdio)> {
        Err(NO_STDIO.into())
    }

    missing! {
        "sockets in the file system are not connected to on Windows";
        pub fn connect_unix(path: &Path, waiting: Waiting) -> io::Result<Connection>;
    }

    /// Everything before connect. With `from`, the connection will begin at that address; its port 0 leaves
    /// the port to the system, which chooses it at once.
    ///
    /// # Errors
    /// Those of WSASocketW and bind.
    #[inline]
    pub fn prepare(to: SocketAddr, from: Option<SocketAddr>, waiting: Waiting) -> io::Result<Connection> {
        let socket = TcpStream::from(winsock::stream(to.is_ipv4())?);
        if waiting == Waiting::NonBlocking {
            socket.set_nonblocking(true)?;
        }
        if let Some(from) = from {
            winsock::bind(&socket, from)?;
        }
        Ok(Connection(socket))
    }

    /// One connect.
    ///
    /// # Errors
    /// Those of connect.
    #[inline]
    pub fn begin(&self, to: SocketAddr) -> io::Result<()> {
        let (name, length) = name_of(to);
        // SAFETY: the name is that long and outlives the call.
        match done(unsafe { connect(raw(&self.0), (&raw const name).cast(), length) }) {
            Err(error) if error.raw_os_error() == Some(WSAEWOULDBLOCK) => Ok(()),
            answer => answer,
        }
    }

    /// The result of connecting, once the connection is writable.
    ///
    /// # Errors
    /// The reason why it could not be made.
    pub fn connected(&self) -> io::Result<()> {
        self.0.take_error()?.map_or(Ok(()), Err)
    }

    /// One recv; 0 is the end.
    ///
    /// # Errors
    /// Those of recv.
    #[inline]
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<usize> {
        // SAFETY: the buffer has room for that many bytes and outlives the call.
        in_time(count(unsafe { recv(raw(&self.0), buffer.as_mut_ptr(), length(buffer), 0) }))
    }

    /// One send.
    ///
    /// # Errors
    /// Those of send.
    #[inline]
    pub fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        // SAFETY: the bytes are that many and outlive the call.
        in_time(count(unsafe { send(raw(&self.0), bytes.as_ptr(), length(bytes), 0) }))
    }

    /// As [`Connection::send`]: Windows is not told that more follows.
    ///
    /// # Errors
    /// Those of send.
    #[inline]
    pub fn send_and_more(&self, bytes: &[u8]) -> io::Result<usize> {
        self.send(bytes)
    }

    /// Several pieces by one WSASend.
    ///
    /// # Errors
    /// Those of WSASend.
    #[inline]
    pub fn send_pieces(&self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        let (mut sent, pieces_count) = (0_u32, u32::try_from(pieces.len()).unwrap_or(u32::MAX));
        let buffers = pieces.as_ptr().cast::<WSABUF>();
        // SAFETY: IoSlice is a WSABUF on Windows, by its documentation; all of them and the count outlive the
        // call, which does not overlap with anything.
        let answer = unsafe {
            WSASend(raw(&self.0), buffers, pieces_count, &raw mut sent, 0, std::ptr::null_mut(), None)
        };
        in_time(done(answer))?;
        Ok(sent as usize)
    }

    /// Nothing more will be sent; the other end can still send.
    ///
    /// # Errors
    /// Those of shutdown.
    pub fn finish_sending(&self) -> io::Result<()> {
        self.0.shutdown(Shutdown::Write)
    }

    /// Nothing more will be received: a wait for input returns, with the end of input.
    ///
    /// # Errors
    /// Those of shutdown.
    pub fn finish_receiving(&self) -> io::Result<()> {
        self.0.shutdown(Shutdown::Read)
    }

    /// Makes closesocket reset the connection, so that no port waits in TIME_WAIT.
    ///
    /// # Errors
    /// Those of setsockopt.
    pub fn reset_on_close(&self) -> io::Result<()> {
        winsock::set(&self.0, LINGERING, &LINGER { l_onoff: 1, l_linger: 0 })
    }

    /// Small pieces leave at once rather than wait for the acknowledgement of earlier ones (`TCP_NODELAY`).
    ///
    /// # Errors
    /// Those of setsockopt.
    #[inline]
    pub fn send_at_once(&self) -> io::Result<()> {
        self.0.set_nodelay(true)
    }

    /// A blocking receive gives up after this time, with `WouldBlock`; `None` waits for ever.
    ///
    /// # Errors
    /// Those of setsockopt.
    pub fn receive_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        winsock::set(&self.0, RECEIVE_TIMEOUT, &milliseconds(timeout))
    }

    /// A blocking send gives up after this time, with `WouldBlock`; `None` waits for ever.
    ///
    /// # Errors
    /// Those of setsockopt.
    pub fn send_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        winsock::set(&self.0, SEND_TIMEOUT, &milliseconds(timeout))
    }

    /// The peer's address.
    ///
    /// # Errors
    /// Those of getpeername.
    pub fn peer(&self) -> io::Result<SocketAddr> {
        self.0.peer_addr()
    }

    /// Where this end is.
    ///
    /// # Errors
    /// Those of getsockname.
    pub fn local(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }

    /// The number of its handle.
    #[inline]
    pub fn number(&self) -> i32 {
        raw(&self.0) as i32
    }

    /// One closesocket, with its result.
    ///
    /// # Errors
    /// Those of closesocket.
    #[inline]
    pub fn close(self) -> io::Result<()> {
        winsock::close(self.0)
    }
}

const NO_STDIO: Unsupported =
    Unsupported("no program is executed with a connection as its standard input on Windows");

impl AsSocket for Listener {
    fn as_socket(&self) -> BorrowedSocket<'_> {
        self.socket.as_socket()
    }
}

impl From<OwnedHandle> for Connection {
    fn from(socket: OwnedHandle) -> Connection {
        Connection(socket.into())
    }
}

impl From<Connection> for OwnedHandle {
    fn from(connection: Connection) -> OwnedHandle {
        connection.0.into()
    }
}

impl AsSocket for Connection {
    fn as_socket(&self) -> BorrowedSocket<'_> {
        self.0.as_socket()
    }
}

/// A time limit in the unit of the system, which takes 0 for none.
fn milliseconds(timeout: Option<Duration>) -> u32 {
    timeout.map_or(0, |timeout| u32::try_from(timeout.as_millis()).unwrap_or(u32::MAX).max(1))
}

/// A length in the type that calls take: a longer buffer is sent or filled in part.
fn length(bytes: &[u8]) -> i32 {
    i32::try_from(bytes.len()).unwrap_or(i32::MAX)
}

/// A time limit that is over has the error that it has on other systems.
fn in_time<T>(answer: io::Result<T>) -> io::Result<T> {
    answer.map_err(|error| match error.raw_os_error() {
        Some(WSAETIMEDOUT) => io::ErrorKind::WouldBlock.into(),
        _ => error,
    })
}
