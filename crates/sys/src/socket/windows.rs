//! Stream sockets on Windows: WSASocketW, bind and closesocket of Winsock.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::AddressFamily;
use crate::winsock::{self, OwnedSocket};

/// A stream socket.
#[derive(Debug)]
pub struct Socket(OwnedSocket);

impl Socket {
    /// One WSASocketW, blocking, not inherited, with overlapped operations allowed, as socket() makes it.
    ///
    /// # Errors
    /// Those of WSASocketW.
    #[inline]
    pub fn stream(family: AddressFamily) -> io::Result<Socket> {
        Ok(Socket(OwnedSocket::stream(family == AddressFamily::V4)?))
    }

    /// One bind to port 0 of the unspecified address: the system picks a free port.
    ///
    /// # Errors
    /// Those of bind.
    #[inline]
    pub fn bind_any(&self, family: AddressFamily) -> io::Result<()> {
        let address: IpAddr = match family {
            AddressFamily::V4 => Ipv4Addr::UNSPECIFIED.into(),
            AddressFamily::V6 => Ipv6Addr::UNSPECIFIED.into(),
        };
        self.0.bind(SocketAddr::new(address, 0))
    }

    /// Lets an IPv6 socket serve IPv4 as well; Windows does not by default.
    ///
    /// # Errors
    /// Those of setsockopt.
    pub fn serve_both_families(&self) -> io::Result<()> {
        self.0.set(winsock::IPV6_ONLY, &0)
    }

    /// The port that `bind_any` was given.
    ///
    /// # Errors
    /// Those of getsockname.
    pub fn local_port(&self) -> io::Result<u16> {
        Ok(self.0.local()?.port())
    }

    /// The number of its handle.
    pub fn number(&self) -> i32 {
        self.0.number()
    }

    /// One closesocket, whose answer is looked at.
    ///
    /// # Errors
    /// Those of closesocket.
    #[inline]
    pub fn close(self) -> io::Result<()> {
        self.0.close()
    }
}
