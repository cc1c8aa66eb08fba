//! Opening and closing a file, by several workers at once.
//!
//! **Question.** Do P processors open P times as many files as one?
//!
//! **Method.** Each worker repeats open(2) of an existing file and close(2): of a file in a folder of its
//! own, or all of the same file. The descriptors of threads are in one table.
//!
//! **Expected answer.** Own files scale, for processes: names are looked up without a lock (RCU) and the
//! file's counter is its own. Threads share the lock of the table of descriptors (`files->file_lock`), and
//! one file has one counter of references in its dentry (`d_lockref`), which moves from processor to
//! processor.

use sys::file::{close, open_read};
use workload::{PROCESSES, PROCESSES_SHARED, THREADS, THREADS_SHARED, Trial, TrialError, Workload};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "cores-open",
    source: workload::page!("open.rs"),
    variants: &[THREADS, PROCESSES, THREADS_SHARED, PROCESSES_SHARED],
    run: Ok(run),
    ..Workload::SCALING
};

fn run(trial: &mut Trial<'_>) -> Result<(), TrialError> {
    let folder = trial.own_folder()?;
    trial.scale(
        |_| Ok(()),
        |(), worker| {
            let path = folder.file_of_object(worker)?;
            worker.repeat(|| close(open_read(&path)?))
        },
    )
}
