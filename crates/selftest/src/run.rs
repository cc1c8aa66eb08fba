//! Runs cells on all processors. The result depends on names and seed only.

use std::io::{self, Write};
use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::cells::TruthCell;
use crate::counts::CellCounts;
use crate::replicate::Setup;

/// How often each cell is repeated, and from which seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Replicates of each cell.
    pub replicates: u64,
    /// The seed of everything.
    pub seed: u64,
}

/// Does the work on every processor, and returns the result of each. The threads share the work by
/// themselves.
pub(crate) fn on_every_processor<T: Send>(work: &(dyn Fn() -> T + Sync)) -> Vec<T> {
    let processors = thread::available_parallelism().map_or(1, NonZero::get);
    thread::scope(|scope| {
        let others: Vec<_> = (1..processors).map(|_| scope.spawn(work)).collect();
        let mut results = vec![work()];
        for other in others {
            match other.join() {
                Ok(result) => results.push(result),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        results
    })
}

/// Replicates that one thread makes in a row.
const BATCH: u64 = 20;

/// Runs all replicates of all cells; `done` is called for each that is finished.
pub fn run(cells: &[TruthCell], plan: Plan, done: &(dyn Fn(u64) + Sync)) -> Vec<CellCounts> {
    let batches: Vec<(usize, u64)> = (0..cells.len())
        .flat_map(|cell| (0..plan.replicates).step_by(BATCH as usize).map(move |first| (cell, first)))
        .collect();
    let next = AtomicUsize::new(0);
    let work = || {
        let mut finished = Vec::new();
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some((cell, first)) = batches.get(place) else { return finished };
            let last = (first + BATCH).min(plan.replicates);
            let mut counts = CellCounts::new(&cells[*cell]);
            for replicate in *first..last {
                let setup = Setup::of_replicate(&cells[*cell], plan.seed, replicate);
                counts.count(&setup.outcome(plan.seed, replicate));
            }
            finished.push((place, counts));
            done(last - first);
        }
    };
    let mut finished: Vec<(usize, CellCounts)> = on_every_processor(&work).into_iter().flatten().collect();
    finished.sort_unstable_by_key(|(place, _)| *place);
    let mut all_counts: Vec<CellCounts> = cells.iter().map(CellCounts::new).collect();
    for (place, counts) in finished {
        all_counts[batches[place].0].add(&counts);
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
