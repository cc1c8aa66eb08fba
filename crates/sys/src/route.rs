//! Routes and the loopback device of the network of this process, by rtnetlink(7).

use std::io;
use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, sockopt};

/// A message for the kernel, made before anything is timed.
#[derive(Clone, Debug)]
pub struct RouteMessage(Vec<u8>);

/// The kernel numbers the loopback device first in every network.
const LOOPBACK: u32 = 1;

impl RouteMessage {
    /// Adds a route for one address over the loopback device.
    pub fn add(to: IpAddr) -> RouteMessage {
        route(libc::RTM_NEWROUTE, libc::NLM_F_CREATE | libc::NLM_F_EXCL, to)
    }

    /// Removes that route.
    pub fn remove(to: IpAddr) -> RouteMessage {
        route(libc::RTM_DELROUTE, 0, to)
    }

    fn raise_loopback() -> RouteMessage {
        const UP: u32 = libc::IFF_UP as u32;
        // `struct ifinfomsg`: family, kind, number, flags, and which of them change.
        let mut body = vec![libc::AF_UNSPEC as u8, 0, 0, 0];
        [LOOPBACK, UP, UP].iter().for_each(|word| body.extend(word.to_ne_bytes()));
        message(libc::RTM_NEWLINK, 0, &body)
    }
}

fn route(kind: u16, flags: libc::c_int, to: IpAddr) -> RouteMessage {
    let (family, address) = match to {
        IpAddr::V4(address) => (libc::AF_INET as u8, address.octets().to_vec()),
        IpAddr::V6(address) => (libc::AF_INET6 as u8, address.octets().to_vec()),
    };
    let bits = 8 * address.len() as u8;
    // `struct rtmsg`: family, lengths of both addresses, service, table, protocol, scope, kind, flags.
    let mut body = vec![family, bits, 0, 0];
    body.extend([libc::RT_TABLE_MAIN, libc::RTPROT_STATIC, libc::RT_SCOPE_LINK, libc::RTN_UNICAST]);
    body.extend([0; 4]);
    for (name, value) in [(libc::RTA_DST, address), (libc::RTA_OIF, LOOPBACK.to_ne_bytes().to_vec())] {
        // Both lengths are multiples of four, so no attribute needs padding.
        body.extend((4 + value.len() as u16).to_ne_bytes());
        body.extend(name.to_ne_bytes());
        body.extend(value);
    }
    message(kind, flags, &body)
}

/// `struct nlmsghdr` and what follows.
fn message(kind: u16, flags: libc::c_int, body: &[u8]) -> RouteMessage {
    const HEAD_BYTES: usize = 16;
    let mut bytes = ((HEAD_BYTES + body.len()) as u32).to_ne_bytes().to_vec();
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(((libc::NLM_F_REQUEST | libc::NLM_F_ACK | flags) as u16).to_ne_bytes());
    // Number and sender: there is one message at a time, and the kernel fills in the sender.
    bytes.extend([0; 8]);
    bytes.extend(body);
    RouteMessage(bytes)
}

/// The error of an answer: the number behind the head of `struct nlmsgerr`, which is 0 where all went well.
fn outcome(answer: &[u8]) -> io::Result<()> {
    const ERROR: u16 = libc::NLMSG_ERROR as u16;
    let kind = answer.get(4..6).and_then(|bytes| bytes.try_into().ok()).map(u16::from_ne_bytes);
    let number = answer.get(16..20).and_then(|bytes| bytes.try_into().ok()).map(i32::from_ne_bytes);
    match (kind, number) {
        (Some(ERROR), Some(0)) => Ok(()),
        (Some(ERROR), Some(number)) => Err(io::Error::from_raw_os_error(number.saturating_neg())),
        _ => Err(io::Error::other("the kernel answered with another message")),
    }
}

/// A socket to the part of the kernel that has the routes.
#[derive(Debug)]
pub struct RouteSocket(OwnedFd);

/// The kernel answers within milliseconds; a system that only resembles Linux may never.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);
const ANSWER_BYTES: usize = 1024;

impl RouteSocket {
    /// Of the network that this thread is in now.
    ///
    /// # Errors
    /// Those of socket(2).
    pub fn open() -> io::Result<RouteSocket> {
        let (family, kind, flags) = (AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC);
        // Protocol 0 is `NETLINK_ROUTE`.
        let socket = rustix::net::socket_with(family, kind, flags, None)?;
        sockopt::set_socket_timeout(&socket, sockopt::Timeout::Recv, Some(ANSWER_TIMEOUT))?;
        Ok(RouteSocket(socket))
    }

    /// Sends a message and reads the answer, by send(2) and recv(2).
    ///
    /// # Errors
    /// The error of the answer, or of either call.
    #[inline]
    pub fn ask(&self, message: &RouteMessage) -> io::Result<()> {
        rustix::net::send(&self.0, &message.0, SendFlags::empty())?;
        let mut answer = [0; ANSWER_BYTES];
        let (length, _) = rustix::net::recv(&self.0, &mut answer[..], RecvFlags::empty())?;
        outcome(&answer[..length])
    }

    /// Makes the loopback device usable.
    ///
    /// # Errors
    /// As [`RouteSocket::ask`].
    pub fn raise_loopback(&self) -> io::Result<()> {
        self.ask(&RouteMessage::raise_loopback())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_route_is_one_message_with_its_length() {
        let RouteMessage(bytes) = RouteMessage::add(std::net::Ipv4Addr::new(10, 1, 2, 3).into());
        assert_eq!((bytes.len(), &bytes[..4]), (44, &44_u32.to_ne_bytes()[..]));
        assert_eq!(&bytes[32..36], [10, 1, 2, 3]);
    }

    #[test]
    fn an_answer_is_an_error_or_none() {
        let answer = |kind: u16, number: i32| {
            let mut bytes = vec![0; 36];
            bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
            bytes[16..20].copy_from_slice(&number.to_ne_bytes());
            outcome(&bytes)
        };
        assert!(answer(2, 0).is_ok());
        assert_eq!(answer(2, -17).err().and_then(|error| error.raw_os_error()), Some(17));
        assert!(answer(3, 0).is_err() && outcome(&[]).is_err() && outcome(&[2; 17]).is_err());
        let _ = answer(2, i32::MIN);
    }
}
