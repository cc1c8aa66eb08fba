//! Runs cells on all processors. The result depends on names and seed only.

use std::io::{self, Write};
use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{iter, thread};

use crate::cells::TruthCell;
use crate::counts::{CellCounts, ReplicateOutcome};
use crate::replicate::Setup;

/// How often each cell is repeated, and from which seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Replicates of each cell.
    pub replicates: u64,
    /// The seed of everything.
    pub seed: u64,
}

/// Does so many pieces of work, by their places, on all processors: a thread that is done with one takes the
/// next. The results are in the order of the places.
pub(crate) fn in_parallel<T: Send>(count: usize, work: &(dyn Fn(usize) -> T + Sync)) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let take_turns = || -> Vec<(usize, T)> {
        let places = iter::repeat_with(|| next.fetch_add(1, Ordering::Relaxed));
        places.take_while(|place| *place < count).map(|place| (place, work(place))).collect()
    };
    let processors = thread::available_parallelism().map_or(1, NonZero::get);
    let mut finished = thread::scope(|scope| {
        let others: Vec<_> = (1..processors).map(|_| scope.spawn(take_turns)).collect();
        let mut finished = take_turns();
        for other in others {
            match other.join() {
                Ok(results) => finished.extend(results),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        finished
    });
    finished.sort_unstable_by_key(|(place, _)| *place);
    finished.into_iter().map(|(_, result)| result).collect()
}

/// Replicates that one thread makes in a row.
const BATCH: u64 = 20;

/// Runs all replicates of all cells; `done` is called for each that is finished.
pub fn run(cells: &[TruthCell], plan: Plan, done: &(dyn Fn(u64) + Sync)) -> Vec<CellCounts> {
    let batches: Vec<(usize, u64)> = (0..cells.len())
        .flat_map(|cell| (0..plan.replicates).step_by(BATCH as usize).map(move |first| (cell, first)))
        .collect();
    let of_batch = |place: usize| {
        let (cell, first) = batches[place];
        let last = (first + BATCH).min(plan.replicates);
        let outcome = |replicate: u64| {
            Setup::of_replicate(&cells[cell], plan.seed, replicate).outcome(plan.seed, replicate)
        };
        let outcomes: Vec<ReplicateOutcome> = (first..last).map(outcome).collect();
        done(last - first);
        outcomes
    };
    let outcomes: Vec<Vec<ReplicateOutcome>> = in_parallel(batches.len(), &of_batch);
    let mut all_counts: Vec<CellCounts> = cells.iter().map(CellCounts::new).collect();
    for ((cell, _), outcomes) in batches.into_iter().zip(outcomes) {
        outcomes.iter().for_each(|outcome| all_counts[cell].count(outcome));
    }
    all_counts
}

/// Writes the measurements of one replicate as CSV, in the columns that `osdyno judge` reads.
///
/// # Errors
/// Those of `out`.
pub fn dump(cell: &TruthCell, seed: u64, replicate: u64, out: &mut impl Write) -> io::Result<()> {
    let setup = Setup::of_replicate(cell, seed, replicate);
    let (systems, _) = setup.systems(seed, replicate);
    writeln!(out, "series,trial,direction,n,value")?;
    for (system, trials) in systems.iter().enumerate() {
        for (place, trial) in trials.iter().enumerate() {
            for (n, value) in setup.sizes().iter().zip(&trial.values) {
                writeln!(out, "system-{},{},up,{n},{value:e}", system + 1, place + 1)?;
            }
        }
    }
    Ok(())
}
