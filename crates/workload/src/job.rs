//! The driver of a job: a whole piece of work at each level of n, timed phase by phase.

use std::io;

use sys::clock::Clock;

use crate::Trial;
use crate::load::{LevelRecorder, WhenLate};
use crate::outcome::TrialError;

impl Trial<'_> {
    /// Does a job at each level, rising; many have only one, which is the size of the job. The closure does
    /// the work through [`JobRecorder::phase`]. An error means that the system refused the work: values of
    /// this level do not count, those of lower levels stay. Ends early, after a whole level, when the
    /// allowance is used up.
    ///
    /// # Errors
    /// [`TrialError`] when not everything that the workload declares was measured, each once: figures of
    /// half a job would be compared with those of a whole one.
    pub fn job(
        &mut self,
        mut work: impl FnMut(u64, &mut JobRecorder<'_, '_>) -> io::Result<()>,
    ) -> Result<(), TrialError> {
        let (clock, declared, variant) = (self.clock, self.workload, self.variant());
        self.each_level(WhenLate::End, |level| {
            let n = level.n();
            let mut job = JobRecorder { clock, level, done: Vec::new() };
            work(n, &mut job)?;
            let JobRecorder { level, done, .. } = job;
            let mut expected = declared.measured().filter(|operation| operation.is_of(variant));
            if let Some(operation) = expected.find(|operation| !done.contains(&operation.name)) {
                level.fault = level.fault.or(Some((operation.name, "the job ended without it")));
            }
            Ok(())
        })
    }
}

/// Times the phases of a job at one level.
#[derive(Debug)]
pub struct JobRecorder<'a, 'l> {
    clock: &'a Clock,
    level: &'a mut LevelRecorder<'l>,
    /// The values of this level.
    done: Vec<&'static str>,
}

impl<'l> JobRecorder<'_, 'l> {
    /// Does one phase of the job and measures how long it takes, for each of its `units`: so that the figures
    /// of different levels are alike where each unit costs the same. Work between phases is not timed.
    ///
    /// # Errors
    /// That of the work, which ends the trial at this level under the name of the phase.
    pub fn phase<T>(
        &mut self,
        name: &'static str,
        units: u64,
        work: impl FnOnce() -> io::Result<T>,
    ) -> io::Result<T> {
        self.level.doing(name);
        let begun = self.clock.now();
        let worked = work()?;
        let ticks = self.clock.now() - begun;
        self.value(name, ticks as f64 * self.clock.seconds_per_tick() / units.max(1) as f64);
        Ok(worked)
    }

    /// A value of the job that is no phase of it, such as bytes per second, as [`LevelRecorder::value`].
    pub fn value(&mut self, name: &'static str, value: f64) {
        if self.done.contains(&name) {
            self.level.fault = Some((name, "the job measured it twice"));
        }
        self.done.push(name);
        self.level.value(name, value);
    }

    /// States that this system does not have a value that the workload declares, and why: readers find the
    /// reason among the remarks of the trial.
    pub fn unavailable(&mut self, name: &'static str, reason: &str) {
        self.done.push(name);
        self.level.warn(format!("{name} is not available: {reason}."));
    }

    /// For checks and remarks.
    pub fn level(&mut self) -> &mut LevelRecorder<'l> {
        self.level
    }
}
