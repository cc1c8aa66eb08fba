//! A fixed pool of threads, each of which accepts and serves one connection at a time.
//!
//! **Design.** The threads are created before the first connection arrives. All wait in accept(2) on the
//! same listener, and the kernel wakes one of them.
//!
//! **Use.** This has been the usual way to bound the cost and the number of threads since the nineties:
//! in servlet containers, and in most frameworks of languages with threads, where requests are short and
//! the connection is closed afterwards.
//!
//! **Cost.** A short connection costs as little as with `prefork`, in one address space. The limit is the
//! same: an open idle connection, as browsers keep them, occupies a thread. When all threads are
//! occupied, further connections wait in the accept queue until one is closed by the client or by the
//! idle time limit. `--pool N` sets the number of threads.

use std::io;
use std::thread::Builder;

use super::blocking::{self, LOOK, Registry};
use super::{Architecture, ServedBy};
use crate::worker::{Terms, WorkerContext};

pub(super) const ARCHITECTURE: Architecture = Architecture {
    name: "pool",
    source: record::page!("pool.rs"),
    served_by: ServedBy::PooledThread,
    accepts: &[],
    probe: || Ok(()),
    serve: Ok(serve),
};

fn serve(worker: &WorkerContext) -> io::Result<()> {
    let registry = Registry::default();
    std::thread::scope(|scope| {
        let mut threads = Vec::new();
        let mut outcome = Ok(());
        // More would serve more connections at a time than may be.
        for _ in 0..worker.pool.min(worker.limits.connections) {
            match Builder::new()
                .stack_size(blocking::stack_bytes(worker))
                .spawn_scoped(scope, || work(worker, &registry))
            {
                Ok(thread) => threads.push(thread),
                // A pool that is smaller than requested still serves.
                Err(error) if threads.is_empty() => outcome = Err(error),
                Err(_) => blocking::exhausted(&worker.counters),
            }
        }
        while outcome.is_ok() && !worker.stop.is_ordered() {
            std::thread::sleep(LOOK);
            if let Some(ended) = threads.iter().position(|thread| thread.is_finished()) {
                let ended = threads.swap_remove(ended).join();
                outcome = ended.unwrap_or_else(|_| Err(io::Error::other("a thread panicked")));
            }
        }
        worker.refuse_more();
        registry.end(worker.limits.grace);
        outcome
    })
}

/// The life of a thread: one connection after the other.
fn work(worker: &WorkerContext, registry: &Registry) -> io::Result<()> {
    while !worker.stop.is_ordered() {
        if let Some(connection) = blocking::accept(worker, &worker.counters)? {
            let registered = registry.enter(&worker.counters, connection);
            blocking::serve(Terms::new(worker, &worker.counters), &registered.live);
        }
    }
    Ok(())
}
