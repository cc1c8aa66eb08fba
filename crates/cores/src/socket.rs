//! Creating and closing a socket, by several workers at once.
//!
//! **Question.** Do P processors create P times as many sockets as one?
//!
//! **Method.** Each worker repeats socket(2) for TCP and close(2). Threads have one table of descriptors,
//! processes one each.
//!
//! **Expected answer.** Processes nearly scale: inodes, counters and memory are kept for each processor.
//! Threads share the lock of the table of descriptors.

use sys::socket::{AddressFamily, Socket};
use workload::{PROCESSES, THREADS, Trial, TrialError, Workload};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "cores-socket",
    source: workload::page!("socket.rs"),
    variants: &[THREADS, PROCESSES],
    run: Ok(run),
    ..Workload::SCALING
};

fn run(trial: &mut Trial<'_>) -> Result<(), TrialError> {
    trial.in_workers(|worker| worker.repeat(|| Socket::stream(AddressFamily::V4)?.close()))
}
