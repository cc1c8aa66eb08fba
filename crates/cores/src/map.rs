//! Mapping memory, by several workers at once.
//!
//! **Question.** Do P processors map and unmap P times as often as one?
//!
//! **Method.** Each worker repeats mmap(2) of one page of memory and its munmap(2). Threads have one address
//! space, processes one each. No page is accessed.
//!
//! **Expected answer.** Processes scale. Threads take the lock of their address space (`mmap_lock`) for
//! writing, so that they are serial.

use workload::{PROCESSES, THREADS, Workload, on_linux};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "cores-map",
    source: workload::page!("map.rs"),
    variants: &[THREADS, PROCESSES],
    run: on_linux!(run, "memory is mapped by mmap(2) on Linux only"),
    ..Workload::SCALING
};

#[cfg(target_os = "linux")]
fn run(trial: &mut workload::Trial<'_>) -> Result<(), workload::TrialError> {
    use sys::memory::{MemoryRegion, page_bytes};

    trial.in_workers(|worker| worker.repeat(|| MemoryRegion::map(page_bytes(), true)?.unmap()))
}
