//! Creating and removing a file, by several workers at once.
//!
//! **Question.** Do P processors create and remove P times as many files as one?
//!
//! **Method.** Each worker repeats the creation of an empty file, its close(2) and its unlink(2): in a folder
//! of its own, or all in one folder under different names.
//!
//! **Expected answer.** Own folders share the journal and the tables of inodes of the file system. One folder
//! has one lock, so that changes of it are serial. ext4 without a journal passes over the inodes that were
//! freed in the last minute (`recently_deleted` in fs/ext4/ialloc.c), which takes longer than all else here;
//! `--scratch /dev/shm` measures a file system in memory.

use sys::file::{Path, close, create_new, unlink};
use workload::{PROCESSES, PROCESSES_SHARED, THREADS, THREADS_SHARED, Trial, TrialError, Workload};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "cores-create",
    source: workload::page!("create.rs"),
    variants: &[THREADS, PROCESSES, THREADS_SHARED, PROCESSES_SHARED],
    run: Ok(run),
    ..Workload::SCALING
};

fn run(trial: &mut Trial<'_>) -> Result<(), TrialError> {
    let folder = trial.own_folder()?;
    trial.in_workers(|worker| {
        let own = folder.of_object(worker)?;
        let name = own.join(worker.number().to_string());
        let path = Path::try_from(name.as_path())?;
        // A worker of a level that does not count may have been ended between the two calls.
        if name.exists() {
            unlink(&path)?;
        }
        worker.repeat(|| {
            close(create_new(&path)?)?;
            unlink(&path)
        })
    })
}
