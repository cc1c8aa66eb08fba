//! One task: prepared by all workers, begun at one moment, done, and joined. A worker that is lost ends the
//! task, the others end theirs in order, and it does not count.

use std::time::Duration;

use super::worker::{Reply, ReplyOf, Request, WorkerLink};
use super::{
    ClockOffset, JointTask, JointWork, JointWorkers, LEAD_MAX, LevelClock, PATIENCE, ROUND_TRIPS, RoundTrip,
};
use crate::Error;
use crate::load::joint::{JointWindow, Overlap, PlacedWindow, VoidReason, WorkerPresence};
use crate::load::{Progress, Watched};

#[cfg(test)]
use super::tests::Bug;

/// The least that the begin lies ahead of the order to begin: a worker clears its counts meanwhile.
const LEAD_MIN: Duration = Duration::from_millis(20);

/// Both clocks are compared within this time.
const EXCHANGE_PATIENCE: Duration = Duration::from_secs(10);

/// A worker reports its progress ten times per second. One that reports nothing for this long, beyond the two
/// seconds in which it waits for last responses, hangs.
const SILENCE_MAX: Duration = Duration::from_secs(20);

/// Responses are awaited for two seconds, and the last histograms are sent: no worker takes as long.
const ENDLESS: Duration = Duration::from_secs(60);

/// Messages of a worker that are read before it is the turn of the next.
const MESSAGES_OF_TURN: usize = 64;

/// How long to wait for the next message of one worker before those of the others are read.
const TURN: Duration = Duration::from_millis(100);

/// Why there is no reply.
enum Unheard {
    /// The worker is gone, or hangs.
    Lost(String),
    /// It refuses, which no other load would change.
    Refused(Error),
}

/// The measurements of all workers.
#[derive(Debug)]
pub struct Joined<M> {
    /// Those that have measured.
    pub workers: Vec<JoinedWorker<M>>,
    /// How many had a part in the task.
    pub of: usize,
    /// The time in which they were at work together.
    pub window: JointWindow,
}

/// The measurements of one of several workers.
#[derive(Debug)]
pub struct JoinedWorker<M> {
    /// Its number, from 0.
    pub number: usize,
    /// Its host, with a number where that has several.
    pub name: String,
    /// Its counts.
    pub measured: M,
    /// When it was at work.
    pub presence: WorkerPresence,
}

struct Offering<M> {
    progress: Vec<Progress>,
    measured: Vec<Option<M>>,
    /// Workers that will measure nothing.
    is_out: Vec<bool>,
    /// When each was last heard, by the coordinator's clock.
    heard_ns: Vec<u64>,
    void: Vec<VoidReason>,
    /// The user has ended it.
    is_stopped: bool,
}

/// A task in progress by workers behind such links.
type OfferingBy<L> = Offering<<<L as WorkerLink>::Work as JointWork>::Measured>;

/// The measurements of workers behind such links.
type JoinedBy<L> = Joined<<<L as WorkerLink>::Work as JointWork>::Measured>;

/// A task of workers behind such links.
type TaskOf<L> = JointTask<<<L as WorkerLink>::Work as JointWork>::Task>;

impl<M> Offering<M> {
    fn new(count: usize) -> Offering<M> {
        let mut measured = Vec::new();
        measured.resize_with(count, || None);
        Offering {
            progress: vec![Progress::default(); count],
            measured,
            is_out: vec![false; count],
            heard_ns: vec![0; count],
            void: Vec::new(),
            is_stopped: false,
        }
    }

    fn is_unfinished(&self, number: usize) -> bool {
        self.measured[number].is_none() && !self.is_out[number]
    }

    fn unfinished(&self) -> Vec<usize> {
        (0..self.measured.len()).filter(|&number| self.is_unfinished(number)).collect()
    }

    /// The progress of all, at the pace of the first; latencies are shown once.
    fn sum(&mut self) -> Progress {
        let is_due = self.progress.first().is_some_and(|first| first.recent.is_some());
        let recent = self.progress.iter_mut().filter_map(|one| one.recent.take_if(|_| is_due));
        let recent = recent.reduce(|mut all, one| {
            all.add(&one);
            all
        });
        let mut sum = Progress { recent, ..self.progress.first().cloned().unwrap_or_default() };
        for one in self.progress.iter().skip(1) {
            sum.completed += one.completed;
            sum.failed += one.failed;
            sum.busy += one.busy;
            sum.open += one.open;
        }
        sum
    }
}

