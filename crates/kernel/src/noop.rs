//! The harness itself: an empty operation.
//!
//! **Question.** How much of every number is the cost of the timer?
//!
//! **Method.** The clock is read, nothing is executed, and the clock is read again. The end of one
//! measurement is the beginning of the next, exactly as in every other curve. n is only a count.
//!
//! **Expected answer.** Flat: a few nanoseconds where the counter of the processor is read, tens where a
//! system call or the vDSO is used. This row is printed beside the others and never subtracted from them.

use workload::{Expect, Operation, Trial, TrialError, Workload};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "noop",
    source: workload::page!("noop.rs"),
    grows: "repetitions",
    operations: &[Operation::up("noop", Expect::Constant, "nothing between two readings of the clock")],
    run: Ok(run),
    ..Workload::CURVE
};

fn run(trial: &mut Trial<'_>) -> Result<(), TrialError> {
    trial.timed("noop", |_| Ok(()))?;
    Ok(())
}
