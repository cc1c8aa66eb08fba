//! A byte through a pipe, by several workers at once.
//!
//! **Question.** Do P processors send P times as many bytes through pipes as one?
//!
//! **Method.** Each worker writes a byte into a pipe and reads one: through a pipe of its own, or all through
//! the same pipe, where each may read the byte of another.
//!
//! **Expected answer.** Own pipes scale. One pipe has one lock.

use workload::{PROCESSES, PROCESSES_SHARED, THREADS, THREADS_SHARED, Workload, on_unix};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "cores-pipe",
    source: workload::page!("pipe.rs"),
    variants: &[THREADS, PROCESSES, THREADS_SHARED, PROCESSES_SHARED],
    run: on_unix!(run, "pipes are used on Unix only"),
    ..Workload::SCALING
};

#[cfg(unix)]
fn run(trial: &mut workload::Trial<'_>) -> Result<(), workload::TrialError> {
    use sys::channel::Channel;

    trial.scale(
        |_| Channel::pipe(),
        |shared, worker| {
            let own = Channel::pipe()?;
            let channel = worker.choose(shared, &own);
            worker.repeat(|| channel.pass(1).map(drop))
        },
    )
}
