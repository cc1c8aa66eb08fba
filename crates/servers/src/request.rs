//! Latency of one request while n connections are open and idle.
//!
//! **Question.** How long does a web server take to respond to a request when n persistent connections
//! are open, and how much memory does each connection use?
//!
//! **Method.** A server process serves a file of 590 bytes and never closes an idle connection. A client
//! opens n connections and keeps them. Then it sends a request on one of them, chosen at random, waits
//! for the response, checks it, and continues on another one: at least 200 requests, and until the window
//! of time ends. Nothing else is in progress, so the latency contains no queueing. p50 and p99 are the
//! latencies that 50 % and 99 % of the responses do not exceed. `user memory` is the increase in memory
//! of all processes of the server, for each connection, with shared memory counted once. `kernel memory`
//! is the increase in kernel memory of this machine: both ends of the connection if the server runs here,
//! and everything that an architecture creates for it, such as processes, threads and stacks. It is
//! measured for the whole machine, so all other activity disturbs it, most of all at small n. For
//! example, connections that `race` left in TIME_WAIT are freed within a minute and make the value too
//! small. At the end the client resets its connections, so that none is left. With
//! `--set workers=N`, and one queue with `--set accept=shared`, processes of an event loop share the
//! connections, as in `race`.
//!
//! **Expected answer.** Flat where the kernel keeps the set of connections (epoll, io_uring) and where
//! every connection has its own process or thread. Linear where the set is passed with every wait (poll,
//! and select, which stops at `FD_SETSIZE`). A pool serves as many connections as it has members, here
//! 32, and the others wait; therefore it stops at the first level. In memory a thread is more expensive
//! than a table entry, and a process more expensive than a thread.

use workload::resource::{DESCRIPTORS, MEMORY, PORTS, PROCESSES, THREADS};
use workload::server_workers::{ACCEPT, WORKERS};
use workload::{Expect, Need, Operation, Sizes, Unit, Workload, architectures, levels};

use crate::{KERNEL_MEMORY, P99, USER_MEMORY};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "request",
    version: 2,
    source: workload::page!("request.rs"),
    grows: "idle connections",
    sizes: Sizes::Levels(sizes),
    variants: architectures::VARIANTS,
    rivals: true,
    settings: &[WORKERS, ACCEPT],
    operations: &[
        Operation::reported("p50", Unit::Seconds, Expect::Constant, "median latency of a single request")
            .except(PASSES_ALL),
        P99.except(PASSES_ALL),
        USER_MEMORY,
        KERNEL_MEMORY,
    ],
    // The memory is that of a process, which some architectures have for every connection.
    needs: &[
        Need::new(DESCRIPTORS, 1),
        Need::new(PROCESSES, 1),
        Need::new(THREADS, 1),
        Need::new(PORTS, 1),
        Need::new(MEMORY, 1 << 20),
    ],
    top: Some(9000),
    classic_n: 9000,
    run: cfg_select! {
        unix => { Ok(measured::run) }
        _ => { Err("Windows opens no file below an open folder, so no server here serves files safely") }
    },
    ..Workload::LOAD
};

/// These pass the whole set of connections to the kernel in every wait.
const PASSES_ALL: &[(&str, Expect)] = &[("select", Expect::Linear), ("poll", Expect::Linear)];

/// From 100 on: with fewer, other memory of the machine changes more than a connection takes.
fn sizes(top: u64) -> Vec<u64> {
    let is_enough = |&n: &u64| n >= 100 || n == top;
    levels::one_two_five(top).into_iter().filter(is_enough).collect()
}

#[cfg(unix)]
mod measured {
    use std::io;
    use std::time::{Duration, Instant};

    use net::load::{Generator, LoadSettings, Times};
    use workload::server::{
        Memory, ServerUnderTest, grow, io_error, record_latencies, web, web_client, web_file,
    };
    use workload::server_workers::ServerWorkers;
    use workload::{Trial, TrialError};

    /// The 99th percentile of fewer would be the slowest one.
    const REQUESTS_MIN: u64 = 200;
    /// However slow they are.
    const TIME_MAX: Duration = Duration::from_secs(5);

    pub(super) fn run(trial: &mut Trial<'_>) -> Result<(), TrialError> {
        let path = web_file(trial, 590)?;
        let workers = ServerWorkers::new(trial)?;
        let plan = workers.of_server(web(trial, trial.variant()))?;
        let mut server = ServerUnderTest::start(trial, plan)?;
        // Thousands of connections in TIME_WAIT would be given back by the kernel while the next trial counts
        // what it has taken.
        let settings = LoadSettings { reset: true, ..web_client(server.address(), path) };
        let mut clients = server.generator(settings)?;
        let none = Memory::read(&mut server).map_err(TrialError::at("to read the memory of the server"))?;
        let mut random = fastrand::Rng::with_seed(trial.seed());
        let window = trial.window();
        trial.at_levels(|n, recorder| {
            recorder.doing("connect");
            grow(&mut server, &mut clients, n as usize)?;
            recorder.doing("request");
            let latency = request_each(&mut clients, &mut random, window)?;
            recorder.value("p50", latency.quantile_ns(0.5) as f64 / 1e9);
            recorder.value("p99", latency.quantile_ns(0.99) as f64 / 1e9);
            Memory::read(&mut server)?.report_each(&none, recorder);
            record_latencies(&latency, recorder);
            Ok(())
        })?;
        drop(clients);
        server.stop(trial)
    }

    /// Sends requests on connections chosen at random, one at a time.
    fn request_each(
        clients: &mut Generator,
        random: &mut fastrand::Rng,
        window: Duration,
    ) -> io::Result<Times> {
        let begun = Instant::now();
        let mut times = Times::new().map_err(io_error)?;
        while begun.elapsed() < window || (times.count() < REQUESTS_MIN && begun.elapsed() < TIME_MAX) {
            let number = random.usize(..clients.connections().max(1));
            times.record(clients.ask_once(number).map_err(io_error)?.as_nanos() as u64);
        }
        Ok(times)
    }
}
