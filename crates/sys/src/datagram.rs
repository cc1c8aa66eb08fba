//! Datagram sockets of UDP and of the Unix domain, and descriptors in messages: one system call per name.

use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::net::{
    self, AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketAddrUnix, SocketFlags, SocketType,
};

/// The address of a socket, as the system takes it.
#[derive(Clone, Debug)]
pub enum DatagramAddress {
    /// Of UDP.
    Ip(SocketAddr),
    /// A name in the Unix domain.
    Unix(SocketAddrUnix),
}

impl DatagramAddress {
    /// A path, at which bind(2) makes a file.
    ///
    /// # Errors
    /// Unsupported where it is longer than `sun_path` of unix(7).
    pub fn path(path: &std::path::Path) -> io::Result<DatagramAddress> {
        const TOO_LONG: crate::Unsupported =
            crate::Unsupported("the path is longer than names of sockets may be; choose a shorter --scratch");
        SocketAddrUnix::new(path).map(DatagramAddress::Unix).map_err(|_| TOO_LONG.into())
    }

    /// A name that is no path: unix(7), "abstract".
    ///
    /// # Errors
    /// `ENAMETOOLONG`; unsupported elsewhere than on Linux.
    pub fn abstract_name(name: &str) -> io::Result<DatagramAddress> {
        cfg_select! {
            target_os = "linux" => {
                Ok(DatagramAddress::Unix(SocketAddrUnix::new_abstract_name(name.as_bytes())?))
            }
            _ => { crate::error::unsupported("sockets have names that are no paths on Linux only", name) }
        }
    }
}

/// A datagram socket.
#[derive(Debug)]
pub struct DatagramSocket(OwnedFd);

impl DatagramSocket {
    /// A socket of the address's family, by socket(2).
    ///
    /// # Errors
    /// Those of socket(2).
    pub fn open(address: &DatagramAddress) -> io::Result<DatagramSocket> {
        let family = match address {
            DatagramAddress::Ip(SocketAddr::V4(_)) => AddressFamily::INET,
            DatagramAddress::Ip(SocketAddr::V6(_)) => AddressFamily::INET6,
            DatagramAddress::Unix(_) => AddressFamily::UNIX,
        };
        Ok(DatagramSocket(net::socket(family, SocketType::DGRAM, None)?))
    }

    /// Lets other sockets have the same port (`SO_REUSEPORT`).
    ///
    /// # Errors
    /// Those of setsockopt(2); unsupported on illumos.
    pub fn share_port(&self) -> io::Result<()> {
        cfg_select! {
            any(target_os = "illumos", target_os = "solaris") => {
                Err(crate::Unsupported("sockets cannot share a port here").into())
            }
            _ => { Ok(net::sockopt::set_socket_reuseport(&self.0, true)?) }
        }
    }

    /// One bind(2).
    ///
    /// # Errors
    /// Those of bind(2).
    #[inline]
    pub fn bind(&self, address: &DatagramAddress) -> io::Result<()> {
        match address {
            DatagramAddress::Ip(address) => Ok(net::bind(&self.0, address)?),
            DatagramAddress::Unix(address) => Ok(net::bind(&self.0, address)?),
        }
    }

    /// Where it is bound, of UDP.
    ///
    /// # Errors
    /// Those of getsockname(2).
    pub fn local(&self) -> io::Result<DatagramAddress> {
        Ok(DatagramAddress::Ip(net::getsockname(&self.0)?.try_into()?))
    }

    /// One connect(2), which only sets where messages go. It can be repeated.
    ///
    /// # Errors
    /// Those of connect(2).
    #[inline]
    pub fn connect(&self, to: &DatagramAddress) -> io::Result<()> {
        match to {
            DatagramAddress::Ip(address) => Ok(net::connect(&self.0, address)?),
            DatagramAddress::Unix(address) => Ok(net::connect(&self.0, address)?),
        }
    }

    /// One sendto(2).
    ///
    /// # Errors
    /// Those of sendto(2).
    #[inline]
    pub fn send_to(&self, bytes: &[u8], to: &DatagramAddress) -> io::Result<()> {
        match to {
            DatagramAddress::Ip(address) => net::sendto(&self.0, bytes, SendFlags::empty(), address)?,
            DatagramAddress::Unix(address) => net::sendto(&self.0, bytes, SendFlags::empty(), address)?,
        };
        Ok(())
    }

    /// One send(2) to where it is connected.
    ///
    /// # Errors
    /// Those of send(2).
    #[inline]
    pub fn send(&self, bytes: &[u8]) -> io::Result<()> {
        net::send(&self.0, bytes, SendFlags::empty())?;
        Ok(())
    }

    /// Receives a message that has arrived, by one recv(2) that does not wait.
    ///
    /// # Errors
    /// Those of recv(2), `WouldBlock` when there is none.
    #[inline]
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let (length, _) = net::recv(&self.0, buffer, RecvFlags::DONTWAIT)?;
        Ok(length)
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

impl AsFd for DatagramSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Both ends of a pair of stream sockets through which descriptors go (unix(7), `SCM_RIGHTS`).
#[derive(Debug)]
pub struct DescriptorPair {
    sender: OwnedFd,
    receiver: OwnedFd,
}

impl DescriptorPair {
    /// One socketpair(2).
    ///
    /// # Errors
    /// Those of socketpair(2).
    pub fn new() -> io::Result<DescriptorPair> {
        let flags = SocketFlags::empty();
        let (sender, receiver) = net::socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        Ok(DescriptorPair { sender, receiver })
    }

    /// Sends a descriptor with a byte, by one sendmsg(2) that does not wait.
    ///
    /// # Errors
    /// Those of sendmsg(2), `ETOOMANYREFS` at the limit on descriptors in flight.
    #[inline]
    pub fn send(&self, descriptor: &impl AsFd, byte: u8) -> io::Result<()> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let (mut control, descriptors) = (SendAncillaryBuffer::new(&mut space), [descriptor.as_fd()]);
        control.push(SendAncillaryMessage::ScmRights(&descriptors));
        net::sendmsg(&self.sender, &[IoSlice::new(&[byte])], &mut control, SendFlags::DONTWAIT)?;
        Ok(())
    }

    /// Receives a descriptor and its byte, by one recvmsg(2) that does not wait.
    ///
    /// # Errors
    /// Those of recvmsg(2); `UnexpectedEof` for a message without a descriptor.
    #[inline]
    pub fn receive(&self) -> io::Result<(OwnedFd, u8)> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let (mut control, mut byte) = (RecvAncillaryBuffer::new(&mut space), [0]);
        let pieces = &mut [IoSliceMut::new(&mut byte)];
        net::recvmsg(&self.receiver, pieces, &mut control, RecvFlags::DONTWAIT)?;
        let received = control.drain().find_map(|message| match message {
            RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
            _ => None,
        });
        Ok((received.ok_or(io::ErrorKind::UnexpectedEof)?, byte[0]))
    }

    /// Whether the descriptor is the sending end of this pair.
    ///
    /// # Errors
    /// Those of fstat(2).
    pub fn is_sender(&self, descriptor: &OwnedFd) -> io::Result<bool> {
        Ok(rustix::fs::fstat(descriptor)?.st_ino == rustix::fs::fstat(&self.sender)?.st_ino)
    }
}

impl AsFd for DescriptorPair {
    /// The sending end.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.sender.as_fd()
    }
}
