//! Cost of entering the kernel and returning.
//!
//! **Question.** What does a system call cost that does almost nothing?
//!
//! **Method.** getppid(2) is called by its number, because the C library could return a cached value.
//! Where one call is too short for the clock, a batch of calls is timed and divided by their number. n is
//! only a count.
//!
//! **Expected answer.** Flat. The level shows the mitigations of the processor, and everything that
//! filters or traces system calls: seccomp, audit, a sandbox.

use workload::{Expect, Operation, Workload, on_unix};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "syscall",
    source: workload::page!("syscall.rs"),
    grows: "repetitions",
    operations: &[Operation::up("getppid", Expect::Constant, "one getppid(2)")],
    run: on_unix!(run, "this system has no getppid(2)"),
    ..Workload::CURVE
};

#[cfg(unix)]
fn run(trial: &mut workload::Trial<'_>) -> Result<(), workload::TrialError> {
    let parent = sys::process::parent();
    let mut strangers = 0_u32;
    trial.repeated("getppid", || {
        strangers += u32::from(std::hint::black_box(sys::process::parent()) != parent);
    })?;
    trial.check("every call names the same parent", strangers == 0);
    Ok(())
}
