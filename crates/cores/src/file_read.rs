//! Reading a page of a file, by several workers at once.
//!
//! **Question.** Do P processors read P times as many pages from the page cache as one?
//!
//! **Method.** Each worker repeats pread(2) of the first page of a file of its own, of a page of its own in
//! one file (`…-pages`), or all of the same page of one file. The pages are in the page cache.
//!
//! **Expected answer.** Own files scale, and different pages of one file do, since they are found without a
//! lock (RCU). Readers of one page take and return a reference to it, so its counter moves between
//! processors; its content may be in all their caches.

use std::fs::File;
use std::io::Write;

use sys::file::read_at;
use sys::memory::page_bytes;
use workload::{PROCESSES, PROCESSES_SHARED, THREADS, THREADS_SHARED, Trial, TrialError, Variant, Workload};

const THREADS_PAGES: Variant =
    Variant { name: "threads-pages", summary: "threads of one process, each with a page of one file" };
const PROCESSES_PAGES: Variant =
    Variant { name: "processes-pages", summary: "processes, each with a page of one file" };

pub(crate) const WORKLOAD: Workload = Workload {
    name: "cores-file-read",
    source: workload::page!("file_read.rs"),
    variants: &[THREADS, PROCESSES, THREADS_PAGES, PROCESSES_PAGES, THREADS_SHARED, PROCESSES_SHARED],
    run: Ok(run),
    ..Workload::SCALING
};

fn run(trial: &mut Trial<'_>) -> Result<(), TrialError> {
    let folder = trial.own_folder()?;
    let have_pages = trial.is_one_of(&[THREADS_PAGES, PROCESSES_PAGES]);
    let pages = if have_pages { trial.n() } else { 1 };
    trial.scale(
        |objects| {
            let page = vec![1; page_bytes()];
            // One by one: pages that are written together may be one folio in memory, with one counter.
            let write = |mut file: File| (0..pages).try_for_each(|_| file.write_all(&page));
            (0..objects).try_for_each(|object| write(File::create(folder.join(object.to_string()))?))
        },
        |(), worker| {
            let object = worker.object().to_string();
            let file = File::open(folder.join(object))?;
            let mut page = vec![0; page_bytes()];
            let offset = if have_pages { (page_bytes() * worker.number()) as u64 } else { 0 };
            worker.repeat(|| read_at(&file, &mut page, offset))
        },
    )
}
