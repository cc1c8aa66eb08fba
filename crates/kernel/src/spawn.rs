//! Cost of executing a program, as its parent grows.
//!
//! **Question.** How long does it take from the call that makes a child until the program that it executes
//! has ended, and how does that depend on what the parent has? Servers, shells and build tools start programs
//! from processes of any size, and not all means copy the parent.
//!
//! **Method.** The parent grows by one MiB that it writes, by one mapping of a page, or by one open
//! descriptor, untimed. Then it executes true(1), timed, until the program has ended and is reaped; so there
//! is never more than one child. The program, its arguments and its empty environment are the same in all
//! variants: fork(2), vfork(2), posix_spawn(3), and clone3(2) without flags, which is fork(2) past the C
//! library. At the end the
//! parent gives all back, in random order.
//!
//! **Expected answer.** fork(2) and clone3(2) are linear in memory and in mappings, because page tables and
//! mappings are copied, only to be dropped by execve(2); vfork(2) and posix_spawn(3), which is built on it in
//! glibc and musl, are flat. Descriptors that close on execve(2) are copied by all of them, and closed one by
//! one: linear. See "A fork() in the road" (HotOS 2019) and posix_spawn(3).

use workload::resource::{DESCRIPTORS, MAPPINGS, MEMORY};
use workload::{Expect, Need, Operation, Variant, Workload, on_unix};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "spawn",
    source: workload::page!("spawn.rs"),
    grows: "MiB, mappings or descriptors of the parent",
    variants: &[
        Variant { name: "fork", summary: "fork(2), MiB that the parent has written" },
        Variant { name: "vfork", summary: "vfork(2), MiB" },
        Variant { name: "posix-spawn", summary: "posix_spawn(3), MiB" },
        Variant { name: "clone3", summary: "clone3(2), MiB" },
        Variant { name: "fork-mappings", summary: "fork(2), mappings of a page" },
        Variant { name: "posix-spawn-mappings", summary: "posix_spawn(3), mappings of a page" },
        Variant { name: "fork-descriptors", summary: "fork(2), open descriptors" },
        Variant { name: "posix-spawn-descriptors", summary: "posix_spawn(3), open descriptors" },
    ],
    core_variants: &["fork", "posix-spawn"],
    operations: &[
        Operation::up("execute", Expect::Linear, "from the call until the program has ended").except(&[
            ("vfork", Expect::Constant),
            ("posix-spawn", Expect::Constant),
            ("posix-spawn-mappings", Expect::Constant),
        ]),
        Operation::down("give back", Expect::Constant, "one munmap(2) or close(2), in random order").detail(),
    ],
    needs: &[
        Need::new(MEMORY, (1 << 20) + (8 << 10)).only_in(&["fork", "clone3"]),
        Need::new(MEMORY, (1 << 20) + (4 << 10)).only_in(&["vfork", "posix-spawn"]),
        Need::new(MAPPINGS, 1).only_in(&[
            "fork",
            "clone3",
            "vfork",
            "posix-spawn",
            "fork-mappings",
            "posix-spawn-mappings",
        ]),
        Need::new(DESCRIPTORS, 1).only_in(&["fork-descriptors", "posix-spawn-descriptors"]),
    ],
    classic_n: 512,
    run: on_unix!(measured::run, "this system has none of the calls that are compared"),
    ..Workload::CURVE
};

#[cfg(unix)]
mod measured {
    use std::fs::File;

    use sys::memory::{Mapping, Private};
    use sys::process::{SpawnMeans, SpawnedProgram};
    use workload::{Trial, TrialError};

    use crate::mmap::{empty_pages, map_page};

    const MIB: usize = 1 << 20;

    /// The objects of which the parent has one more.
    enum Held {
        Memory(Private),
        Mapping(Mapping),
        Descriptor(File),
    }

    pub(super) fn run(trial: &mut Trial<'_>) -> Result<(), TrialError> {
        let own = trial.own_folder()?;
        let file = empty_pages(&own.join("pages"), trial.n());
        let file = file.map_err(TrialError::at("to make a file of pages"))?;
        let grow = |variant: &str, number: usize| match variant.rsplit_once('-') {
            Some((_, "mappings")) => map_page(&file, number).map(Held::Mapping),
            Some((_, "descriptors")) => file.try_clone().map(Held::Descriptor),
            _ => Private::filled(MIB, 1).map(Held::Memory),
        };
        let program = sys::process::find_program("true").ok_or(std::io::ErrorKind::NotFound.into());
        let program = program.and_then(|path| SpawnedProgram::new(&path));
        let mut program = program.map_err(TrialError::at("to find the program true"))?;
        let variant = trial.variant();
        let means = match variant {
            "vfork" => SpawnMeans::Vfork,
            "clone3" => SpawnMeans::Clone3,
            _ if variant.starts_with("posix-spawn") => SpawnMeans::PosixSpawn,
            _ => SpawnMeans::Fork,
        };
        trial.warm(|| program.execute(means));
        let held = trial.compact_steps(&["execute"], |number, lap| {
            let held = grow(variant, number)?;
            lap.skip();
            program.execute(means)?;
            lap.mark();
            Ok(held)
        })?;
        let held = trial.shuffled(held);
        trial.compact_down("give back", held, |held| match held {
            Held::Memory(memory) => memory.unmap(),
            Held::Mapping(mapping) => mapping.unmap(),
            Held::Descriptor(file) => sys::file::close(file),
        })
    }
}
