//! The driver of a scaling: at each number of workers, all of them repeat the operation at once.

mod group;
mod round;

use std::io;
use std::thread;
use std::time::Duration;

use record::{Expect, Unit};
use sys::clock::Clock;
use sys::cpu::{Placed, Placement};

use crate::definition::{Operation, Variant};
use crate::load::PhaseTime;
use crate::setting::{Setting, Values};
use crate::trial::{Trial, TrialError};
use group::{Held, NotHeld, WorkerGroup, WorkerKind};
use round::{Board, Member, MemberStep, Round, Usage};

/// The values of each level, of every scaling.
pub(crate) const OPERATIONS: &[Operation] = &[
    value(RATE, Unit::PerSecond, "operations per second of all workers"),
    value(SLOWDOWN, Unit::None, "time of a worker for an operation, over that of one worker alone").detail(),
    value(REFERENCE, Unit::PerSecond, "the same of a loop in user space").companion().detail(),
    value(SLOWEST, Unit::PerSecond, "operations per second of the slowest worker").companion().detail(),
    value(FASTEST, Unit::PerSecond, "operations per second of the fastest worker").companion().detail(),
    value(CPU, Unit::Seconds, "processor time of all workers for each operation").companion().detail(),
    value(SWITCHES, Unit::PerSecond, "how often the system took the processor from a worker")
        .companion()
        .detail(),
];

/// The pages say how it scales, which no growth over n does.
const fn value(name: &'static str, unit: Unit, summary: &'static str) -> Operation {
    Operation::reported(name, unit, Expect::Any, summary)
}

/// Operations per second of all workers.
const RATE: &str = "rate";
/// 1 where it scales: systems are compared by it.
const SLOWDOWN: &str = "slowdown";
/// The same of a loop in user space.
const REFERENCE: &str = "reference";
const SLOWEST: &str = "slowest";
const FASTEST: &str = "fastest";
const CPU: &str = "cpu";
const SWITCHES: &str = "switches";

/// The setting of every scaling.
pub(crate) const SETTINGS: &[Setting] = &[Setting {
    name: PLACEMENT,
    default: "spread",
    values: Values::OneOf(&["spread", "compact", "node"]),
    summary: "the processor of the next worker",
}];

const PLACEMENT: &str = "placement";

/// The part of every page that is the same.
pub(crate) const PAGE: &str = "\
**Workers.** At each number of workers all of them wait for each other, repeat the operation for a \
window, and count. The value is the operations per second of all, each by its own clock. Before \
it, in a window of a quarter, all repeat a loop in user space: a loss that this has too is the \
machine's. Levels come in random order. A level does not count where a worker was missing or late, \
or waited a quarter of the window for a processor, or where a quota stopped it. Each worker has a \
processor: with `--set placement=spread` the next one is another core, with `--set \
placement=compact` the next thread of the same core, with `--set placement=node` one of the same \
memory node. Numbers beyond the processors are measured with `--preset full` or `-n`, and judged \
apart.";

// The name of every variant of a scaling begins with `threads` or `processes`. Where more follows, all
// workers share one object.

/// Threads, each with an object of its own.
pub const THREADS: Variant =
    Variant { name: "threads", summary: "threads of one process, each with an object of its own" };
/// Processes, each with an object of its own.
pub const PROCESSES: Variant =
    Variant { name: "processes", summary: "processes, each with an object of its own" };
/// Threads with one object.
pub const THREADS_SHARED: Variant =
    Variant { name: "threads-shared", summary: "threads of one process, all on one object" };
/// Processes with one object.
pub const PROCESSES_SHARED: Variant =
    Variant { name: "processes-shared", summary: "processes, all on one object" };

/// The rounds of a level, in their order; each number is known to all workers.
const REFERENCE_ROUND: u64 = 1;
const OPERATION_ROUND: u64 = 2;

/// The numbers of workers up to `top`: 1, 2, 3, 4, 6, 8, 12, 16 and so on, with `top` itself. Its half is the
/// number of processors where a run goes to twice of that, which must be among them.
pub(crate) fn worker_counts(top: u64) -> Vec<u64> {
    let powers = std::iter::successors(Some(1_u64), |power| power.checked_mul(2));
    let counts = powers.flat_map(|power| [Some(power), (power > 1).then(|| power + power / 2)]).flatten();
    let below = counts.take_while(|&count| count < top);
    let half = Some(top / 2).filter(|half| *half > 0 && top.is_multiple_of(2));
    let mut counts: Vec<u64> = below.chain(half).chain((top > 0).then_some(top)).collect();
    counts.sort_unstable();
    counts.dedup();
    counts
}

/// The work of each worker, with all that they share.
type Work<'a> = Box<dyn Fn(&mut Worker<'_>) -> io::Result<()> + Sync + 'a>;
/// Makes it, for so many objects.
type Prepare<'a> = dyn Fn(usize) -> io::Result<Work<'a>> + 'a;

/// How long a worker sleeps where it leaves its processor to others until a round begins.
const NAP: Duration = Duration::from_millis(1);

