//! What can become ready on Windows, where WSAPoll knows of sockets alone: one for UDP on loopback, which
//! sends datagrams to itself.

use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::os::windows::io::{AsSocket, BorrowedSocket};

/// A socket that is readable while the flag is raised. Never blocks.
#[derive(Debug)]
pub struct Flag(UdpSocket);

impl Flag {
    /// A flag that is lowered.
    ///
    /// # Errors
    /// Those of socket, bind, connect and ioctlsocket.
    pub fn new() -> io::Result<Flag> {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        // Nobody else can raise it.
        socket.connect(socket.local_addr()?)?;
        socket.set_nonblocking(true)?;
        Ok(Flag(socket))
    }

    /// Makes it readable.
    ///
    /// # Errors
    /// Those of send.
    #[inline]
    pub fn raise(&self) -> io::Result<()> {
        self.0.send(b"!").map(drop)
    }

    /// Makes it unreadable again.
    ///
    /// # Errors
    /// Those of recv; `WouldBlock` when it was not raised.
    #[inline]
    pub fn lower(&self) -> io::Result<()> {
        self.0.recv(&mut [0; 8]).map(drop)
    }
}

impl AsSocket for Flag {
    fn as_socket(&self) -> BorrowedSocket<'_> {
        self.0.as_socket()
    }
}
