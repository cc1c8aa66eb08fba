//! Cost of one more KiB of a mapping.
//!
//! **Question.** What does it cost to map n KiB of memory, to use all of it for the first time, and to give
//! it back? Programs allocate buffers of every size, and large ones come from mmap(2) directly.
//!
//! **Method.** For every n, anonymous memory of n KiB, rounded up to whole pages, is mapped, and a byte of
//! each page is written, both timed; then it is unmapped, untimed. While n falls again, as much is mapped and
//! written, untimed, and unmapped, timed. `small` and `huge` advise the system before the first touch,
//! untimed (madvise(2), `MADV_NOHUGEPAGE` and `MADV_HUGEPAGE`); `system` leaves it to its configuration.
//!
//! **Expected answer.** Flat for mmap(2), which only notes the range. Linear for the first touch and for
//! munmap(2) with small pages. With huge pages a step: a mapping below 2 MiB, or whatever lies beside the
//! whole huge pages, has small ones, and from the first whole huge page on one fault clears 2 MiB: fewer
//! faults, each more expensive (transhuge.rst). Linux aligns mappings of 2 MiB and more for that.

use workload::resource::MEMORY;
use workload::{Expect, Need, Operation, Variant, Workload, on_linux};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "mapping-size",
    source: workload::page!("mapping_size.rs"),
    grows: "KiB of a mapping",
    variants: &[
        Variant { name: "small", summary: "the smallest pages only" },
        Variant { name: "huge", summary: "huge pages where they fit" },
        Variant { name: "system", summary: "as the system is configured" },
    ],
    operations: &[
        Operation::up("mmap", Expect::Constant, "one mmap(2) of anonymous memory"),
        Operation::up("touch", Expect::Linear, "the first write to each of its pages"),
        Operation::down("munmap", Expect::Linear, "one munmap(2) of the written memory"),
    ],
    needs: &[Need::new(MEMORY, 1 << 10)],
    run: on_linux!(measured::run, "the size of pages can be chosen on Linux only"),
    ..Workload::CURVE
};

#[cfg(target_os = "linux")]
mod measured {
    use sys::memory::{MemoryRegion, PagePolicy, page_bytes};
    use workload::{Trial, TrialError};

    pub(super) fn run(trial: &mut Trial<'_>) -> Result<(), TrialError> {
        let policy = match trial.variant() {
            "small" => PagePolicy::Small,
            "huge" => PagePolicy::Huge,
            _ => PagePolicy::System,
        };
        trial.warm(|| {
            let mut region = MemoryRegion::map(page_bytes(), true)?;
            region.touch();
            region.unmap()
        });
        let bytes_of = |n: usize| ((n + 1) << 10).next_multiple_of(page_bytes());
        let mut wrong = 0;
        let sizes = trial.compact_steps(&["mmap", "touch"], |n, lap| {
            let bytes = bytes_of(n);
            lap.skip();
            let mut region = MemoryRegion::map(bytes, true)?;
            lap.mark();
            region.advise(policy)?;
            let last = bytes / page_bytes() - 1;
            lap.skip();
            region.touch();
            lap.mark();
            wrong += usize::from(region.read(0) != 1 || region.read(last) != last as u8 | 1);
            region.unmap()?;
            lap.skip();
            Ok(n)
        })?;
        trial.check("the memory held the bytes that were written", wrong == 0);
        trial.compact_steps_back(&["munmap"], sizes.into_iter().rev(), |n, lap| {
            let mut region = MemoryRegion::map(bytes_of(n), true)?;
            region.advise(policy)?;
            region.touch();
            lap.skip();
            region.unmap()?;
            lap.mark();
            Ok(())
        })
    }
}
