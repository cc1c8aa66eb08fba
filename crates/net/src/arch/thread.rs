//! A thread for every connection.
//!
//! **Design.** One thread accepts. Each connection gets its own thread, which serves it with blocking
//! calls and ends with it. The program is written as if there were one client; the scheduler of the
//! kernel does the multiplexing.
//!
//! **Use.** This was the usual server of the nineties where threads were cheap, and in Java before its
//! event interfaces. Most database servers still work in this way, and it is the simplest design for few
//! connections.
//!
//! **Cost.** Creating and ending a thread for every connection takes some ten microseconds. The touched
//! pages of its stack, and kernel memory of about the same size, stay allocated as long as the connection
//! is open. Every piece of input costs a context switch. Ten thousand idle connections are ten thousand
//! stacks.

use std::io;
use std::thread::Builder;

use super::blocking::{self, Registry};
use super::{Architecture, ServedBy};
use crate::worker::{Counter, Terms, WorkerContext};

pub(super) const ARCHITECTURE: Architecture = Architecture {
    name: "thread",
    source: record::page!("thread.rs"),
    served_by: ServedBy::Thread,
    accepts: &[],
    probe: || Ok(()),
    serve: Ok(serve),
};

fn serve(worker: &WorkerContext) -> io::Result<()> {
    let registry = Registry::default();
    std::thread::scope(|scope| {
        let mut outcome = Ok(());
        while outcome.is_ok() && !worker.stop.is_ordered() {
            outcome = blocking::accept(worker, &worker.counters).map(|connection| {
                let Some(connection) = connection else { return };
                if registry.len() >= worker.limits.connections {
                    return blocking::refuse(&worker.counters, connection);
                }
                let registered = registry.enter(&worker.counters, connection);
                let work = move || blocking::serve(Terms::new(worker, &worker.counters), &registered.live);
                // If no thread can be created, its closure is dropped, and the connection closed with it.
                if Builder::new().stack_size(blocking::stack_bytes(worker)).spawn_scoped(scope, work).is_err()
                {
                    worker.counters.add(Counter::Refused, 1);
                    blocking::exhausted(&worker.counters);
                }
            });
        }
        worker.refuse_more();
        registry.end(worker.limits.grace);
        outcome
    })
}
