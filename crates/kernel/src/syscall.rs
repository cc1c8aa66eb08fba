//! The way into the kernel and back.
//!
//! **Question.** What does a system call cost that does next to nothing?
//!
//! **Method.** getppid(2) by its number, past the C library, which could answer from memory. Where one
//! call is too short for the clock, a batch of them is timed and divided. n only counts.
//!
//! **Expected answer.** Flat. The level shows the processor's mitigations, and whatever watches system
//! calls: seccomp, audit, a sandbox.

use workload::{Expect, Linkage, Needs, Operation, Trial, TrialError, Variant, Workload};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "syscall",
    version: 1,
    source: include_str!("syscall.rs"),
    grows: "repetitions",
    variants: Variant::ONLY,
    operations: &[Operation::up("getppid", Expect::Constant, "one getppid(2)")],
    needs: Needs::NOTHING,
    linkage: Linkage::Dynamic,
    classic_n: 10_000,
    run: cfg_select! {
        unix => { Ok(run) }
        _ => { Err("there is no getppid here") }
    },
    ..Workload::CURVE
};

#[cfg_attr(not(unix), allow(dead_code))]
fn run(trial: &mut Trial<'_>) -> Result<(), TrialError> {
    let parent = sys::process::parent();
    let mut strangers = 0_u32;
    trial.repeated("getppid", || {
        strangers += u32::from(std::hint::black_box(sys::process::parent()) != parent);
    })?;
    trial.check("every call names the same parent", strangers == 0);
    Ok(())
}
