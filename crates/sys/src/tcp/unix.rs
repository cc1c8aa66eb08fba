//! TCP by the calls of POSIX; sendfile(2) on Linux.

use std::fs::File;
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

#[cfg(not(target_vendor = "apple"))]
use rustix::net::SocketFlags;
use rustix::net::{self, AddressFamily, RecvFlags, SendFlags, Shutdown, SocketAddrUnix, SocketType, sockopt};

use super::{Listening, Waiting};

/// A send to a closed peer returns an error instead of raising a signal.
#[cfg(not(target_vendor = "apple"))]
const QUIETLY: SendFlags = SendFlags::NOSIGNAL;
#[cfg(target_vendor = "apple")]
const QUIETLY: SendFlags = SendFlags::empty();

/// A socket that accepts connections.
#[derive(Debug)]
pub struct Listener(OwnedFd);

/// A connection, or one that is being made.
#[derive(Debug)]
pub struct Connection(OwnedFd);

/// A socket with an address, which does not listen yet.
#[derive(Debug)]
pub struct BoundSocket(OwnedFd);

impl BoundSocket {
    /// Binds to the address; port 0 lets the system choose. Whether it is IPv6 alone, shares its port and the
    /// like is as [`Listening`] says.
    ///
    /// # Errors
    /// Those of socket(2), setsockopt(2) and bind(2).
    pub fn bind(address: SocketAddr, how: Listening) -> io::Result<BoundSocket> {
        let waiting = if how.blocking { Waiting::Blocking } else { Waiting::NonBlocking };
        let socket = stream(family(address), waiting)?;
        // Connections of a server that ended linger in TIME_WAIT; the next one must start all the same.
        sockopt::set_socket_reuseaddr(&socket, true)?;
        if address.is_ipv6() {
            sockopt::set_ipv6_v6only(&socket, true)?;
        }
        if how.share_port {
            #[cfg(any(target_os = "illumos", target_os = "solaris"))]
            return Err(crate::Unsupported("listeners cannot share a port here").into());
            #[cfg(not(any(target_os = "illumos", target_os = "solaris")))]
            sockopt::set_socket_reuseport(&socket, true)?;
        }
        if how.loopback {
            only_loopback(&socket)?;
        }
        // Responses leave at once, see [`Connection::send_at_once`]: connections inherit it and pay no call.
        sockopt::set_tcp_nodelay(&socket, true)?;
        net::bind(&socket, &address)?;
        Ok(BoundSocket(socket))
    }

    /// Where it is bound.
    ///
    /// # Errors
    /// Those of getsockname(2).
    pub fn address(&self) -> io::Result<SocketAddr> {
        Ok(net::getsockname(&self.0)?.try_into()?)
    }

    /// One listen(2).
    ///
    /// # Errors
    /// Those of listen(2).
    #[inline]
    pub fn listen(self, backlog: u16) -> io::Result<Listener> {
        net::listen(&self.0, i32::from(backlog))?;
        Ok(Listener(self.0))
    }
}

impl Listener {
    /// Listens at the address; port 0 lets the system choose. An IPv6 listener serves IPv6 alone.
    ///
    /// # Errors
    /// Those of socket(2), setsockopt(2), bind(2) and listen(2).
    pub fn bind(address: SocketAddr, how: Listening) -> io::Result<Listener> {
        BoundSocket::bind(address, how)?.listen(how.backlog)
    }

    /// One close(2), with its result.
    ///
    /// # Errors
    /// Those of close(2).
    #[inline]
    pub fn close(self) -> io::Result<()> {
        crate::file::close(File::from(self.0))
    }

    /// Where it listens.
    ///
    /// # Errors
    /// Those of getsockname(2).
    pub fn address(&self) -> io::Result<SocketAddr> {
        Ok(net::getsockname(&self.0)?.try_into()?)
    }

    /// One accept(2). The peer's address is not requested, which spares the kernel a copy.
    ///
    /// # Errors
    /// Those of accept(2).
    #[inline]
    pub fn accept(&self, waiting: Waiting) -> io::Result<Connection> {
        #[cfg(not(target_vendor = "apple"))]
        return Ok(Connection(net::accept_with(&self.0, flags(waiting))?));
        #[cfg(target_vendor = "apple")]
        return with_flags(net::accept(&self.0)?, waiting).map(Connection);
    }

    /// A blocking accept gives up after this time, with `WouldBlock`. Connections inherit it as their
    /// receive timeout.
    ///
    /// # Errors
    /// Those of setsockopt(2).
    pub fn accept_timeout(&self, timeout: Duration) -> io::Result<()> {
        Ok(sockopt::set_socket_timeout(&self.0, sockopt::Timeout::Recv, Some(timeout))?)
    }

    /// A blocking send on a connection gives up after this time, with `WouldBlock`: connections inherit it.
    ///
    /// # Errors
    /// Those of setsockopt(2).
    pub fn send_timeout(&self, timeout: Duration) -> io::Result<()> {
        Ok(sockopt::set_socket_timeout(&self.0, sockopt::Timeout::Send, Some(timeout))?)
    }

