//! Cost of a system call under a filter with n instructions, or under n filters.
//!
//! **Question.** Containers, browsers and service managers filter system calls. What does a call cost when
//! the filter has n instructions, or when n filters are stacked, and when the kernel remembers their answer?
//!
//! **Method.** The filters allow every call. For getpgid(2) they load its argument before that: n times with
//! `instructions`, in a new thread for every n, because filters cannot be removed; once with `stacked`, where
//! one more filter is added for every n. Then one getpgid(2) is timed, which the filters examine every time,
//! and one getppid(2), for which they answer by the number of the call alone. Three calls of each come
//! before, untimed. With `instructions` n falls again, and getpgid(2) is timed once more. `add` is one
//! seccomp(2) with all that the kernel does for a filter: checks, translation, and its memory.
//!
//! **Expected answer.** Linear for the examined call: all instructions and all filters are executed
//! (seccomp(2)); linear for `add`, which sums up the filters that are there. Flat for the other since Linux
//! 5.11, which keeps a bitmap of calls that are always allowed (kernel/seccomp.c,
//! `seccomp_cache_check_allow`). A filter has at most 4 096 instructions, and all of a thread 32 768.

use workload::resource::MEMORY;
use workload::{Expect, Need, Operation, Variant, Workload, on_linux};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "seccomp",
    source: workload::page!("seccomp.rs"),
    grows: "instructions or filters",
    variants: &[
        Variant { name: "instructions", summary: "one filter with n instructions" },
        Variant { name: "stacked", summary: "n filters" },
    ],
    remedies: &[("stacked", "put all rules into one filter")],
    operations: &[
        Operation::up("add", Expect::Linear, "one seccomp(2) that adds the filter"),
        Operation::up("examined", Expect::Linear, "one getpgid(2), whose argument the filters read"),
        Operation::up("cached", Expect::Constant, "one getppid(2), which the filters allow by its number"),
        Operation::down("examined-less", Expect::Linear, "the same getpgid(2), while n falls")
            .only(&["instructions"])
            .detail(),
    ],
    needs: &[Need::new(MEMORY, 8 << 10)],
    // Filters of five instructions count as fourteen each, translated and with four for each filter, of
    // 32768: `MAX_INSNS_PER_PATH` of kernel/seccomp.c.
    top: Some(2000),
    classic_n: 2000,
    run: on_linux!(measured::run, "system calls are filtered by seccomp(2) on Linux only"),
    ..Workload::CURVE
};

#[cfg(target_os = "linux")]
mod measured {
    use std::io;

    use sys::seccomp::{SeccompFilter, examined_call, in_thread};
    use workload::{Lap, Trial, TrialError};

    /// Calls before one is timed: the first find nothing in the caches.
    const WARM_UP_CALLS: usize = 3;

    const NAMES: &[&str] = &["add", "examined", "cached"];

    pub(super) fn run(trial: &mut Trial<'_>) -> Result<(), TrialError> {
        let expected = (examined_call(), sys::process::parent());
        if trial.variant() == "stacked" {
            let filter = SeccompFilter::examining(1);
            let stack = || Ok(trial.compact_steps(NAMES, |_, lap| measure(&filter, expected, lap)));
            let wrong = in_thread(stack).map_err(TrialError::at("to have a thread with filters"))??;
            trial.check(ANSWERED, !wrong.contains(&true));
            return Ok(());
        }
        let wrong = trial.compact_steps(NAMES, |n, lap| {
            let filter = SeccompFilter::examining(n);
            in_thread(|| measure(&filter, expected, lap))
        })?;
        trial.check(ANSWERED, !wrong.contains(&true));
        let mut is_wrong = false;
        trial.compact_steps_back(&["examined-less"], (0..wrong.len()).rev(), |n, lap| {
            let filter = SeccompFilter::examining(n);
            is_wrong |= in_thread(|| {
                filter.add()?;
                let is_wrong = warm_up(expected);
                lap.skip();
                let examined = examined_call();
                lap.mark();
                Ok(is_wrong || examined != expected.0)
            })?;
            Ok(())
        })?;
        trial.check(ANSWERED, !is_wrong);
        Ok(())
    }

    const ANSWERED: &str = "every call had its answer";

    /// Makes both calls, and returns whether any had another answer than without filters.
    fn warm_up(expected: (i32, i32)) -> bool {
        (0..WARM_UP_CALLS).any(|_| (examined_call(), sys::process::parent()) != expected)
    }

    /// Adds the filter and times both calls. Returns whether any had another answer than without filters.
    fn measure(filter: &SeccompFilter, expected: (i32, i32), lap: &mut Lap<'_>) -> io::Result<bool> {
        lap.skip();
        filter.add()?;
        lap.mark();
        let wrong = warm_up(expected);
        lap.skip();
        let examined = examined_call();
        lap.mark();
        let cached = sys::process::parent();
        lap.mark();
        Ok(wrong || (examined, cached) != expected)
    }
}
