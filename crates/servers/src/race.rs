//! Server architectures compared: a new connection for every answer, as fast as it goes.
//!
//! **Question.** How many answers a second does a server give, how long do they take, and what do they cost
//! it, when it is built as a process for each connection, a thread for each, a pool, or one thread that waits
//! for all? And how does that change with the number of simultaneous connections?
//!
//! **Method.** A server process answers every connection with the line `450 too busy` and closes it: the
//! least that a server can do, so that what is measured is the architecture. A client connects, reads the
//! line and the close, and connects anew, on n connections at a time. Each level begins with one answer for
//! every connection, for which the counts of client and server must agree to the last one; then the load goes
//! on, and what comes in a window of time, four such rounds at least, is measured. Latency is from the
//! beginning of connect(2) to the line; p50, p99 and p999 are the times that 50 %, 99 % and 99.9 % of the
//! answers do not exceed, and of fewer than a thousand answers p999 is the slowest. `server cpu` is the
//! processor time of all processes of the server for each answer it gave. The client is pinned to one
//! processor, and all of the server, however many processes and threads it is, to another where there is one:
//! what is compared is what each makes of the same processor.
//!
//! **Expected answer.** Rates that stay flat over n, at levels of their own: slowest where a program is
//! executed for every connection, faster with fork, with threads, and fastest where nothing is created. In
//! 2001 asynchronous servers were 12 times as fast as processes, and a third faster than threads at 1 000
//! connections. Latency grows linearly with n, for the client always has n requests waiting. select(2) stops
//! at `FD_SETSIZE`. On loopback the client's calls do most of the kernel's work for both ends, so the fast
//! ones are limited by the client: their rates are marked, and `server cpu` is what tells them apart.

use workload::{Expect, Needs, Operation, Unit, Workload, server};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "race",
    source: include_str!("race.rs"),
    grows: "simultaneous connections",
    variants: server::ARCHITECTURES,
    rivals: true,
    operations: &[
        Operation::reported("throughput", Unit::PerSecond, Expect::Constant, "right answers in a second"),
        Operation::reported(
            "p50",
            Unit::Seconds,
            Expect::Linear,
            "median latency, from connect(2) to the answer",
        ),
        Operation::reported(
            "p99",
            Unit::Seconds,
            Expect::Linear,
            "latency that 99 % of answers do not exceed",
        ),
        Operation::reported(
            "p999",
            Unit::Seconds,
            Expect::Linear,
            "latency that 99.9 % of answers do not exceed",
        ),
        Operation::reported(
            "server cpu",
            Unit::Seconds,
            Expect::Constant,
            "the server's processor time for an answer",
        ),
    ],
    // At each end; the memory is that of a process, which some architectures have for every connection.
    needs: Needs { descriptors: 1, processes: 1, threads: 1, memory_bytes: 1 << 20, ..Needs::NOTHING },
    top: Some(1000),
    classic_n: 1000,
    run: cfg_select! {
        unix => { Ok(measured::run) }
        _ => { Err("servers and generators are not written for this system yet") }
    },
    ..Workload::LOAD
};

#[cfg(unix)]
mod measured {
    use net::load::{Settings, closed_loop};
    use net::server::Plan;
    use workload::server::{ServerUnderTest, latencies};
    use workload::{Trial, TrialError};

    pub(super) fn run(trial: &mut Trial<'_>) -> Result<(), TrialError> {
        let plan =
            Plan { architecture: trial.variant().to_owned(), service: "busy".to_owned(), ..Plan::default() };
        let mut server = ServerUnderTest::start(trial, plan)?;
        let mut clients = server.generator(Settings::busy(server.address()))?;
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
