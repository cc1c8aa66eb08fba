//! A fixed pool of processes, each of which accepts and serves one connection at a time.
//!
//! **Design.** The processes are forked before the first connection arrives. All wait in accept(2) on the
//! same listener, and the kernel wakes one of them. The parent serves no connections; it replaces
//! processes that exit.
//!
//! **Use.** Apache 1.3 and the prefork module of its successor work in this way, and so do most mail
//! servers (postfix uses each process for a hundred connections) and the servers of languages whose
//! interpreter has one thread.
//!
//! **Cost.** Nothing is created or destroyed for a connection, so a short one costs little more than its
//! system calls. At most as many connections are served at a time as there are processes: an open idle
//! connection occupies a process, and when all are occupied, further connections wait in the accept
//! queue. `--pool N` sets the number of processes.

use std::io;

use super::blocking::{self, Live};
use super::supervisor::Supervisor;
use super::{Architecture, ServedBy};
use crate::worker::{Counter, Terms, WorkerContext};

pub(super) const ARCHITECTURE: Architecture = Architecture {
    name: "prefork",
    source: include_str!("prefork.rs"),
    served_by: ServedBy::PooledProcess,
    accepts: &[],
    probe: super::forks,
    serve: super::on_unix(serve),
};

fn serve(worker: &WorkerContext) -> io::Result<()> {
    Supervisor {
        // More would serve more connections at a time than may be.
        size: worker.pool.min(worker.limits.connections),
        stop: &worker.stop,
        grace: worker.limits.grace,
        counters: &|number| worker.counters.of_worker(1 + number),
        work: &|number| work(worker, 1 + number),
        stopping: &|| worker.listener.finish(),
    }
    .keep(&mut || ())
}

/// The life of a process: one connection after the other.
fn work(worker: &WorkerContext, row: usize) -> io::Result<()> {
    let counters = worker.counters.of_worker(row);
    while !worker.stop.is_ordered() {
        if let Some(connection) = blocking::accept(worker, &counters)? {
            blocking::serve(Terms::new(worker, &counters), &Live::new(connection));
            counters.add(Counter::Ended, 1);
        }
    }
    Ok(())
}
