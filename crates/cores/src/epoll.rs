//! An event through epoll, by several workers at once.
//!
//! **Question.** Do P processors wait for P times as many events as one?
//!
//! **Method.** Each worker raises a flag (eventfd(2)), asks epoll_wait(2) for it without waiting, and lowers
//! it: with a set of its own, or all with one set, where each watches a flag of its own and may be told the
//! event of another.
//!
//! **Expected answer.** Own sets scale. One set has one list of ready descriptors, under one lock.

use workload::{PROCESSES, THREADS, THREADS_SHARED, Workload, on_linux};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "cores-epoll",
    source: workload::page!("epoll.rs"),
    variants: &[THREADS, PROCESSES, THREADS_SHARED],
    run: on_linux!(measured::run, "epoll exists on Linux only"),
    ..Workload::SCALING
};

#[cfg(target_os = "linux")]
mod measured {
    use std::io;
    use std::os::fd::AsFd;

    use sys::event::{Flag, SharedSet};

    use workload::{Trial, TrialError};

    pub(super) fn run(trial: &mut Trial<'_>) -> Result<(), TrialError> {
        trial.scale(
            |_| SharedSet::new(),
            |shared, worker| {
                let (own, flag) = (SharedSet::new()?, Flag::new()?);
                let set = worker.choose(shared, &own);
                set.watch(flag.as_fd())?;
                let is_shared = worker.is_shared();
                worker.repeat(|| {
                    flag.raise()?;
                    let found = set.is_ready()?;
                    flag.lower()?;
                    if found || is_shared { Ok(()) } else { Err(io::ErrorKind::WouldBlock.into()) }
                })
            },
        )
    }
}
