//! A web server asked for one file, over and over.
//!
//! **Question.** How many files a second does a web server deliver, small ones and large ones, to how many at
//! once, and is every one of them right?
//!
//! **Method.** A server process of the architecture `epoll` serves one file of the size that the variant
//! names. On n connections at once a client asks for it, checks that length and checksum of the body are
//! those of the first one it had, and asks again on the same connection. Each level begins with one request
//! on every connection, for which the counts of client and server must agree to the last one; then the load
//! goes on, and what comes in a window of time, four such rounds at least, is measured. Latency is from the
//! sending of a request to the last byte of its answer; p50, p99 and p999 are the times that 50 %, 99 % and
//! 99.9 % of the answers do not exceed, and of fewer than a thousand answers p999 is the slowest. `server
//! cpu` is the server's processor time for each answer. Server and client are pinned to different processors
//! where there are two.
//!
//! **Expected answer.** Rates rise over the first few connections, until server or client is never idle, and
//! stay flat from there on, while latency grows linearly with n. For 590 bytes, the size of the file in the
//! comparison of 2003, the system calls are the cost; for a megabyte it is the copying, most of it in the
//! client.

use workload::{Expect, Needs, Operation, Unit, Variant, Workload};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "web",
    source: include_str!("web.rs"),
    variants: &[
        Variant { name: "590", summary: "a file of 590 bytes" },
        Variant { name: "16k", summary: "a file of 16 KiB" },
        Variant { name: "1m", summary: "a file of 1 MiB" },
    ],
    operations: &[
        Operation::reported("throughput", Unit::PerSecond, Expect::Constant, "right answers in a second"),
        Operation::reported("p50", Unit::Seconds, Expect::Linear, "median latency of an answer"),
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
    needs: Needs { descriptors: 1, ports: 1, memory_bytes: 1 << 20, ..Needs::NOTHING },
    top: Some(500),
    classic_n: 500,
    run: cfg_select! {
        unix => { Ok(measured::run) }
        _ => { Err("servers and generators are not written for this system yet") }
    },
    ..Workload::LOAD
};

#[cfg(unix)]
mod measured {
    use net::load::closed_loop;
    use workload::server::{ServerUnderTest, latencies, web, web_client, web_file};
    use workload::{Trial, TrialError};

    pub(super) fn run(trial: &mut Trial<'_>) -> Result<(), TrialError> {
        let bytes = match trial.variant() {
            "16k" => 16 << 10,
            "1m" => 1 << 20,
            _ => 590,
        };
        let path = web_file(trial, bytes)?;
        let mut server = ServerUnderTest::start(trial, web(trial, "epoll"))?;
        let mut clients = server.generator(web_client(server.address(), path))?;
        let window = trial.window();
        trial.at_levels(|n, recorder| {
            recorder.doing("answer");
            let held = server.hold(&mut clients, &closed_loop(n as usize, window), recorder)?;
            let whole = held.level.completed * bytes as u64;
            recorder.check("no fewer bytes came than the bodies have", held.level.received_bytes >= whole);
            recorder.value("throughput", held.level.completed_per_second);
            latencies(&held.level, recorder);
            recorder.value("server cpu", held.server_seconds);
            Ok(())
        })?;
        drop(clients);
        server.stop(trial)
    }
}
