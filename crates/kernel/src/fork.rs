//! Cost of one more process while n live, from a dynamically linked program.
//!
//! **Question.** How long does it take from fork(2) until the first byte of the child arrives, and does
//! that grow with the number of children? How long does it take to kill and reap each of them?
//!
//! **Method.** The parent forks. The child writes one byte into a pipe and waits. The clock is read when
//! the parent has read the byte. All children stay alive. Then, oldest first, each is sent SIGTERM and
//! reaped with waitpid(2). The time includes everything that a process costs a server: the copy of the
//! page tables, the scheduling of the child, its first page faults, and the wake-up of the parent.
//!
//! **Expected answer.** Flat. Reaping was the first curve that was not O(1) on Linux 2.6.

use workload::resource::{MEMORY, PROCESSES};
use workload::{Expect, Experiment, Need, Operation, Workload, on_unix};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "fork",
    version: 4,
    source: workload::page!("fork.rs"),
    grows: "live processes",
    operations: OPERATIONS,
    needs: &NEEDS,
    classic_n: 3000,
    run: RUN,
    ..Workload::CURVE
};

pub(crate) const OPERATIONS: &[Operation] = &[
    Operation::up("fork", Expect::Constant, "fork(2) until the child's first byte has been read"),
    Operation::down("reap", Expect::Constant, "kill(2) and waitpid(2) of one child, oldest first"),
];

/// A stopped child: its page tables, its stack in the kernel, and the pages it has written.
pub(crate) const NEEDS: [Need; 2] = [Need::new(PROCESSES, 1), Need::new(MEMORY, 160 << 10)];

pub(crate) const RUN: Result<Experiment, &'static str> =
    on_unix!(measured::run, "this system has no fork(2)");

#[cfg(unix)]
pub(crate) use measured::{family, reap_all};

#[cfg(unix)]
mod measured {
    use sys::process::{Child, Family};
    use workload::{Trial, TrialError};

    use crate::socket::all_distinct;

    pub(super) fn run(trial: &mut Trial<'_>) -> Result<(), TrialError> {
        let family = family()?;
        trial.warm(|| family.fork()?.reap());
        let children = trial.timed("fork", |_| family.fork())?;
        reap_all(trial, children.into_iter())
    }

    pub(crate) fn family() -> Result<Family, TrialError> {
        Family::new().map_err(TrialError::at("to make pipes for the children"))
    }

    /// Times kill and wait for each child, in the order given.
    pub(crate) fn reap_all(
        trial: &mut Trial<'_>,
        children: impl ExactSizeIterator<Item = Child>,
    ) -> Result<(), TrialError> {
        let children: Vec<Child> = children.collect();
        let distinct = all_distinct(children.iter().map(Child::number).collect());
        trial.check("every child has its own process ID", distinct);
        trial.timed_down("reap", children.into_iter(), Child::reap)
    }
}
