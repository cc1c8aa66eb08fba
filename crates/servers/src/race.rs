//! Server architectures compared, with a new connection for every response, in a closed loop.
//!
//! **Question.** How many responses per second does a server send, how long do they take, and what do
//! they cost the server, when it has a process for each connection, a thread for each, a pool, or one
//! thread that waits for all? How does that change with the number of simultaneous connections?
//!
//! **Method.** A server process answers every connection with the line `450 too busy` and closes it. That
//! is the least that a server can do, so that the architecture dominates the result. A client connects,
//! reads the line and the close, and connects again, on n connections at a time. Each level begins with
//! one response on every connection, after which the counters of client and server must agree exactly.
//! Then the load continues, and a window of time is measured, which has at least four such rounds.
//! Latency is from the start of connect(2) to the line. p50, p99 and p999 are the latencies that 50 %, 99
//! % and 99.9 % of the responses do not exceed; with fewer than a thousand responses p999 is the slowest.
//! `server cpu` is the processor time of all processes of the server for each response. The client is
//! pinned to one processor, and the server with all its processes and threads to another if there is one:
//! all architectures get the same processor.
//!
//! **Expected answer.** Rates are flat over n, at different levels: slowest where a program is executed
//! for every connection, faster with fork, faster with threads, and fastest where nothing is created. In
//! 2001 asynchronous servers were 12 times as fast as processes, and a third faster than threads at 1 000
//! connections. Latency grows linearly with n, because the client always has n requests waiting.
//! select(2) stops at `FD_SETSIZE`. On loopback the calls of the client do most of the work of the kernel
//! for both ends, so fast servers saturate the load generator: their rates are marked, and `server cpu`
//! distinguishes them.

use workload::{Expect, Needs, Operation, Unit, Workload, architectures};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "race",
    source: include_str!("race.rs"),
    grows: "simultaneous connections",
    variants: architectures::VARIANTS,
    rivals: true,
    operations: &[
        Operation::reported("throughput", Unit::PerSecond, Expect::Constant, "correct responses per second"),
        Operation::reported(
            "p50",
            Unit::Seconds,
            Expect::Linear,
            "median latency, from connect(2) to the response",
        ),
        Operation::reported(
            "p99",
            Unit::Seconds,
            Expect::Linear,
            "latency that 99 % of responses do not exceed",
        ),
        Operation::reported(
            "p999",
            Unit::Seconds,
            Expect::Linear,
            "latency that 99.9 % of responses do not exceed",
        ),
        Operation::reported(
            "server cpu",
            Unit::Seconds,
            Expect::Constant,
            "processor time of the server per response",
        )
        .at_server(),
    ],
    // At each end; the memory is that of a process, which some architectures have for every connection.
    needs: Needs { descriptors: 1, processes: 1, threads: 1, memory_bytes: 1 << 20, ..Needs::NOTHING },
    top: Some(1000),
    classic_n: 1000,
    run: cfg_select! {
        unix => { Ok(measured::run) }
        _ => { Err("servers and load generators are not implemented on this system yet") }
    },
    ..Workload::LOAD
};

#[cfg(unix)]
mod measured {
    use net::client::busy::BusyClientSettings;
    use net::load::{LoadSettings, closed_loop};
    use net::server::ServerPlan;
    use net::service::busy::BusySettings;
    use workload::server::{ServerUnderTest, latencies};
    use workload::{Trial, TrialError};

    pub(super) fn run(trial: &mut Trial<'_>) -> Result<(), TrialError> {
        let plan = ServerPlan::new(trial.variant(), &BusySettings {});
        let mut server = ServerUnderTest::start(trial, plan)?;
        let mut clients = server.generator(LoadSettings::new(server.address(), &BusyClientSettings {}))?;
        let window = trial.window();
        trial.at_levels(|n, recorder| {
            recorder.doing("answer");
            let held = server.hold(&mut clients, &closed_loop(n as usize, window), recorder)?;
            recorder.value("throughput", held.level.completed_per_second);
            latencies(&held.level, recorder);
            recorder.value("server cpu", held.server_seconds);
            Ok(())
        })?;
        drop(clients);
        server.stop(trial)
    }
}
