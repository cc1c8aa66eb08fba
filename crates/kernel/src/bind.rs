//! Cost of one more bound port while n are in use.
//!
//! **Question.** Does bind(2) to port 0, for which the system selects a free port, cost more when
//! thousands of ports are in use?
//!
//! **Method.** All sockets are opened first, untimed. Then each is bound to port 0 of the unspecified
//! address and kept, each call timed. Then they are closed in random order, each call timed. The variants
//! with a hole open each socket immediately before it is bound, and close the lowest descriptor and fill
//! it again in between, untimed, as the programs of 2003 did.
//!
//! **Expected answer.** Flat for n to 10 000, which was the result of 2003. A search for one free port,
//! when n of c are in use, costs a + b/(1 − n/c): it is flat for a long time and has a cliff where the
//! range, or the part of it that is searched first, is full. Linux 6.18 prefers ports of one parity, so
//! the cliff is expected at half of `net.ipv4.ip_local_port_range`.

use sys::socket::Socket;
use workload::resource::{DESCRIPTORS, MEMORY, PORTS};
use workload::{Expect, Need, Operation, Trial, TrialError, Workload};

use crate::socket::{FAMILIES, Hole, all_distinct, family};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "bind",
    source: workload::page!("bind.rs"),
    grows: "bound sockets",
    variants: FAMILIES,
    operations: &[
        Operation::up("bind", Expect::Constant, "one bind(2) to port 0 of the unspecified address"),
        Operation::down("close", Expect::Constant, "one close(2) of a bound socket, in random order"),
    ],
    needs: &[Need::new(DESCRIPTORS, 1), Need::new(PORTS, 1), Need::new(MEMORY, 4096)],
    helpers: true,
    run: Ok(run),
    ..Workload::CURVE
};

fn run(trial: &mut Trial<'_>) -> Result<(), TrialError> {
    let family = family(trial.variant());
    let open = || {
        let socket = Socket::stream(family)?;
        if family == sys::socket::AddressFamily::V6 {
            socket.serve_both_families()?;
        }
        Ok(socket)
    };
    let warm = || {
        let socket = open()?;
        socket.bind_any(family)?;
        socket.close()
    };
    let sockets = if trial.variant().ends_with("-hole") {
        let mut hole = Hole::new(trial.variant())?;
        trial.warm(warm);
        let bound = trial.timed_steps(&["bind"], |_, lap| {
            let socket = open()?;
            lap.skip();
            socket.bind_any(family)?;
            lap.mark();
            hole.punch()?;
            Ok(socket)
        })?;
        hole.check(trial);
        bound
    } else {
        let mut opened = trial.untimed("socket", |_| open())?.into_iter();
        trial.warm(warm);
        let bound = trial.timed("bind", |_| {
            let socket = opened.next().ok_or(std::io::ErrorKind::NotFound)?;
            socket.bind_any(family)?;
            Ok(socket)
        })?;
        drop(opened);
        bound
    };
    let ports = sockets.iter().map(|socket| socket.local_port().map(u32::from));
    let ports = TrialError::collect("to ask for the port of a bound socket", ports)?;
    trial.check("every port was chosen", ports.iter().all(|&port| port != 0));
    trial.check("every port is distinct", all_distinct(ports));
    let sockets = trial.shuffled(sockets);
    trial.timed_down("close", sockets, Socket::close)
}