    /// Refuses connections from now on, including those that were not accepted yet, in every process and
    /// thread that has this socket; a waiting accept returns. Where the system cannot, closing must suffice.
    pub fn finish(&self) {
        let _ = net::shutdown(&self.0, Shutdown::Both);
    }
}

impl Connection {
    /// The connection that this program was executed with as its standard input.
    ///
    /// # Errors
    /// Those of dup(2).
    pub fn on_standard_input() -> io::Result<Connection> {
        Ok(Connection(io::stdin().as_fd().try_clone_to_owned()?))
    }

    /// For a program that is executed with the connection as its standard input and output.
    ///
    /// # Errors
    /// Those of dup(2).
    pub fn into_stdio(self) -> io::Result<(Stdio, Stdio)> {
        Ok((self.0.try_clone()?.into(), self.0.into()))
    }

    /// As [`Connection::connect`], to a socket in the file system (unix(7)). On Linux one that does not wait
    /// fails with `WouldBlock` where the queue of the listener is full.
    ///
    /// # Errors
    /// Those of socket(2) and connect(2).
    #[inline]
    pub fn connect_unix(path: &Path, waiting: Waiting) -> io::Result<Connection> {
        let address = SocketAddrUnix::new(path)?;
        let connection = Connection(stream(AddressFamily::UNIX, waiting)?);
        match net::connect(&connection.0, &address) {
            Ok(()) | Err(rustix::io::Errno::INPROGRESS) => Ok(connection),
            Err(error) => Err(error.into()),
        }
    }

    /// Everything before connect(2). With `from`, the connection will begin at that address; its port 0
    /// leaves the port to the system, chosen when both ends are known where the system can
    /// (`IP_BIND_ADDRESS_NO_PORT`), so that one port serves towards many destinations.
    ///
    /// # Errors
    /// Those of socket(2) and bind(2).
    #[inline]
    pub fn prepare(to: SocketAddr, from: Option<SocketAddr>, waiting: Waiting) -> io::Result<Connection> {
        let socket = stream(family(to), waiting)?;
        if let Some(from) = from {
            if from.port() == 0 {
                choose_port_late(&socket)?;
            }
            net::bind(&socket, &from)?;
        }
        Ok(Connection(socket))
    }

    /// One connect(2).
    ///
    /// # Errors
    /// Those of connect(2).
    #[inline]
    pub fn begin(&self, to: SocketAddr) -> io::Result<()> {
        match net::connect(&self.0, &to) {
            Ok(()) | Err(rustix::io::Errno::INPROGRESS) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// The result of connecting, once the connection is writable.
    ///
    /// # Errors
    /// The reason why it could not be made.
    pub fn connected(&self) -> io::Result<()> {
        Ok(sockopt::socket_error(&self.0)??)
    }

    /// One recv(2); 0 is the end.
    ///
    /// # Errors
    /// Those of recv(2).
    #[inline]
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let (received, _) = net::recv(&self.0, buffer, RecvFlags::empty())?;
        Ok(received)
    }

    /// One send(2).
    ///
    /// # Errors
    /// Those of send(2).
    #[inline]
    pub fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        Ok(net::send(&self.0, bytes, QUIETLY)?)
    }

    /// One send(2) of bytes; more follow at once: the system may wait for them to fill a packet.
    ///
    /// # Errors
    /// Those of send(2).
    #[inline]
    pub fn send_and_more(&self, bytes: &[u8]) -> io::Result<usize> {
        #[cfg(any(target_os = "linux", target_os = "android"))]
        let flags = QUIETLY | SendFlags::MORE;
        #[cfg(not(any(target_os = "linux", target_os = "android")))]
        let flags = QUIETLY;
        Ok(net::send(&self.0, bytes, flags)?)
    }

    /// Several pieces by one sendmsg(2).
    ///
    /// # Errors
    /// Those of sendmsg(2).
    #[inline]
    pub fn send_pieces(&self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        let mut control = net::SendAncillaryBuffer::default();
        Ok(net::sendmsg(&self.0, pieces, &mut control, QUIETLY)?)
    }

    /// Nothing more will be sent; the other end can still send.
    ///
    /// # Errors
    /// Those of shutdown(2).
    pub fn finish_sending(&self) -> io::Result<()> {
        Ok(net::shutdown(&self.0, Shutdown::Write)?)
    }

    /// Nothing more will be received: a wait for input returns, with the end of input.
    ///
    /// # Errors
    /// Those of shutdown(2).
    pub fn finish_receiving(&self) -> io::Result<()> {
        Ok(net::shutdown(&self.0, Shutdown::Read)?)
    }

    /// Makes close(2) reset the connection, so that no port waits in TIME_WAIT.
    ///
    /// # Errors
    /// Those of setsockopt(2).
    pub fn reset_on_close(&self) -> io::Result<()> {
        Ok(sockopt::set_socket_linger(&self.0, Some(Duration::ZERO))?)
    }

