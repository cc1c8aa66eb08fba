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

use std::fs::File;

use sys::file::{Path, close, open_read};
use workload::{PROCESSES, PROCESSES_SHARED, THREADS, THREADS_SHARED, Trial, TrialError, Workload};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "cores-open",
    source: workload::page!("open.rs"),
    variants: &[THREADS, PROCESSES, THREADS_SHARED, PROCESSES_SHARED],
    run: Ok(run),
    ..Workload::SCALING
};

fn run(trial: &mut Trial<'_>) -> Result<(), TrialError> {
    let (folder, is_shared) = (trial.own_folder()?, trial.is_shared());
    trial.scale(
        |workers| {
            for worker in 0..workers {
                std::fs::create_dir_all(folder.join(worker.to_string()))?;
                File::create(folder.join(worker.to_string()).join("file"))?;
            }
            Ok(())
        },
        |(), worker| {
            let owner = if is_shared { 0 } else { worker.number() };
            let path = Path::try_from(folder.join(owner.to_string()).join("file").as_path())?;
            worker.repeat(|| close(open_read(&path)?))
        },
    )
}
