//! Cost of fork(2) for one more MiB of memory in the parent.
//!
//! **Question.** What does a process cost for the memory that its parent has? Servers that load much data
//! and then fork, and databases that fork to take a snapshot, pay this cost each time.
//!
//! **Method.** The parent maps one MiB and writes to all of it, untimed. Then it forks. The child reads
//! the last byte of that MiB from its own copy, writes it into a pipe, and waits. The clock is read when
//! the parent has read the byte. The child is killed and reaped before the next MiB, timed separately.
//! Thus n counts MiB, and there is never more than one child. The memory consists of pages of the
//! smallest size, because the kernel does not use huge pages predictably. At the end each MiB is
//! unmapped, in random order.
//!
//! **Expected answer.** Linear for fork and for reap: no page is copied, but the page tables are copied,
//! and freed with the child. Memory that is mapped but never touched has no page tables and costs
//! nothing; therefore all of it is written. Unmapping a MiB is flat.

use workload::resource::{MAPPINGS, MEMORY};
use workload::{Expect, Need, Operation, Workload, on_unix};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "fork-memory",
    version: 4,
    source: workload::page!("fork_memory.rs"),
    grows: "MiB that the parent has written",
    operations: &[
        Operation::up("fork", Expect::Linear, "fork(2) until the child's first byte has been read"),
        Operation::up("reap", Expect::Linear, "kill(2) and waitpid(2) of that child"),
        Operation::down("unmap", Expect::Constant, "one munmap(2) of one MiB, in random order"),
    ],
    // The MiB, its page tables, and those of the child.
    needs: &[Need::new(MAPPINGS, 1), Need::new(MEMORY, (1 << 20) + (16 << 10))],
    classic_n: 512,
    run: on_unix!(measured::run, "this system has no fork(2)"),
    ..Workload::CURVE
};

#[cfg(unix)]
mod measured {
    use sys::memory::Private;
    use workload::{Trial, TrialError};

    use crate::fork::family;

    const MIB: usize = 1 << 20;

    pub(super) fn run(trial: &mut Trial<'_>) -> Result<(), TrialError> {
        let family = family()?;
        trial.warm(|| family.fork()?.reap());
        let grown = trial.timed_steps(&["fork", "reap"], |number, lap| {
            let memory = Private::filled(MIB, content(number))?;
            lap.skip();
            let (child, told) = family.fork_with_reply(memory.last())?;
            lap.mark();
            child.reap()?;
            lap.mark();
            Ok((memory, told))
        })?;
        let told = grown.iter().enumerate().all(|(number, &(_, told))| told == content(number));
        trial.check("every child read the bytes of its parent", told);
        let kept = grown.iter().enumerate().all(|(number, (memory, _))| *memory.last() == content(number));
        trial.check("every MiB kept its content", kept);
        let grown = trial.shuffled(grown);
        trial.timed_down("unmap", grown, |(memory, _)| memory.unmap())
    }

    /// The byte that fills the MiB of that number: numbers that differ by less than 251 have different bytes.
    fn content(number: usize) -> u8 {
        (number % 251) as u8 + 1
    }
}
