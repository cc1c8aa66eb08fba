//! The answer to one request while n connections are open and idle.
//!
//! **Question.** How long does a web server take to answer a request when n kept connections are open, and
//! what does each of those take of its memory?
//!
//! **Method.** A server process serves a file of 590 bytes; it closes no connection for being idle. A client
//! opens n connections and keeps them. Then it asks on one of them, chosen at random, waits for the answer,
//! checks it, and asks on another: 200 requests at least, and for as long as the window of time goes on.
//! Nothing else is under way meanwhile, so that latency is what the way to one answer takes, and not a queue:
//! p50 and p99 are the times that 50 % and 99 % of the answers do not exceed. `user memory` is what all
//! processes of the server together have gained over none, for each connection, what they share counted once.
//! `kernel memory` is what the kernel of this machine has gained: both ends of the connection where the
//! server is here, and with it whatever an architecture has made for it, processes, threads and their stacks.
//! It is told for the whole machine, so that it is blurred by whatever else goes on, most at small n:
//! connections that a `race` has left in TIME_WAIT are given back within a minute, and make it too small.
//! At the end the client resets what it has, so as to leave none.
//!
//! **Expected answer.** Flat where the kernel keeps the set of connections (epoll, io_uring) and where every
//! connection has a process or thread of its own; linear where the set is handed over with every wait (poll,
//! and select, which stops at `FD_SETSIZE`). A pool serves as many connections as it has members, here 32,
//! and the others wait: it stops at the first level. In memory a thread is dearer than a place in a table,
//! and a process dearer than a thread.

use workload::{Expect, Needs, Operation, Sizes, Unit, Workload, levels, server};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "request",
    source: include_str!("request.rs"),
    grows: "idle connections",
    sizes: Sizes::Levels(sizes),
    variants: server::ARCHITECTURES,
    rivals: true,
    operations: &[
        Operation::reported("p50", Unit::Seconds, Expect::Constant, "median latency of a request alone"),
        Operation::reported(
            "p99",
            Unit::Seconds,
            Expect::Constant,
            "latency that 99 % of requests do not exceed",
        ),
        Operation::reported(
            "user memory",
            Unit::Bytes,
            Expect::Constant,
            "the server's, for each connection",
        ),
        Operation::reported(
            "kernel memory",
            Unit::Bytes,
            Expect::Constant,
            "the machine's, for each connection",
        ),
    ],
    // The memory is that of a process, which some architectures have for every connection.
    needs: Needs {
        descriptors: 1,
        processes: 1,
        threads: 1,
        ports: 1,
        memory_bytes: 1 << 20,
        ..Needs::NOTHING
    },
    top: Some(9000),
    classic_n: 9000,
    run: cfg_select! {
        unix => { Ok(measured::run) }
        _ => { Err("servers and generators are not written for this system yet") }
    },
    ..Workload::LOAD
};

/// From 100 on: with fewer, what the machine does besides would drown what a connection takes.
fn sizes(top: u64) -> Vec<u64> {
    let is_enough = |&n: &u64| n >= 100 || n == top;
    levels::one_two_five(top).into_iter().filter(is_enough).collect()
}

#[cfg(unix)]
mod measured {
    use std::io;
    use std::time::{Duration, Instant};

    use net::load::{Generator, Settings, Times};
    use workload::server::{Memory, ServerUnderTest, grow, io_error, web, web_client, web_file};
    use workload::{Trial, TrialError};

    /// The 99th percentile of fewer would be the slowest one.
    const REQUESTS_MIN: u64 = 200;
    /// However slow they are.
    const TIME_MAX: Duration = Duration::from_secs(5);

    pub(super) fn run(trial: &mut Trial<'_>) -> Result<(), TrialError> {
        let path = web_file(trial, 590)?;
        let mut server = ServerUnderTest::start(trial, web(trial, trial.variant()))?;
        // Thousands of connections in TIME_WAIT would be given back by the kernel while the next trial counts
        // what it has taken.
        let settings = Settings { reset: true, ..web_client(server.address(), path) };
        let mut clients = server.generator(settings)?;
        let none = Memory::of(&mut server).map_err(TrialError::at("to ask the server for its memory"))?;
        let mut random = fastrand::Rng::with_seed(trial.seed());
        let window = trial.window();
        trial.at_levels(|n, recorder| {
            recorder.doing("connect");
            grow(&mut server, &mut clients, n as usize)?;
            recorder.doing("request");
            let latency = ask(&mut clients, &mut random, window)?;
            recorder.value("p50", latency.quantile_ns(0.5) as f64 / 1e9);
            recorder.value("p99", latency.quantile_ns(0.99) as f64 / 1e9);
            Memory::of(&mut server)?.report_each(&none, recorder);
            Ok(())
        })?;
        drop(clients);
        server.stop(trial)
    }

    /// Asks on connections chosen at random, one at a time.
    fn ask(clients: &mut Generator, random: &mut fastrand::Rng, window: Duration) -> io::Result<Times> {
        let begun = Instant::now();
        let mut times = Times::new().map_err(io_error)?;
        while begun.elapsed() < window || (times.count() < REQUESTS_MIN && begun.elapsed() < TIME_MAX) {
            let number = random.usize(..clients.connections().max(1));
            times.record(clients.ask_once(number).map_err(io_error)?.as_nanos() as u64);
        }
        Ok(times)
    }
}
