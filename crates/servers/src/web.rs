//! A web server that delivers one file, in a closed loop.
//!
//! **Question.** How many files per second does a web server deliver, small and large, to how many
//! clients at once, and is every one of them correct?
//!
//! **Method.** A server process of the architecture `epoll`, or of the one that `--set arch=NAME` chooses,
//! serves one file of the size that the variant names. On n connections at once a client requests it,
//! checks that length and checksum of the body equal those of the first response, and sends the next
//! request on the same connection. Each level begins with one request on every connection, after which the
//! counters of client and server must agree exactly. Then the load continues, and a window of time is
//! measured, which has at least four such rounds. Latency is from sending a request to the last byte of its
//! response. p50, p99 and p999 are the latencies that 50 %, 99 % and 99.9 % of the responses do not exceed;
//! with fewer than a thousand responses p999 is the slowest. `server cpu` is the processor time of the
//! server for each response. Server and client are pinned to different processors if there are two;
//! `--set workers=N` and `--set generators=N` give them more, and `--set accept=shared` one queue, as in
//! `race`.
//!
//! **Expected answer.** Rates rise over the first few connections, until server or client is never idle,
//! and stay flat from there on, while latency grows linearly with n. For 590 bytes, the file size in the
//! comparison of 2003, the system calls dominate the cost. For a megabyte copying dominates, most of it
//! in the client.

use workload::resource::{DESCRIPTORS, MEMORY, PORTS};
use workload::server_workers::{ACCEPT, GENERATORS, WORKERS};
use workload::{Expect, Need, Operation, Setting, Unit, Values, Variant, Workload, architectures};

const ARCH: Setting = Setting {
    name: "arch",
    default: "epoll",
    values: Values::OneOf(architectures::NAMES),
    summary: "architecture of the server",
};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "web",
    version: 2,
    source: workload::page!("web.rs"),
    variants: &[
        Variant { name: "590", summary: "a file of 590 bytes" },
        Variant { name: "16k", summary: "a file of 16 KiB" },
        Variant { name: "1m", summary: "a file of 1 MiB" },
    ],
    settings: &[ARCH, WORKERS, ACCEPT, GENERATORS],
    operations: &[
        Operation::reported("throughput", Unit::PerSecond, Expect::Constant, "correct responses per second"),
        Operation::reported("p50", Unit::Seconds, Expect::Linear, "median latency of a response"),
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
    needs: &[Need::new(DESCRIPTORS, 1), Need::new(PORTS, 1), Need::new(MEMORY, 1 << 20)],
    top: Some(500),
    classic_n: 500,
    run: cfg_select! {
        unix => { Ok(measured::run) }
        _ => { Err("Windows opens no file below an open folder, so no server here serves files safely") }
    },
    ..Workload::LOAD
};

#[cfg(unix)]
mod measured {
    use net::load::closed_loop;
    use workload::server::{ServerUnderTest, latencies, web, web_client, web_file};
    use workload::server_workers::ServerWorkers;
    use workload::{Trial, TrialError};

    pub(super) fn run(trial: &mut Trial<'_>) -> Result<(), TrialError> {
        let bytes = match trial.variant() {
            "16k" => 16 << 10,
            "1m" => 1 << 20,
            _ => 590,
        };
        let path = web_file(trial, bytes)?;
        let workers = ServerWorkers::new(trial)?;
        let plan = workers.of_server(web(trial, trial.setting("arch")?))?;
        let mut server = ServerUnderTest::start(trial, plan)?;
        let mut clients = workers.clients(trial, &server, web_client(server.address(), path))?;
        let window = trial.window();
        trial.at_levels(|n, recorder| {
            recorder.doing("answer");
            let held = server.hold(clients.all(), &closed_loop(n as usize, window), &[], recorder)?;
            let whole = held.level.requests.completed * bytes as u64;
            recorder.check(
                "at least as many bytes were received as the bodies have",
                held.level.received_bytes >= whole,
            );
            recorder.value("throughput", held.level.completed_per_second);
            latencies(&held.level, recorder);
            recorder.value("server cpu", held.server_seconds);
            Ok(())
        })?;
        drop(clients);
        server.stop(trial)
    }
}
