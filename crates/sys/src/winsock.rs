//! Winsock: one call per function, with errors as [`io::Error`]. See "Windows Sockets 2" of Microsoft's
//! documentation.

use std::io;
use std::mem::ManuallyDrop;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::os::windows::io::{AsSocket, BorrowedSocket, FromRawSocket, IntoRawSocket};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use windows_sys::Win32::Networking::WinSock::{
    AF_INET, AF_INET6, FIONBIO, INVALID_SOCKET, IPPROTO_IPV6, IPPROTO_TCP, IPV6_V6ONLY, LINGER, SO_ERROR,
    SO_LINGER, SO_RCVTIMEO, SO_SNDTIMEO, SO_UPDATE_ACCEPT_CONTEXT, SOCK_STREAM, SOCKADDR_IN6, SOCKET,
    SOL_SOCKET, TCP_NODELAY, WSA_FLAG_NO_HANDLE_INHERIT, WSA_FLAG_OVERLAPPED, WSADATA, WSAGetLastError,
    WSAPOLLFD, WSAPoll, WSASocketW, WSAStartup, bind, closesocket, getpeername, getsockname, getsockopt,
    ioctlsocket, setsockopt,
};

/// The version of Winsock that is requested: 2.2.
const VERSION: u16 = 0x0202;

/// An option of a socket: its level, its number, and the type of its value.
pub(crate) struct SocketOption<T>(i32, i32, std::marker::PhantomData<T>);

const fn option<T>(level: i32, number: i32) -> SocketOption<T> {
    SocketOption(level, number, std::marker::PhantomData)
}

pub(crate) const IPV6_ONLY: SocketOption<i32> = option(IPPROTO_IPV6, IPV6_V6ONLY);
pub(crate) const NO_DELAY: SocketOption<i32> = option(IPPROTO_TCP, TCP_NODELAY);
pub(crate) const LINGERING: SocketOption<LINGER> = option(SOL_SOCKET, SO_LINGER);
/// The listener, for a socket that AcceptEx has connected: before, it is none for most calls.
pub(crate) const ACCEPTED_BY: SocketOption<SOCKET> = option(SOL_SOCKET, SO_UPDATE_ACCEPT_CONTEXT);
/// In milliseconds; 0 waits for ever.
pub(crate) const RECEIVE_TIMEOUT: SocketOption<u32> = option(SOL_SOCKET, SO_RCVTIMEO);
/// In milliseconds; 0 waits for ever.
pub(crate) const SEND_TIMEOUT: SocketOption<u32> = option(SOL_SOCKET, SO_SNDTIMEO);

/// A socket that is ours. Dropped, it is closed.
#[derive(Debug)]
pub(crate) struct OwnedSocket {
    raw: SOCKET,
    /// As it was set last: the system has no call that reads it.
    nonblocking: AtomicBool,
}

impl OwnedSocket {
    /// One WSASocketW for TCP, which programs that are started do not inherit.
    #[inline]
    pub(crate) fn stream(is_v4: bool) -> io::Result<OwnedSocket> {
        start()?;
        let family = if is_v4 { AF_INET } else { AF_INET6 };
        let flags = WSA_FLAG_OVERLAPPED | WSA_FLAG_NO_HANDLE_INHERIT;
        // SAFETY: no protocol is described, so no pointer is followed.
        let socket = unsafe { WSASocketW(i32::from(family), SOCK_STREAM, 0, std::ptr::null(), 0, flags) };
        OwnedSocket::from_raw(socket)
    }

    /// Another one of the family of a socket that has an address.
    pub(crate) fn like(socket: SOCKET) -> io::Result<OwnedSocket> {
        // Not ours to close.
        let known = ManuallyDrop::new(OwnedSocket::from_raw(socket)?);
        OwnedSocket::stream(known.local()?.is_ipv4())
    }

    /// The result of a call that makes sockets.
    #[inline]
    fn from_raw(socket: SOCKET) -> io::Result<OwnedSocket> {
        match socket {
            INVALID_SOCKET => Err(last_error()),
            raw => Ok(OwnedSocket { raw, nonblocking: AtomicBool::new(false) }),
        }
    }

