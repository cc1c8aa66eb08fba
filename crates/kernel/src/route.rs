//! Cost of one more route while a network has n.
//!
//! **Question.** What does a route cost, and a connection that needs one, when there are thousands? Routers
//! of containers have one for each of them, and routers of the Internet a million.
//!
//! **Method.** The trial has a network of its own, with the loopback device only. A route to a single address
//! over that device is added by a message of rtnetlink(7), timed with its answer. Then a UDP socket is
//! connected to one of all addresses, chosen at random, timed: connect(2) of UDP sends nothing, and looks up
//! the route. Then the routes are removed in random order, each timed with its answer. The addresses lie side
//! by side.
//!
//! **Expected answer.** Flat or logarithmic: routes are in a compressed trie for IPv4 (fib_trie.rst) and in a
//! radix tree for IPv6 (net/ipv6/ip6_fib.c of Linux). IPv6 had a limit, net.ipv6.route.max_size, until Linux
//! 6.3.

use workload::resource::MEMORY;
use workload::{Expect, Need, Operation, Variant, Workload, on_linux};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "route",
    source: workload::page!("route.rs"),
    grows: "routes",
    variants: &[
        Variant { name: "v4", summary: "routes to single addresses of IPv4" },
        Variant { name: "v6", summary: "routes to single addresses of IPv6" },
    ],
    operations: &[
        Operation::up("add", Expect::Logarithmic, "RTM_NEWROUTE with its answer"),
        Operation::up("connect", Expect::Logarithmic, "connect(2) of a UDP socket to one, chosen at random"),
        Operation::down("remove", Expect::Logarithmic, "RTM_DELROUTE with its answer, in random order"),
    ],
    needs: &[Need::new(MEMORY, 2 << 10)],
    run: on_linux!(
        measured::run,
        "routes are changed by rtnetlink(7), which only Linux has; others have route(4)"
    ),
    ..Workload::CURVE
};

#[cfg(target_os = "linux")]
mod measured {
    use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

    use sys::datagram::{DatagramAddress, DatagramSocket};
    use sys::route::{RouteMessage, RouteSocket};
    use workload::{Trial, TrialError};

    pub(super) fn run(trial: &mut Trial<'_>) -> Result<(), TrialError> {
        let _network = trial.own_network()?;
        let addresses: Vec<IpAddr> =
            (0..trial.n()).map(|number| address(trial.variant(), number as u32)).collect();
        let additions: Vec<RouteMessage> = addresses.iter().copied().map(RouteMessage::add).collect();
        let removals: Vec<RouteMessage> = addresses.iter().copied().map(RouteMessage::remove).collect();
        let targets: Vec<DatagramAddress> =
            addresses.iter().map(|&address| DatagramAddress::Ip(SocketAddr::new(address, PORT))).collect();
        let kernel = RouteSocket::open().map_err(TrialError::at("to open a socket of rtnetlink"))?;
        let socket = targets.first().map_or(Err(std::io::ErrorKind::NotFound.into()), DatagramSocket::open);
        let socket = socket.map_err(TrialError::at("to open a socket"))?;
        trial.warm(|| {
            kernel.ask(&additions[0])?;
            socket.connect(&targets[0])?;
            kernel.ask(&removals[0])
        });
        let mut random = fastrand::Rng::with_seed(trial.seed());
        let added = trial.compact_steps(&["add", "connect"], |n, lap| {
            kernel.ask(&additions[n])?;
            lap.mark();
            let chosen = &targets[random.usize(..=n)];
            lap.skip();
            socket.connect(chosen)?;
            lap.mark();
            Ok(n)
        })?;
        let added = trial.shuffled(added);
        trial.compact_down("remove", added, |n| kernel.ask(&removals[n]))
    }

    /// Nothing is sent there.
    const PORT: u16 = 9;

    /// Of a range that is private, or for documentation.
    fn address(variant: &str, number: u32) -> IpAddr {
        match variant {
            "v6" => {
                Ipv6Addr::from_bits(0x2001_0db8_0000_0000_0000_0000_0001_0000 + u128::from(number)).into()
            }
            _ => Ipv4Addr::from_bits(0x0a00_0001_u32.wrapping_add(number)).into(),
        }
    }
}
