//! The hands of a workload: what it may do in a trial, and how it is timed.
//!
//! Back-to-back operations share clock readings: the end of one is the beginning of the next, so that
//! the harness adds one reading per measurement. `noop` shows what that costs.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use sys::clock::Clock;

use crate::level_recorder::LevelRecorder;
use crate::{Operation, Slots, Workload};

/// A batch takes at least this many ticks of the clock, which bounds the quantisation error of a value
/// by one percent.
const TICKS_MIN: f64 = 100.0;

/// How many calls decide the size of a batch.
const BATCH_PROBES: u32 = 1000;

/// How far n goes in the discarded pass before a trial: far enough for every code path and lazy binding
/// to have been used, and no further. Objects that a longer pass frees are handed out again, warm, to the
/// trial: with 100 sockets before it, its first 100 cost 40 % less than all others on Linux 6.18.
const WARM_UP_N: u64 = 8;

/// How long an operation is done and undone right before it is timed. What it gains was not measured alone:
/// it was meant for the first 300 mappings, a fifth more expensive on Linux 6.18, which they still are.
const WARM_UP: Duration = Duration::from_millis(2);

/// How long a load is held in the discarded pass.
const WARM_UP_WINDOW: Duration = Duration::from_millis(10);

/// How long a load is held at one level, where neither the user nor the time allowed says it.
const WINDOW: Duration = Duration::from_millis(500);
/// A shorter window would hold a handful of answers, a longer one makes few trials of many.
const WINDOW_MIN: Duration = Duration::from_millis(20);
const WINDOW_MAX: Duration = Duration::from_secs(2);

/// How long to measure at each of `levels` levels, when they may take `allowed` together.
pub fn window(allowed: Option<Duration>, levels: usize) -> Duration {
    let levels = u32::try_from(levels).unwrap_or(u32::MAX).max(1);
    allowed.map_or(WINDOW, |allowed| (allowed / levels).clamp(WINDOW_MIN, WINDOW_MAX))
}

/// n of the discarded pass before a trial of `n`.
pub fn warm_up_n(n: u64) -> u64 {
    WARM_UP_N.min(n)
}

/// One execution of a workload.
#[derive(Debug)]
pub struct Trial<'a> {
    workload: &'static Workload,
    variant: &'a str,
    n: usize,
    scratch: &'a Path,
    seed: u64,
    random: fastrand::Rng,
    clock: &'a Clock,
    tick_ticks: f64,
    slots: Slots<'a>,
    allowance_ticks: u64,
    ended: Option<EarlyEnd>,
    checks: Vec<Check>,
    warnings: Vec<String>,
    batch: u32,
    rehearsal: bool,
    window: Option<Duration>,
    server: Option<&'a Server>,
    server_cpu: Option<u32>,
}

/// Where the server of a load runs, when it is not this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// The address it listens on, as the client sees it: `10.0.0.2`, or `10.0.0.2:8080`.
    pub address: String,
    /// The command that starts a program there. None: it already runs.
    pub prefix: Vec<String>,
}

/// Why the way up ended before n was reached; what was measured until then stands.
#[derive(Debug)]
pub enum EarlyEnd {
    /// The system refused an operation.
    Refused {
        /// Live objects when it happened.
        n: u64,
        /// The operation.
        operation: &'static str,
        /// The system's answer.
        error: io::Error,
    },
    /// The time allowed for the way up was used up.
    Allowance {
        /// Live objects when it happened.
        n: u64,
    },
}

/// A trial that cannot go on and whose measurements must not be trusted.
#[derive(Debug)]
pub struct TrialError {
    /// What was attempted.
    pub attempted: String,
    /// What came of it.
    pub error: io::Error,
}

/// Something that was proved, or not.
#[derive(Clone, Debug)]
pub struct Check {
    /// The claim: "every port is distinct".
    pub claim: &'static str,
    /// Whether it held.
    pub held: bool,
}

impl Check {
    /// Adds a claim, or what became of one that was stated before: it holds where it always held.
    pub(crate) fn note(checks: &mut Vec<Check>, claim: &'static str, held: bool) {
        match checks.iter_mut().find(|check| check.claim == claim) {
            Some(check) => check.held &= held,
            None => checks.push(Check { claim, held }),
        }
    }
}

impl TrialError {
    /// For `map_err`: says what was attempted.
    pub fn at(attempted: impl Into<String>) -> impl FnOnce(io::Error) -> TrialError {
        let attempted = attempted.into();
        move |error| TrialError { attempted, error }
    }
}

impl fmt::Display for TrialError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.attempted, self.error)
    }
}

