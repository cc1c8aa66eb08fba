//! Workers that begin together, repeat an operation for a window, and count: the protocol between them and
//! their leader, over numbers in memory that all of them share.
//!
//! A worker is a thread or a process. In each round it arrives, waits until the leader opens the round,
//! repeats the operation until the leader ends it, and then writes down its count and its own begin and end.
//! The leader opens a round when all have arrived, and counts nothing of a round in which a worker was
//! missing, failed, did not end, or began so late that others had the machine to themselves.
//!
//! Nothing here reads a clock or waits, so that tests run it in a simulated world, with workers that break
//! the protocol.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

/// Numbers of one worker, and of the leader: as many as no processor fetches together with others.
const STRIDE: usize = 16;

/// How much of a window some workers may run without all others.
const APART: f64 = 0.05;
/// A worker that waited for a processor for more than this share of a window did not have one.
const WAITED: f64 = 0.25;

/// The memory that a leader and its workers share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Board<'a>(&'a [AtomicU64]);

/// The state of a round, as the leader writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Workers arrive.
    Gathering,
    /// They repeat the operation.
    Open,
    /// They write down their results.
    Ended,
}

/// The states of a worker in a round, as it writes them.
const ARRIVED: u64 = 1;
const DONE: u64 = 2;
/// In any round.
const REFUSED: u64 = u64::MAX;
/// How many states there are, so that a number tells round and state.
const STATES: u64 = 4;
/// In place of a phase: workers go through all rounds without waiting.
const RELEASED: u64 = u64::MAX;

/// Places of the numbers of a worker.
const STATE: usize = 0;
const COUNT: usize = 1;
const BEGIN: usize = 2;
const END: usize = 3;
const CPU_NS: usize = 4;
const DELAY_NS: usize = 5;
const SWITCHES: usize = 6;
const ERRNO: usize = 7;
/// The error of binding the worker to its processor; 0 where it is bound.
const UNBOUND: usize = 8;

impl<'a> Board<'a> {
    /// How many numbers a group of so many workers needs.
    pub(crate) fn needed(workers: usize) -> usize {
        STRIDE * (workers + 1)
    }

    /// The board on these numbers, at least as many as [`Board::needed`] returns; all states are cleared.
    pub(crate) fn new(numbers: &'a [AtomicU64]) -> Board<'a> {
        numbers.iter().for_each(|number| number.store(0, Ordering::Relaxed));
        Board(numbers)
    }

    /// The board on these numbers as it stands.
    pub(crate) fn on(numbers: &'a [AtomicU64]) -> Board<'a> {
        Board(numbers)
    }

    fn number(&self, worker: usize, place: usize) -> &'a AtomicU64 {
        &self.0[STRIDE * (worker + 1) + place]
    }

    fn set_phase(&self, round: u64, phase: Phase) {
        self.0[0].store(STATES * round + phase as u64, Ordering::Release);
    }

    /// Whether the leader has not opened that round yet.
    fn is_before(&self, round: u64) -> bool {
        self.0[0].load(Ordering::Acquire) <= STATES * round + Phase::Gathering as u64
    }

    #[inline]
    fn is_open(&self, round: u64) -> bool {
        self.0[0].load(Ordering::Relaxed) == STATES * round + Phase::Open as u64
    }

    /// Writes down that a worker could not be bound to its processor.
    pub(crate) fn set_unbound(&self, worker: usize, errno: i32) {
        self.store(worker, UNBOUND, u64::from(errno.unsigned_abs()));
    }

    /// The error with which a worker could not be bound to its processor, if there is one.
    pub(crate) fn unbound(&self, workers: usize) -> Option<i32> {
        (0..workers).map(|worker| self.load(worker, UNBOUND) as i32).find(|&errno| errno != 0)
    }

    /// Lets all workers go through their rounds and end.
    pub(crate) fn release(&self) {
        self.0[0].store(RELEASED, Ordering::Release);
    }

    fn set_state(&self, worker: usize, round: u64, state: u64) {
        self.number(worker, STATE).store(STATES * round + state, Ordering::Release);
    }

    /// Whether a worker has come to that state: it may have arrived at the next round already.
    fn has_come_to(&self, worker: usize, round: u64, state: u64) -> bool {
        let reached = self.number(worker, STATE).load(Ordering::Acquire);
        reached != REFUSED && reached >= STATES * round + state
    }

    fn is_refused(&self, worker: usize) -> bool {
        self.number(worker, STATE).load(Ordering::Acquire) == REFUSED
    }

    fn load(&self, worker: usize, place: usize) -> u64 {
        self.number(worker, place).load(Ordering::Relaxed)
    }

    fn store(&self, worker: usize, place: usize, value: u64) {
        self.number(worker, place).store(value, Ordering::Relaxed);
    }
}

/// The system's own observations of a worker over a round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    /// Processor time.
    pub(crate) cpu_ns: u64,
    /// How long it could have run and waited for a processor.
    pub(crate) delay_ns: u64,
    /// How often it was made to wait.
    pub(crate) switches: u64,
}