    /// The result of accept on this listener: the connection inherits its blocking mode.
    #[inline]
    pub(crate) fn accepted(&self, socket: SOCKET) -> io::Result<OwnedSocket> {
        let accepted = OwnedSocket::from_raw(socket)?;
        accepted.nonblocking.store(self.nonblocking.load(Ordering::Relaxed), Ordering::Relaxed);
        Ok(accepted)
    }

    /// Whether calls wait; asks the system only for a change.
    #[inline]
    pub(crate) fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
        if self.nonblocking.swap(nonblocking, Ordering::Relaxed) == nonblocking {
            return Ok(());
        }
        let mut value = u32::from(nonblocking);
        // SAFETY: the value is the number that FIONBIO takes, and outlives the call.
        done(unsafe { ioctlsocket(self.raw, FIONBIO, &raw mut value) })
    }

    /// The error that has happened on it meanwhile, if there is one.
    pub(crate) fn error(&self) -> io::Result<()> {
        let (mut code, mut length) = (0_i32, size_of::<i32>() as i32);
        let value = (&raw mut code).cast();
        // SAFETY: the value is that long, and both outlive the call.
        done(unsafe { getsockopt(self.raw, SOL_SOCKET, SO_ERROR, value, &raw mut length) })?;
        if code == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(code)) }
    }

    pub(crate) fn raw(&self) -> SOCKET {
        self.raw
    }

    /// The number of the handle; 32 of its bits are significant.
    pub(crate) fn number(&self) -> i32 {
        self.raw as i32
    }

    #[inline]
    pub(crate) fn bind(&self, address: SocketAddr) -> io::Result<()> {
        let (name, length) = name_of(address);
        // SAFETY: the name is that long and outlives the call.
        done(unsafe { bind(self.raw, (&raw const name).cast(), length) })
    }

    pub(crate) fn local(&self) -> io::Result<SocketAddr> {
        let (mut name, mut length) = empty_name();
        // SAFETY: the name has room for `length` bytes, and both outlive the call.
        done(unsafe { getsockname(self.raw, (&raw mut name).cast(), &raw mut length) })?;
        address_of(&name)
    }

    pub(crate) fn peer(&self) -> io::Result<SocketAddr> {
        let (mut name, mut length) = empty_name();
        // SAFETY: as in `local`.
        done(unsafe { getpeername(self.raw, (&raw mut name).cast(), &raw mut length) })?;
        address_of(&name)
    }

    pub(crate) fn set<T: Copy>(&self, option: SocketOption<T>, value: &T) -> io::Result<()> {
        // SAFETY: the value has the type of the option, is that long and outlives the call.
        done(unsafe {
            setsockopt(self.raw, option.0, option.1, std::ptr::from_ref(value).cast(), size_of::<T>() as i32)
        })
    }

    #[inline]
    pub(crate) fn close(self) -> io::Result<()> {
        let socket = self.raw;
        std::mem::forget(self);
        // SAFETY: the socket was ours, and this is its last use.
        done(unsafe { closesocket(socket) })
    }
}

impl AsSocket for OwnedSocket {
    fn as_socket(&self) -> BorrowedSocket<'_> {
        // SAFETY: the socket is open as long as self lives.
        unsafe { BorrowedSocket::borrow_raw(self.raw as _) }
    }
}

impl From<OwnedSocket> for std::os::windows::io::OwnedSocket {
    fn from(socket: OwnedSocket) -> std::os::windows::io::OwnedSocket {
        let socket = ManuallyDrop::new(socket);
        // SAFETY: the socket was ours and is so no longer.
        unsafe { std::os::windows::io::OwnedSocket::from_raw_socket(socket.raw as _) }
    }
}

impl From<std::os::windows::io::OwnedSocket> for OwnedSocket {
    fn from(socket: std::os::windows::io::OwnedSocket) -> OwnedSocket {
        OwnedSocket { raw: socket.into_raw_socket() as SOCKET, nonblocking: AtomicBool::new(false) }
    }
}

