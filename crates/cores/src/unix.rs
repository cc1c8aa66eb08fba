//! A byte through a pair of Unix sockets, by several workers at once.
//!
//! **Question.** Do P processors send P times as many messages within a machine as one?
//!
//! **Method.** Each worker writes a byte into one end of a socketpair(2) and reads one from the other:
//! through a pair of its own, or all through the same pair, where each may read the byte of another.
//!
//! **Expected answer.** Own pairs scale, as far as the allocator of messages does. One pair has one queue.

use workload::{PROCESSES, PROCESSES_SHARED, THREADS, THREADS_SHARED, Workload, on_unix};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "cores-unix",
    source: workload::page!("unix.rs"),
    variants: &[THREADS, PROCESSES, THREADS_SHARED, PROCESSES_SHARED],
    run: on_unix!(run, "pairs of Unix sockets are used on Unix only"),
    ..Workload::SCALING
};

#[cfg(unix)]
fn run(trial: &mut workload::Trial<'_>) -> Result<(), workload::TrialError> {
    use sys::channel::Channel;

    trial.scale(
        |_| Channel::socket_pair(),
        |shared, worker| {
            let own = Channel::socket_pair()?;
            let channel = worker.choose(shared, &own);
            worker.repeat(|| channel.pass(1).map(drop))
        },
    )
}
