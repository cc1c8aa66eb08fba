//! Setting a timer, by several workers at once.
//!
//! **Question.** Do P processors set P times as many timers as one?
//!
//! **Method.** Each worker sets a timer (timerfd_create(2)) of its own to a time that does not come, and sets
//! it again: two timerfd_settime(2), one with a later and one with an earlier time.
//!
//! **Expected answer.** It scales: each processor has a tree of timers.

use workload::{PROCESSES, THREADS, Workload, on_linux};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "cores-timer",
    source: workload::page!("timer.rs"),
    variants: &[THREADS, PROCESSES],
    run: on_linux!(run, "timerfd exists on Linux only"),
    ..Workload::SCALING
};

#[cfg(target_os = "linux")]
fn run(trial: &mut workload::Trial<'_>) -> Result<(), workload::TrialError> {
    use std::time::Duration;

    trial.in_workers(|worker| {
        let timer = sys::timer::KernelTimer::descriptor()?;
        worker.repeat(|| {
            timer.set(Some(Duration::from_secs(200)))?;
            timer.set(Some(Duration::from_secs(100)))
        })
    })
}