impl Drop for OwnedSocket {
    fn drop(&mut self) {
        // SAFETY: as in `close`.
        unsafe { closesocket(self.raw) };
    }
}

/// Starts Winsock, once in a process.
#[inline]
fn start() -> io::Result<()> {
    static STARTED: OnceLock<i32> = OnceLock::new();
    let code = *STARTED.get_or_init(|| {
        let mut data = WSADATA::default();
        // SAFETY: the call fills the structure, which outlives it.
        unsafe { WSAStartup(VERSION, &raw mut data) }
    });
    if code == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(code)) }
}

/// The result of a call that returns 0 on success.
#[inline]
pub(crate) fn done(answer: i32) -> io::Result<()> {
    if answer == 0 { Ok(()) } else { Err(last_error()) }
}

/// The result of a call that counts bytes.
#[inline]
pub(crate) fn count(answer: i32) -> io::Result<usize> {
    usize::try_from(answer).map_err(|_| last_error())
}

/// One WSAPoll: how many are ready. Times are rounded up to milliseconds; `None` waits for ever. Without an
/// entry, which WSAPoll refuses, only the time passes.
pub(crate) fn poll(entries: &mut [WSAPOLLFD], timeout: Option<Duration>) -> io::Result<usize> {
    if entries.is_empty() {
        std::thread::sleep(timeout.unwrap_or(Duration::MAX));
        return Ok(0);
    }
    let milliseconds = |time: Duration| time.as_nanos().div_ceil(1_000_000).try_into().unwrap_or(i32::MAX);
    let timeout = timeout.map_or(-1, milliseconds);
    // SAFETY: the entries live as long as the call, and their number is that of the slice.
    count(unsafe { WSAPoll(entries.as_mut_ptr(), entries.len() as u32, timeout) })
}

/// Why the last call of this thread failed.
pub(crate) fn last_error() -> io::Error {
    // SAFETY: reads a number of this thread.
    io::Error::from_raw_os_error(unsafe { WSAGetLastError() })
}

/// An address in the form of the system. SOCKADDR_IN is a beginning of SOCKADDR_IN6 as far as port and family
/// go, and the IPv4 address lies where the flow label is.
pub(crate) fn name_of(address: SocketAddr) -> (SOCKADDR_IN6, i32) {
    let mut name = SOCKADDR_IN6 { sin6_port: address.port().to_be(), ..SOCKADDR_IN6::default() };
    match address {
        SocketAddr::V4(address) => {
            name.sin6_family = AF_INET;
            name.sin6_flowinfo = u32::from_ne_bytes(address.ip().octets());
            (name, V4_BYTES)
        }
        SocketAddr::V6(address) => {
            name.sin6_family = AF_INET6;
            name.sin6_flowinfo = address.flowinfo();
            name.sin6_addr.u.Byte = address.ip().octets();
            name.Anonymous.sin6_scope_id = address.scope_id();
            (name, size_of::<SOCKADDR_IN6>() as i32)
        }
    }
}

/// The size of SOCKADDR_IN.
const V4_BYTES: i32 = 16;

fn empty_name() -> (SOCKADDR_IN6, i32) {
    (SOCKADDR_IN6::default(), size_of::<SOCKADDR_IN6>() as i32)
}

fn address_of(name: &SOCKADDR_IN6) -> io::Result<SocketAddr> {
    let port = u16::from_be(name.sin6_port);
    match name.sin6_family {
        AF_INET => {
            let address = Ipv4Addr::from(name.sin6_flowinfo.to_ne_bytes());
            Ok(SocketAddrV4::new(address, port).into())
        }
        AF_INET6 => {
            // SAFETY: all views of the union are plain bytes.
            let (octets, scope) = unsafe { (name.sin6_addr.u.Byte, name.Anonymous.sin6_scope_id) };
            let address = Ipv6Addr::from(octets);
            Ok(SocketAddrV6::new(address, port, name.sin6_flowinfo, scope).into())
        }
        _ => Err(io::Error::other("the socket has no IP address")),
    }
}
