//! Creating processes, by several workers at once.
//!
//! **Question.** Do P processors create P times as many processes as one?
//!
//! **Method.** Each worker forks a child, which ends at once, and waits for its end. Threads fork one address
//! space, processes one each.
//!
//! **Expected answer.** Neither scales fully: numbers of processes come from one table, and the family of
//! processes is under one lock (`tasklist_lock`). Threads take the lock of their address space too, which is
//! copied.

use workload::{PROCESSES, THREADS, Workload, on_unix};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "cores-spawn",
    source: workload::page!("spawn.rs"),
    variants: &[THREADS, PROCESSES],
    run: on_unix!(run, "this system has no fork(2)"),
    ..Workload::SCALING
};

#[cfg(unix)]
fn run(trial: &mut workload::Trial<'_>) -> Result<(), workload::TrialError> {
    trial.in_workers(|worker| worker.repeat(sys::process::try_fork))
}
