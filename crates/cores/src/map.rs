//! Mapping memory, by several workers at once.
//!
//! **Question.** Do P processors map and unmap P times as often as one?
//!
//! **Method.** Each worker repeats mmap(2) of one page of memory and its munmap(2). Threads have one address
//! space, processes one each. No page is accessed.
//!
//! **Expected answer.** Processes scale. Threads take the lock of their address space (`mmap_lock`) for
//! writing, so that they are serial.

use sys::memory::{MemoryRegion, page_bytes};
use workload::{PROCESSES, THREADS, Trial, TrialError, Workload};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "cores-map",
    source: workload::page!("map.rs"),
    variants: &[THREADS, PROCESSES],
    run: cfg_select! {
        unix => { Ok(run) }
        _ => { Err("memory is mapped by mmap(2) on Unix only") }
    },
    ..Workload::SCALING
};

#[cfg_attr(not(unix), allow(dead_code))]
fn run(trial: &mut Trial<'_>) -> Result<(), TrialError> {
    trial.scale(|_| Ok(()), |(), worker| worker.repeat(|| MemoryRegion::map(page_bytes(), true)?.unmap()))
}
