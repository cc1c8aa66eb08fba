//! The workers of one level: threads or processes, their leader, and the end of those that do not end.

use std::io;
use std::sync::atomic::AtomicU64;
use std::thread;
use std::time::Duration;

use sys::clock::Clock;
use sys::cpu::Throttling;

use super::round::{Board, Leader, LeaderStep, Round, RoundTimes, Void, refuse};
use super::{OPERATION_ROUND, Prepare, REFERENCE_ROUND, Work, Worker};

/// The reference is repeated for this part of the window of the operation.
const REFERENCE_PART: f64 = 0.25;
/// How long workers may take to arrive, to end an operation that is under way, and to end.
const PATIENCE: Duration = Duration::from_secs(5);
/// A quota may stop workers for this part of the time in which they work: a tenth of the margin within which
/// throughput counts as equal. As many workers as the quota has whole processors stay below it.
const THROTTLED: f64 = 0.01;
/// How often the leader looks while workers arrive or end, and whether one has ended during a window.
const WATCH: Duration = Duration::from_micros(200);
const LOOK: Duration = Duration::from_millis(5);

/// How a variant makes workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WorkerKind {
    Thread,
    Process,
}

/// The results of one level.
pub(super) struct Held {
    pub(super) reference: Round,
    pub(super) operation: Round,
    /// The error with which a worker could not be bound to its processor.
    pub(super) unbound: Option<i32>,
}

/// Why a level has no values.
pub(super) enum NotHeld {
    /// Its own setup was refused.
    Refused(io::Error),
    /// It does not count, and why.
    Void(String),
}

impl From<Void> for NotHeld {
    fn from(void: Void) -> NotHeld {
        match void {
            Void::Refused { errno: 0 } => NotHeld::Refused(io::Error::other("a worker failed")),
            Void::Refused { errno } => NotHeld::Refused(io::Error::from_raw_os_error(errno)),
            void => NotHeld::Void(void.to_string()),
        }
    }
}

/// The workers of one level.
pub(super) struct WorkerGroup<'a> {
    pub(super) clock: &'a Clock,
    pub(super) cpus: &'a [u32],
    pub(super) workers: usize,
    pub(super) kind: WorkerKind,
    /// Whether they share one object.
    pub(super) is_shared: bool,
    /// Whether there are more workers than real processors, so that they run in turns.
    pub(super) takes_turns: bool,
    pub(super) window: Duration,
}

