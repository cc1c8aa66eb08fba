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

use crate::{Curve, Operation};

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
/// it was meant for the first 300 mappings, a fifth dearer on Linux 6.18, and they still are.
const WARM_UP: Duration = Duration::from_millis(2);

/// n of the discarded pass before a trial of `n`.
pub fn warm_up_n(n: u64) -> u64 {
    WARM_UP_N.min(n)
}

/// One execution of a workload.
#[derive(Debug)]
pub struct Trial<'a> {
    curve: &'static Curve,
    variant: &'a str,
    n: usize,
    scratch: &'a Path,
    random: fastrand::Rng,
    clock: &'a Clock,
    tick_ticks: f64,
    slots: Slots<'a>,
    allowance_ticks: u64,
    ended: Option<Ended>,
    checks: Vec<Check>,
    batch: u32,
}

/// Where a trial leaves its measurements: memory that outlives it, should it crash.
///
/// The first number is n at the top of the way up, once it is reached. Then follows, for each timed
/// operation in the order of the curve's list, one number per n: its ticks plus one, or zero where
/// nothing was measured.
#[derive(Clone, Copy, Debug)]
pub struct Slots<'a> {
    numbers: &'a [AtomicU64],
    rows: usize,
}

impl<'a> Slots<'a> {
    /// How many numbers a trial of `curve` to `n` needs.
    pub fn needed(curve: &Curve, n: u64) -> usize {
        1 + curve.timed().count() * n as usize
    }

    /// Lays the numbers out for a trial of `curve`; as many as [`Slots::needed`] says.
    pub fn new(curve: &Curve, numbers: &'a [AtomicU64]) -> Slots<'a> {
        Slots { numbers, rows: numbers.len().saturating_sub(1) / curve.timed().count().max(1) }
    }

    /// n at the top of the way up; 0 until it is reached.
    pub fn top(&self) -> u64 {
        self.numbers.first().map_or(0, |top| top.load(Ordering::Relaxed))
    }

    fn set_top(&self, n: usize) {
        if let Some(top) = self.numbers.first() {
            top.store(n as u64, Ordering::Relaxed);
        }
    }

    /// The ticks of the timed operation of that index, as far as they were measured.
    pub fn ticks(&self, index: usize) -> impl Iterator<Item = u64> + use<'a> {
        let measured = self.column(index).iter().map(|slot| slot.load(Ordering::Relaxed));
        measured.map_while(|ticks_and_one| ticks_and_one.checked_sub(1))
    }

    fn column(&self, index: usize) -> &'a [AtomicU64] {
        let columns = self.numbers.get(1..).unwrap_or_default();
        columns.chunks_exact(self.rows.max(1)).nth(index).unwrap_or_default()
    }
}

/// Why the way up ended before n was reached; what was measured until then stands.
#[derive(Debug)]
pub enum Ended {
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
pub struct Stop {
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

impl Stop {
    /// For `map_err`: says what was attempted.
    pub fn at(attempted: impl Into<String>) -> impl FnOnce(io::Error) -> Stop {
        let attempted = attempted.into();
        move |error| Stop { attempted, error }
    }
}

impl fmt::Display for Stop {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.attempted, self.error)
    }
}

impl<'a> Trial<'a> {
    /// A trial of `curve` that goes to `n`.
    pub fn new(
        curve: &'static Curve,
        variant: &'a str,
        n: u64,
        scratch: &'a Path,
        seed: u64,
        clock: &'a Clock,
        slots: Slots<'a>,
    ) -> Trial<'a> {
        Trial {
            curve,
            variant,
            n: n as usize,
            scratch,
            random: fastrand::Rng::with_seed(seed),
            clock,
            tick_ticks: 1.0,
            slots,
            allowance_ticks: u64::MAX,
            ended: None,
            checks: Vec::new(),
            batch: 1,
        }
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

    /// The objects in random order, as things end on a server. The newest would still be in the
    /// processor's cache: with them first or last, cost would seem to depend on n.
    pub fn shuffled<T>(&mut self, mut objects: Vec<T>) -> std::vec::IntoIter<T> {
        self.random.shuffle(&mut objects);
        objects.into_iter()
    }

    /// What ended the way up, if it ended early.
    pub fn ended(&self) -> Option<&Ended> {
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
        self.checks.push(Check { claim, held });
    }

