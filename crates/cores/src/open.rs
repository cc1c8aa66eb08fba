//! Opening and closing a file, by several workers at once.
//!
//! **Question.** Do P processors open P times as many files as one?
//!
//! **Method.** Each worker repeats open(2) of an existing file and close(2): of a file in a folder of its
//! own, of a file of its own in one folder (`…-folder`), or all of the same file. The descriptors of threads
//! are in one table.
//!
//! **Expected answer.** Own files scale, for processes: names are looked up without a lock (RCU) and the
//! file's counter is its own. One folder is no different, as looking up changes nothing in it. Threads share
//! the lock of the table of descriptors (`files->file_lock`), and one file has one counter of references in
//! its dentry (`d_lockref`), which moves from processor to processor.

use std::fs::File;

use sys::file::{Path, close, open_read};
use workload::{PROCESSES, PROCESSES_SHARED, THREADS, THREADS_SHARED, Trial, TrialError, Variant, Workload};

const THREADS_FOLDER: Variant = Variant {
    name: "threads-folder",
    summary: "threads of one process, each with a file of its own in one folder",
};
const PROCESSES_FOLDER: Variant =
    Variant { name: "processes-folder", summary: "processes, each with a file of its own in one folder" };

pub(crate) const WORKLOAD: Workload = Workload {
    name: "cores-open",
    source: workload::page!("open.rs"),
    variants: &[THREADS, PROCESSES, THREADS_FOLDER, PROCESSES_FOLDER, THREADS_SHARED, PROCESSES_SHARED],
    run: Ok(run),
    ..Workload::SCALING
};

fn run(trial: &mut Trial<'_>) -> Result<(), TrialError> {
    let folder = trial.own_folder()?;
    let shares_folder = trial.is_one_of(&[THREADS_FOLDER, PROCESSES_FOLDER]);
    trial.in_workers(|worker| {
        let path = match shares_folder {
            true => {
                let own = folder.join(worker.number().to_string());
                File::create(&own)?;
                Path::try_from(own.as_path())?
            }
            false => folder.file_of_object(worker)?,
        };
        worker.repeat(|| close(open_read(&path)?))
    })
}
