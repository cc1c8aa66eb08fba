//! Sending signals, by several workers at once.
//!
//! **Question.** Do P processors send P times as many signals as one?
//!
//! **Method.** Each worker sends a signal to itself by tgkill(2), and handles it before the call returns; or
//! all send it to one thread that does not take part, in which it is blocked. There it is pending from the
//! first time on, so that the others cost no memory and disturb nobody: a sender finds it pending, under the
//! same lock. The own and the shared form differ in the handler, and compare only with themselves.
//!
//! **Expected answer.** Processes nearly scale: they share the counter of signals that are pending for a user
//! (`RLIMIT_SIGPENDING`). Threads have one lock for all their signals (`sighand->siglock`), which sending and
//! handling take several times, so they do not scale. One target has one such lock, which a sender holds for
//! a small part of the call: two nearly scale, and many do not.

use workload::{PROCESSES, PROCESSES_SHARED, THREADS, THREADS_SHARED, Workload, on_linux};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "cores-signal",
    source: workload::page!("signal.rs"),
    variants: &[THREADS, PROCESSES, THREADS_SHARED, PROCESSES_SHARED],
    run: on_linux!(run, "signals are sent to single threads by tgkill(2), on Linux only"),
    ..Workload::SCALING
};

#[cfg(target_os = "linux")]
fn run(trial: &mut workload::Trial<'_>) -> Result<(), workload::TrialError> {
    use std::io;
    use sys::signal::SignalTarget;

    trial.scale(
        // This is the thread that leads the workers.
        |_| SignalTarget::that_blocks(),
        |shared, worker| {
            let own = SignalTarget::that_handles()?;
            own.send()?;
            if !SignalTarget::is_handled() {
                return Err(io::Error::other("a signal of the thread to itself was not handled at once"));
            }
            let target = worker.choose(shared, &own);
            worker.repeat(|| target.send())
        },
    )
}
