//! Reading the attributes of a file, by several workers at once.
//!
//! **Question.** Do P processors look up P times as many names as one?
//!
//! **Method.** Each worker repeats stat(2) of a file in a folder of its own, or all of the same file.
//!
//! **Expected answer.** Own files scale: the walk of a path takes no lock and writes nothing (RCU). The end
//! of it takes a reference to the file, so the same file moves its counter between processors.

use sys::file::status;
use workload::{PROCESSES, PROCESSES_SHARED, THREADS, THREADS_SHARED, Trial, TrialError, Workload};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "cores-stat",
    source: workload::page!("stat.rs"),
    variants: &[THREADS, PROCESSES, THREADS_SHARED, PROCESSES_SHARED],
    run: Ok(run),
    ..Workload::SCALING
};

fn run(trial: &mut Trial<'_>) -> Result<(), TrialError> {
    let folder = trial.own_folder()?;
    trial.in_workers(|worker| {
        let path = folder.file_of_object(worker)?;
        worker.repeat(|| status(&path))
    })
}
