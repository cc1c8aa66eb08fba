//! Cost of one more bound UDP socket.
//!
//! **Question.** What do bind(2), a datagram to one of n sockets, and close(2) cost? Resolvers have a socket
//! for each question, and servers of QUIC or of games one for each address or thread.
//!
//! **Method.** Sockets are opened, untimed, and bound, timed: `v4` and `v6` to port 0 of loopback, for which
//! the system selects a free port; `addresses` to one port of n addresses of 127.0.0.0/8; `shared` to one
//! port of one address (`SO_REUSEPORT`). After each, a further socket sends a byte to one of them, chosen at
//! random, by sendto(2), timed: over loopback it is in the queue of the receiver when the call returns. It is
//! then received, untimed; with `shared` the system chooses the receiver, which epoll(7) finds. At the end
//! all are closed in random order.
//!
//! **Expected answer.** Flat: sockets are in hash tables, by port and by address with port (net/ipv4/udp.c).
//! `addresses` put all into one list of the first table, which Linux leaves for the second when it is longer
//! than ten; `shared` looks for a group with the same owner first, and then takes a member by a hash.

use workload::resource::{DESCRIPTORS, EPOLL_WATCHES, MEMORY, PORTS};
use workload::{Expect, Need, Operation, Variant, Workload, on_linux};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "udp",
    source: workload::page!("udp.rs"),
    grows: "bound UDP sockets",
    variants: &[
        Variant { name: "v4", summary: "IPv4, a port for each" },
        Variant { name: "v6", summary: "IPv6, a port for each" },
        Variant { name: "addresses", summary: "IPv4, one port on n addresses" },
        Variant { name: "shared", summary: "IPv4, one port of one address (SO_REUSEPORT)" },
    ],
    operations: &[
        Operation::up("bind", Expect::Constant, "one bind(2)"),
        Operation::up("sendto", Expect::Constant, "one sendto(2) of a byte, until it waits at its receiver"),
        Operation::down("close", Expect::Constant, "one close(2) of a bound socket, in random order"),
    ],
    needs: &[
        Need::new(DESCRIPTORS, 1),
        Need::new(PORTS, 1).only_in(&["v4", "v6"]),
        Need::new(EPOLL_WATCHES, 1).only_in(&["shared"]),
        Need::new(MEMORY, 4 << 10),
    ],
    run: on_linux!(
        measured::run,
        "all addresses of 127.0.0.0/8 and groups of UDP sockets exist on Linux only"
    ),
    ..Workload::CURVE
};

#[cfg(target_os = "linux")]
mod measured {
    use std::io;
    use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
    use std::time::Duration;

    use sys::datagram::{DatagramAddress, DatagramSocket};
    use sys::event::{Epoll, Interest, Poller};
    use sys::handle::AsHandle;
    use workload::{Trial, TrialError};

    use crate::socket::all_distinct;

    /// No wait lasts this long, because a datagram has arrived.
    const PATIENCE: Duration = Duration::from_secs(1);

    pub(super) fn run(trial: &mut Trial<'_>) -> Result<(), TrialError> {
        let mut places = Places::new(trial.variant()).map_err(TrialError::at("to choose a port"))?;
        let client = DatagramSocket::open(&places.first).map_err(TrialError::at("to open a socket"))?;
        let mut group = Epoll::new().map_err(TrialError::at("to open an instance of epoll"))?;
        let mut choice = fastrand::Rng::with_seed(trial.seed());
        trial.warm(|| {
            let socket = places.open()?;
            socket.bind(&places.first)?;
            socket.close()
        });
        let (mut sockets, mut events, mut wrong) = (Vec::with_capacity(trial.n()), Vec::new(), 0);
        let kept = trial.compact_steps(&["bind", "sendto"], |n, lap| {
            let (socket, place) = (places.open()?, places.place(n)?);
            lap.skip();
            socket.bind(&place)?;
            lap.mark();
            if places.is_shared {
                group.add(socket.handle(), n, Interest::Read)?;
            }
            let place = socket.local()?;
            sockets.push((socket, place));
            let (mut chosen, byte) = (choice.usize(..=n), choice.u8(..));
            let to = &sockets[chosen].1;
            lap.skip();
            client.send_to(&[byte], to)?;
            lap.mark();
            if places.is_shared {
                group.wait(&mut events, Some(PATIENCE))?;
                wrong += usize::from(events.len() != 1);
                chosen = events.first().map_or(chosen, |event| event.token);
            }
            let mut arrived = [0; 2];
            let length = sockets[chosen].0.receive(&mut arrived)?;
            wrong += usize::from(arrived[..length] != [byte]);
            lap.skip();
            Ok(())
        })?;
        trial.check("every byte arrived, at one socket", wrong == 0);
        sockets.truncate(kept.len());
        if matches!(trial.variant(), "v4" | "v6") {
            let port = |place: &DatagramAddress| match place {
                DatagramAddress::Ip(address) => u32::from(address.port()),
                DatagramAddress::Unix(_) => 0,
            };
            let ports = sockets.iter().map(|(_, place)| port(place)).collect();
            trial.check("every port is distinct", all_distinct(ports));
        }
        let sockets = trial.shuffled(sockets);
        trial.compact_down("close", sockets, |(socket, _)| socket.close())
    }

    /// Where the sockets are bound.
    struct Places {
        first: DatagramAddress,
        /// The port that all have; 0 lets the system choose one for each.
        port: u16,
        is_shared: bool,
        /// Keeps the port for the sockets that come.
        _holder: Option<DatagramSocket>,
    }

    impl Places {
        fn new(variant: &str) -> io::Result<Places> {
            let is_shared = variant == "shared";
            let address = match variant {
                "v6" => Ipv6Addr::LOCALHOST.into(),
                _ => Ipv4Addr::LOCALHOST.into(),
            };
            let first = DatagramAddress::Ip(SocketAddr::new(address, 0));
            let own = Places { first, port: 0, is_shared, _holder: None };
            if matches!(variant, "v4" | "v6") {
                return Ok(own);
            }
            let holder = own.open()?;
            holder.bind(&own.first)?;
            let DatagramAddress::Ip(held) = holder.local()? else { return Ok(own) };
            // A member of the group would receive too; an address of its own is not among the others.
            let holder = if is_shared { None } else { Some(holder) };
            let first = SocketAddr::new(if is_shared { address } else { SPARE.into() }, held.port());
            Ok(Places { first: DatagramAddress::Ip(first), port: held.port(), _holder: holder, ..own })
        }

        fn open(&self) -> io::Result<DatagramSocket> {
            let socket = DatagramSocket::open(&self.first)?;
            if self.is_shared {
                socket.share_port()?;
            }
            Ok(socket)
        }

        /// The place of a socket.
        fn place(&mut self, number: usize) -> io::Result<DatagramAddress> {
            if self.port == 0 || self.is_shared {
                return Ok(self.first.clone());
            }
            let number = u32::try_from(number).map_err(io::Error::other)?;
            let address = Ipv4Addr::from_bits(ADDRESSES.to_bits() + number);
            Ok(DatagramAddress::Ip(SocketAddr::new(address.into(), self.port)))
        }
    }

    /// The first of many addresses, and one before them.
    const ADDRESSES: Ipv4Addr = Ipv4Addr::new(127, 1, 0, 0);
    const SPARE: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);
}
