//! Changing the protection of memory, by several workers at once.
//!
//! **Question.** Do P processors change protections P times as often as one?
//!
//! **Method.** Each worker has a mapping of its own of three pages, and makes the middle one read-only and
//! writable again, by two mprotect(2). Threads have one address space, processes one each. No page is
//! accessed, so there is nothing that another processor must forget.
//!
//! **Expected answer.** Processes scale. Threads take the lock of their address space (`mmap_lock`) for
//! writing: the middle page becomes a mapping by itself and is merged again.

use workload::{PROCESSES, THREADS, Workload, on_linux};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "cores-protect",
    source: workload::page!("protect.rs"),
    variants: &[THREADS, PROCESSES],
    run: on_linux!(run, "protections are changed by mprotect(2) on Linux only"),
    ..Workload::SCALING
};

#[cfg(target_os = "linux")]
fn run(trial: &mut workload::Trial<'_>) -> Result<(), workload::TrialError> {
    use sys::memory::{MemoryRegion, page_bytes};

    trial.in_workers(|worker| {
        let mut region = MemoryRegion::map(3 * page_bytes(), true)?;
        worker.repeat(|| {
            region.protect(1, false)?;
            region.protect(1, true)
        })
    })
}
