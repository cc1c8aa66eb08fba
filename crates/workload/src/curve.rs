//! The driver of a curve: operations timed at every n while objects pile up, and while they are taken away.
//!
//! Back-to-back operations share clock readings: the end of one is the beginning of the next, so that the
//! harness adds one reading per measurement. `noop` shows its cost. For operations that take longer than a
//! call by a pointer there are compact drivers, which are compiled once, not for each workload, because
//! fork(2) copies the program.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use record::Direction;
use sys::clock::Clock;

use crate::definition::Operation;
use crate::helpers::{Refused, Request};
use crate::reference::{REFERENCE_STRIDE, References};
use crate::trial::{EarlyEnd, Trial, TrialError, UNDECLARED};

/// A batch takes at least this many ticks of the clock, which bounds the quantisation error of a value
/// by one percent.
const TICKS_MIN: f64 = 100.0;

/// How many calls decide the size of a batch.
const BATCH_PROBES: u32 = 1000;

impl<'a> Trial<'a> {
    /// Makes one object for every n, untimed. A limit shortens the trial.
    ///
    /// # Errors
    /// [`TrialError`] when not a single object could be made.
    pub fn untimed<T>(
        &mut self,
        what: &'static str,
        mut make: impl FnMut(usize) -> io::Result<T>,
    ) -> Result<Vec<T>, TrialError> {
        self.up(what, &[], |n, _| make(n))
    }

    /// Times one operation at every rising n. The way up ends early at a limit or when the allowance is used
    /// up; the measurements so far are kept.
    ///
    /// # Errors
    /// [`TrialError`] when the workload does not declare the operation.
    #[inline]
    pub fn timed<T>(
        &mut self,
        name: &'static str,
        mut operation: impl FnMut(usize) -> io::Result<T>,
    ) -> Result<Vec<T>, TrialError> {
        self.timed_steps(&[name], |n, lap| {
            let object = operation(n)?;
            lap.mark();
            Ok(object)
        })
    }

