//! A process for every connection, forked from the process that accepts.
//!
//! **Design.** One process accepts and forks. The child, a copy of the server with all of its initialised
//! state, serves the connection with blocking calls, and exits. The parent reaps the children.
//!
//! **Use.** This has been the textbook server since 4.2BSD; the first web servers and sendmail used it,
//! PostgreSQL and sshd still do. A crash affects one connection, the kernel cleans up after it, and a
//! child can drop its privileges separately.
//!
//! **Cost.** fork(2) copies page tables, which takes some fifty microseconds, and more in a server with
//! much memory. Every page written afterwards is copied. Each process has a kernel stack and page tables
//! of its own, and must be reaped. Children share nothing that they learn.

use std::collections::HashSet;
use std::io;
use std::time::Instant;

use sys::tcp::Connection;

use super::blocking::{self, LOOK, Live};
use super::{Architecture, ServedBy};
use crate::worker::{Counter, Terms, WorkerContext};

pub(super) const ARCHITECTURE: Architecture = Architecture {
    name: "fork",
    source: record::page!("fork.rs"),
    served_by: ServedBy::Process,
    accepts: &[],
    probe: super::forks,
    serve: super::on_unix(serve),
};

fn serve(worker: &WorkerContext) -> io::Result<()> {
    process_for_each(worker, sys::signal::send_stop, |connection| {
        sys::process::fork(|| {
            blocking::serve(Terms::new(worker, &worker.counters), &Live::new(connection));
            0
        })
    })
}

/// Accepts connections and has `start` make a process for each, which closes it in this one; `tell` tells a
/// process to stop.
pub(super) fn process_for_each(
    worker: &WorkerContext,
    tell: fn(u32) -> io::Result<()>,
    mut start: impl FnMut(Connection) -> io::Result<u32>,
) -> io::Result<()> {
    let mut children = Children { worker, processes: HashSet::new() };
    let mut outcome = Ok(());
    while outcome.is_ok() && !worker.stop.is_ordered() {
        let accepted = blocking::accept(worker, &worker.counters);
        // Without children there is nothing to reap.
        let _ = children.ask();
        outcome = accepted.and_then(|connection| {
            let Some(connection) = connection else { return Ok(()) };
            if children.processes.len() >= worker.limits.connections {
                blocking::refuse(&worker.counters, connection);
                return Ok(());
            }
            match start(connection) {
                Ok(process) => {
                    children.processes.insert(process);
                    Ok(())
                }
                Err(error) => {
                    worker.counters.add(Counter::Refused, 1);
                    worker.counters.add(Counter::Ended, 1);
                    blocking::exhausted(&worker.counters);
                    if blocking::is_exhaustion(&error) { Ok(()) } else { Err(error) }
                }
            }
        });
    }
    worker.refuse_more();
    children.end(tell);
    outcome
}

/// The processes that serve connections.
struct Children<'a> {
    worker: &'a WorkerContext,
    processes: HashSet<u32>,
}

impl Children<'_> {
    /// Reaps those that have ended; an error when there are no children at all.
    fn ask(&mut self) -> io::Result<()> {
        while let Some((process, status)) = sys::process::ended_child()? {
            if self.processes.remove(&process) {
                self.worker.counters.add(Counter::Ended, 1);
                // Its killer, or its own crash, has broken the connection.
                self.worker.counters.add(Counter::Broken, u64::from(sys::process::was_killed(status)));
            }
        }
        Ok(())
    }

    /// After the order to stop: gives them the time of grace, and kills those that are left.
    fn end(&mut self, tell: fn(u32) -> io::Result<()>) {
        let until = Instant::now().checked_add(self.worker.limits.grace);
        while self.ask().is_ok() && !self.processes.is_empty() {
            // Again and again: a signal that comes right before a process begins to wait does not wake it.
            let is_grace = until.is_none_or(|until| Instant::now() < until);
            let tell = if is_grace { tell } else { sys::process::kill };
            for &process in &self.processes {
                // It may have ended right now, and will be reaped.
                let _ = tell(process);
            }
            std::thread::sleep(LOOK);
        }
    }
}