/// One of the workers that repeat an operation at once.
#[derive(Debug)]
pub struct Worker<'a> {
    board: Board<'a>,
    clock: &'a Clock,
    number: usize,
    is_shared: bool,
    /// Whether it sleeps until a round begins, and leaves the processor to others.
    waits_asleep: bool,
}

impl Worker<'_> {
    /// Its number, from 0.
    pub fn number(&self) -> usize {
        self.number
    }

    /// Whether all workers share one object.
    pub fn is_shared(&self) -> bool {
        self.is_shared
    }

    /// The number of its object: its own, or 0 where all share one.
    pub fn object(&self) -> usize {
        if self.is_shared { 0 } else { self.number }
    }

    /// The object that it uses: all share one, or each has its own.
    pub fn choose<'o, T>(&self, shared: &'o T, own: &'o T) -> &'o T {
        if self.is_shared { shared } else { own }
    }

    /// Repeats the operation together with all other workers; each return of it counts once. To be called
    /// once, after all that must not be measured.
    ///
    /// # Errors
    /// That of the operation, which voids the level.
    pub fn repeat(&mut self, operation: impl FnMut() -> io::Result<()>) -> io::Result<()> {
        self.repeat_reference()?;
        self.round(OPERATION_ROUND, operation)
    }

    fn repeat_reference(&self) -> io::Result<()> {
        let mut word = self.number as u64;
        self.round(REFERENCE_ROUND, || {
            word = reference(word);
            Ok(())
        })?;
        std::hint::black_box(word);
        Ok(())
    }

    fn round(&self, round: u64, mut operation: impl FnMut() -> io::Result<()>) -> io::Result<()> {
        let mut before = Usage::default();
        let mut member = Member::arrive(self.board, self.number, round);
        loop {
            let begin = || {
                before = usage();
                self.clock.now()
            };
            match member.step(begin) {
                MemberStep::Wait if self.waits_asleep => thread::sleep(NAP),
                MemberStep::Wait => thread::yield_now(),
                MemberStep::Operate => operation()?,
                MemberStep::Over => break,
            }
        }
        member.conclude(self.clock.now(), usage().since(before));
        Ok(())
    }
}

/// The usage of the calling thread so far.
fn usage() -> Usage {
    Usage {
        cpu_ns: sys::thread::cpu_ns().unwrap_or(0),
        delay_ns: sys::thread::run_delay_ns().unwrap_or(0),
        switches: sys::thread::involuntary_switches().unwrap_or(0),
    }
}

/// Some tens of nanoseconds of work that shares nothing.
#[inline]
fn reference(mut word: u64) -> u64 {
    for _ in 0..32 {
        // SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
        word = word.wrapping_add(0x9E37_79B9_7F4A_7C15);
        word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    }
    word
}

