//! Entering the kernel and returning, by several workers at once.
//!
//! **Question.** Do P processors enter the kernel P times as often as one?
//!
//! **Method.** Each worker repeats getppid(2), which reads one number that nobody writes.
//!
//! **Expected answer.** It scales. A loss is that of the machine: siblings of a core, its clock, its host.

use workload::{PROCESSES, THREADS, Workload, on_unix};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "cores-syscall",
    source: workload::page!("syscall.rs"),
    variants: &[THREADS, PROCESSES],
    run: on_unix!(run, "this system has no getppid(2)"),
    ..Workload::SCALING
};

#[cfg(unix)]
fn run(trial: &mut workload::Trial<'_>) -> Result<(), workload::TrialError> {
    trial.in_workers(|worker| {
        worker.repeat(|| {
            std::hint::black_box(sys::process::parent());
            Ok(())
        })
    })
}
