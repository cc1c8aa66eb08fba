//! Bare stream sockets: one system call per function.

pub use platform::Socket;

/// The address family of a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressFamily {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

/// Stream sockets by socket(2), bind(2) and close(2).
#[cfg(unix)]
mod platform {
    use std::io;
    use std::net::{Ipv4Addr, Ipv6Addr, SocketAddrV4, SocketAddrV6};
    use std::os::fd::{AsRawFd, OwnedFd};

    use rustix::net::{self, SocketType, bind, getsockname, socket};

    use super::AddressFamily;

    /// A stream socket.
    #[derive(Debug)]
    pub struct Socket(OwnedFd);

    impl Socket {
        /// One socket(2), blocking, without flags, as the programs of 2003 made it.
        ///
        /// # Errors
        /// Those of socket(2).
        #[inline]
        pub fn stream(family: AddressFamily) -> io::Result<Socket> {
            let family = match family {
                AddressFamily::V4 => net::AddressFamily::INET,
                AddressFamily::V6 => net::AddressFamily::INET6,
            };
            Ok(Socket(socket(family, SocketType::STREAM, None)?))
        }

        /// One bind(2) to port 0 of the unspecified address: the system picks a free port.
        ///
        /// # Errors
        /// Those of bind(2).
        #[inline]
        pub fn bind_any(&self, family: AddressFamily) -> io::Result<()> {
            match family {
                AddressFamily::V4 => bind(&self.0, &SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0))?,
                AddressFamily::V6 => bind(&self.0, &SocketAddrV6::new(Ipv6Addr::UNSPECIFIED, 0, 0, 0))?,
            }
            Ok(())
        }

        /// Lets an IPv6 socket serve IPv4 as well, whatever the system's default.
        ///
        /// # Errors
        /// Those of setsockopt(2).
        pub fn serve_both_families(&self) -> io::Result<()> {
            Ok(rustix::net::sockopt::set_ipv6_v6only(&self.0, false)?)
        }

        /// The port that `bind_any` was given.
        ///
        /// # Errors
        /// Those of getsockname(2).
        pub fn local_port(&self) -> io::Result<u16> {
            let address = std::net::SocketAddr::try_from(getsockname(&self.0)?)?;
            Ok(address.port())
        }

        /// The descriptor's number.
        pub fn number(&self) -> i32 {
            self.0.as_raw_fd()
        }

        /// One close(2), with its result.
        ///
        /// # Errors
        /// Those of close(2).
        #[inline]
        pub fn close(self) -> io::Result<()> {
            crate::file::close(self.0.into())
        }
    }
}

/// Stream sockets on Windows: WSASocketW, bind and closesocket of Winsock.
#[cfg(windows)]
mod platform {
    use std::io;
    use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};

    use super::AddressFamily;
    use crate::winsock;

    /// A stream socket.
    #[derive(Debug)]
    pub struct Socket(TcpStream);

    impl Socket {
        /// One WSASocketW, blocking, not inherited, with overlapped operations allowed, as socket() makes it.
        ///
        /// # Errors
        /// Those of WSASocketW.
        #[inline]
        pub fn stream(family: AddressFamily) -> io::Result<Socket> {
            Ok(Socket(winsock::stream(family == AddressFamily::V4)?.into()))
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
            winsock::bind(&self.0, SocketAddr::new(address, 0))
        }

        /// Lets an IPv6 socket serve IPv4 as well; Windows does not by default.
        ///
        /// # Errors
        /// Those of setsockopt.
        pub fn serve_both_families(&self) -> io::Result<()> {
            winsock::set(&self.0, winsock::IPV6_ONLY, &0)
        }

        /// The port that `bind_any` was given.
        ///
        /// # Errors
        /// Those of getsockname.
        pub fn local_port(&self) -> io::Result<u16> {
            Ok(self.0.local_addr()?.port())
        }

        /// The number of its handle.
        pub fn number(&self) -> i32 {
            winsock::raw(&self.0) as i32
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
}