impl<L: WorkerLink> JointWorkers<L> {
    /// See [`super::JointProcesses::offer`].
    pub(super) fn offer(&mut self, task: TaskOf<L>, watched: &mut Watched<'_>) -> Result<JoinedBy<L>, Error> {
        self.level += 1;
        let JointTask { parts, preparation, duration, has_common_end } = task;
        let mut offering = Offering::new(parts.len());
        // Fewer workers would do another task than the one that was asked for.
        offering.void.clone_from(&self.lost);
        if offering.void.is_empty() {
            self.prepare(parts, preparation, &mut offering)?;
        }
        let before = self.compare_clocks(&mut offering)?;
        let mut clocks = Vec::new();
        if offering.void.is_empty() {
            self.begin(&before, &mut offering)?;
            self.hold(duration, &mut offering, watched)?;
            let after = match self.is_strict && self.is_careful(&offering) {
                true => self.compare_clocks(&mut offering)?,
                // All clocks are one.
                false => before.clone(),
            };
            let pair = |(before, after)| LevelClock { before, after };
            clocks = before.into_iter().zip(after).map(pair).collect();
        }
        Ok(self.join(offering, &clocks, has_common_end))
    }

    /// Whether the clocks are to be compared again.
    fn is_careful(&self, offering: &OfferingBy<L>) -> bool {
        #[cfg(test)]
        if self.bug == Some(Bug::TrustsClocks) {
            return false;
        }
        offering.void.is_empty()
    }

    /// Has all make ready.
    fn prepare(
        &mut self,
        parts: Vec<<L::Work as JointWork>::Task>,
        preparation: Duration,
        offering: &mut OfferingBy<L>,
    ) -> Result<(), Error> {
        let (level, count) = (self.level, parts.len());
        for (link, task) in self.links.iter_mut().zip(parts) {
            link.send(&Request::Prepare { level, task })?;
        }
        for number in 0..count {
            let ready = self.await_reply(number, PATIENCE.saturating_add(preparation), |reply| match reply {
                Reply::Ready { level: ready } if ready == level => Some(()),
                _ => None,
            });
            self.heard(number, ready, offering)?;
        }
        Ok(())
    }

    /// The next reply that is the expected one; late replies to earlier requests are skipped.
    fn await_reply<T>(
        &mut self,
        number: usize,
        within: Duration,
        expected: impl Fn(ReplyOf<L::Work>) -> Option<T>,
    ) -> Result<T, Unheard> {
        let deadline_ns = (self.now_ns)().saturating_add(within.as_nanos().min(u64::MAX.into()) as u64);
        loop {
            let left = Duration::from_nanos(deadline_ns.saturating_sub((self.now_ns)()));
            // A worker that sends something else for ever is no better than a silent one.
            if left.is_zero() {
                return Err(Unheard::Lost(format!("no reply within {} s", within.as_secs())));
            }
            match self.links[number].receive(left) {
                Ok(Some(Reply::Refused(reason))) => {
                    let role = self.links[number].name().to_owned();
                    return Err(Unheard::Refused(Error::Failed { role, reason }));
                }
                Ok(Some(reply)) => {
                    if let Some(expected) = expected(reply) {
                        return Ok(expected);
                    }
                }
                Ok(None) => {
                    return Err(Unheard::Lost(format!("no reply within {} s", within.as_secs())));
                }
                Err(error) => return Err(Unheard::Lost(self.without_name(number, &error))),
            }
        }
    }

    /// An error of a worker, whose name stands before it anyway.
    fn without_name(&self, number: usize, error: &Error) -> String {
        let text = error.to_string();
        let rest = text.strip_prefix(self.links[number].name()).map(str::trim_start);
        rest.map_or(text.clone(), str::to_owned)
    }

    /// Notes a worker that is lost.
    fn heard<T>(
        &mut self,
        number: usize,
        reply: Result<T, Unheard>,
        offering: &mut OfferingBy<L>,
    ) -> Result<Option<T>, Error> {
        match reply {
            Ok(reply) => Ok(Some(reply)),
            Err(Unheard::Refused(error)) => Err(error),
            Err(Unheard::Lost(reason)) => {
                self.lose(number, reason, offering);
                Ok(None)
            }
        }
    }

    fn lose(&mut self, number: usize, reason: String, offering: &mut OfferingBy<L>) {
        self.links[number].end();
        offering.is_out[number] = true;
        #[cfg(test)]
        if self.bug == Some(Bug::IgnoresLosses) {
            return;
        }
        let lost = VoidReason::Lost { worker: self.links[number].name().to_owned(), reason };
        self.lost.push(lost.clone());
        offering.void.push(lost);
    }