impl WorkerGroup<'_> {
    pub(super) fn hold(&self, prepare: &Prepare<'_>) -> Result<Held, NotHeld> {
        let usable = || {
            let allowed = sys::cpu::allowed().ok();
            // A larger quota takes nothing.
            let all = allowed.as_ref().map_or(f64::INFINITY, |cpus| cpus.len() as f64);
            (allowed, sys::cpu::quota().filter(|quota| *quota < all))
        };
        let (before, throttling) = (usable(), sys::cpu::throttling().unwrap_or_default());
        let memory = sys::memory::Shared::create(Board::needed(self.workers)).map_err(NotHeld::Refused)?;
        let objects = if self.is_shared { 1 } else { self.workers };
        let work = prepare(objects).map_err(NotHeld::Refused)?;
        let held = match self.kind {
            WorkerKind::Thread => self.by_threads(memory.slots(), &work),
            WorkerKind::Process => self.by_processes(memory.slots(), &work),
        };
        if let Err(NotHeld::Refused(_)) = held {
            return held;
        }
        // These are the reasons for most other faults.
        let after = usable();
        if after.1 != before.1 {
            return Err(NotHeld::Void("the control group's quota changed meanwhile".to_owned()));
        }
        if after != before {
            return Err(NotHeld::Void("the usable processors changed meanwhile".to_owned()));
        }
        if let Some(why) = self.throttled(throttling, after.1) {
            return Err(NotHeld::Void(why));
        }
        Ok(Held { unbound: Board::on(memory.slots()).unbound(self.workers), ..held? })
    }

    /// How a quota stopped the workers, if it did so for long.
    fn throttled(&self, before: Throttling, quota: Option<f64>) -> Option<String> {
        let after = sys::cpu::throttling()?;
        let worked = self.window.mul_f64(1.0 + REFERENCE_PART).as_secs_f64() * self.workers as f64;
        let share = (after.seconds - before.seconds) / worked;
        let times = after.times.saturating_sub(before.times);
        (times > 0 && share > THROTTLED).then(|| {
            let of = quota.map_or_else(String::new, |quota| format!(" of {quota} processors"));
            format!(
                "the control group's quota{of} stopped it {times} times, for {:.0} % of the time",
                share * 100.0
            )
        })
    }

    /// The work of one worker.
    fn play(&self, board: Board<'_>, number: usize, work: &Work<'_>) {
        if let Some(&cpu) = self.cpus.get(number % self.cpus.len().max(1))
            && let Err(error) = sys::cpu::pin(cpu)
        {
            board.set_unbound(number, error.raw_os_error().unwrap_or(-1));
        }
        let (clock, is_shared, waits_asleep) = (self.clock, self.is_shared, self.takes_turns);
        let mut worker = Worker { board, clock, number, is_shared, waits_asleep };
        if let Err(error) = work(&mut worker) {
            // Whichever round the leader is in, it learns of it.
            refuse(board, number, error.raw_os_error().unwrap_or(0));
        }
    }

    fn by_threads(&self, numbers: &[AtomicU64], work: &Work<'_>) -> Result<Held, NotHeld> {
        let board = Board::new(numbers);
        thread::scope(|scope| {
            for number in 0..self.workers {
                let play = move || self.play(board, number, work);
                if let Err(error) = thread::Builder::new().spawn_scoped(scope, play) {
                    board.release();
                    return Err(NotHeld::Refused(error));
                }
            }
            self.lead(board, || None)
        })
    }

    #[cfg(unix)]
    fn by_processes(&self, numbers: &[AtomicU64], work: &Work<'_>) -> Result<Held, NotHeld> {
        let board = Board::new(numbers);
        let mut processes = WorkerProcesses(Vec::with_capacity(self.workers));
        for number in 0..self.workers {
            let work = || {
                self.play(board, number, work);
                0
            };
            match sys::process::fork(work) {
                Ok(process) => processes.0.push(Some(process)),
                Err(error) => {
                    board.release();
                    return Err(NotHeld::Refused(error));
                }
            }
        }
        let held = self.lead(board, || processes.ended())?;
        processes.await_all(PATIENCE);
        Ok(held)
    }

    #[cfg(not(unix))]
    fn by_processes(&self, _: &[AtomicU64], _: &Work<'_>) -> Result<Held, NotHeld> {
        Err(NotHeld::Refused(sys::Unsupported("workers are processes where there is fork(2)").into()))
    }

    /// Leads both rounds. `ended` returns a worker that has just ended.
    fn lead(&self, board: Board<'_>, mut ended: impl FnMut() -> Option<usize>) -> Result<Held, NotHeld> {
        let mut round = |number, window: Duration| {
            let ticks = |time: Duration| (time.as_secs_f64() / self.clock.seconds_per_tick()) as u64;
            let times = RoundTimes {
                window: ticks(window),
                patience: ticks(PATIENCE),
                ticks_per_ns: 1e-9 / self.clock.seconds_per_tick(),
            };
            let mut leader = Leader::begin(board, self.workers, number, times, self.clock.now());
            if self.takes_turns {
                leader.expect_waits();
            }
            loop {
                match leader.step(self.clock.now(), ended()) {
                    LeaderStep::Watch => thread::sleep(WATCH),
                    LeaderStep::WaitUntil(until) => {
                        let left =
                            until.saturating_sub(self.clock.now()) as f64 * self.clock.seconds_per_tick();
                        thread::sleep(LOOK.min(Duration::from_secs_f64(left)));
                    }
                    LeaderStep::Over(round) => return round.map_err(NotHeld::from),
                }
            }
        };
        let reference = round(REFERENCE_ROUND, self.window.mul_f64(REFERENCE_PART))?;
        let operation = round(OPERATION_ROUND, self.window)?;
        Ok(Held { reference, operation, unbound: None })
    }
}

/// The processes of workers; those that are left are killed.
#[cfg(unix)]
struct WorkerProcesses(Vec<Option<u32>>);

#[cfg(unix)]
impl WorkerProcesses {
    /// The number of a worker that has ended and was not known to.
    fn ended(&mut self) -> Option<usize> {
        let (process, _) = sys::process::ended_child().ok().flatten()?;
        let worker = self.0.iter().position(|known| *known == Some(process))?;
        self.0[worker] = None;
        Some(worker)
    }

    fn await_all(&mut self, patience: Duration) {
        let begun = std::time::Instant::now();
        while self.0.iter().any(Option::is_some) && begun.elapsed() < patience {
            if self.ended().is_none() {
                thread::sleep(WATCH);
            }
        }
    }
}

#[cfg(unix)]
impl Drop for WorkerProcesses {
    fn drop(&mut self) {
        for process in self.0.iter().flatten() {
            let _ = sys::process::kill(*process);
        }
        self.await_all(PATIENCE);
    }
}
