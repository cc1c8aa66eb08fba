//! Queries of sock_diag(7) for the sockets of TCP, and the kernel's answers, as values and from the kernel.
//!
//! The kernel returns only the requested states. /proc/net/tcp has the sockets in TIME_WAIT as well, tens of
//! thousands beside a busy server, and takes fifteen times as long even without them.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddrV4};

#[cfg(target_os = "linux")]
pub use queries::TcpDiagnosis;
#[cfg(target_os = "linux")]
pub(super) use queries::open;

use super::{SocketEntry, SocketPlace, SocketState};

/// The kernel answers in datagrams of at most this (af_netlink.c, `netlink_recvmsg`).
pub const DATAGRAM_BYTES: usize = 32 << 10;

/// `SOCK_DIAG_BY_FAMILY` of linux/sock_diag.h, `NLM_F_REQUEST | NLM_F_DUMP` and `NLM_F_REQUEST` of
/// linux/netlink.h.
const BY_FAMILY: u16 = 20;
const DUMP: u16 = 0x301;
const ONE: u16 = 0x001;
/// `IPPROTO_TCP`.
const TCP: u8 = 6;

/// The types of messages other than sockets, of linux/netlink.h.
const ERROR: u16 = 2;
const DONE: u16 = 3;

/// Bytes of `struct nlmsghdr`, of `struct inet_diag_req_v2` and of `struct inet_diag_msg`.
const HEADER: usize = 16;
const REQUEST: usize = 56;
const MESSAGE: usize = 72;
/// A message begins at a multiple of this.
const ALIGNMENT: usize = 4;

/// A version of IP, by its number on Linux.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IpFamily {
    /// IPv4.
    V4 = 2,
    /// IPv6, and IPv4 where the listening socket takes both.
    V6 = 10,
}

/// The content of one datagram.
#[derive(Debug, Default)]
pub struct SocketAnswer {
    /// The sockets that listen or are connected.
    pub sockets: Vec<SocketEntry>,
    /// Whether it is the last one.
    pub is_last: bool,
}

/// Asks for the sockets of a family that listen or are connected.
pub fn query(family: IpFamily) -> Vec<u8> {
    let mut query = request(DUMP, family);
    // Of any address and port.
    query.resize(HEADER + REQUEST, 0);
    query
}

/// Asks for one connection of IPv4, by the addresses and ports of its own end and of the other.
pub fn query_one(own: SocketAddrV4, peer: SocketAddrV4) -> Vec<u8> {
    let mut query = request(ONE, IpFamily::V4);
    query.extend_from_slice(&own.port().to_be_bytes());
    query.extend_from_slice(&peer.port().to_be_bytes());
    for end in [own, peer] {
        // There is room for an address of IPv6.
        query.extend_from_slice(&end.ip().octets());
        query.extend_from_slice(&[0; 12]);
    }
    // Of any interface, and without a number of the socket: `INET_DIAG_NOCOOKIE` of linux/inet_diag.h.
    query.extend_from_slice(&[0; 4]);
    query.resize(HEADER + REQUEST, 0xff);
    query
}

/// The beginning of a query, up to its addresses.
fn request(flags: u16, family: IpFamily) -> Vec<u8> {
    let wanted = (0..u32::BITS).filter(|state| SocketState::of_tcp(*state).is_some());
    let states: u32 = wanted.map(|state| 1 << state).sum();
    let mut query = Vec::with_capacity(HEADER + REQUEST);
    query.extend_from_slice(&((HEADER + REQUEST) as u32).to_ne_bytes());
    query.extend_from_slice(&BY_FAMILY.to_ne_bytes());
    query.extend_from_slice(&flags.to_ne_bytes());
    // A number of the query and one of the process, which the kernel does not need.
    query.extend_from_slice(&[0; 8]);
    query.extend_from_slice(&[family as u8, TCP, 0, 0]);
    query.extend_from_slice(&states.to_ne_bytes());
    query
}

/// Whether a datagram ends a list. A malformed one ends it too.
pub fn is_last(datagram: &[u8]) -> bool {
    let mut rest = datagram;
    while let Some(length) = number(rest, 0).map(|length| length as usize).filter(|length| *length >= HEADER)
    {
        let kind = rest.get(4..6).and_then(|kind| kind.try_into().ok()).map(u16::from_ne_bytes);
        if matches!(kind, Some(DONE | ERROR)) {
            return true;
        }
        rest = rest.get(length.next_multiple_of(ALIGNMENT)..).unwrap_or_default();
        if rest.is_empty() {
            return false;
        }
    }
    true
}

