//! Renaming a file, by several workers at once.
//!
//! **Question.** Do P processors rename P times as many files as one?
//!
//! **Method.** Each worker renames a file of its own to another name and back, by one rename(2) for each
//! repetition: in a folder of its own, or all in one folder.
//!
//! **Expected answer.** Own folders share `rename_lock` and the journal of the file system; one folder has
//! one lock, so that renames in it are serial.

use std::fs::File;

use sys::file::Path;
use workload::{PROCESSES, PROCESSES_SHARED, THREADS, THREADS_SHARED, Trial, TrialError, Workload};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "cores-rename",
    source: workload::page!("rename.rs"),
    variants: &[THREADS, PROCESSES, THREADS_SHARED, PROCESSES_SHARED],
    run: Ok(run),
    ..Workload::SCALING
};

fn run(trial: &mut Trial<'_>) -> Result<(), TrialError> {
    let folder = trial.own_folder()?;
    trial.in_workers(|worker| {
        let own = folder.of_object(worker)?;
        let names = ["one", "other"].map(|name| own.join(format!("{}-{name}", worker.number())));
        File::create(&names[0])?;
        let [mut from, mut to] = [Path::try_from(names[0].as_path())?, Path::try_from(names[1].as_path())?];
        worker.repeat(|| {
            sys::file::rename(&from, &to)?;
            std::mem::swap(&mut from, &mut to);
            Ok(())
        })?;
        sys::file::unlink(&from)
    })
}
