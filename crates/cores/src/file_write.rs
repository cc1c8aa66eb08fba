//! Writing a page of a file, by several workers at once.
//!
//! **Question.** Do P processors write P times as many pages into the page cache as one?
//!
//! **Method.** Each worker repeats pwrite(2) of one page, over the one that is there: of a file of its own,
//! or all of one file, each worker another page of it.
//!
//! **Expected answer.** Own files scale. Writers of one file take the lock of its inode (`i_rwsem`), so they
//! are serial on most file systems, whichever pages they write.

use std::fs::File;
use std::io;

use sys::memory::page_bytes;
use workload::{PROCESSES, PROCESSES_SHARED, THREADS, THREADS_SHARED, Trial, TrialError, Workload};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "cores-file-write",
    source: workload::page!("file_write.rs"),
    variants: &[THREADS, PROCESSES, THREADS_SHARED, PROCESSES_SHARED],
    run: Ok(run),
    ..Workload::SCALING
};

fn run(trial: &mut Trial<'_>) -> Result<(), TrialError> {
    let folder = trial.own_folder()?;
    trial.scale(
        |_| Ok(()),
        |(), worker| {
            let path = folder.join(worker.object().to_string());
            let file = File::options().write(true).create(true).truncate(false).open(path)?;
            let page = vec![2; page_bytes()];
            let offset = (page_bytes() * worker.number()) as u64;
            let write = || match sys::file::write_at(&file, &page, offset)? {
                written if written == page.len() => Ok(()),
                _ => Err(io::ErrorKind::WriteZero.into()),
            };
            write()?;
            worker.repeat(write)
        },
    )
}
