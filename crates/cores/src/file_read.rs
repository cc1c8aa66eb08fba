//! Reading a page of a file, by several workers at once.
//!
//! **Question.** Do P processors read P times as many pages from the page cache as one?
//!
//! **Method.** Each worker repeats pread(2) of the first page of a file of its own, or all of the same page
//! of one file. The pages are in the page cache.
//!
//! **Expected answer.** Own files scale. Readers of one page take and return a reference to it, so its
//! counter moves between processors; its content may be in all their caches.

use std::fs::File;

use sys::file::read_at;
use sys::memory::page_bytes;
use workload::{PROCESSES, PROCESSES_SHARED, THREADS, THREADS_SHARED, Trial, TrialError, Workload};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "cores-file-read",
    source: workload::page!("file_read.rs"),
    variants: &[THREADS, PROCESSES, THREADS_SHARED, PROCESSES_SHARED],
    run: Ok(run),
    ..Workload::SCALING
};

fn run(trial: &mut Trial<'_>) -> Result<(), TrialError> {
    let folder = trial.own_folder()?;
    trial.scale(
        |objects| {
            let page = vec![1; page_bytes()];
            (0..objects).try_for_each(|object| std::fs::write(folder.join(object.to_string()), &page))
        },
        |(), worker| {
            let object = worker.object().to_string();
            let file = File::open(folder.join(object))?;
            let mut page = vec![0; page_bytes()];
            worker.repeat(|| read_at(&file, &mut page, 0))
        },
    )
}
