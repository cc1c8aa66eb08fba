//! Locking a byte of a file, by several workers at once.
//!
//! **Question.** Do P processors lock and unlock P times as many records as one?
//!
//! **Method.** Each worker locks a byte and unlocks it, by two fcntl(2) with open file description locks: in
//! a file of its own, or each another byte of one file.
//!
//! **Expected answer.** Own files scale but for a lock of each processor's list (`file_lock_list`). One file
//! has one list of locks under one lock.

use workload::{PROCESSES, PROCESSES_SHARED, THREADS, THREADS_SHARED, Workload, on_linux};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "cores-lock",
    source: workload::page!("lock.rs"),
    variants: &[THREADS, PROCESSES, THREADS_SHARED, PROCESSES_SHARED],
    run: on_linux!(run, "locks of open file descriptions are used on Linux only"),
    ..Workload::SCALING
};

#[cfg(target_os = "linux")]
fn run(trial: &mut workload::Trial<'_>) -> Result<(), workload::TrialError> {
    use std::fs::File;
    use sys::lock::{LockOwner, lock_byte, unlock_byte};

    let folder = trial.own_folder()?;
    trial.in_workers(|worker| {
        let object = worker.object().to_string();
        let path = folder.join(object);
        let file = File::options().read(true).write(true).create(true).truncate(false).open(path)?;
        let byte = worker.number() as u64;
        worker.repeat(|| {
            lock_byte(&file, LockOwner::OpenFile, byte)?;
            unlock_byte(&file, LockOwner::OpenFile, byte)
        })
    })
}
