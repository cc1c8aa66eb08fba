//! Reading the attributes of a file, by several workers at once.
//!
//! **Question.** Do P processors look up P times as many names as one?
//!
//! **Method.** Each worker repeats stat(2) of a file in a folder of its own, or all of the same file.
//!
//! **Expected answer.** Own files scale: the walk of a path takes no lock and writes nothing (RCU). The end
//! of it takes a reference to the file, so the same file moves its counter between processors.

use std::fs::File;

use sys::file::{Path, status};
use workload::{PROCESSES, PROCESSES_SHARED, THREADS, THREADS_SHARED, Trial, TrialError, Workload};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "cores-stat",
    source: workload::page!("stat.rs"),
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
            worker.repeat(|| status(&path))
        },
    )
}
