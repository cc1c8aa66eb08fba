//! Cost of reaping a process while n live, in three orders.
//!
//! **Question.** Does it matter which child is reaped first?
//!
//! **Method.** Children are forked, untimed. Then each is sent SIGTERM and reaped with waitpid(2) by its
//! process ID, timed: oldest first, newest first, or in random order. Many systems keep the children of a
//! process in a list, and the order determines how far that list is searched.
//!
//! **Expected answer.** Flat in every order where children are found by their process ID. Growth in one
//! order and not in another is the search of a list.

use workload::{Expect, Operation, Variant, Workload, on_unix};

use crate::fork;

pub(crate) const WORKLOAD: Workload = Workload {
    name: "reap",
    version: 4,
    source: workload::page!("reap.rs"),
    grows: "live processes",
    variants: &[
        Variant { name: "oldest", summary: "oldest first" },
        Variant { name: "newest", summary: "newest first" },
        Variant { name: "random", summary: "in random order" },
    ],
    operations: &[Operation::down("reap", Expect::Constant, "kill(2) and waitpid(2) of one child")],
    needs: &fork::NEEDS,
    classic_n: 3000,
    run: on_unix!(run, "this system has no fork(2)"),
    ..Workload::CURVE
};

#[cfg(unix)]
fn run(trial: &mut workload::Trial<'_>) -> Result<(), workload::TrialError> {
    let family = fork::family()?;
    let children = trial.untimed("fork", |_| family.fork())?;
    match trial.variant() {
        "newest" => fork::reap_all(trial, children.into_iter().rev()),
        "random" => {
            let children = trial.shuffled(children);
            fork::reap_all(trial, children)
        }
        _ => fork::reap_all(trial, children.into_iter()),
    }
}
