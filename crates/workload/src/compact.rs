//! The driver of a curve for operations that take longer than a call by a pointer: it is compiled once, not
//! for each workload, because fork(2) copies the program.

use std::io;

use crate::{Lap, Trial, TrialError};

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
