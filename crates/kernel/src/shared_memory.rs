//! Cost of one more segment of shared memory while n exist.
//!
//! **Question.** What do the segments of n programs cost the next one: to create it, to attach and detach
//! one, to list all as ipcs(1) does, and to remove one?
//!
//! **Method.** Segments of one page are created, each call timed, and a number is written into each, untimed.
//! After each, one of them, chosen at random, is attached and detached, both timed, and must hold its number.
//! `sysv` uses shmget(2) with a key; `posix` shm_open(3) with a name, which is opened again to be attached;
//! `memfd` has descriptors instead of names. `list` only reads /proc/sysvipc/shm after each: it would take
//! the place of everything else in the caches. At the end all are removed in random order. What a killed
//! trial leaves is removed by its janitor.
//!
//! **Expected answer.** Flat, in trees and hash tables by key and number (ipc/util.c), except for the list,
//! which is linear. `sysv` ends at `kernel.shmmni`, 4 096 on most systems.

use workload::resource::{DESCRIPTORS, MEMORY, SHARED_PAGES, SHARED_SEGMENTS};
use workload::{Expect, Need, Operation, Variant, Workload, on_linux};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "shared-memory",
    source: workload::page!("shared_memory.rs"),
    grows: "segments of shared memory",
    variants: &[
        Variant { name: "sysv", summary: "segments of System V, shmget(2)" },
        Variant { name: "list", summary: "segments of System V, which are listed" },
        Variant { name: "posix", summary: "shared memory objects of POSIX, shm_open(3)" },
        Variant { name: "memfd", summary: "files in memory, memfd_create(2)" },
    ],
    operations: &[
        Operation::up("create", Expect::Constant, "one shmget(2), shm_open(3) or memfd_create(2)").only(USED),
        Operation::up("attach", Expect::Constant, "shmat(2), shm_open(3) with mmap(2), or mmap(2)")
            .only(USED),
        Operation::up("detach", Expect::Constant, "one shmdt(2) or munmap(2)").only(USED),
        Operation::up("list", Expect::Linear, "/proc/sysvipc/shm is read").only(&["list"]),
        Operation::down("remove", Expect::Constant, "shmctl(2), shm_unlink(3) or close(2), in random order"),
    ],
    needs: &[
        Need::new(SHARED_SEGMENTS, 1).only_in(&["sysv", "list"]),
        Need::new(SHARED_PAGES, 1).only_in(&["sysv", "list"]),
        Need::new(DESCRIPTORS, 1).only_in(&["memfd"]),
        Need::new(MEMORY, 8 << 10),
    ],
    run: on_linux!(measured::run, "shared memory that a killed trial leaves is removed on Linux only"),
    ..Workload::CURVE
};

const USED: &[&str] = &["sysv", "posix", "memfd"];

#[cfg(target_os = "linux")]
mod measured {
    use std::fs::File;
    use std::io;
    use std::os::unix::fs::FileExt;

    use sys::memory::{Mapping, page_bytes};
    use sys::persistent::{PersistentKind, PersistentNames};
    use sys::shared_memory::{SharedObject, SystemVSegment, create_memory_file};
    use workload::{Trial, TrialError};

    /// The bytes of a segment that are read to check it.
    const CONTENT: std::ops::Range<usize> = 0..4;