    /// Times several operations, one after the other, at every rising n: the closure calls
    /// [`Lap::mark`] after each.
    ///
    /// # Errors
    /// [`TrialError`] when the workload does not declare one of the operations.
    #[inline]
    pub fn timed_steps<T>(
        &mut self,
        names: &[&'static str],
        step: impl FnMut(usize, &mut Lap<'_>) -> io::Result<T>,
    ) -> Result<Vec<T>, TrialError> {
        self.up(names[0], names, step)
    }

    /// Makes the objects that exist before the first n, in as many parts as n. The allowance of the way up
    /// may end it, and n then goes no further than these parts.
    ///
    /// # Errors
    /// That of a part.
    pub fn prepare(&mut self, mut part: impl FnMut(usize) -> io::Result<()>) -> io::Result<()> {
        let deadline_ticks = self.clock.now().saturating_add(self.allowance_ticks);
        for number in 0..self.n {
            part(number)?;
            if self.clock.now() > deadline_ticks {
                self.n = number + 1;
                self.ended = Some(EarlyEnd::Allowance { n: self.n as u64 });
                break;
            }
        }
        Ok(())
    }

    #[inline]
    fn up<T>(
        &mut self,
        what: &'static str,
        names: &[&'static str],
        mut step: impl FnMut(usize, &mut Lap<'_>) -> io::Result<T>,
    ) -> Result<Vec<T>, TrialError> {
        let columns = self.columns(names)?;
        let ends = self.ends(names);
        let Some(mut helpers) = self.take_helpers()? else { return self.help_up(step) };
        let references = if names.is_empty() { None } else { self.take_references() };
        let (stride, rows) = (self.stride(), self.n / self.stride());
        let mut kept = sys::memory::touched_vec(rows);
        helpers.begin_pass().map_err(of_helpers())?;
        let mut lap = Lap::new(self.clock, &columns, &ends);
        let deadline_ticks = lap.last.saturating_add(self.allowance_ticks);
        for row in 0..rows {
            (lap.row, lap.column) = (row, 0);
            let refused = match step(row * stride, &mut lap) {
                Ok(object) => {
                    kept.push(object);
                    // Most trials end here: the following work is timed with the next operation.
                    if stride == 1 { None } else { helpers.share(row).map_err(of_helpers())?.err() }
                }
                Err(error) => Some(Refused { column: lap.column, error }),
            };
            if let Some(Refused { column, error }) = refused {
                let operation = names.get(column).copied().unwrap_or(what);
                self.ended = Some(EarlyEnd::Refused { n: (row * stride) as u64, operation, error });
                kept.truncate(row);
                break;
            }
            if lap.last > deadline_ticks {
                self.ended = Some(EarlyEnd::Allowance { n: ((row + 1) * stride) as u64 });
                break;
            }
            if names.is_empty() || stride > 1 {
                lap.skip();
            }
            if let Some(references) = references.as_ref().filter(|_| (row + 1) % REFERENCE_STRIDE == 0) {
                lap.last = references.take(self.clock, Direction::Up, row / REFERENCE_STRIDE);
            }
        }
        self.references = references;
        self.n = kept.len() * stride;
        helpers.end_pass(self.n).map_err(of_helpers())?;
        self.helpers = Some(helpers);
        self.slots.set_top(self.n as u64);
        Ok(kept)
    }

    /// The way up of a helper: makes the requested objects.
    fn help_up<T>(
        &mut self,
        mut step: impl FnMut(usize, &mut Lap<'_>) -> io::Result<T>,
    ) -> Result<Vec<T>, TrialError> {
        let mut kept = Vec::new();
        self.n = self.help(|n, lap| step(n, lap).map(|object| kept.push(object)))?;
        Ok(kept)
    }

    /// A pass of a helper, until the trial ends it; n is then returned.
    fn help(
        &mut self,
        mut step: impl FnMut(usize, &mut Lap<'_>) -> io::Result<()>,
    ) -> Result<usize, TrialError> {
        let Some(link) = &mut self.duty else { return Ok(self.n) };
        let mut lap = Lap::new(self.clock, &[], &[]);
        let mut done = Ok(());
        loop {
            link.report(done).map_err(of_helpers())?;
            match link.request().map_err(of_helpers())? {
                Request::Over { n } => return Ok(n),
                Request::Share { first, count } => {
                    let mut share = first..first + count;
                    done = share.try_for_each(|n| {
                        lap.column = 0;
                        step(n, &mut lap).map_err(|error| Refused { column: lap.column, error })
                    });
                }
            }
        }
    }

    /// Times one operation for each of the objects, in their order, while n falls to zero.
    ///
    /// # Errors
    /// [`TrialError`] at the first operation that fails: on the way down there is no limit to hit.
    #[inline]
    pub fn timed_down<T>(
        &mut self,
        name: &'static str,
        objects: impl ExactSizeIterator<Item = T>,
        mut operation: impl FnMut(T) -> io::Result<()>,
    ) -> Result<(), TrialError> {
        self.timed_steps_back(&[name], objects, |object, lap| {
            operation(object)?;
            lap.mark();
            Ok(())
        })
    }

    /// Times several operations for each of the objects, in their order, while n falls to zero.
    ///
    /// # Errors
    /// As [`Trial::timed_down`].
    #[inline]
    pub fn timed_steps_back<T>(
        &mut self,
        names: &[&'static str],
        mut objects: impl ExactSizeIterator<Item = T>,
        mut step: impl FnMut(T, &mut Lap<'_>) -> io::Result<()>,
    ) -> Result<(), TrialError> {
        let columns = self.columns(names)?;
        let ends = self.ends(names);
        let Some(mut helpers) = self.take_helpers()? else {
            self.help(|_, lap| objects.next().map_or(Ok(()), |object| step(object, lap)))?;
            return Ok(());
        };
        let references = self.take_references();
        let (live, stride) = (objects.len(), self.stride());
        helpers.begin_pass().map_err(of_helpers())?;
        let mut lap = Lap::new(self.clock, &columns, &ends);
        for (row, object) in objects.enumerate() {
            (lap.row, lap.column) = (row, 0);
            let refused = match step(object, &mut lap) {
                Ok(()) if stride == 1 => None,
                Ok(()) => helpers.share(live - 1 - row).map_err(of_helpers())?.err(),
                Err(error) => Some(Refused { column: lap.column, error }),
            };
            if let Some(Refused { column, error }) = refused {
                let name = names.get(column).copied().unwrap_or(names[0]);
                let left = (live - row) * stride;
                return Err(TrialError { attempted: format!("{name} with {left} left"), error });
            }
            if stride > 1 {
                lap.skip();
            }
            if let Some(references) = references.as_ref().filter(|_| (row + 1) % REFERENCE_STRIDE == 0) {
                lap.last = references.take(self.clock, Direction::Down, row / REFERENCE_STRIDE);
            }
        }
        self.references = references;
        helpers.end_pass(0).map_err(of_helpers())?;
        self.helpers = Some(helpers);
        Ok(())
    }

    /// Times an operation that leaves nothing behind, n times; in batches where one call is too short
    /// for the clock.
    ///
    /// # Errors
    /// [`TrialError`] when the workload does not declare the operation.
    #[inline]
    pub fn repeated(&mut self, name: &'static str, mut operation: impl FnMut()) -> Result<(), TrialError> {
        let begun = self.clock.now();
        for _ in 0..BATCH_PROBES {
            operation();
        }
        let each = (self.clock.now() - begun) as f64 / f64::from(BATCH_PROBES);
        self.batch =
            (TICKS_MIN * self.tick_ticks / each.max(f64::MIN_POSITIVE)).ceil().clamp(1.0, 1e6) as u32;
        let batch = self.batch;
        self.timed(name, |_| {
            for _ in 0..batch {
                operation();
            }
            Ok(())
        })?;
        Ok(())
    }

    /// The references of this trial, made when they are first needed; `None` where none are wanted.
    fn take_references(&mut self) -> Option<References<'a>> {
        if !self.wants_references || self.references.is_some() {
            return self.references.take();
        }
        let slots = self.slots;
        match References::new(self.scratch, |index| slots.reference(index)) {
            Ok(references) => Some(references),
            Err(error) => {
                self.warnings.push(format!("No references were measured: {error}."));
                self.wants_references = false;
                None
            }
        }
    }

    fn columns(&self, names: &[&'static str]) -> Result<Vec<&'a [AtomicU64]>, TrialError> {
        names.iter().map(|name| self.column(name)).collect()
    }

    /// Where the same operations leave when they ended; nothing in trials that are not sampled.
    fn ends(&self, names: &[&'static str]) -> Vec<&'a [AtomicU64]> {
        let index = |name| self.workload.measured().position(|operation| operation.name == name);
        let wanted = names.iter().filter(|_| self.slots.have_ends());
        wanted.filter_map(|&name| Some(self.slots.ends(index(name)?))).collect()
    }

    fn column(&self, name: &'static str) -> Result<&'a [AtomicU64], TrialError> {
        let is_it = |operation: &'static Operation| operation.name == name && !operation.reported;
        let index = self.workload.measured().position(is_it).ok_or_else(|| self.fault(name, UNDECLARED))?;
        Ok(self.slots.column(index))
    }
}

/// One step of the way down.
type DownStep<'a> = &'a mut dyn FnMut(&mut Lap<'_>) -> io::Result<()>;

impl Trial<'_> {
    /// As [`Trial::timed_steps`].
    ///
    /// # Errors
    /// As there.
    pub fn compact_steps<T>(
        &mut self,
        names: &[&'static str],
        mut step: impl FnMut(usize, &mut Lap<'_>) -> io::Result<T>,
    ) -> Result<Vec<T>, TrialError> {
        self.up_by_pointer(names, &mut step)
    }

    /// As [`Trial::timed_steps_back`].
    ///
    /// # Errors
    /// As there.
    pub fn compact_steps_back<T>(
        &mut self,
        names: &[&'static str],
        mut objects: impl ExactSizeIterator<Item = T>,
        mut step: impl FnMut(T, &mut Lap<'_>) -> io::Result<()>,
    ) -> Result<(), TrialError> {
        let count = objects.len();
        self.down_by_pointer(names, count, &mut |lap| objects.next().map_or(Ok(()), |one| step(one, lap)))
    }

    /// As [`Trial::timed_down`].
    ///
    /// # Errors
    /// As there.
    pub fn compact_down<T>(
        &mut self,
        name: &'static str,
        objects: impl ExactSizeIterator<Item = T>,
        mut operation: impl FnMut(T) -> io::Result<()>,
    ) -> Result<(), TrialError> {
        self.compact_steps_back(&[name], objects, |object, lap| {
            operation(object)?;
            lap.mark();
            Ok(())
        })
    }

    #[inline(never)]
    fn up_by_pointer<T>(
        &mut self,
        names: &[&'static str],
        step: &mut dyn FnMut(usize, &mut Lap<'_>) -> io::Result<T>,
    ) -> Result<Vec<T>, TrialError> {
        self.timed_steps(names, step)
    }

    #[inline(never)]
    fn down_by_pointer(
        &mut self,
        names: &[&'static str],
        count: usize,
        step: DownStep<'_>,
    ) -> Result<(), TrialError> {
        self.timed_steps_back(names, 0..count, |_, lap| step(lap))
    }
}

/// For `map_err`: a message between a trial and its helpers did not arrive.
fn of_helpers() -> impl FnOnce(io::Error) -> TrialError {
    TrialError::at("to make objects in helper processes")
}

/// The stopwatch within one step.
#[derive(Debug)]
pub struct Lap<'a> {
    clock: &'a Clock,
    /// None in a trial that is sampled, which has them in `sampled`.
    columns: &'a [&'a [AtomicU64]],
    row: usize,
    column: usize,
    last: u64,
    /// The columns of the durations of operations, and of their ends.
    sampled: Option<[&'a [&'a [AtomicU64]]; 2]>,
}

impl<'a> Lap<'a> {
    fn new(clock: &'a Clock, columns: &'a [&'a [AtomicU64]], ends: &'a [&'a [AtomicU64]]) -> Lap<'a> {
        let is_sampled = !ends.is_empty();
        Lap {
            clock,
            columns: if is_sampled { &[] } else { columns },
            row: 0,
            column: 0,
            last: clock.now(),
            sampled: is_sampled.then_some([columns, ends]),
        }
    }

    /// Ends the present operation and begins the next.
    #[inline(always)]
    pub fn mark(&mut self) {
        let now = self.clock.now();
        match self.columns.get(self.column).and_then(|column| column.get(self.row)) {
            Some(slot) => slot.store((now - self.last) + 1, Ordering::Relaxed),
            None => self.mark_with_end(now),
        }
        self.column += 1;
        self.last = now;
    }

    /// The same in a sampled trial, apart from the path of all others: it keeps the end of each operation
    /// too.
    #[cold]
    #[inline(never)]
    fn mark_with_end(&self, now: u64) {
        for (columns, value) in self.sampled.into_iter().flatten().zip([(now - self.last) + 1, now]) {
            if let Some(slot) = columns.get(self.column).and_then(|column| column.get(self.row)) {
                slot.store(value, Ordering::Relaxed);
            }
        }
    }

    /// Excludes the work since the last mark.
    #[inline(always)]
    pub fn skip(&mut self) {
        self.last = self.clock.now();
    }
}
