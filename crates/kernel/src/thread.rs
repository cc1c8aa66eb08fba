//! Cost of one more thread while n live.
//!
//! **Question.** How long does it take from pthread_create(3) until the first byte of the thread arrives,
//! and does that grow with the number of threads? How long does it take to release and join each of them?
//!
//! **Method.** As `fork`, with threads of default attributes: each writes one byte into a pipe and then
//! waits on a lock of its own. Then, oldest first, each is released and joined.
//!
//! **Expected answer.** Flat, and a fraction of `fork`: no page tables are copied.

use sys::thread::ThreadGroup;
use workload::resource::{MAPPINGS, MEMORY, PROCESSES, THREADS};
use workload::{Expect, Need, Operation, Trial, TrialError, Workload};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "thread",
    source: workload::page!("thread.rs"),
    grows: "live threads",
    operations: &[
        Operation::up(
            "create",
            Expect::Constant,
            "pthread_create(3) until the thread's first byte has been read",
        ),
        Operation::down("join", Expect::Constant, "release and pthread_join(3) of one thread, oldest first"),
    ],
    // A stack and its guard are two mappings.
    needs: &[
        Need::new(PROCESSES, 1),
        Need::new(THREADS, 1),
        Need::new(MAPPINGS, 2),
        Need::new(MEMORY, 40 << 10),
    ],
    classic_n: 3000,
    run: Ok(run),
    ..Workload::CURVE
};

fn run(trial: &mut Trial<'_>) -> Result<(), TrialError> {
    let group = ThreadGroup::new(trial.n()).map_err(TrialError::at("to make a pipe for the threads"))?;
    trial.warm(|| ThreadGroup::new(1)?.create(0)?.join());
    let members = trial.timed("create", |number| group.create(number))?;
    trial.check("all threads waited at once", group.waiting() == trial.n());
    trial.timed_down("join", members.into_iter(), |member| member.join())?;
    trial.check("every thread was released", group.waiting() == 0);
    Ok(())
}