impl<'a> Trial<'a> {
    /// A trial of `workload` that goes to `n`.
    pub fn new(
        workload: &'static Workload,
        variant: &'a str,
        n: u64,
        scratch: &'a Path,
        seed: u64,
        clock: &'a Clock,
        slots: Slots<'a>,
    ) -> Trial<'a> {
        Trial {
            workload,
            variant,
            n: n as usize,
            scratch,
            seed,
            random: fastrand::Rng::with_seed(seed),
            clock,
            tick_ticks: 1.0,
            slots,
            allowance_ticks: u64::MAX,
            ended: None,
            checks: Vec::new(),
            warnings: Vec::new(),
            batch: 1,
            rehearsal: false,
            window: None,
            server: None,
            server_cpu: None,
        }
    }

    /// Makes it a pass that is discarded: one small level, held for ten milliseconds.
    pub fn rehearse(&mut self) {
        self.rehearsal = true;
    }

    /// How long a load is held at each level.
    pub fn set_window(&mut self, window: Duration) {
        self.window = Some(window);
    }

    /// Where the server of a load runs, and on which processor when that is here.
    pub fn set_server(&mut self, server: Option<&'a Server>, cpu: Option<u32>) {
        (self.server, self.server_cpu) = (server, cpu);
    }

    /// Ends a pass up, timed or not, after that many ticks from its own beginning.
    pub fn allow(&mut self, ticks: u64) {
        self.allowance_ticks = ticks;
    }

    /// The step of the clock, in ticks; decides about batches.
    pub fn set_resolution(&mut self, ticks: f64) {
        self.tick_ticks = ticks;
    }

    /// Name of the variant.
    pub fn variant(&self) -> &'a str {
        self.variant
    }

    /// How far n goes, or went once the way up is over.
    pub fn n(&self) -> usize {
        self.n
    }

    /// A folder of this run's own.
    pub fn scratch(&self) -> &'a Path {
        self.scratch
    }

    /// Seed of the trial's own random choices.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Where the server of a load runs; `None` is this machine, where the workload starts it itself.
    pub fn server(&self) -> Option<&'a Server> {
        self.server
    }

    /// The processor that a server on this machine is to be pinned to, which is not the one of this process.
    pub fn server_cpu(&self) -> Option<u32> {
        self.server_cpu
    }

    /// The n to be measured at, rising.
    pub fn levels(&self) -> Vec<u64> {
        let levels = self.workload.sizes.list(self.n as u64);
        if self.rehearsal { levels.last().copied().into_iter().collect() } else { levels }
    }

    /// How long to measure at one level, with its connections made already.
    pub fn window(&self) -> Duration {
        if self.rehearsal {
            return WARM_UP_WINDOW;
        }
        let seconds = self.allowance_ticks as f64 * self.clock.seconds_per_tick();
        let allowed = Duration::try_from_secs_f64(seconds).ok().filter(|_| self.allowance_ticks < u64::MAX);
        self.window.unwrap_or_else(|| window(allowed, self.workload.sizes.count(self.n as u64)))
    }

    /// The objects in random order, as things end on a server. The newest would still be in the
    /// processor's cache: with them first or last, cost would seem to depend on n.
    pub fn shuffled<T>(&mut self, mut objects: Vec<T>) -> std::vec::IntoIter<T> {
        self.random.shuffle(&mut objects);
        objects.into_iter()
    }

    /// What ended the way up, if it ended early.
    pub fn ended(&self) -> Option<&EarlyEnd> {
        self.ended.as_ref()
    }

    /// What was proved.
    pub fn checks(&self) -> &[Check] {
        &self.checks
    }

    /// Operations per measurement.
    pub fn batch(&self) -> u32 {
        self.batch
    }

    /// States something that must hold for the numbers to be numbers.
    pub fn check(&mut self, claim: &'static str, held: bool) {
        Check::note(&mut self.checks, claim, held);
    }

    /// Remarks that a reader of the numbers should see, each a whole sentence.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Does and undoes the operation for two milliseconds, untimed, so that the processor and the kernel
    /// know the way when timing begins: what a workload prepares, such as files it reads, drives both out
    /// of the caches. Leaves one object behind to be used again, not thousands.
    pub fn warm(&mut self, mut do_and_undo: impl FnMut() -> io::Result<()>) {
        let begun = Instant::now();
        // An error here occurs again where it is reported.
        while begun.elapsed() < WARM_UP && do_and_undo().is_ok() {}
    }

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

    /// Times one operation at every rising n. The way up ends early at a limit or when the allowance is
    /// used up; what was reached is kept.
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

    #[inline]
    fn up<T>(
        &mut self,
        what: &'static str,
        names: &[&'static str],
        mut step: impl FnMut(usize, &mut Lap<'_>) -> io::Result<T>,
    ) -> Result<Vec<T>, TrialError> {
        let columns = self.columns(names)?;
        let mut kept = sys::memory::touched_vec(self.n);
        let mut lap = Lap { clock: self.clock, columns: &columns, row: 0, column: 0, last: self.clock.now() };
        let deadline_ticks = lap.last.saturating_add(self.allowance_ticks);
        for n in 0..self.n {
            (lap.row, lap.column) = (n, 0);
            match step(n, &mut lap) {
                Ok(object) => kept.push(object),
                Err(error) => {
                    let operation = names.get(lap.column).copied().unwrap_or(what);
                    self.ended = Some(EarlyEnd::Refused { n: n as u64, operation, error });
                    break;
                }
            }
            if lap.last > deadline_ticks {
                self.ended = Some(EarlyEnd::Allowance { n: n as u64 + 1 });
                break;
            }
            if names.is_empty() {
                lap.skip();
            }
        }
        self.n = kept.len();
        self.slots.set_top(self.n as u64);
        Ok(kept)
    }

    /// Measures a load: calls the closure at each level, rising, which makes the load, holds it for
    /// [`Trial::window`], and reports what it found. An error means that the system refused the load: what
    /// was reported at this level does not count, what was reported below is valid. Ends early when the
    /// allowance is used up.
    ///
    /// # Errors
    /// [`TrialError`] when a value was reported that the workload does not declare.
    pub fn at_levels(
        &mut self,
        mut measure: impl FnMut(u64, &mut LevelRecorder<'_>) -> io::Result<()>,
    ) -> Result<(), TrialError> {
        let deadline_ticks = self.clock.now().saturating_add(self.allowance_ticks);
        let levels = self.levels();
        self.n = 0;
        for (row, &level) in levels.iter().enumerate() {
            self.slots.set_top(level);
            let mut recorder = LevelRecorder {
                workload: self.workload,
                slots: self.slots,
                n: level,
                row,
                doing: self.workload.name,
                undeclared: None,
                checks: &mut self.checks,
                warnings: &mut self.warnings,
            };
            let measured = measure(level, &mut recorder);
            if let Some(name) = recorder.undeclared {
                return Err(self.stranger(name));
            }
            if let Err(error) = measured {
                let operation = recorder.doing;
                self.slots.clear(row);
                self.ended = Some(EarlyEnd::Refused { n: level, operation, error });
                break;
            }
            self.n = level as usize;
            if self.clock.now() > deadline_ticks && row + 1 < levels.len() {
                self.ended = Some(EarlyEnd::Allowance { n: level });
                break;
            }
        }
        self.slots.set_top(self.n as u64);
        Ok(())
    }

    /// Times one operation for each of the objects, in their order, while n falls to zero.
    ///
    /// # Errors
    /// [`TrialError`] at the first operation that fails: on the way down there is no limit to hit.
    #[inline]
    pub fn timed_back<T>(
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
    /// As [`Trial::timed_back`].
    #[inline]
    pub fn timed_steps_back<T>(
        &mut self,
        names: &[&'static str],
        objects: impl ExactSizeIterator<Item = T>,
        mut step: impl FnMut(T, &mut Lap<'_>) -> io::Result<()>,
    ) -> Result<(), TrialError> {
        let columns = self.columns(names)?;
        let live = objects.len();
        let mut lap = Lap { clock: self.clock, columns: &columns, row: 0, column: 0, last: self.clock.now() };
        for (row, object) in objects.enumerate() {
            (lap.row, lap.column) = (row, 0);
            if let Err(error) = step(object, &mut lap) {
                let name = names.get(lap.column).copied().unwrap_or(names[0]);
                return Err(TrialError { attempted: format!("{name} with {} left", live - row), error });
            }
        }
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

    fn columns(&self, names: &[&'static str]) -> Result<Vec<&'a [AtomicU64]>, TrialError> {
        names.iter().map(|name| self.column(name)).collect()
    }

    fn column(&self, name: &'static str) -> Result<&'a [AtomicU64], TrialError> {
        let is_it = |operation: &'static Operation| operation.name == name && !operation.reported;
        let index = self.workload.measured().position(is_it).ok_or_else(|| self.stranger(name))?;
        Ok(self.slots.column(index))
    }

    fn stranger(&self, name: &str) -> TrialError {
        TrialError {
            attempted: format!("to measure {name} in {}", self.workload.name),
            error: io::Error::other("the workload declares no such operation"),
        }
    }
}

/// The stopwatch within one step.
#[derive(Debug)]
pub struct Lap<'a> {
    clock: &'a Clock,
    columns: &'a [&'a [AtomicU64]],
    row: usize,
    column: usize,
    last: u64,
}

impl Lap<'_> {
    /// Ends the present operation and begins the next.
    #[inline(always)]
    pub fn mark(&mut self) {
        let now = self.clock.now();
        if let Some(slot) = self.columns.get(self.column).and_then(|column| column.get(self.row)) {
            slot.store((now - self.last) + 1, Ordering::Relaxed);
        }
        self.column += 1;
        self.last = now;
    }

    /// Leaves out what was done since the last mark.
    #[inline(always)]
    pub fn skip(&mut self) {
        self.last = self.clock.now();
    }
}
