//! The drivers of loads and jobs. A load is held at one level of n after the other, with the values of each;
//! a job is a whole piece of work at each level, timed phase by phase.

use std::time::Duration;
use std::{error, fmt, io};

use record::{Check, Line};
use serde::{Deserialize, Serialize};
use sys::clock::Clock;

use crate::definition::Workload;
use crate::slots::Slots;
use crate::trial::{EarlyEnd, Trial, TrialError, UNDECLARED, note};

impl Trial<'_> {
    /// Measures a load: calls the closure at each level, rising. The closure makes the load, holds it for
    /// [`Trial::window`], and reports its values. An error means that the system refused the load: values of
    /// this level do not count, those of lower levels stay. Where the allowance does not suffice, levels
    /// before the last are left out: the user asked for the largest. Where the end of the trial is
    /// nearer than the next level takes, the trial ends at the level that it has reached.
    ///
    /// # Errors
    /// [`TrialError`] when a value was reported that the workload does not declare.
    pub fn at_levels(
        &mut self,
        mut measure: impl FnMut(u64, &mut LevelRecorder<'_>) -> io::Result<()>,
    ) -> Result<(), TrialError> {
        self.each_level(WhenLate::LeaveOut, |recorder| measure(recorder.n, recorder))
    }

    /// The common part of loads and jobs.
    fn each_level(
        &mut self,
        when_late: WhenLate,
        mut measure: impl FnMut(&mut LevelRecorder<'_>) -> io::Result<()>,
    ) -> Result<(), TrialError> {
        let begun_ticks = self.clock.now();
        let levels = self.levels();
        let (mut row, mut met) = (0, Vec::new());
        self.n = 0;
        while let Some(&level) = levels.get(row) {
            met.push(level);
            let level_ticks = self.clock.now();
            self.slots.set_top(level);
            let mut recorder = LevelRecorder {
                workload: self.workload,
                slots: self.slots,
                n: level,
                row,
                doing: self.workload.name,
                fault: None,
                checks: &mut self.checks,
                warnings: &mut self.warnings,
                facts: &mut self.facts,
                clock: self.clock,
                // The smallest level is always measured, so that there is some value.
                end_ticks: if row == 0 { u64::MAX } else { self.end_ticks },
            };
            let known_facts = recorder.facts.len();
            let measured = measure(&mut recorder);
            if let Some((name, why)) = recorder.fault {
                return Err(self.fault(name, why));
            }
            if let Err(error) = measured {
                // No limit of the system.
                if LoadVoid::is_behind(&error) {
                    return Err(TrialError { attempted: format!("to load at n = {level}"), error });
                }
                let operation = recorder.doing;
                self.slots.clear(row);
                self.facts.truncate(known_facts);
                self.ended = Some(end_of((level, self.n as u64), operation, error));
                break;
            }
            self.n = level as usize;
            let now = self.clock.now();
            let spent = Spent { all: now.saturating_sub(begun_ticks), last: now.saturating_sub(level_ticks) };
            let is_last = row + 1 >= levels.len();
            match when_late {
                WhenLate::LeaveOut if now.saturating_add(spent.last) > self.end_ticks && !is_last => {
                    self.ended = Some(EarlyEnd::Allowance { n: level });
                    break;
                }
                WhenLate::LeaveOut => row = spent.next(row, levels.len(), self.allowance_ticks),
                WhenLate::End if spent.all > self.allowance_ticks && !is_last => {
                    self.ended = Some(EarlyEnd::Allowance { n: level });
                    break;
                }
                WhenLate::End => row += 1,
            }
        }
        self.slots.set_top(self.n as u64);
        let is_left_out = |level: &&u64| **level < self.n as u64 && !met.contains(level);
        let left_out: Vec<String> = levels.iter().filter(is_left_out).map(u64::to_string).collect();
        if !left_out.is_empty() {
            let levels = left_out.join(", ");
            self.warnings.push(format!(
                "The levels {levels} are left out, because they take too long; -n {} includes them.",
                self.n
            ));
        }
        Ok(())
    }
}

/// Why a trial ended at this level, when it had measured the one before.
fn end_of((level, before): (u64, u64), operation: &'static str, error: io::Error) -> EarlyEnd {
    match error.get_ref().is_some_and(|error| error.is::<OutOfTime>()) {
        true => EarlyEnd::Allowance { n: before },
        false => EarlyEnd::Refused { n: level, operation, error },
    }
}

/// The course of a trial that will not reach its last level in the time allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WhenLate {
    /// It goes to the last level at once, as long as its end is not near.
    LeaveOut,
    /// It ends when its time is up.
    End,
}

