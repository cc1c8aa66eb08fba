//! Winsock: one call per function, with errors as [`io::Error`], for the calls that std does not have. See
//! "Windows Sockets 2" of Microsoft's documentation.

use std::io;
use std::net::SocketAddr;
use std::os::windows::io::{AsRawSocket, FromRawSocket, IntoRawSocket, OwnedSocket};
use std::sync::OnceLock;
use std::time::Duration;

use windows_sys::Win32::Networking::WinSock::{
    self, AF_INET, AF_INET6, INVALID_SOCKET, IPPROTO_IPV6, IPPROTO_TCP, IPV6_V6ONLY, LINGER, SO_LINGER,
    SO_RCVTIMEO, SO_SNDTIMEO, SO_UPDATE_ACCEPT_CONTEXT, SOCK_STREAM, SOCKADDR_IN6, SOCKET, SOL_SOCKET,
    TCP_NODELAY, WSA_FLAG_NO_HANDLE_INHERIT, WSA_FLAG_OVERLAPPED, WSADATA, WSAGetLastError, WSAPOLLFD,
    WSAPoll, WSASocketW, WSAStartup, closesocket, setsockopt,
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

/// One WSASocketW for TCP, which programs that are started do not inherit.
#[inline]
pub(crate) fn stream(is_v4: bool) -> io::Result<OwnedSocket> {
    start()?;
    let family = if is_v4 { AF_INET } else { AF_INET6 };
    let flags = WSA_FLAG_OVERLAPPED | WSA_FLAG_NO_HANDLE_INHERIT;
    // SAFETY: no protocol is described, so no pointer is followed; the socket is ours.
    unsafe { owned(WSASocketW(i32::from(family), SOCK_STREAM, 0, std::ptr::null(), 0, flags)) }
}

/// The result of a call that makes sockets.
///
/// # Safety
/// Nothing else closes the socket.
#[inline]
pub(crate) unsafe fn owned(socket: SOCKET) -> io::Result<OwnedSocket> {
    match socket {
        INVALID_SOCKET => Err(last_error()),
        // SAFETY: by the promise of the caller.
        socket => Ok(unsafe { OwnedSocket::from_raw_socket(socket as _) }),
    }
}

/// The number of the handle, as calls take it. 32 of its bits are significant.
#[inline]
pub(crate) fn raw(socket: &impl AsRawSocket) -> SOCKET {
    socket.as_raw_socket() as SOCKET
}

#[inline]
pub(crate) fn bind(socket: &impl AsRawSocket, address: SocketAddr) -> io::Result<()> {
    let (name, length) = name_of(address);
    // SAFETY: the name is that long and outlives the call.
    done(unsafe { WinSock::bind(raw(socket), (&raw const name).cast(), length) })
}

pub(crate) fn set<T: Copy>(socket: &impl AsRawSocket, option: SocketOption<T>, value: &T) -> io::Result<()> {
    let (value, length) = (std::ptr::from_ref(value).cast(), size_of::<T>() as i32);
    // SAFETY: the value has the type of the option, is that long and outlives the call.
    done(unsafe { setsockopt(raw(socket), option.0, option.1, value, length) })
}

/// One closesocket, with its result.
#[inline]
pub(crate) fn close(socket: impl IntoRawSocket) -> io::Result<()> {
    // SAFETY: the socket was ours, and this is its last use.
    done(unsafe { closesocket(socket.into_raw_socket() as SOCKET) })
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
