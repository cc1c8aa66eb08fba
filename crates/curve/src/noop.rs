//! The harness itself: what is measured when nothing is done.
//!
//! **Question.** How much of every number is the timer's?
//!
//! **Method.** The clock is read, nothing happens, and the clock is read again: the end of one
//! measurement is the beginning of the next, exactly as in every other curve. n only counts.
//!
//! **Expected answer.** Flat, a few nanoseconds where the processor's counter is read, tens where the
//! system is asked. This row is printed beside the others and never subtracted from them.

use crate::{Curve, Expect, Linkage, Needs, Operation, Stop, Trial, Variant};

pub(crate) const CURVE: Curve = Curve {
    name: "noop",
    version: 1,
    source: include_str!("noop.rs"),
    grows: "repetitions",
    variants: Variant::ONLY,
    operations: &[Operation::up("noop", Expect::Constant, "nothing, between two readings of the clock")],
    needs: Needs::NOTHING,
    linkage: Linkage::Dynamic,
    classic_n: 10_000,
    run: Ok(run),
    ..Curve::KERNEL
};

fn run(trial: &mut Trial<'_>) -> Result<(), Stop> {
    trial.timed("noop", |_| Ok(()))?;
    Ok(())
}
