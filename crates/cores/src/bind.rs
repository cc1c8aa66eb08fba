//! Binding sockets to free ports, by several workers at once.
//!
//! **Question.** Do P processors get P times as many free ports as one?
//!
//! **Method.** Each worker repeats socket(2), bind(2) to port 0 and close(2). All take ports of one range.
//!
//! **Expected answer.** It nearly scales: each list of ports has a lock of its own, and few ports are in use.
//! Threads share the lock of the table of descriptors too.

use sys::socket::{AddressFamily, Socket};
use workload::{PROCESSES, THREADS, Trial, TrialError, Workload};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "cores-bind",
    source: workload::page!("bind.rs"),
    variants: &[THREADS, PROCESSES],
    run: Ok(run),
    ..Workload::SCALING
};

fn run(trial: &mut Trial<'_>) -> Result<(), TrialError> {
    trial.in_workers(|worker| {
        worker.repeat(|| {
            let socket = Socket::stream(AddressFamily::V4)?;
            socket.bind_any(AddressFamily::V4)?;
            socket.close()
        })
    })
}