impl Usage {
    pub(crate) fn since(self, before: Usage) -> Usage {
        Usage {
            cpu_ns: self.cpu_ns.saturating_sub(before.cpu_ns),
            delay_ns: self.delay_ns.saturating_sub(before.delay_ns),
            switches: self.switches.saturating_sub(before.switches),
        }
    }
}

/// A worker in one round.
#[derive(Debug)]
pub(crate) struct Member<'a> {
    board: Board<'a>,
    number: usize,
    round: u64,
    begin: u64,
    count: u64,
    is_begun: bool,
}

/// The next action of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MemberStep {
    /// The round is not open yet.
    Wait,
    /// The operation, once.
    Operate,
    /// The round is over: [`Member::conclude`] follows.
    Over,
}

impl<'a> Member<'a> {
    /// Arrives.
    pub(crate) fn arrive(board: Board<'a>, number: usize, round: u64) -> Member<'a> {
        board.set_state(number, round, ARRIVED);
        Member { board, number, round, begin: 0, count: 0, is_begun: false }
    }

    /// The next action. An operation counts when the step after it is asked for.
    #[inline]
    pub(crate) fn step(&mut self, now: impl FnOnce() -> u64) -> MemberStep {
        if self.is_begun {
            self.count += 1;
            return if self.board.is_open(self.round) { MemberStep::Operate } else { MemberStep::Over };
        }
        if self.board.is_before(self.round) {
            return MemberStep::Wait;
        }
        self.is_begun = true;
        self.begin = now();
        MemberStep::Operate
    }

    /// Writes down the results of the round that is over at `now`.
    pub(crate) fn conclude(self, now: u64, usage: Usage) {
        let Member { board, number, round, begin, count, .. } = self;
        let results = [
            (COUNT, count),
            (BEGIN, begin),
            (END, now),
            (CPU_NS, usage.cpu_ns),
            (DELAY_NS, usage.delay_ns),
            (SWITCHES, usage.switches),
        ];
        results.into_iter().for_each(|(place, value)| board.store(number, place, value));
        board.set_state(number, round, DONE);
    }
}

/// Writes down that the system refused something to a worker, before a round or in it.
pub(crate) fn refuse(board: Board<'_>, number: usize, errno: i32) {
    board.store(number, ERRNO, u64::from(errno.unsigned_abs()));
    board.number(number, STATE).store(REFUSED, Ordering::Release);
}

/// The leader in one round.
#[derive(Debug)]
pub(crate) struct Leader<'a> {
    board: Board<'a>,
    workers: usize,
    round: u64,
    times: RoundTimes,
    state: LeaderState,
    /// Whether workers may wait for a processor, because there are not enough.
    may_wait: bool,
}

/// The times of a round, in ticks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RoundTimes {
    /// How long the operation is repeated.
    pub(crate) window: u64,
    /// How long workers may take to arrive, and to end.
    pub(crate) patience: u64,
    /// How many ticks a nanosecond has.
    pub(crate) ticks_per_ns: f64,
}

#[derive(Clone, Copy, Debug)]
enum LeaderState {
    Gathering { until: u64 },
    Open { until: u64 },
    Ending { until: u64 },
}

/// The next action of a leader.
#[derive(Debug, PartialEq)]
pub(crate) enum LeaderStep {
    /// Nothing before this time, unless a worker ends.
    WaitUntil(u64),
    /// Look again soon: workers arrive, or end.
    Watch,
    /// The round is over.
    Over(Result<Round, Void>),
}

/// The results of a round.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Round {
    /// Operations of each worker.
    pub(crate) counts: Vec<u64>,
    /// How long each worker took for them, in ticks.
    pub(crate) ticks: Vec<u64>,
    /// From when to when all workers were at work.
    pub(crate) together: (u64, u64),
    /// The usage of all workers.
    pub(crate) usage: Usage,
}

/// Why a round does not count.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Void {
    /// A worker did not arrive.
    Absent { worker: usize },
    /// A worker did not end.
    Endless { worker: usize },
    /// The system refused something to a worker.
    Refused { errno: i32 },
    /// A worker has ended in the middle.
    Ended { worker: usize },
    /// For this share of the window not all workers were at work.
    Apart { share: f64 },
    /// A worker waited for its processor for this share of the window.
    Waited { worker: usize, share: f64 },
}

