//! References: operations that cannot depend on n, timed among those of a curve.
//!
//! Most noise of a shared machine is common to everything that runs at that moment. What a reference shares
//! with the operation under test is such noise, and statistics can remove it: control variates (Lavenberg &
//! Welch, Management Science 27, 1981). That works only at the scale of the noise, so references are taken
//! every few microseconds and not before and after a trial. Each must be light, or it disturbs what is
//! measured.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use record::{Direction, Expect};
use sys::clock::Clock;
use sys::memory::FreshPage;

use crate::operation::Operation;

/// References are taken once after so many operations under test.
pub const REFERENCE_STRIDE: usize = 8;

/// System calls that are timed together: one is only a few ticks of many clocks.
const CALLS: usize = 4;

/// How many references there are in one direction.
const COUNT: usize = 3;

/// What is timed: on the way up, then the same on the way down.
pub(crate) const REFERENCES: &[Operation] = &[
    Operation::up("null-call", Expect::Constant, CALL),
    Operation::up("stat", Expect::Constant, STATUS),
    Operation::up("page-fault", Expect::Constant, FAULT),
    Operation::down("null-call", Expect::Constant, CALL),
    Operation::down("stat", Expect::Constant, STATUS),
    Operation::down("page-fault", Expect::Constant, FAULT),
];

const CALL: &str = "four getppid(2)";
const STATUS: &str = "one stat(2) of the scratch folder";
const FAULT: &str = "the first write to a page of fresh memory";

/// The references of one trial.
#[derive(Debug)]
pub(crate) struct References<'a> {
    page: FreshPage,
    path: sys::file::Path,
    columns: [&'a [AtomicU64]; 2 * COUNT],
}

impl<'a> References<'a> {
    /// Makes what they need; their values go to these columns, in the order of [`REFERENCES`].
    ///
    /// # Errors
    /// Those of mmap(2); unsupported on systems without file mappings.
    pub(crate) fn new(
        folder: &std::path::Path,
        column: impl Fn(usize) -> &'a [AtomicU64],
    ) -> io::Result<References<'a>> {
        let path = sys::file::Path::try_from(folder)?;
        Ok(References { page: FreshPage::new()?, path, columns: std::array::from_fn(column) })
    }

    /// Takes each of them once, and returns the time at the end. `row` counts the times of this direction.
    #[inline(never)]
    pub(crate) fn take(&mut self, clock: &Clock, direction: Direction, row: usize) -> u64 {
        // An error here would be one of the system, which the operations under test meet as well: what counts
        // is how long the call took.
        let _ = self.page.give_back();
        let begun = clock.now();
        for _ in 0..CALLS {
            std::hint::black_box(sys::process::parent());
        }
        let called = clock.now();
        let _ = sys::file::status(&self.path);
        let looked = clock.now();
        self.page.take();
        let ended = clock.now();
        let columns = match direction {
            Direction::Up => &self.columns[..COUNT],
            Direction::Down => &self.columns[COUNT..],
        };
        let times = [called - begun, looked - called, ended - looked];
        for (column, ticks) in columns.iter().zip(times) {
            if let Some(slot) = column.get(row) {
                slot.store(ticks + 1, Ordering::Relaxed);
            }
        }
        clock.now()
    }
}
