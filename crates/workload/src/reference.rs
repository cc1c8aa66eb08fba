//! References: operations that cannot depend on n, timed among those of a curve.
//!
//! Most noise of a shared machine is common to everything that runs at that moment. The part that a reference
//! shares with the operation under test is such noise, and statistics can remove it: control variates
//! (Lavenberg & Welch, Management Science 27, 1981). That works only at the scale of the noise, so references
//! are taken every few microseconds and not before and after a trial.
//!
//! A reference must be light, or it disturbs the measurement. A page fault on fresh memory is not light: the
//! next socket(2) took 1.33 times as long as the seven that followed (Linux 6.18), and 1.07 times after the
//! references below. The median of the eight does not move by a percent. Reads at random places of 8 MiB are
//! light, but varied by 7 to 28 % from trial to trial and had nothing in common with any of these operations.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use record::{Direction, Expect};
use sys::clock::Clock;

use crate::operation::Operation;

/// References are taken once after so many operations under test.
pub const REFERENCE_STRIDE: usize = 8;

/// System calls that are timed together: one is only a few ticks of many clocks.
const CALLS: usize = 4;

/// How many references there are in one direction.
const COUNT: usize = 2;

/// The timed operations: on the way up, then the same on the way down.
pub(crate) const REFERENCES: &[Operation] = &[
    Operation::up("null-call", Expect::Constant, CALL),
    Operation::up("stat", Expect::Constant, STATUS),
    Operation::down("null-call", Expect::Constant, CALL),
    Operation::down("stat", Expect::Constant, STATUS),
];

const CALL: &str = "four getppid(2)";
const STATUS: &str = "one stat(2) of the scratch folder";

/// The references of one trial.
#[derive(Debug)]
pub(crate) struct References<'a> {
    path: sys::file::Path,
    columns: [&'a [AtomicU64]; 2 * COUNT],
}

impl<'a> References<'a> {
    /// Makes their objects; their values go to these columns, in the order of [`REFERENCES`].
    ///
    /// # Errors
    /// A path that the system cannot have.
    pub(crate) fn new(
        folder: &std::path::Path,
        column: impl Fn(usize) -> &'a [AtomicU64],
    ) -> io::Result<References<'a>> {
        let path = sys::file::Path::try_from(folder)?;
        Ok(References { path, columns: std::array::from_fn(column) })
    }

    /// Takes each of them once, and returns the time at the end. `row` counts the times of this direction.
    #[inline(never)]
    pub(crate) fn take(&self, clock: &Clock, direction: Direction, row: usize) -> u64 {
        let begun = clock.now();
        for _ in 0..CALLS {
            std::hint::black_box(sys::process::parent());
        }
        let called = clock.now();
        // Only the duration counts, even of a failure.
        let _ = sys::file::status(&self.path);
        let ended = clock.now();
        let columns = match direction {
            Direction::Up => &self.columns[..COUNT],
            Direction::Down => &self.columns[COUNT..],
        };
        let times = [called - begun, ended - called];
        for (column, ticks) in columns.iter().zip(times) {
            if let Some(slot) = column.get(row) {
                slot.store(ticks + 1, Ordering::Relaxed);
            }
        }
        clock.now()
    }
}