    /// Compares the clock of each with that of this process, one after the other, so that no exchange delays
    /// another.
    fn compare_clocks(&mut self, offering: &mut OfferingBy<L>) -> Result<Vec<ClockOffset>, Error> {
        let mut offsets = Vec::new();
        for number in 0..offering.measured.len() {
            if !self.lost.is_empty() {
                break;
            }
            let exchanged = self.exchange(number);
            offsets.extend(self.heard(number, exchanged, offering)?.flatten());
        }
        Ok(offsets)
    }

    fn exchange(&mut self, number: usize) -> Result<Option<ClockOffset>, Unheard> {
        let begun_ns = (self.now_ns)();
        let mut trips = Vec::with_capacity(ROUND_TRIPS);
        for _ in 0..ROUND_TRIPS {
            let spent = Duration::from_nanos((self.now_ns)() - begun_ns);
            let sent_ns = (self.now_ns)();
            self.links[number].send(&Request::Clock).map_err(Unheard::Refused)?;
            let worker_ns =
                self.await_reply(number, EXCHANGE_PATIENCE.saturating_sub(spent), |reply| match reply {
                    Reply::Clock { ns } => Some(ns),
                    _ => None,
                })?;
            trips.push(RoundTrip { sent_ns, received_ns: (self.now_ns)(), worker_ns });
        }
        Ok(ClockOffset::from_round_trips(&trips))
    }

    /// Orders all to begin at one moment: a few round trips ahead, so that the order reaches each before.
    fn begin(&mut self, offsets: &[ClockOffset], offering: &mut OfferingBy<L>) -> Result<(), Error> {
        let delay_ns = offsets.iter().map(|offset| offset.delay_max_ns).max().unwrap_or(0);
        let lead = LEAD_MIN.saturating_add(Duration::from_nanos(delay_ns).saturating_mul(2)).min(LEAD_MAX);
        let begin_ns = (self.now_ns)() + lead.as_nanos() as u64;
        offering.heard_ns.fill(begin_ns);
        let (level, is_strict) = (self.level, self.is_strict);
        for (link, offset) in self.links.iter_mut().zip(offsets) {
            let at_ns = offset.at_worker_ns(begin_ns);
            #[cfg(test)]
            let at_ns = if self.bug == Some(Bug::IgnoresOffsets) { begin_ns } else { at_ns };
            link.send(&Request::Begin { level, at_ns, is_strict })?;
        }
        Ok(())
    }

    /// Waits for the measurements of all. Where one will not come, or the watcher ends it, all are stopped.
    fn hold(
        &mut self,
        duration: Duration,
        offering: &mut OfferingBy<L>,
        watched: &mut Watched<'_>,
    ) -> Result<(), Error> {
        let time = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        let end_ns = (self.now_ns)().saturating_add(time);
        let mut ended_ns = None;
        while let Some(&first) = offering.unfinished().first() {
            // The first worker's progress sets the pace; those of the others are read beside it.
            self.take_next(first, TURN, offering)?;
            for number in first + 1..offering.measured.len() {
                for _ in 0..MESSAGES_OF_TURN {
                    if !offering.is_unfinished(number) || !self.take_next(number, Duration::ZERO, offering)? {
                        break;
                    }
                }
            }
            self.lose_silent(offering);
            self.lose_endless(offering, ended_ns.unwrap_or(end_ns));
            let is_wanted = watched(&offering.sum());
            if ended_ns.is_none() && (!is_wanted || !offering.void.is_empty()) {
                ended_ns = Some((self.now_ns)());
                offering.is_stopped = !is_wanted;
                for number in offering.unfinished() {
                    self.links[number].send(&Request::Stop)?;
                }
            }
        }
        Ok(())
    }

    /// Takes the next message of a worker, if there is one.
    fn take_next(
        &mut self,
        number: usize,
        within: Duration,
        offering: &mut OfferingBy<L>,
    ) -> Result<bool, Error> {
        let reply = match self.links[number].receive(within) {
            Ok(Some(reply)) => reply,
            Ok(None) => return Ok(false),
            Err(error) => {
                let reason = self.without_name(number, &error);
                self.lose(number, reason, offering);
                return Ok(false);
            }
        };
        offering.heard_ns[number] = offering.heard_ns[number].max((self.now_ns)());
        match reply {
            Reply::Progress(mut progress) => {
                // Each worker reports latencies at a moment of its own: they are kept until they are shown.
                let before = offering.progress[number].recent.take();
                progress.recent = progress.recent.or(before);
                offering.progress[number] = progress;
            }
            Reply::Measured { level, measured } if self.is_present(level) => {
                offering.measured[number] = Some(*measured);
            }
            Reply::TooLate { level, ns } if level == self.level => {
                let (worker, seconds) = (self.links[number].name().to_owned(), ns as f64 / 1e9);
                offering.is_out[number] = true;
                offering.void.push(VoidReason::BeganLate { worker, seconds });
            }
            Reply::Refused(reason) => {
                return Err(Error::Failed { role: self.links[number].name().to_owned(), reason });
            }
            // Late replies to earlier requests.
            Reply::Accepted { .. }
            | Reply::Clock { .. }
            | Reply::Ready { .. }
            | Reply::TooLate { .. }
            | Reply::Measured { .. } => {}
        }
        Ok(true)
    }

