//! Server architectures compared at equal offered rates, a connection for each response.
//!
//! **Question.** How much processor time does a server need for a response, how long does the response
//! take, and how many can the server send per second, when it has a process for each connection, a thread
//! for each, a pool, or one thread that waits for all? How does that change with the number of
//! simultaneous connections?
//!
//! **Method.** A server process answers every connection with the line `450 too busy` and closes it. That
//! is the least that a server can do, so that the architecture dominates the result. A client makes a new
//! connection for every response and reads the line and the close. At each n the load has two parts.
//!
//! First the client connects again as soon as it has a response, on n connections at a time (a closed
//! loop). It begins with one response on every connection, after which the counters of client and server
//! must agree exactly; then a window of time is measured, which has at least four such rounds.
//! `throughput` is the number of correct responses per second. It is the capacity of the server where the
//! client has time to spare, and else a lower bound of it.
//!
//! Then all architectures are offered the same (an open loop): n connections that begin shortly after
//! each other, again and again at equal distances. The mean rate is at most half of the smallest
//! throughput that an architecture had at this n in the first trials, so that none of them is overloaded
//! for longer than a burst; and within a burst the client begins connections at no more than half of the
//! rate that it can. Both are in the record, with their reasons. The first trial of each architecture has
//! no such part. At least a hundred responses are measured, unless they would take more than a second.
//! `server cpu` is the processor time of all processes of the server for each response. p50 and p99 are
//! the latencies, from the intended start of connect(2) to the line, that 50 % and 99 % of the responses
//! do not exceed.
//!
//! The client is pinned to one processor, and the server with all its processes and threads to another if
//! there is one: all architectures get the same processor. With `--set workers=N` the server gets N: an
//! event loop has a process on each, other architectures spread their threads or processes over them.
//! `--set workers=1,2` measures both in turn and compares them, for each architecture. The processes of an
//! event loop have a queue of connections each; with `--set accept=shared` they have one together, and with
//! `--set accept=exclusive` that wakes one of them. With `--set generators=N` the client is N processes in
//! the closed loop, on processors that the server leaves free. Where server and client must share a
//! processor, a remark says so.
//!
//! **Expected answer.** `server cpu` is flat over n, at different levels: most where a program is
//! executed for every connection, less with fork, less with threads, and least where nothing is created.
//! In 2001 asynchronous servers sent 12 times as many responses as processes, and a third more than
//! threads, at 1 000 connections. Latency is flat for a server that is faster than the client, and grows
//! linearly with n for others, because the last of a burst waits for all before it. select(2) stops at
//! `FD_SETSIZE`. On loopback the calls of the client do most of the work of the kernel for both ends, so
//! fast servers saturate the load generator: their throughput is a lower bound, and `server cpu`
//! distinguishes them.

use net::client::busy::BusyClientSettings;
use net::load::{LoadSettings, closed_loop};
use net::server::ServerPlan;
use net::service::busy::BusySettings;
use workload::resource::{DESCRIPTORS, MEMORY, PROCESSES, THREADS};
use workload::server::{ServerUnderTest, percentile};
use workload::server_workers::{ACCEPT, GENERATORS, ServerWorkers, WORKERS};
use workload::{Expect, Need, Operation, Sizes, Trial, TrialError, Unit, Workload, architectures};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "race",
    version: 3,
    source: workload::page!("race.rs"),
    grows: "simultaneous connections",
    sizes: Sizes::Levels(sizes),
    variants: architectures::VARIANTS,
    rivals: true,
    // A process, a thread, and one thread for all: the comparison of 2001.
    core_variants: &["inetd", "thread", "epoll"],
    equal_offered_load: true,
    settings: &[WORKERS, ACCEPT, GENERATORS],
    operations: &[
        Operation::reported(
            "server cpu",
            Unit::Seconds,
            Expect::Constant,
            "processor time of the server per response, at the rate that all are offered",
        )
        .at_server(),
        Operation::reported(
            "p50",
            Unit::Seconds,
            Expect::Constant,
            "median latency at that rate, from connect(2) to the response",
        )
        .except(CREATE_A_PROCESS),
        Operation::reported(
            "p99",
            Unit::Seconds,
            Expect::Constant,
            "latency at that rate that 99 % of responses do not exceed",
        )
        .except(CREATE_A_PROCESS),
        Operation::reported(
            "throughput",
            Unit::PerSecond,
            Expect::Constant,
            "correct responses per second, as many as the client can ask for",
        ),
    ],
    // At each end; the memory is that of a process, which some architectures have for every connection.
    needs: &[
        Need::new(DESCRIPTORS, 1),
        Need::new(PROCESSES, 1),
        Need::new(THREADS, 1),
        Need::new(MEMORY, 1 << 20),
    ],
    top: Some(1000),
    classic_n: 1000,
    run: Ok(run),
    ..Workload::LOAD
};

/// They are slower than any client, so that connections wait for those before them.
const CREATE_A_PROCESS: &[(&str, Expect)] = &[("inetd", Expect::Linear), ("fork", Expect::Linear)];

/// Few, because a level of a thousand takes seconds where a program is executed for each connection, and
/// trials say more than levels.
const CONNECTIONS: [u64; 10] = [1, 10, 100, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000];

fn sizes(top: u64) -> Vec<u64> {
    crate::up_to(top, CONNECTIONS)
}

fn run(trial: &mut Trial<'_>) -> Result<(), TrialError> {
    let workers = ServerWorkers::new(trial)?;
    let plan = ServerPlan::new(trial.variant(), &BusySettings {});
    let mut server = ServerUnderTest::start(trial, workers.of_server(plan)?)?;
    let settings = LoadSettings::new(server.address(), &BusyClientSettings {});
    let connections_max = settings.connections_max.max(trial.n());
    let mut clients = workers.clients(trial, &server, LoadSettings { connections_max, ..settings })?;
    let (window, offered) = (trial.window(), trial.offered());
    trial.at_levels(|n, recorder| {
        recorder.doing("answer");
        let load = closed_loop(n as usize, window);
        let held = server.hold(clients.all(), &load, &["throughput"], recorder)?;
        recorder.value("throughput", held.level.completed_per_second);
        if let Some(offered) = offered.iter().find(|offered| offered.n == n) {
            let held = server.offer(clients.of_open_loop(), offered, window, &["p50", "p99"], recorder)?;
            recorder.value("server cpu", held.server_seconds);
            recorder.value("p50", percentile(&held.level, 50.0));
            recorder.value("p99", percentile(&held.level, 99.0));
        }
        Ok(())
    })?;
    drop(clients);
    server.stop(trial)
}

#[cfg(test)]
mod tests {
    #[test]
    fn levels_are_few_and_end_at_the_top() {
        assert_eq!(super::sizes(1000), [1, 10, 100, 500, 1000]);
        assert_eq!(super::sizes(7), [1, 7]);
        assert_eq!(super::sizes(20_000), [1, 10, 100, 500, 1000, 2000, 5000, 10_000, 20_000]);
        assert!(super::sizes(0).is_empty());
    }
}
