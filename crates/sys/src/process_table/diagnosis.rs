//! Lists of TCP connections from sock_diag(7), whose messages are received first and decoded afterwards.

use std::io;
use std::os::fd::OwnedFd;

use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, sockopt};

use super::entry::SocketEntry;
use super::sock_diag::{self, DATAGRAM_BYTES, IpFamily};

/// A socket for queries about the TCP sockets of IPv4 of this network.
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
        let protocol = Some(netlink::SOCK_DIAG);
        let flags = SocketFlags::CLOEXEC;
        let kernel = rustix::net::socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, protocol)?;
        // A system that only resembles Linux may take the query and never answer.
        sockopt::set_socket_timeout(&kernel, sockopt::Timeout::Recv, Some(super::system::ANSWER_TIMEOUT))?;
        Ok(TcpDiagnosis { kernel, messages: Vec::new() })
    }

    /// Asks for all sockets that listen or are connected, and receives the answer. Returns its length for
    /// [`TcpDiagnosis::listed`].
    ///
    /// # Errors
    /// Those of send(2) and recv(2).
    pub fn list(&mut self) -> io::Result<usize> {
        rustix::net::send(&self.kernel, &sock_diag::query(IpFamily::V4), SendFlags::empty())?;
        let mut length = 0;
        loop {
            let datagram = length..length + self.receive(length)?;
            length = datagram.end;
            if datagram.is_empty() || sock_diag::is_last(&self.messages[datagram]) {
                return Ok(length);
            }
        }
    }

    /// Sends a query of [`sock_diag::query_one`] and receives the answer, by one send(2) and one recv(2).
    /// Returns the length of the answer for [`TcpDiagnosis::listed`].
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
        Ok(sock_diag::answer(&self.messages[..length])?.sockets)
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
