//! Giving one page back, by several workers at once.
//!
//! **Question.** Do P processors return pages to the system P times as often as one?
//!
//! **Method.** Each worker writes into a page of its own and gives it back by madvise(2) with
//! `MADV_DONTNEED`; that is one operation. `cores-fault` does so with 64 pages for each call. Threads have
//! one address space, processes one each.
//!
//! **Expected answer.** Processes nearly scale, as faults do. Threads do not: before a page is free, every
//! other processor that runs a thread of the process has to forget its address, which takes an interrupt of
//! each: two do less than one. The lock is that of the mapping only (Linux 6.17), before that `mmap_lock` for
//! reading.

use workload::{PROCESSES, THREADS, Workload, on_linux};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "cores-madvise",
    source: workload::page!("madvise.rs"),
    variants: &[THREADS, PROCESSES],
    run: on_linux!(run, "madvise(2) gives memory back at once on Linux only"),
    ..Workload::SCALING
};

#[cfg(target_os = "linux")]
fn run(trial: &mut workload::Trial<'_>) -> Result<(), workload::TrialError> {
    use sys::memory::{MemoryRegion, page_bytes};

    trial.in_workers(|worker| {
        let mut region = MemoryRegion::map(page_bytes(), true)?;
        worker.repeat(|| {
            region.touch();
            region.discard()
        })
    })
}
