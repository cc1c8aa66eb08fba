//! Routes and the loopback device of the network of this process, by rtnetlink(7).

#[cfg(target_os = "linux")]
pub use linux::RouteSocket;
#[cfg(not(target_os = "linux"))]
pub use other::RouteSocket;

/// A message for the kernel, made before anything is timed.
#[derive(Clone, Debug)]
pub struct RouteMessage(
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "nothing is sent there"))] Vec<u8>,
);

// <linux/netlink.h>, <linux/rtnetlink.h>
const RTM_NEWLINK: u16 = 16;
const RTM_NEWROUTE: u16 = 24;
const RTM_DELROUTE: u16 = 25;
const NLM_F_REQUEST: u16 = 1;
const NLM_F_ACK: u16 = 4;
const NLM_F_EXCL: u16 = 0x200;
const NLM_F_CREATE: u16 = 0x400;
const RTA_DST: u16 = 1;
const RTA_OIF: u16 = 4;
const RT_TABLE_MAIN: u8 = 254;
const RTPROT_STATIC: u8 = 4;
const RT_SCOPE_LINK: u8 = 253;
const RTN_UNICAST: u8 = 1;
const AF_UNSPEC: u8 = 0;
const AF_INET: u8 = 2;
const AF_INET6: u8 = 10;
const IFF_UP: u32 = 1;
/// The kernel numbers the loopback device first in every network.
const LOOPBACK: u32 = 1;

impl RouteMessage {
    /// Adds a route for one address over the loopback device.
    pub fn add(to: std::net::IpAddr) -> RouteMessage {
        route(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL, to)
    }

    /// Removes that route.
    pub fn remove(to: std::net::IpAddr) -> RouteMessage {
        route(RTM_DELROUTE, 0, to)
    }

    fn raise_loopback() -> RouteMessage {
        // `struct ifinfomsg`: family, kind, number, flags, and which of them change.
        let mut body = vec![AF_UNSPEC, 0, 0, 0];
        [LOOPBACK, IFF_UP, IFF_UP].iter().for_each(|word| body.extend(word.to_ne_bytes()));
        message(RTM_NEWLINK, 0, &body)
    }
}

fn route(kind: u16, flags: u16, to: std::net::IpAddr) -> RouteMessage {
    let (family, address) = match to {
        std::net::IpAddr::V4(address) => (AF_INET, address.octets().to_vec()),
        std::net::IpAddr::V6(address) => (AF_INET6, address.octets().to_vec()),
    };
    let bits = 8 * address.len() as u8;
    // `struct rtmsg`: family, lengths of both addresses, service, table, protocol, scope, kind, flags.
    let mut body =
        vec![family, bits, 0, 0, RT_TABLE_MAIN, RTPROT_STATIC, RT_SCOPE_LINK, RTN_UNICAST, 0, 0, 0, 0];
    for (name, value) in [(RTA_DST, address), (RTA_OIF, LOOPBACK.to_ne_bytes().to_vec())] {
        // Both lengths are multiples of four, so no attribute needs padding.
        body.extend((4 + value.len() as u16).to_ne_bytes());
        body.extend(name.to_ne_bytes());
        body.extend(value);
    }
    message(kind, flags, &body)
}

/// `struct nlmsghdr` and what follows.
fn message(kind: u16, flags: u16, body: &[u8]) -> RouteMessage {
    const HEAD_BYTES: usize = 16;
    let mut bytes = ((HEAD_BYTES + body.len()) as u32).to_ne_bytes().to_vec();
    bytes.extend(kind.to_ne_bytes());
    bytes.extend((NLM_F_REQUEST | NLM_F_ACK | flags).to_ne_bytes());
    // Number and sender: there is one message at a time, and the kernel fills in the sender.
    bytes.extend([0; 8]);
    bytes.extend(body);
    RouteMessage(bytes)
}

/// The error of an answer: the number behind the head of `struct nlmsgerr`, which is 0 where all went well.
#[cfg_attr(not(target_os = "linux"), allow(dead_code))]
fn outcome(answer: &[u8]) -> std::io::Result<()> {
    const NLMSG_ERROR: u16 = 2;
    let kind = answer.get(4..6).and_then(|bytes| bytes.try_into().ok()).map(u16::from_ne_bytes);
    let number = answer.get(16..20).and_then(|bytes| bytes.try_into().ok()).map(i32::from_ne_bytes);
    match (kind, number) {
        (Some(NLMSG_ERROR), Some(0)) => Ok(()),
        (Some(NLMSG_ERROR), Some(number)) => Err(std::io::Error::from_raw_os_error(number.saturating_neg())),
        _ => Err(std::io::Error::other("the kernel answered with another message")),
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::io;
    use std::os::fd::OwnedFd;
    use std::time::Duration;

    use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, sockopt};

    use super::{RouteMessage, outcome};

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
}

#[cfg(not(target_os = "linux"))]
#[allow(missing_docs, reason = "the names are documented for Linux")]
mod other {
    use std::io;

    use super::RouteMessage;
    use crate::Unsupported;

    #[derive(Debug)]
    pub enum RouteSocket {}

    impl RouteSocket {
        pub fn open() -> io::Result<RouteSocket> {
            let _ = RouteMessage::raise_loopback;
            Err(Unsupported("routes are changed by rtnetlink(7), which only Linux has; others have route(4)")
                .into())
        }

        pub fn ask(&self, _message: &RouteMessage) -> io::Result<()> {
            match *self {}
        }

        pub fn raise_loopback(&self) -> io::Result<()> {
            match *self {}
        }
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
