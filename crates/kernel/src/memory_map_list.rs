//! Cost of the list of n mappings, and of a fault and a new protection among them.
//!
//! **Question.** What do n mappings of a process cost the monitor that reads their list, and the process
//! itself when it touches a page or changes a protection? Runtimes with guard pages, and databases, have tens
//! of thousands.
//!
//! **Method.** Mappings of three pages are made, of which neighbours differ in their protection, or the
//! system would make one of them. `maps` and `rollup` then read /proc/self/maps or smaps_rollup as a whole,
//! timed. `use` chooses a writable one at random, gives its pages back, untimed, and times the fault of a
//! write, and then one mprotect(2) of its middle page, which makes three mappings of it; that is undone,
//! untimed. At the end all are unmapped in random order.
//!
//! **Expected answer.** Linear for the lists, proc_pid_maps(5): one line or one walk for each mapping. At
//! most logarithmic for the rest: mappings are in a maple tree since Linux 6.1 (mm/mmap.c), and were in a
//! red-black tree before. The limit is `vm.max_map_count`.

use workload::resource::{MAPPINGS, MEMORY};
use workload::{Expect, Need, Operation, Variant, Workload, on_linux};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "memory-map-list",
    source: workload::page!("memory_map_list.rs"),
    grows: "mappings of a process",
    variants: &[
        Variant { name: "maps", summary: "the list is read" },
        Variant { name: "rollup", summary: "the sums over all are read" },
        Variant { name: "use", summary: "one of them is touched and changed" },
    ],
    remedies: &[("maps", "keep fewer and larger mappings"), ("rollup", "keep fewer and larger mappings")],
    operations: &[
        Operation::up("read", Expect::Linear, "/proc/self/maps or smaps_rollup is read")
            .only(&["maps", "rollup"]),
        Operation::up("fault", Expect::Logarithmic, "the first write to a page").only(&["use"]),
        Operation::up("mprotect", Expect::Logarithmic, "one mprotect(2) of the middle page of a mapping")
            .only(&["use"]),
        Operation::down("munmap", Expect::Logarithmic, "one munmap(2), in random order"),
    ],
    needs: &[Need::new(MAPPINGS, 1), Need::new(MEMORY, 6 << 10)],
    // A mapping of which the middle page has another protection is three.
    fixed_needs: &[Need::new(MAPPINGS, 2)],
    run: on_linux!(measured::run, "the mappings of a process are listed in /proc on Linux only"),
    ..Workload::CURVE
};

#[cfg(target_os = "linux")]
mod measured {
    use std::fs::File;
    use std::io::{self, Read};

    use sys::memory::{MemoryRegion, page_bytes};
    use workload::{Trial, TrialError};

    const PAGES: usize = 3;
    const MIDDLE: usize = 1;

    pub(super) fn run(trial: &mut Trial<'_>) -> Result<(), TrialError> {
        let regions = match trial.variant() {
            "use" => use_one(trial)?,
            "rollup" => read(trial, "/proc/self/smaps_rollup", false)?,
            _ => read(trial, "/proc/self/maps", true)?,
        };
        let regions = trial.shuffled(regions);
        trial.compact_down("munmap", regions, MemoryRegion::unmap)
    }

    /// One more mapping; those of even numbers are writable.
    fn map(number: usize) -> io::Result<MemoryRegion> {
        let region = MemoryRegion::map(PAGES * page_bytes(), number.is_multiple_of(2))?;
        std::hint::black_box(region.read(MIDDLE));
        Ok(region)
    }

    fn read(trial: &mut Trial<'_>, path: &str, is_list: bool) -> Result<Vec<MemoryRegion>, TrialError> {
        let (mut text, mut before, mut wrong) = (String::new(), 0, 0);
        let regions = trial.compact_steps(&["read"], |n, lap| {
            let region = map(n)?;
            text.clear();
            lap.skip();
            File::open(path)?.read_to_string(&mut text)?;
            lap.mark();
            // The program itself, and its heap, have some too.
            let lines = text.lines().count();
            wrong += usize::from(is_list && lines <= n.max(before) || text.is_empty());
            before = if is_list { n } else { 0 };
            lap.skip();
            Ok(region)
        })?;
        trial.check("every mapping was in the list", wrong == 0);
        Ok(regions)
    }

    fn use_one(trial: &mut Trial<'_>) -> Result<Vec<MemoryRegion>, TrialError> {
        let mut choice = fastrand::Rng::with_seed(trial.seed());
        let (mut regions, mut wrong): (Vec<MemoryRegion>, usize) = (Vec::with_capacity(trial.n()), 0);
        let kept = trial.compact_steps(&["fault", "mprotect"], |n, lap| {
            regions.push(map(n)?);
            let chosen = &mut regions[2 * choice.usize(..=n / 2)];
            chosen.discard()?;
            lap.skip();
            chosen.write(MIDDLE, 1);
            lap.mark();
            wrong += usize::from(chosen.read(MIDDLE) != 1 || chosen.read(0) != 0);
            lap.skip();
            chosen.protect(MIDDLE, false)?;
            lap.mark();
            chosen.protect(MIDDLE, true)?;
            lap.skip();
            Ok(())
        })?;
        trial.check("a page held its byte and its neighbour none", wrong == 0);
        regions.truncate(kept.len());
        Ok(regions)
    }
}
