//! Cost of one more connection while n are open and idle, on each of its ends.
//!
//! **Question.** What does connection n + 1 cost the client, and what does it cost the server, when n
//! idle connections are open?
//!
//! **Method.** Client and server are one process, over loopback. A blocking connect(2) is timed: when it
//! returns, the connection is established, although it has not been accepted. On loopback this includes
//! the work of the kernel for the server side, such as creating its socket. Then accept(2) is timed, for
//! which the connection is already complete. Sockets are opened beforehand, untimed, and bound where the
//! variant says so. Both ends stay open; where one process cannot hold as many, helper processes hold their
//! part of them. At the end both are closed in random order, each close(2) timed.
//! The client resets the connection, so that no port stays in TIME_WAIT for the next trial.
//!
//! **Expected answer.** Flat for both ends. The search for a source port, which is part of connect(2) unless
//! the port is bound before, can grow: its cost rises towards the end of `net.ipv4.ip_local_port_range`. Hash
//! tables that are too small for n have long chains.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use sys::tcp::{Connection, Listener, Listening, Waiting};
use workload::resource::{DESCRIPTORS, MEMORY, PORTS};
use workload::{Expect, Need, Operation, Trial, TrialError, Variant, Workload};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "connect",
    source: workload::page!("connect.rs"),
    grows: "open connections",
    variants: &[
        Variant { name: "v4", summary: "IPv4" },
        Variant { name: "v6", summary: "IPv6" },
        Variant { name: "bound", summary: "IPv4, each bound beforehand to a port of its own" },
        Variant {
            name: "bound-late",
            summary: "IPv4, bound to 127.0.0.2 alone, the port left to connect (IP_BIND_ADDRESS_NO_PORT)",
        },
    ],
    operations: OPERATIONS,
    needs: &[Need::new(DESCRIPTORS, 2), Need::new(PORTS, 1), Need::new(MEMORY, 10 << 10)],
    helpers: true,
    run: Ok(run),
    ..Workload::CURVE
};

pub(crate) const OPERATIONS: &[Operation] = &[
    Operation::up(
        "connect",
        Expect::Constant,
        "connect(2), until the connection is established for the client",
    ),
    Operation::up("accept", Expect::Constant, "accept(2) of the waiting connection"),
    Operation::sum("both", &["connect", "accept"], Expect::Constant, "connect and accept together").detail(),
    Operation::down("close-client", Expect::Constant, "close(2) that resets, in random order"),
    Operation::down("close-server", Expect::Constant, "close(2) of the end that was reset").detail(),
];

/// Explicitly bound ports lie below those that most systems choose by themselves.
const OWN_PORTS: std::ops::Range<u16> = 2048..32_768;

fn run(trial: &mut Trial<'_>) -> Result<(), TrialError> {
    let pairs = open(trial)?;
    close(trial, pairs)
}

/// Times the ways up: both ends of every connection.
pub(crate) fn open(trial: &mut Trial<'_>) -> Result<Vec<(Connection, Connection)>, TrialError> {
    let mut client = Client::new(trial.variant());
    let listening = Listening { blocking: true, ..Listening::default() };
    let listener = Listener::bind(SocketAddr::new(client.server, 0), listening);
    let listener = listener.map_err(TrialError::at("to listen on loopback"))?;
    let to = listener.address().map_err(TrialError::at("to ask for the listener's address"))?;

    trial.warm(|| {
        let ours = client.prepare(to)?;
        ours.begin(to)?;
        let theirs = listener.accept(Waiting::Blocking)?;
        ours.reset_on_close()?;
        ours.close()?;
        theirs.close()
    });
    client.rewind();
    let pairs = trial.timed_steps(&["connect", "accept"], |_, lap| {
        let ours = client.prepare(to)?;
        lap.skip();
        ours.begin(to)?;
        lap.mark();
        let theirs = listener.accept(Waiting::Blocking)?;
        lap.mark();
        Ok((ours, theirs))
    })?;
    let met = pairs.iter().map(|(ours, theirs)| client.is_met(ours, theirs));
    let met = TrialError::collect("to ask for the ends of a connection", met)?;
    trial.check("every accepted connection is the one that was opened", met.into_iter().all(|is_met| is_met));
    Ok(pairs)
}

/// Times the way down.
pub(crate) fn close(trial: &mut Trial<'_>, pairs: Vec<(Connection, Connection)>) -> Result<(), TrialError> {
    let pairs = trial.shuffled(pairs);
    trial.timed_steps_back(&["close-client", "close-server"], pairs, |(ours, theirs), lap| {
        ours.reset_on_close()?;
        lap.skip();
        ours.close()?;
        lap.mark();
        theirs.close()?;
        lap.mark();
        Ok(())
    })
}

/// Where connections begin.
struct Client {
    server: IpAddr,
    /// The address that connections are bound to.
    from: Option<IpAddr>,
    /// Ports that were not used yet, where each connection has one of its own.
    ports: Option<std::ops::Range<u16>>,
}

impl Client {
    fn new(variant: &str) -> Client {
        let loopback = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let plain = Client { server: loopback, from: None, ports: None };
        match variant {
            "v6" => Client { server: Ipv6Addr::LOCALHOST.into(), ..plain },
            "bound" => Client { from: Some(loopback), ports: Some(OWN_PORTS), ..plain },
            "bound-late" => Client { from: Some(Ipv4Addr::new(127, 0, 0, 2).into()), ..plain },
            _ => plain,
        }
    }

    /// A socket that is ready to connect.
    fn prepare(&mut self, to: SocketAddr) -> io::Result<Connection> {
        let prepare = |port| {
            let from = self.from.map(|address| SocketAddr::new(address, port));
            Connection::prepare(to, from, Waiting::Blocking)
        };
        let Some(ports) = &mut self.ports else { return prepare(0) };
        // A port in use by another program is skipped.
        let free = ports.map(prepare).find(|prepared| match prepared {
            Err(error) => error.kind() != io::ErrorKind::AddrInUse,
            Ok(_) => true,
        });
        free.unwrap_or(Err(io::ErrorKind::AddrInUse.into()))
    }

    /// Starts again with the first port.
    fn rewind(&mut self) {
        self.ports = self.ports.take().map(|_| OWN_PORTS);
    }

    fn is_met(&self, ours: &Connection, theirs: &Connection) -> io::Result<bool> {
        let local = ours.local()?;
        Ok(local == theirs.peer()? && self.from.is_none_or(|from| from == local.ip()))
    }
}