    pub(super) fn run(trial: &mut Trial<'_>) -> Result<(), TrialError> {
        let reserve = |trial: &Trial<'_>, kind| {
            PersistentNames::reserve(trial.scratch(), kind, trial.n())
                .map_err(TrialError::at("to choose names for the segments"))
        };
        match trial.variant() {
            "sysv" | "list" => {
                let names = reserve(trial, PersistentKind::Segment)?;
                let segments =
                    if trial.variant() == "list" { list(trial, &names) } else { use_all(trial, &names) };
                let segments = trial.shuffled(segments?);
                trial.compact_down("remove", segments, SystemVSegment::remove)
            }
            "posix" => {
                let names = reserve(trial, PersistentKind::SharedObject)?;
                let objects = (0..trial.n()).map(|place| SharedObject::name(names.number(place)));
                let objects = TrialError::collect("to name the objects", objects)?;
                let create = |place: usize| Ok((objects[place].create()?, objects[place].clone()));
                let close = |(file, object)| sys::file::close(file).map(|()| object);
                files(trial, create, |made| &made.0, close, SharedObject::attach, SharedObject::remove)
            }
            _ => {
                let map = |file: &File| Ok((Mapping::read_only(file, 0, page_bytes())?, ()));
                files(trial, |_| create_memory_file(), |made| made, Ok, map, sys::file::close)
            }
        }
    }

    fn use_all(trial: &mut Trial<'_>, names: &PersistentNames) -> Result<Vec<SystemVSegment>, TrialError> {
        let mut choice = fastrand::Rng::with_seed(trial.seed());
        let (mut segments, mut wrong) = (Vec::with_capacity(trial.n()), 0);
        let kept = trial.compact_steps(&["create", "attach", "detach"], |n, lap| {
            let segment = SystemVSegment::create(names.number(n))?;
            lap.mark();
            let mut attached = segment.attach()?;
            attached.set_number(n as u64);
            attached.detach()?;
            segments.push(segment);
            let chosen = choice.usize(..=n);
            lap.skip();
            let attached = segments[chosen].attach()?;
            lap.mark();
            wrong += usize::from(attached.number() != chosen as u64);
            lap.skip();
            attached.detach()?;
            lap.mark();
            Ok(())
        })?;
        trial.check("every segment held its number", wrong == 0);
        segments.truncate(kept.len());
        Ok(segments)
    }

    fn list(trial: &mut Trial<'_>, names: &PersistentNames) -> Result<Vec<SystemVSegment>, TrialError> {
        let (mut list, mut wrong) = (String::new(), 0);
        let segments = trial.compact_steps(&["list"], |n, lap| {
            let segment = SystemVSegment::create(names.number(n))?;
            lap.skip();
            SystemVSegment::list(&mut list)?;
            lap.mark();
            // The first line is a heading, and other programs may have segments too.
            wrong += usize::from(list.lines().count() < n + 2);
            lap.skip();
            Ok(segment)
        })?;
        trial.check("every segment was listed", wrong == 0);
        Ok(segments)
    }

    /// Objects that are files: made, closed where they have names, mapped, and removed.
    fn files<M, O, F>(
        trial: &mut Trial<'_>,
        create: impl Fn(usize) -> io::Result<M>,
        file: fn(&M) -> &File,
        close: fn(M) -> io::Result<O>,
        attach: fn(&O) -> io::Result<(Mapping, F)>,
        remove: fn(O) -> io::Result<()>,
    ) -> Result<(), TrialError> {
        let mut choice = fastrand::Rng::with_seed(trial.seed());
        let (mut objects, mut wrong) = (Vec::with_capacity(trial.n()), 0);
        let kept = trial.compact_steps(&["create", "attach", "detach"], |n, lap| {
            let made = create(n)?;
            lap.mark();
            file(&made).set_len(page_bytes() as u64)?;
            file(&made).write_all_at(&(n as u32).to_ne_bytes(), 0)?;
            objects.push(close(made)?);
            let chosen = choice.usize(..=n);
            lap.skip();
            let (mapping, opened) = attach(&objects[chosen])?;
            lap.mark();
            let content = CONTENT.map(|place| mapping.byte(place)).collect::<Vec<u8>>();
            wrong += usize::from(content != (chosen as u32).to_ne_bytes());
            lap.skip();
            mapping.unmap()?;
            lap.mark();
            drop(opened);
            lap.skip();
            Ok(())
        })?;
        trial.check("every segment held its number", wrong == 0);
        objects.truncate(kept.len());
        let objects = trial.shuffled(objects);
        trial.compact_down("remove", objects, remove)
    }
}