    /// Small pieces leave at once rather than wait for the acknowledgement of earlier ones (`TCP_NODELAY`).
    ///
    /// # Errors
    /// Those of setsockopt(2).
    #[inline]
    pub fn send_at_once(&self) -> io::Result<()> {
        Ok(sockopt::set_tcp_nodelay(&self.0, true)?)
    }

    /// A blocking receive gives up after this time, with `WouldBlock`; `None` waits for ever.
    ///
    /// # Errors
    /// Those of setsockopt(2).
    pub fn receive_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        Ok(sockopt::set_socket_timeout(&self.0, sockopt::Timeout::Recv, timeout)?)
    }

    /// A blocking send gives up after this time, with `WouldBlock`; `None` waits for ever.
    ///
    /// # Errors
    /// Those of setsockopt(2).
    pub fn send_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        Ok(sockopt::set_socket_timeout(&self.0, sockopt::Timeout::Send, timeout)?)
    }

    /// The peer's address.
    ///
    /// # Errors
    /// Those of getpeername(2).
    pub fn peer(&self) -> io::Result<SocketAddr> {
        let peer = net::getpeername(&self.0)?.ok_or(io::ErrorKind::NotConnected)?;
        SocketAddr::try_from(peer).map_err(|_| io::Error::other("the other end has no IP address"))
    }

    /// Where this end is.
    ///
    /// # Errors
    /// Those of getsockname(2).
    pub fn local(&self) -> io::Result<SocketAddr> {
        Ok(net::getsockname(&self.0)?.try_into()?)
    }

    /// The descriptor's number.
    #[inline]
    pub fn number(&self) -> i32 {
        self.0.as_raw_fd()
    }

    /// One close(2), with its result.
    ///
    /// # Errors
    /// Those of close(2).
    #[inline]
    pub fn close(self) -> io::Result<()> {
        crate::file::close(File::from(self.0))
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// A connection that was accepted in another way: by a ring, or by the process that started this one.
impl From<OwnedFd> for Connection {
    fn from(descriptor: OwnedFd) -> Connection {
        Connection(descriptor)
    }
}

impl From<Connection> for OwnedFd {
    fn from(connection: Connection) -> OwnedFd {
        connection.0
    }
}

/// A listener that was made by the process that started this one.
impl From<OwnedFd> for Listener {
    fn from(descriptor: OwnedFd) -> Listener {
        Listener(descriptor)
    }
}

fn family(address: SocketAddr) -> AddressFamily {
    if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 }
}

fn stream(family: AddressFamily, waiting: Waiting) -> io::Result<OwnedFd> {
    #[cfg(not(target_vendor = "apple"))]
    return Ok(net::socket_with(family, SocketType::STREAM, flags(waiting), None)?);
    #[cfg(target_vendor = "apple")]
    return with_flags(net::socket(family, SocketType::STREAM, None)?, waiting);
}

/// The calls of macOS that make sockets take no flags.
#[cfg(target_vendor = "apple")]
fn with_flags(socket: OwnedFd, waiting: Waiting) -> io::Result<OwnedFd> {
    rustix::io::ioctl_fioclex(&socket)?;
    rustix::io::ioctl_fionbio(&socket, waiting == Waiting::NonBlocking)?;
    Ok(socket)
}

#[cfg(not(target_vendor = "apple"))]
fn flags(waiting: Waiting) -> SocketFlags {
    match waiting {
        Waiting::Blocking => SocketFlags::CLOEXEC,
        Waiting::NonBlocking => SocketFlags::CLOEXEC | SocketFlags::NONBLOCK,
    }
}

/// `SO_BINDTODEVICE` of socket(7), which needs no privilege since Linux 5.7.
#[cfg(target_os = "linux")]
fn only_loopback(socket: &OwnedFd) -> io::Result<()> {
    set_option(socket, libc::SOL_SOCKET, libc::SO_BINDTODEVICE, b"lo")
}

#[cfg(not(target_os = "linux"))]
fn only_loopback(_socket: &OwnedFd) -> io::Result<()> {
    Err(crate::Unsupported("a listener is bound to the loopback device on Linux only").into())
}

/// ip(7), since Linux 4.2.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn choose_port_late(socket: &OwnedFd) -> io::Result<()> {
    set_option(socket, libc::IPPROTO_IP, libc::IP_BIND_ADDRESS_NO_PORT, &1_i32.to_ne_bytes())
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn choose_port_late(_socket: &OwnedFd) -> io::Result<()> {
    Ok(())
}

/// One setsockopt(2).
#[cfg(any(target_os = "linux", target_os = "android"))]
fn set_option(socket: &OwnedFd, level: libc::c_int, option: libc::c_int, value: &[u8]) -> io::Result<()> {
    let (number, length) = (socket.as_raw_fd(), value.len() as libc::socklen_t);
    // SAFETY: the value is that long and lives as long as the call.
    let answer = unsafe { libc::setsockopt(number, level, option, value.as_ptr().cast(), length) };
    crate::error::checked(answer).map(drop)
}