/// The time that levels took.
struct Spent {
    /// All so far.
    all: u64,
    /// The last of them.
    last: u64,
}

impl Spent {
    /// The place of the next of so many levels: the last one, if the others do not fit into the time allowed
    /// at the pace of the level that has just been measured.
    fn next(&self, place: usize, levels: usize, allowed: u64) -> usize {
        let others = levels.saturating_sub(place + 1) as u64;
        let all = self.all.saturating_add(self.last.saturating_mul(others));
        if all > allowed { levels.saturating_sub(1).max(place + 1) } else { place + 1 }
    }
}

/// A level would take longer than the trial may.
#[derive(Debug)]
struct OutOfTime;

impl fmt::Display for OutOfTime {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the time of the trial does not suffice")
    }
}

impl error::Error for OutOfTime {}

/// The hosts that load a server did not offer the load together: it says nothing about the server.
#[derive(Debug)]
pub(crate) struct LoadVoid(pub(crate) String);

impl LoadVoid {
    fn is_behind(error: &io::Error) -> bool {
        error.get_ref().is_some_and(|error| error.is::<LoadVoid>())
    }
}

impl fmt::Display for LoadVoid {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "the load does not count: {}", self.0)
    }
}

impl error::Error for LoadVoid {}

/// Takes the values that a load reports at one level.
#[derive(Debug)]
pub struct LevelRecorder<'a> {
    workload: &'static Workload,
    slots: Slots<'a>,
    /// The level.
    n: u64,
    /// Place of the level.
    row: usize,
    /// The operation that is refused, should the closure end in an error.
    doing: &'static str,
    /// An operation that was not reported as the workload declares it, and why.
    fault: Option<(&'static str, &'static str)>,
    checks: &'a mut Vec<Check>,
    warnings: &'a mut Vec<String>,
    facts: &'a mut Vec<Line>,
    clock: &'a Clock,
    /// By the clock, when the trial is to end.
    end_ticks: u64,
}

impl LevelRecorder<'_> {
    /// The level.
    pub fn n(&self) -> u64 {
        self.n
    }

    /// The value of a reported operation at this level, in its unit: it is kept from here on, however the
    /// trial ends. A value that is not finite, such as a percentile of nothing, is left out. A name that the
    /// workload does not declare as reported stops the trial.
    pub fn value(&mut self, name: &'static str, value: f64) {
        match self.workload.measured().position(|operation| operation.name == name && operation.reported) {
            Some(index) => self.slots.report(index, self.row, value),
            None => self.fault = Some((name, UNDECLARED)),
        }
    }

    /// A line of the record beside the series, which belongs to this level. Where the level is refused, it
    /// does not count either.
    #[cfg(feature = "server")]
    pub(crate) fn fact(&mut self, line: Line) {
        self.facts.push(line);
    }

    /// How long the level may take from here on; [`Duration::MAX`] where nothing limits it.
    pub fn time_left(&self) -> Duration {
        if self.end_ticks == u64::MAX {
            return Duration::MAX;
        }
        let ticks = self.end_ticks.saturating_sub(self.clock.now());
        Duration::try_from_secs_f64(ticks as f64 * self.clock.seconds_per_tick()).unwrap_or(Duration::MAX)
    }

    /// Whether the level may take so long from here on.
    ///
    /// # Errors
    /// An error that ends the trial below this level, and is no limit of the system.
    pub fn expect_time(&self, needed: Duration) -> io::Result<()> {
        if needed <= self.time_left() { Ok(()) } else { Err(io::Error::other(OutOfTime)) }
    }

    /// Names the operation from here on, for the record of a refusal.
    pub fn doing(&mut self, what: &'static str) {
        self.doing = what;
    }

    /// States something that must hold for the numbers to be numbers. The same claim of several levels is
    /// one, which holds where it held at all of them.
    pub fn check(&mut self, claim: &'static str, held: bool) {
        note(self.checks, claim, held);
    }

    /// A remark that a reader of the numbers should see, a whole sentence. Repetitions are dropped.
    pub fn warn(&mut self, sentence: String) {
        if !self.warnings.contains(&sentence) {
            self.warnings.push(sentence);
        }
    }
}

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