impl fmt::Display for Void {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Void::Absent { worker } => write!(formatter, "worker {} did not begin", worker + 1),
            Void::Endless { worker } => write!(formatter, "worker {} did not end", worker + 1),
            Void::Refused { errno } => write!(formatter, "error {errno}"),
            Void::Ended { worker } => write!(formatter, "worker {} ended by itself", worker + 1),
            Void::Apart { share } => {
                write!(formatter, "for {:.0} % of the window not all workers were at work", share * 100.0)
            }
            Void::Waited { worker, share } => {
                let share = share * 100.0;
                write!(
                    formatter,
                    "worker {} waited for its processor for {share:.0} % of the window",
                    worker + 1
                )
            }
        }
    }
}

impl<'a> Leader<'a> {
    /// Begins a round, which all workers know by this number.
    pub(crate) fn begin(
        board: Board<'a>,
        workers: usize,
        round: u64,
        times: RoundTimes,
        now: u64,
    ) -> Leader<'a> {
        board.set_phase(round, Phase::Gathering);
        let state = LeaderState::Gathering { until: now + times.patience };
        Leader { board, workers, round, times, state, may_wait: false }
    }

    /// There are more workers than processors: they run in turns, and none of them is late.
    pub(crate) fn expect_waits(&mut self) {
        self.may_wait = true;
    }

    /// The next action. `ended` is a worker that has ended without a word.
    pub(crate) fn step(&mut self, now: u64, ended: Option<usize>) -> LeaderStep {
        let not_in =
            |state| (0..self.workers).find(|&worker| !self.board.has_come_to(worker, self.round, state));
        if let Some(worker) = (0..self.workers).find(|&worker| self.board.is_refused(worker)) {
            let errno = self.board.load(worker, ERRNO) as i32;
            return self.over(Err(Void::Refused { errno }));
        }
        if let Some(worker) = ended.filter(|&worker| !self.board.has_come_to(worker, self.round, DONE)) {
            return self.over(Err(Void::Ended { worker }));
        }
        match self.state {
            LeaderState::Gathering { until } => match not_in(ARRIVED) {
                None => {
                    self.board.set_phase(self.round, Phase::Open);
                    let until = now + self.times.window;
                    self.state = LeaderState::Open { until };
                    LeaderStep::WaitUntil(until)
                }
                Some(worker) if now > until => self.over(Err(Void::Absent { worker })),
                Some(_) => LeaderStep::Watch,
            },
            LeaderState::Open { until } if now < until => LeaderStep::WaitUntil(until),
            LeaderState::Open { .. } => {
                self.board.set_phase(self.round, Phase::Ended);
                self.state = LeaderState::Ending { until: now + self.times.patience };
                LeaderStep::Watch
            }
            LeaderState::Ending { until } => match not_in(DONE) {
                None => {
                    let counted = self.count();
                    self.over(counted)
                }
                Some(worker) if now > until => self.over(Err(Void::Endless { worker })),
                Some(_) => LeaderStep::Watch,
            },
        }
    }

    /// After a void round there is no other.
    fn over(&self, result: Result<Round, Void>) -> LeaderStep {
        if result.is_err() {
            self.board.release();
        }
        LeaderStep::Over(result)
    }

    fn count(&self) -> Result<Round, Void> {
        let all =
            |place| (0..self.workers).map(|worker| self.board.load(worker, place)).collect::<Vec<u64>>();
        let (begins, ends) = (all(BEGIN), all(END));
        let (first, last) = (begins.iter().min().copied(), ends.iter().max().copied());
        let (latest, earliest) = (begins.iter().max().copied(), ends.iter().min().copied());
        let span =
            |from: Option<u64>, to: Option<u64>| to.unwrap_or(0).saturating_sub(from.unwrap_or(0)) as f64;
        // An operation that is under way at the end is completed, so a window may be longer than planned.
        let apart = 1.0 - span(latest, earliest) / span(first, last).max(1.0);
        if apart > APART && !self.may_wait {
            return Err(Void::Apart { share: apart });
        }
        let ticks: Vec<u64> =
            begins.iter().zip(&ends).map(|(begin, end)| end.saturating_sub(*begin)).collect();
        let delays = all(DELAY_NS);
        let shares = delays
            .iter()
            .zip(&ticks)
            .map(|(&delay_ns, &ticks)| delay_ns as f64 * self.times.ticks_per_ns / ticks.max(1) as f64);
        if let Some((worker, share)) = shares.enumerate().find(|(_, share)| *share > WAITED && !self.may_wait)
        {
            return Err(Void::Waited { worker, share });
        }
        let usage = Usage {
            cpu_ns: all(CPU_NS).iter().sum(),
            delay_ns: delays.iter().sum(),
            switches: all(SWITCHES).iter().sum(),
        };
        let together = (latest.unwrap_or(0), earliest.unwrap_or(0));
        Ok(Round { counts: all(COUNT), ticks, together, usage })
    }
}

#[cfg(test)]
#[path = "simulated.rs"]
mod simulated;
