//! Creating threads, by several workers at once.
//!
//! **Question.** Do P processors create P times as many threads as one?
//!
//! **Method.** Each worker creates a thread, which ends at once, and joins it. Threads have one address
//! space, processes one each.
//!
//! **Expected answer.** Processes share the table of numbers of processes and the lock of the family of
//! processes. Threads take the lock of their address space too, for the stack.

use std::io;

use workload::{PROCESSES, THREADS, Trial, TrialError, Workload};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "cores-thread",
    source: workload::page!("thread.rs"),
    variants: &[THREADS, PROCESSES],
    run: Ok(run),
    ..Workload::SCALING
};

fn run(trial: &mut Trial<'_>) -> Result<(), TrialError> {
    trial.in_workers(|worker| {
        worker.repeat(|| {
            let thread = std::thread::Builder::new().stack_size(64 << 10).spawn(|| ())?;
            thread.join().map_err(|_| io::Error::other("a thread has panicked"))
        })
    })
}