    fn is_present(&self, level: u64) -> bool {
        #[cfg(test)]
        if self.bug == Some(Bug::TakesOtherLevels) {
            return true;
        }
        level == self.level
    }

    fn lose_silent(&mut self, offering: &mut OfferingBy<L>) {
        let now_ns = (self.now_ns)();
        for number in offering.unfinished() {
            let silence_ns = now_ns.saturating_sub(offering.heard_ns[number]);
            if silence_ns > SILENCE_MAX.as_nanos() as u64 {
                let reason = format!("it was silent for {} s", SILENCE_MAX.as_secs());
                self.lose(number, reason, offering);
            }
        }
    }

    /// Loses workers that go on long after the end of the load, whatever they send.
    fn lose_endless(&mut self, offering: &mut OfferingBy<L>, end_ns: u64) {
        let late_ns = (self.now_ns)().saturating_sub(end_ns);
        if late_ns > ENDLESS.as_nanos() as u64 {
            for number in offering.unfinished() {
                self.lose(number, "it goes on after the end of the load".to_owned(), offering);
            }
        }
    }

    /// The measurements of all, and when they were at work.
    fn join(&self, offering: OfferingBy<L>, clocks: &[LevelClock], has_common_end: bool) -> JoinedBy<L> {
        let Offering { measured, mut void, is_stopped, .. } = offering;
        let of = measured.len();
        let is_whole = measured.iter().all(Option::is_some) && clocks.len() == of;
        let (mut windows, mut workers) = (Vec::new(), Vec::new());
        for (number, measured) in measured.into_iter().enumerate() {
            let Some(measured) = measured else { continue };
            let (name, window) = (self.links[number].name().to_owned(), L::Work::window(&measured));
            let absent_seconds = window.absent_ns as f64 / 1e9;
            let mut presence = WorkerPresence { absent_seconds, ..WorkerPresence::default() };
            if let Some(clock) = clocks.get(number).filter(|_| is_whole) {
                presence.clock_offset_seconds = clock.offset_seconds();
                presence.clock_error_seconds = clock.error_ns() / 1e9;
                presence.clock_drift = clock.drift();
                windows.push(PlacedWindow {
                    worker: name.clone(),
                    begin_ns: clock.coordinator_ns(window.begin_ns),
                    end_ns: clock.coordinator_ns(window.end_ns),
                    error_ns: clock.error_ns(),
                    absent_ns: window.absent_ns as f64,
                });
                let step = clock.step_seconds().filter(|_| self.is_strict);
                void.extend(step.map(|seconds| VoidReason::ClockStepped { worker: name.clone(), seconds }));
            }
            workers.push(JoinedWorker { number, name, measured, presence });
        }
        if is_stopped {
            // The order to end reaches each at another moment.
            let end_ns = windows.iter().map(|window| window.end_ns).fold(f64::MIN, f64::max);
            windows.iter_mut().for_each(|window| window.end_ns = end_ns);
        }
        let overlap = Overlap::from_windows(&windows);
        if self.is_strict && has_common_end && void.is_empty() && self.checks_overlap() {
            void.extend(overlap.reasons);
        }
        let first_ns = windows.iter().map(|window| window.begin_ns).fold(f64::MAX, f64::min);
        for (worker, window) in workers.iter_mut().zip(&windows) {
            worker.presence.begin_seconds = (window.begin_ns - first_ns) / 1e9;
        }
        let window = JointWindow {
            start_spread_seconds: overlap.spread_ns / 1e9,
            start_spread_error_seconds: overlap.spread_error_ns / 1e9,
            overlap_share: overlap.share.max(0.0),
            void,
        };
        Joined { workers, of, window }
    }

    fn checks_overlap(&self) -> bool {
        #[cfg(test)]
        if self.bug == Some(Bug::IgnoresOverlap) {
            return false;
        }
        true
    }
}
