//! The driver of a job: a whole piece of work at each level of n, timed phase by phase.

use std::io;

use serde::{Deserialize, Serialize};
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
        let is_sampled = self.slots.have_ends();
        let mut times = Vec::new();
        let ended = self.each_level(WhenLate::End, |level| {
            let n = level.n();
            let mut job =
                JobRecorder { clock, level, done: Vec::new(), times: is_sampled.then_some(&mut times) };
            work(n, &mut job)?;
            let JobRecorder { level, done, .. } = job;
            let mut expected = declared.measured().filter(|operation| operation.is_of(variant));
            if let Some(operation) = expected.find(|operation| !done.contains(&operation.name)) {
                level.fault = level.fault.or(Some((operation.name, "the job ended without it")));
            }
            Ok(())
        });
        self.phase_times = times;
        ended
    }

    /// When the phases of a job, or the levels of a scaling, were under way, in the order of time; empty
    /// unless the trial is sampled.
    pub fn phase_times(&self) -> &[PhaseTime] {
        &self.phase_times
    }
}

/// When a phase of a job, or a level of a scaling, was under way, by the clock of the trial.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseTime {
    /// The operation.
    pub name: String,
    /// The level.
    pub n: u64,
    /// How many units of work it did.
    pub units: u64,
    /// How many workers did them, all of the time.
    pub workers: u64,
    /// Its begin.
    pub begin_ticks: u64,
    /// Its end.
    pub end_ticks: u64,
    /// Whether another process did the work: the counters of the trial's own thread do not tell its cost.
    pub elsewhere: bool,
}

/// Times the phases of a job at one level.
#[derive(Debug)]
pub struct JobRecorder<'a, 'l> {
    clock: &'a Clock,
    level: &'a mut LevelRecorder<'l>,
    /// The values of this level.
    done: Vec<&'static str>,
    /// Of all levels; `None` unless the trial is sampled.
    times: Option<&'a mut Vec<PhaseTime>>,
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
        let ended = self.clock.now();
        let ticks = ended - begun;
        self.keep_time(name, units, (begun, ended), false);
        self.value(name, ticks as f64 * self.clock.seconds_per_tick() / units.max(1) as f64);
        Ok(worked)
    }

    /// States when another process did a phase once, from begin to end in ticks, for samples of functions.
    pub fn was_elsewhere(&mut self, name: &str, ticks: (u64, u64)) {
        self.keep_time(name, 1, ticks, true);
    }

    fn keep_time(&mut self, name: &str, units: u64, (begin_ticks, end_ticks): (u64, u64), elsewhere: bool) {
        let n = self.level.n();
        if let Some(times) = &mut self.times {
            let (name, workers) = (name.to_owned(), 1);
            times.push(PhaseTime { name, n, units, workers, begin_ticks, end_ticks, elsewhere });
        }
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
