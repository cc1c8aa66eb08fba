//! Cost of reading the time of day.
//!
//! **Question.** What does it cost to read the monotonic clock of the system?
//!
//! **Method.** clock_gettime(2) of the monotonic clock is called in the fastest way that the system
//! offers, such as the vDSO. Where one call is too short for the clock that times it, a batch of calls is
//! timed and divided by their number. n is only a count.
//!
//! **Expected answer.** Flat, and below a tenth of `syscall`: the kernel shares a page from which the
//! time is computed. If it costs as much as a system call, the clock source is slow (HPET, Xen), and
//! every program that reads the time pays for that.

use workload::{Expect, Operation, Trial, TrialError, Workload};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "clock",
    source: workload::page!("clock.rs"),
    grows: "repetitions",
    operations: &[Operation::up("clock_gettime", Expect::Constant, "one reading of the monotonic clock")],
    run: Ok(run),
    ..Workload::CURVE
};

fn run(trial: &mut Trial<'_>) -> Result<(), TrialError> {
    let mut last = std::time::Instant::now();
    let mut backwards = 0_u32;
    trial.repeated("clock_gettime", || {
        let now = std::time::Instant::now();
        backwards += u32::from(now < last);
        last = now;
    })?;
    trial.check("the clock never runs backwards", backwards == 0);
    Ok(())
}
