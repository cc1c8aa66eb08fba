//! Cost of the end of a process that holds n objects.
//!
//! **Question.** How long does a process take to end, and to be reaped, for each descriptor, mapping, thread
//! or lock that it holds? Servers that are restarted, and workers that are replaced, hold thousands.
//!
//! **Method.** For each n a child is forked, makes n objects and writes a byte, untimed. Then it is sent
//! SIGTERM, timed until waitpid(2) has reaped it; and once more while n falls again. `descriptors`: open(2)
//! of one file, so many times; `mappings`: every other page of a file; `threads`: threads that sleep, of the
//! C library; `locks`: every other byte of a file, fcntl(2). There is one child at a time, and the parent
//! holds none of the objects.
//!
//! **Expected answer.** Linear: the end walks through all of them (`do_exit` in kernel/exit.c of Linux). The
//! cost of an object there is that of ending it by itself, without a system call. Compare `reap`, where n
//! counts processes.

use workload::resource::{DESCRIPTORS, MAPPINGS, MEMORY, THREADS};
use workload::{Expect, Need, Operation, Variant, Workload, on_unix};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "exit",
    source: workload::page!("exit.rs"),
    grows: "objects that the process holds",
    variants: &[
        Variant { name: "descriptors", summary: "open files" },
        Variant { name: "mappings", summary: "mapped pages" },
        Variant { name: "threads", summary: "threads that sleep" },
        Variant { name: "locks", summary: "locked bytes of a file" },
    ],
    operations: &[
        Operation::up("end", Expect::Linear, "from kill(2) until waitpid(2) has reaped it"),
        Operation::down("end-fewer", Expect::Linear, "the same, of children that hold one less each time")
            .detail(),
    ],
    needs: &[
        Need::new(DESCRIPTORS, 1).only_in(&["descriptors"]),
        Need::new(MAPPINGS, 1).only_in(&["mappings"]),
        Need::new(THREADS, 1).only_in(&["threads"]),
        Need::new(MEMORY, 48 << 10).only_in(&["threads"]),
        Need::new(MEMORY, 1 << 10),
    ],
    // Each n makes all of its objects anew.
    top: Some(500),
    run: on_unix!(measured::run, "this system has no fork(2)"),
    ..Workload::CURVE
};

#[cfg(unix)]
mod measured {
    use std::fs::File;
    use std::io;

    use sys::lock::{LockOwner, lock_byte};
    use sys::memory::Mapping;
    use workload::{Lap, Trial, TrialError};

    use crate::fork::family;
    use crate::mmap::{empty_pages, map_page};

    pub(super) fn run(trial: &mut Trial<'_>) -> Result<(), TrialError> {
        let own = trial.own_folder()?;
        let path = own.join("pages");
        empty_pages(&path, trial.n()).map_err(TrialError::at("to make a file of pages"))?;
        let open = || File::options().read(true).write(true).open(&path);
        let family = family()?;
        let variant = trial.variant();
        let child = |count: usize| match variant {
            "descriptors" => {
                family.fork_to_hold(|| (0..count).map(|_| open()).collect::<io::Result<Vec<File>>>())
            }
            "mappings" => family.fork_to_hold(|| {
                let file = open()?;
                (0..count).map(|number| map_page(&file, number)).collect::<io::Result<Vec<Mapping>>>()
            }),
            "threads" => family.fork_to_hold(|| {
                let thread = |_| std::thread::Builder::new().stack_size(STACK_BYTES).spawn(std::thread::park);
                (0..count).map(thread).collect::<io::Result<Vec<_>>>()
            }),
            _ => family.fork_to_hold(|| {
                let file = open()?;
                (0..count as u64).try_for_each(|byte| lock_byte(&file, LockOwner::Process, 2 * byte))?;
                Ok(file)
            }),
        };
        trial.warm(|| child(1)?.reap());
        let end = |count: usize, lap: &mut Lap<'_>| {
            let child = child(count)?;
            lap.skip();
            child.reap()?;
            lap.mark();
            Ok(count)
        };
        let counts = trial.compact_steps(&["end"], |n, lap| end(n + 1, lap))?;
        trial.compact_steps_back(&["end-fewer"], counts.into_iter().rev(), |count, lap| {
            end(count, lap).map(drop)
        })
    }

    const STACK_BYTES: usize = 16 << 10;
}