    /// Does and undoes the operation for two milliseconds, untimed, so that the processor and the kernel
    /// know the way when timing begins: what a workload prepares, such as files it reads, drives both out
    /// of the caches. Leaves one object behind to be used again, not thousands.
    pub fn warm(&mut self, mut do_and_undo: impl FnMut() -> io::Result<()>) {
        let begun = Instant::now();
        // What goes wrong here goes wrong again where it is told.
        while begun.elapsed() < WARM_UP && do_and_undo().is_ok() {}
    }

    /// Makes one object for every n, untimed. A limit shortens the trial.
    ///
    /// # Errors
    /// [`Stop`] when not a single object could be made.
    pub fn untimed<T>(
        &mut self,
        what: &'static str,
        mut make: impl FnMut(usize) -> io::Result<T>,
    ) -> Result<Vec<T>, Stop> {
        self.up(what, &[], |n, _| make(n))
    }

    /// Times one operation at every rising n. The way up ends early at a limit or when the allowance is
    /// used up; what was reached is kept.
    ///
    /// # Errors
    /// [`Stop`] when the curve does not declare the operation.
    #[inline]
    pub fn timed<T>(
        &mut self,
        name: &'static str,
        mut operation: impl FnMut(usize) -> io::Result<T>,
    ) -> Result<Vec<T>, Stop> {
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
    /// [`Stop`] when the curve does not declare one of the operations.
    #[inline]
    pub fn timed_steps<T>(
        &mut self,
        names: &[&'static str],
        step: impl FnMut(usize, &mut Lap<'_>) -> io::Result<T>,
    ) -> Result<Vec<T>, Stop> {
        self.up(names[0], names, step)
    }

    #[inline]
    fn up<T>(
        &mut self,
        what: &'static str,
        names: &[&'static str],
        mut step: impl FnMut(usize, &mut Lap<'_>) -> io::Result<T>,
    ) -> Result<Vec<T>, Stop> {
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
                    self.ended = Some(Ended::Refused { n: n as u64, operation, error });
                    break;
                }
            }
            if lap.last > deadline_ticks {
                self.ended = Some(Ended::Allowance { n: n as u64 + 1 });
                break;
            }
            if names.is_empty() {
                lap.skip();
            }
        }
        self.n = kept.len();
        self.slots.set_top(self.n);
        Ok(kept)
    }

    /// Times one operation for each of the objects, in their order, while n falls to zero.
    ///
    /// # Errors
    /// [`Stop`] at the first operation that fails: on the way down there is no limit to hit.
    #[inline]
    pub fn timed_back<T>(
        &mut self,
        name: &'static str,
        objects: impl ExactSizeIterator<Item = T>,
        mut operation: impl FnMut(T) -> io::Result<()>,
    ) -> Result<(), Stop> {
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
    ) -> Result<(), Stop> {
        let columns = self.columns(names)?;
        let live = objects.len();
        let mut lap = Lap { clock: self.clock, columns: &columns, row: 0, column: 0, last: self.clock.now() };
        for (row, object) in objects.enumerate() {
            (lap.row, lap.column) = (row, 0);
            if let Err(error) = step(object, &mut lap) {
                let name = names.get(lap.column).copied().unwrap_or(names[0]);
                return Err(Stop { attempted: format!("{name} with {} left", live - row), error });
            }
        }
        Ok(())
    }

    /// Times an operation that leaves nothing behind, n times; in batches where one call is too short
    /// for the clock.
    ///
    /// # Errors
    /// [`Stop`] when the curve does not declare the operation.
    #[inline]
    pub fn repeated(&mut self, name: &'static str, mut operation: impl FnMut()) -> Result<(), Stop> {
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

    fn columns(&self, names: &[&'static str]) -> Result<Vec<&'a [AtomicU64]>, Stop> {
        names.iter().map(|name| self.column(name)).collect()
    }

    fn column(&self, name: &'static str) -> Result<&'a [AtomicU64], Stop> {
        let stop = |problem: &str| Stop {
            attempted: format!("to time {name} in {}", self.curve.name),
            error: io::Error::other(problem.to_owned()),
        };
        let is_it = |operation: &'static Operation| operation.name == name;
        let index = self.curve.timed().position(is_it);
        let index = index.ok_or_else(|| stop("the curve declares no such operation"))?;
        Ok(self.slots.column(index))
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