/// Reads one datagram of the answer.
///
/// # Errors
/// The kernel's own, and `InvalidData` for a malformed answer.
pub fn answer(datagram: &[u8]) -> io::Result<SocketAnswer> {
    let mut answer = SocketAnswer::default();
    let mut rest = datagram;
    if rest.is_empty() {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    while !rest.is_empty() {
        let length = number(rest, 0).map_or(0, |length| length as usize);
        let kind = rest.get(4..6).and_then(|kind| kind.try_into().ok()).map(u16::from_ne_bytes);
        let (Some(kind), Some(payload)) = (kind, rest.get(HEADER..length)) else {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "no message of sock_diag(7)"));
        };
        match kind {
            BY_FAMILY => answer.sockets.extend(socket(payload)),
            // Both hold the negative number of an error, or 0.
            ERROR | DONE => match number(payload, 0).map_or(0, u32::cast_signed) {
                error @ ..0 => return Err(io::Error::from_raw_os_error(error.saturating_neg())),
                _ => answer.is_last = true,
            },
            _ => {}
        }
        rest = rest.get(length.next_multiple_of(ALIGNMENT)..).unwrap_or_default();
    }
    Ok(answer)
}

/// A `struct inet_diag_msg` of linux/inet_diag.h.
fn socket(message: &[u8]) -> Option<SocketEntry> {
    let message: &[u8; MESSAGE] = message.get(..MESSAGE)?.try_into().ok()?;
    let port = |at: usize| Some(u16::from_be_bytes(message.get(at..at + 2)?.try_into().ok()?));
    let address: [u8; 16] = message.get(8..24)?.try_into().ok()?;
    let address = if message[0] == IpFamily::V6 as u8 {
        IpAddr::from(Ipv6Addr::from(address)).to_canonical()
    } else {
        let [a, b, c, d, ..] = address;
        Ipv4Addr::new(a, b, c, d).into()
    };
    Some(SocketEntry {
        inode: number(message, 68)?.into(),
        state: SocketState::of_tcp(message[1].into())?,
        place: SocketPlace::Tcp { address, port: port(4)?, peer_port: port(6)? },
        queued: number(message, 56)?.into(),
    })
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// Queries to the kernel of this system.
#[cfg(target_os = "linux")]
mod queries {
    use std::io;
    use std::os::fd::OwnedFd;
    use std::time::Duration;

    use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, sockopt};

    use super::{DATAGRAM_BYTES, IpFamily, SocketEntry, answer, is_last, query};

    /// The kernel answers a query within milliseconds.
    const ANSWER_TIMEOUT: Duration = Duration::from_secs(1);

    /// A socket for queries.
    pub(in super::super) fn open() -> io::Result<OwnedFd> {
        let protocol = Some(netlink::SOCK_DIAG);
        let flags = SocketFlags::CLOEXEC;
        let kernel = rustix::net::socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, protocol)?;
        // A system that only resembles Linux may take the query and never answer.
        sockopt::set_socket_timeout(&kernel, sockopt::Timeout::Recv, Some(ANSWER_TIMEOUT))?;
        Ok(kernel)
    }

    /// A socket for queries about the TCP sockets of IPv4 of this network. Messages are received first and
    /// decoded afterwards.
    #[derive(Debug)]
    pub struct TcpDiagnosis {
        kernel: OwnedFd,
        messages: Vec<u8>,
    }

    impl TcpDiagnosis {
        /// One socket(2).
        ///
        /// # Errors
        /// Those of socket(2) and setsockopt(2).
        pub fn open() -> io::Result<TcpDiagnosis> {
            Ok(TcpDiagnosis { kernel: open()?, messages: Vec::new() })
        }

        /// Asks for all sockets that listen or are connected, and receives the answer. Returns its length for
        /// [`TcpDiagnosis::listed`].
        ///
        /// # Errors
        /// Those of send(2) and recv(2).
        pub fn list(&mut self) -> io::Result<usize> {
            rustix::net::send(&self.kernel, &query(IpFamily::V4), SendFlags::empty())?;
            let mut length = 0;
            loop {
                let datagram = length..length + self.receive(length)?;
                length = datagram.end;
                if datagram.is_empty() || is_last(&self.messages[datagram]) {
                    return Ok(length);
                }
            }
        }

        /// Sends a query of [`query_one`](super::query_one) and receives the answer, by one send(2) and one
        /// recv(2). Returns the length of the answer for [`TcpDiagnosis::listed`].
        ///
        /// # Errors
        /// Those of both calls.
        #[inline]
        pub fn find(&mut self, query: &[u8]) -> io::Result<usize> {
            rustix::net::send(&self.kernel, query, SendFlags::empty())?;
            self.receive(0)
        }

        /// Decodes an answer of that length.
        ///
        /// # Errors
        /// The kernel's own, `ENOENT` for an unknown connection; `InvalidData`.
        pub fn listed(&self, length: usize) -> io::Result<Vec<SocketEntry>> {
            Ok(answer(&self.messages[..length])?.sockets)
        }

        /// Receives a datagram behind the first bytes, and returns its length.
        #[inline]
        fn receive(&mut self, offset: usize) -> io::Result<usize> {
            if self.messages.len() < offset + DATAGRAM_BYTES {
                self.messages.resize((offset + DATAGRAM_BYTES).next_power_of_two(), 0);
            }
            let room = &mut self.messages[offset..offset + DATAGRAM_BYTES];
            let (length, _) = rustix::net::recv(&self.kernel, room, RecvFlags::empty())?;
            Ok(length)
        }
    }
}