impl Trial<'_> {
    /// Measures a scaling: at each number of workers, in random order, `prepare` gets the number of their
    /// objects and makes all that they share; `work` is called in each of them, sets up the worker's own, and
    /// repeats the operation ([`Worker::repeat`]). A level at which something went wrong has no values, and a
    /// remark says why.
    ///
    /// # Errors
    /// [`TrialError`] when the system refused all levels.
    pub fn scale<S: Sync>(
        &mut self,
        prepare: impl Fn(usize) -> io::Result<S>,
        work: impl Fn(&S, &mut Worker<'_>) -> io::Result<()> + Sync,
    ) -> Result<(), TrialError> {
        let work = &work;
        self.scale_work(&|objects| {
            let shared = prepare(objects)?;
            Ok(Box::new(move |worker: &mut Worker<'_>| work(&shared, worker)))
        })
    }

    /// The same where nothing has to be made that workers share.
    ///
    /// # Errors
    /// As [`Trial::scale`].
    pub fn in_workers(
        &mut self,
        work: impl Fn(&mut Worker<'_>) -> io::Result<()> + Sync,
    ) -> Result<(), TrialError> {
        self.scale(|_| Ok(()), |(), worker| work(worker))
    }

    fn scale_work(&mut self, prepare: &Prepare<'_>) -> Result<(), TrialError> {
        let placed = self.placed();
        let (kind, is_shared) = (self.worker_kind(), self.is_shared());
        let mut levels: Vec<(usize, u64)> = self.levels().into_iter().enumerate().collect();
        let top = levels.iter().map(|(_, level)| *level).max().unwrap_or(0);
        self.random.shuffle(&mut levels);
        let mut refused = None;
        let mut rates = Vec::new();
        let are_emulated = sys::cpu::are_emulated();
        for (row, level) in levels {
            self.slots.set_top(level);
            let group = WorkerGroup {
                clock: self.clock,
                cpus: &placed.cpus,
                workers: level as usize,
                kind,
                is_shared,
                takes_turns: are_emulated || level as usize > placed.cpus.len().max(1),
                window: self.window(),
            };
            let workers = format!("{level} {}", if level == 1 { "worker" } else { "workers" });
            match group.hold(prepare) {
                Ok(held) => {
                    rates.push((row, level, self.keep_level(row, &held)));
                    if let Some(errno) = held.unbound {
                        let error = io::Error::from_raw_os_error(errno);
                        self.remark(format!("Workers could not be bound to their processors: {error}."));
                    }
                }
                Err(NotHeld::Refused(error)) => {
                    self.remark(format!("The level of {workers} was refused: {error}."));
                    refused.get_or_insert(error);
                }
                Err(NotHeld::Void(why)) => {
                    self.remark(format!("The level of {workers} does not count: {why}."));
                }
            }
        }
        self.keep_slowdowns(&rates);
        self.slots.set_top(top);
        self.n = top as usize;
        // Levels that do not count are no fault of the operation: another trial may hold them.
        match refused.filter(|_| rates.is_empty()) {
            Some(error) => Err(TrialError { attempted: "to start the workers".to_owned(), error }),
            None => Ok(()),
        }
    }

    /// Keeps the values of a level; returns the rate.
    fn keep_level(&mut self, row: usize, held: &Held) -> f64 {
        let per_tick = self.clock.seconds_per_tick();
        let rates = |round: &Round| -> Vec<f64> {
            let each = round.counts.iter().zip(&round.ticks);
            each.map(|(&count, &ticks)| count as f64 / (ticks as f64 * per_tick)).collect()
        };
        let own = rates(&held.operation);
        let count: u64 = held.operation.counts.iter().sum();
        let window = held.operation.ticks.iter().max().map_or(0.0, |&ticks| ticks as f64 * per_tick);
        self.keep_time(&held.operation);
        let usage = held.operation.usage;
        // NaN, which is left out, where the system does not count it.
        let known = |is_known: bool, value: f64| if is_known { value } else { f64::NAN };
        let cpu_seconds = known(sys::thread::cpu_ns().is_ok(), usage.cpu_ns as f64 * 1e-9);
        let switches = known(sys::thread::involuntary_switches().is_some(), usage.switches as f64);
        let rate: f64 = own.iter().sum();
        let values = [
            (RATE, rate),
            (REFERENCE, rates(&held.reference).iter().sum()),
            (SLOWEST, own.iter().copied().fold(f64::INFINITY, f64::min)),
            (FASTEST, own.iter().copied().fold(0.0, f64::max)),
            (CPU, cpu_seconds / count as f64),
            (SWITCHES, switches / window),
        ];
        values.into_iter().for_each(|(name, value)| self.report(name, row, value));
        rate
    }

    /// Keeps the slowdowns of the levels in these rows, which had these numbers of workers and rates.
    fn keep_slowdowns(&mut self, rates: &[(usize, u64, f64)]) {
        let alone = rates.iter().find(|(_, level, _)| *level == 1).map(|(_, _, rate)| *rate);
        for (row, level, rate) in rates.iter().filter(|(_, level, _)| *level > 1) {
            alone.into_iter().for_each(|alone| self.report(SLOWDOWN, *row, *level as f64 * alone / rate));
        }
    }

    fn report(&mut self, name: &str, row: usize, value: f64) {
        if let Some(index) = self.workload.measured().position(|operation| operation.name == name) {
            self.slots.report(index, row, value);
        }
    }

    /// Tells samples of functions when all workers were at work, and how many operations they did meanwhile.
    fn keep_time(&mut self, round: &Round) {
        if !self.slots.have_ends() {
            return;
        }
        let (begin_ticks, end_ticks) = round.together;
        let per_tick =
            round.counts.iter().zip(&round.ticks).map(|(&count, &ticks)| count as f64 / ticks as f64);
        self.phase_times.push(PhaseTime {
            name: RATE.to_owned(),
            n: round.counts.len() as u64,
            units: (per_tick.sum::<f64>() * end_ticks.saturating_sub(begin_ticks) as f64) as u64,
            workers: round.counts.len() as u64,
            begin_ticks,
            end_ticks,
            elsewhere: true,
        });
    }

    /// The processors of the workers, in their order; none where threads cannot be bound.
    fn placed(&mut self) -> Placed {
        let placement = match self.setting(PLACEMENT) {
            Ok("compact") => Placement::Compact,
            Ok("node") => Placement::Node,
            _ => Placement::Spread,
        };
        sys::cpu::placed(placement).unwrap_or_else(|reason| {
            self.remark(format!("Workers are not bound to processors, because {reason}."));
            Placed::default()
        })
    }

    fn worker_kind(&self) -> WorkerKind {
        let is_of_threads = self.variant().starts_with(THREADS.name);
        if is_of_threads { WorkerKind::Thread } else { WorkerKind::Process }
    }

    fn is_shared(&self) -> bool {
        !self.is_one_of(&[THREADS, PROCESSES])
    }
}

#[cfg(test)]
mod tests {
    use super::worker_counts;

    #[test]
    fn numbers_of_workers_rise_to_the_top() {
        assert_eq!(worker_counts(0), [0; 0]);
        assert_eq!(worker_counts(2), [1, 2]);
        assert_eq!(worker_counts(4), [1, 2, 3, 4]);
        assert_eq!(worker_counts(20), [1, 2, 3, 4, 6, 8, 10, 12, 16, 20]);
        assert_eq!(worker_counts(256).len(), 16);
    }
}
