//! The memory for the measurements of a trial, which outlives a crash.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::definition::Workload;
use crate::reference::REFERENCE_STRIDE;

/// The memory for the measurements of a trial.
///
/// The first number is n at the top of the way up, once it is reached; of a workload with levels, the current
/// level. Then follows, for each measured operation in the order of the workload's list, one number for each
/// n: one more than its ticks, or than the bits of the value that was reported. Behind them, and in the same
/// form, the references have one number for each time they were taken. Last, in a sampled trial, come the
/// ends of the operations, in ticks, in the form of the operations. Zero stands where nothing was measured.
#[derive(Clone, Copy, Debug)]
pub struct Slots<'a> {
    top: Option<&'a AtomicU64>,
    /// Of the operations, column by column.
    operations: &'a [AtomicU64],
    /// How many of them are a column.
    rows: usize,
    /// Of the references.
    references: &'a [AtomicU64],
    /// How many of them are a column.
    reference_rows: usize,
    /// When operations ended, column by column; nothing where that is not wanted.
    ends: &'a [AtomicU64],
}

impl<'a> Slots<'a> {
    /// How many numbers a trial of `workload` to `n` needs.
    pub fn needed(workload: &Workload, n: u64) -> usize {
        let rows = workload.sizes.count(n);
        1 + workload.measured().count() * rows + workload.references().len() * reference_rows(rows)
    }

    /// How many numbers a trial needs that also keeps when each operation ended.
    pub fn needed_with_ends(workload: &Workload, n: u64) -> usize {
        Slots::needed(workload, n) + workload.measured().count() * workload.sizes.count(n)
    }

    /// Lays out the numbers for a trial of `workload` to `n`; as many as [`Slots::needed`] or
    /// [`Slots::needed_with_ends`] returns. With fewer, values without a place are dropped.
    pub fn new(workload: &Workload, n: u64, numbers: &'a [AtomicU64]) -> Slots<'a> {
        let rows = workload.sizes.count(n);
        let (top, columns) = match numbers.split_first() {
            Some((top, columns)) => (Some(top), columns),
            None => (None, numbers),
        };
        let operations = (workload.measured().count() * rows).min(columns.len());
        let (operations, behind) = columns.split_at(operations);
        let references = (workload.references().len() * reference_rows(rows)).min(behind.len());
        let (references, ends) = behind.split_at(references);
        let ends = if ends.len() < operations.len() { &[] } else { ends };
        Slots { top, operations, rows, references, reference_rows: reference_rows(rows), ends }
    }

    /// n at the top of the way up, 0 until it is reached; or the current level.
    pub fn top(&self) -> u64 {
        self.top.map_or(0, |top| top.load(Ordering::Relaxed))
    }

    pub(crate) fn set_top(&self, n: u64) {
        if let Some(top) = self.top {
            top.store(n, Ordering::Relaxed);
        }
    }

    /// The ticks of the timed operation of that index, as far as they were measured.
    pub fn ticks(&self, index: usize) -> impl Iterator<Item = u64> + use<'a> {
        measured(self.column(index))
    }

    /// Whether the ends of operations are kept.
    pub(crate) fn have_ends(&self) -> bool {
        !self.ends.is_empty()
    }

    /// The ends and the durations of the timed operation of that index, in ticks, as far as both are kept.
    pub fn intervals(&self, index: usize) -> impl Iterator<Item = (u64, u64)> + use<'a> {
        let ends = self.ends(index).iter().map(|end| end.load(Ordering::Relaxed));
        ends.zip(self.ticks(index)).take_while(|&(end, _)| end > 0)
    }

    /// The ticks of the reference of that index, as far as they were measured.
    pub fn reference_ticks(&self, index: usize) -> impl Iterator<Item = u64> + use<'a> {
        measured(self.reference(index))
    }

    /// The values of the reported operation of that index, each with the place of its level; levels at which
    /// none was reported are left out.
    pub fn reported(&self, index: usize) -> impl Iterator<Item = (usize, f64)> + use<'a> {
        let slots = self.column(index).iter().enumerate();
        slots.filter_map(|(row, slot)| {
            let bits = slot.load(Ordering::Relaxed).checked_sub(1)?;
            Some((row, f64::from_bits(bits)))
        })
    }

    /// Stores a value that was reported at the level of that place. A value that is not finite cannot be
    /// stored: one bit pattern of NaN marks an empty slot.
    pub(crate) fn report(&self, index: usize, row: usize, value: f64) {
        if value.is_finite()
            && let Some(slot) = self.column(index).get(row)
        {
            slot.store(value.to_bits() + 1, Ordering::Relaxed);
        }
    }

    /// Removes all values that were reported at the level of that place.
    pub(crate) fn clear(&self, row: usize) {
        let columns = self.operations.chunks_exact(self.rows.max(1));
        columns.filter_map(|column| column.get(row)).for_each(|slot| slot.store(0, Ordering::Relaxed));
    }

    pub(crate) fn column(&self, index: usize) -> &'a [AtomicU64] {
        self.operations.chunks_exact(self.rows.max(1)).nth(index).unwrap_or_default()
    }

    pub(crate) fn ends(&self, index: usize) -> &'a [AtomicU64] {
        self.ends.chunks_exact(self.rows.max(1)).nth(index).unwrap_or_default()
    }

    pub(crate) fn reference(&self, index: usize) -> &'a [AtomicU64] {
        self.references.chunks_exact(self.reference_rows.max(1)).nth(index).unwrap_or_default()
    }
}

/// How often references are taken in one direction.
fn reference_rows(rows: usize) -> usize {
    rows / REFERENCE_STRIDE
}

fn measured(column: &[AtomicU64]) -> impl Iterator<Item = u64> + use<'_> {
    let measured = column.iter().map(|slot| slot.load(Ordering::Relaxed));
    measured.map_while(|ticks_and_one| ticks_and_one.checked_sub(1))
}
