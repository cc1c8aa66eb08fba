//! Cost of the list of connections while n are open.
//!
//! **Question.** Monitoring agents and ss(8) read the list of all connections, or ask for one. What does that
//! cost when n are open?
//!
//! **Method.** The trial has a network of its own, with the loopback device only. Connections are opened over
//! it and kept, both ends in this process, untimed. After each, the whole list is read, timed: `proc` reads
//! /proc/net/tcp as text, `diag` receives the messages of sock_diag(7). It must have every connection once.
//! `one` asks sock_diag(7) for a connection chosen at random. At the end both ends of each are closed, in
//! random order, timed together.
//!
//! **Expected answer.** Linear for the lists, with a constant part: the kernel goes through its whole hash
//! table, whose size the memory of the machine decides. The text is more expensive. Flat for one, which is
//! found by its hash (net/ipv4/inet_diag.c).

use workload::resource::{DESCRIPTORS, MEMORY, PORTS};
use workload::{Expect, Need, Operation, Variant, Workload, on_linux};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "connection-list",
    source: workload::page!("connection_list.rs"),
    grows: "open connections",
    variants: &[
        Variant { name: "proc", summary: "/proc/net/tcp is read" },
        Variant { name: "diag", summary: "sock_diag(7) lists all" },
        Variant { name: "one", summary: "sock_diag(7) is asked for one connection" },
    ],
    operations: &[
        Operation::up("list", Expect::Linear, "the whole list is read").only(&["proc", "diag"]),
        Operation::up("find", Expect::Constant, "one send(2) of a request and one recv(2) of its answer")
            .only(&["one"]),
        Operation::down("close", Expect::Constant, "close(2) of both ends, in random order").detail(),
    ],
    needs: &[Need::new(DESCRIPTORS, 2), Need::new(PORTS, 1), Need::new(MEMORY, 10 << 10)],
    run: on_linux!(measured::run, "connections are listed by /proc/net/tcp and sock_diag(7) on Linux only"),
    ..Workload::CURVE
};

#[cfg(target_os = "linux")]
mod measured {
    use std::fs::File;
    use std::io::{self, Read};
    use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};

    use sys::process_table::{SocketEntry, SocketPlace, TcpDiagnosis, sock_diag};
    use sys::tcp::{Connection, Listener, Listening, Waiting};
    use workload::{Trial, TrialError};

    pub(super) fn run(trial: &mut Trial<'_>) -> Result<(), TrialError> {
        let _network = trial.own_network()?;
        let listening = Listening { blocking: true, ..Listening::default() };
        let listener = Listener::bind(SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 0), listening);
        let listener = listener.map_err(TrialError::at("to listen on loopback"))?;
        let to = listener.address().map_err(TrialError::at("to ask for the listener's address"))?;
        let open = || -> io::Result<(Connection, Connection)> {
            let ours = Connection::connect(to, None, Waiting::Blocking)?;
            ours.reset_on_close()?;
            let theirs = listener.accept(Waiting::Blocking)?;
            Ok((ours, theirs))
        };
        let pairs = match trial.variant() {
            "proc" => text(trial, to.port(), open),
            "diag" => messages(trial, to.port(), open),
            _ => one(trial, v4(to).map_err(TrialError::at("to ask for a connection"))?, open),
        }?;
        let pairs = trial.shuffled(pairs);
        trial.compact_down("close", pairs, |(ours, theirs)| ours.close().and_then(|()| theirs.close()))
    }

    type Pair = (Connection, Connection);

    fn v4(address: SocketAddr) -> io::Result<SocketAddrV4> {
        match address {
            SocketAddr::V4(address) => Ok(address),
            SocketAddr::V6(_) => Err(io::ErrorKind::InvalidInput.into()),
        }
    }

    fn text(
        trial: &mut Trial<'_>,
        port: u16,
        open: impl Fn() -> io::Result<Pair>,
    ) -> Result<Vec<Pair>, TrialError> {
        // The third word of a line is the peer: 0100007F:1F90.
        let (peer, mut list, mut wrong) = (format!(":{port:04X}"), String::new(), 0);
        let pairs = trial.compact_steps(&["list"], |n, lap| {
            let pair = open()?;
            list.clear();
            lap.skip();
            // That of this thread, which may be another than that of its process.
            File::open("/proc/thread-self/net/tcp")?.read_to_string(&mut list)?;
            lap.mark();
            let is_client =
                |line: &&str| line.split_whitespace().nth(2).is_some_and(|word| word.ends_with(&peer));
            wrong += usize::from(list.lines().filter(is_client).count() != n + 1);
            lap.skip();
            Ok(pair)
        })?;
        trial.check("every connection was in the list", wrong == 0);
        Ok(pairs)
    }

    fn messages(
        trial: &mut Trial<'_>,
        port: u16,
        open: impl Fn() -> io::Result<Pair>,
    ) -> Result<Vec<Pair>, TrialError> {
        let mut kernel = TcpDiagnosis::open().map_err(TrialError::at("to open sock_diag(7)"))?;
        let mut wrong = 0;
        let pairs = trial.compact_steps(&["list"], |n, lap| {
            let pair = open()?;
            lap.skip();
            let bytes = kernel.list()?;
            lap.mark();
            let sockets = kernel.listed(bytes)?;
            let is_client = |socket: &&SocketEntry| match socket.place {
                SocketPlace::Tcp { peer_port, .. } => peer_port == port,
                SocketPlace::Unix(_) => false,
            };
            wrong += usize::from(sockets.iter().filter(is_client).count() != n + 1);
            lap.skip();
            Ok(pair)
        })?;
        trial.check("every connection was in the list", wrong == 0);
        Ok(pairs)
    }

    fn one(
        trial: &mut Trial<'_>,
        to: SocketAddrV4,
        open: impl Fn() -> io::Result<Pair>,
    ) -> Result<Vec<Pair>, TrialError> {
        let mut kernel = TcpDiagnosis::open().map_err(TrialError::at("to open sock_diag(7)"))?;
        let mut choice = fastrand::Rng::with_seed(trial.seed());
        let (mut clients, mut wrong) = (Vec::with_capacity(trial.n()), 0);
        let pairs = trial.compact_steps(&["find"], |n, lap| {
            let pair = open()?;
            clients.push(v4(pair.0.local()?)?);
            let chosen = clients[choice.usize(..=n)];
            let query = sock_diag::query_one(chosen, to);
            lap.skip();
            let bytes = kernel.find(&query)?;
            lap.mark();
            let found = kernel.listed(bytes)?;
            let is_it = |place: &SocketPlace| {
                matches!(place, SocketPlace::Tcp { port, peer_port, .. }
                    if *port == chosen.port() && *peer_port == to.port())
            };
            wrong += usize::from(found.len() != 1 || !is_it(&found[0].place));
            lap.skip();
            Ok(pair)
        })?;
        trial.check("the answer was the connection that was asked for", wrong == 0);
        Ok(pairs)
    }
}
