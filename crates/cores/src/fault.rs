//! The first access to pages, by several workers at once.
//!
//! **Question.** Do P processors get P times as many pages of memory as one?
//!
//! **Method.** Each worker has a mapping of its own, writes into each of its pages, and gives them back by
//! madvise(2); that is one operation. Threads have one address space, processes one each.
//!
//! **Expected answer.** Processes scale until the lists of free pages and the clearing of memory end that.
//! Threads do nearly, since faults take the lock of a mapping only (Linux 6.4); before that the lock of the
//! address space moved between processors.

use workload::{PROCESSES, THREADS, Workload, on_linux};

/// As many as the page tables of 256 KiB need; more would measure the memory itself.
#[cfg(target_os = "linux")]
const PAGES: usize = 64;

pub(crate) const WORKLOAD: Workload = Workload {
    name: "cores-fault",
    source: workload::page!("fault.rs"),
    variants: &[THREADS, PROCESSES],
    run: on_linux!(run, "memory is given back page by page on Linux only"),
    ..Workload::SCALING
};

#[cfg(target_os = "linux")]
fn run(trial: &mut workload::Trial<'_>) -> Result<(), workload::TrialError> {
    use sys::memory::{MemoryRegion, page_bytes};

    trial.in_workers(|worker| {
        let mut region = MemoryRegion::map(PAGES * page_bytes(), true)?;
        worker.repeat(|| {
            region.touch();
            region.discard()
        })
    })
}
