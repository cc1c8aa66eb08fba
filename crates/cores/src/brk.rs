//! Moving the end of the data segment, by several workers at once.
//!
//! **Question.** Do P processors extend and shrink the heap P times as often as one?
//!
//! **Method.** Each worker repeats two brk(2): one raises the end of the data segment by some pages, the
//! other returns it to a place far above the memory of the allocator, which is not disturbed. Threads have
//! one data segment: each raises it by another number of pages, so that a call may extend it, shrink it or
//! change nothing, whatever others did before. No page is accessed.
//!
//! **Expected answer.** Processes scale. Threads take the lock of their address space (`mmap_lock`) for
//! writing, so that they are serial; where the lock passes by sleep and wake, two do less than one.

use workload::{PROCESSES, THREADS, Workload, on_linux};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "cores-brk",
    source: workload::page!("brk.rs"),
    variants: &[THREADS, PROCESSES],
    run: on_linux!(run, "brk(2) is used on Linux only"),
    ..Workload::SCALING
};

#[cfg(target_os = "linux")]
fn run(trial: &mut workload::Trial<'_>) -> Result<(), workload::TrialError> {
    use sys::memory::ProgramBreak;

    trial.scale(
        |_| ProgramBreak::above_heap(),
        |program_break, worker| {
            let pages = worker.number() + 1;
            worker.repeat(|| {
                program_break.raise(pages)?;
                program_break.lower()
            })
        },
    )
}
