//! Several processes that work at once: they begin together, here or on other hosts, and their counts are
//! added up. Load generators are such, and the engines of `osdyno mail`.
//!
//! The coordinator sends each worker its settings, and then task after task. Each makes ready, as by opening
//! its connections, and replies that it is. Then the clock of each is compared with the coordinator's, and
//! all begin at one moment, by their own clocks. After the task the clocks are compared again.
//!
//! - here are the work of a process, of any kind, and the processes that do it together, with their clocks;
//! - `worker` a worker from both sides: as the coordinator sees it, which tests simulate, and as it works;
//! - `offering` one task, from its preparation to the counts of all.
//!
//! The clock of a worker is known from round trips (Cristian 1989; RFC 5905, section 8): it is read at some
//! moment of one. So its offset is known to half of the delay, whatever the delays there and back are, and
//! the round trip with the smallest delay knows it best. An exchange before a task and one after it bound the
//! drift between them.

mod offering;
#[cfg(test)]
mod tests;
mod worker;

pub use super::generator::Coordinator;
pub use offering::{Joined, JoinedWorker};
pub use worker::{WorkerHost, WorkerPlan, work};

use std::path::{Path, PathBuf};
use std::time::Duration;

use host::Host;
use serde::Serialize;
use serde::de::DeserializeOwned;

use self::worker::{OpenHost, Reply, Request, WorkerLink, WorkerProcess, checksum};
use super::{VoidReason, Watched, Window};
use crate::Error;
use crate::network::Timer;

/// A worker without a reply for this long, beyond the time of its connections, is gone.
const PATIENCE: Duration = Duration::from_secs(60);

/// The most that the begin lies ahead of the order to begin.
const LEAD_MAX: Duration = Duration::from_secs(2);

/// Work that several processes do at the same time: they begin together, and their counts are added up.
pub trait JointWork: Sized {
    /// The role in which a program calls [`work`] for it.
    const ROLE: &str;
    /// The part of a process in all of its tasks.
    type Settings: Serialize + DeserializeOwned + Send + 'static;
    /// Its part of one task.
    type Task: Serialize + DeserializeOwned + Send + 'static;
    /// Its counts of one task.
    type Measured: Serialize + DeserializeOwned;

    /// Accepts the settings.
    ///
    /// # Errors
    /// Invalid ones.
    fn open(settings: Self::Settings) -> Result<Self, Error>;

    /// The present time of the clock by which it works.
    fn now_ns(&self) -> u64;

    /// Makes ready for a task, such as by opening connections.
    ///
    /// # Errors
    /// The reason why the task is impossible.
    fn prepare(&mut self, task: &Self::Task) -> Result<(), Error>;

    /// Adds the latencies of the last second to the progress, once a second. Computing them takes some tens
    /// of microseconds, so it is for display only.
    fn follow(&mut self) {}

    /// Does a task from this moment of its clock on, which is at most some seconds ahead; without one at
    /// once. The watcher is called ten times per second.
    ///
    /// # Errors
    /// The reason why the task is impossible.
    fn measure_at(
        &mut self,
        task: &Self::Task,
        at_ns: Option<u64>,
        watched: &mut Watched<'_>,
    ) -> Result<Self::Measured, Error>;

    /// The time that was measured, by its clock.
    fn window(measured: &Self::Measured) -> Window;
}

/// A task of all workers together.
#[derive(Clone, Debug)]
pub struct JointTask<T> {
    /// The part of each worker; those beyond have none.
    pub parts: Vec<T>,
    /// How long they may need to make ready.
    pub preparation: Duration,
    /// How long it takes at most.
    pub duration: Duration,
    /// Whether all end at one moment. A load that is bounded by its amount ends at another moment in each.
    pub has_common_end: bool,
}

/// The place of a worker among all, and its files.
#[derive(Clone, Debug)]
pub struct WorkerPlace {
    /// From 0.
    pub number: usize,
    /// How many workers there are.
    pub of: usize,
    /// The file that was sent along, where it is on its host.
    pub file: Option<PathBuf>,
}

/// Processes that work together. Dropped, they are killed.
pub struct JointProcesses<W: JointWork> {
    // The workers end before the commands that lead to them.
    workers: JointWorkers<WorkerProcess<W>>,
    _hosts: Vec<Host>,
}

impl<W: JointWork> JointProcesses<W> {
    /// Starts a worker here for each of these processors, where one is named.
    pub(super) fn start(
        program: &Path,
        cpus: &[Option<u32>],
        part: impl Fn(WorkerPlace) -> W::Settings,
    ) -> Result<JointProcesses<W>, Error> {
        let of = cpus.len();
        let start = |number| WorkerProcess::start(program, format!("{} {number}", W::ROLE.replace('-', " ")));
        let links = (0..of).map(start).collect::<Result<_, Error>>()?;
        let mut workers = JointWorkers::new(links, kernel_clock());
        let parts = (0..of).map(|number| part(WorkerPlace { number, of, file: None }));
        workers.configure(parts.collect(), cpus, None)?;
        Ok(JointProcesses { workers, _hosts: Vec::new() })
    }

    /// Starts the workers on all hosts, and sends each its part of the settings. A task then counts only if
    /// all were at work at the same time; see [`JointWindow::void`](super::JointWindow::void). An order to
    /// stop by a signal ends the wait for hosts.
    ///
    /// # Errors
    /// [`Error::Failed`] names the host that cannot be reached, refuses the settings or has another program.
    pub fn start_on(
        plan: WorkerPlan<'_>,
        part: impl Fn(WorkerPlace) -> W::Settings,
    ) -> Result<JointProcesses<W>, Error> {
        let opened = plan.open::<W>()?;
        let of = opened.iter().map(|one| one.workers.len()).sum();
        let (mut links, mut hosts, mut parts) = (Vec::new(), Vec::new(), Vec::new());
        for OpenHost { workers, host, file } in opened {
            for link in workers {
                parts.push(part(WorkerPlace { number: links.len(), of, file: file.clone() }));
                links.push(link);
            }
            hosts.push(host);
        }
        let mut workers = JointWorkers::new(links, kernel_clock());
        workers.is_strict = true;
        workers.configure(parts, &vec![None; of], Some(checksum(plan.program)?))?;
        Ok(JointProcesses { workers, _hosts: hosts })
    }

    /// Does a task with all workers together. One that does not count has its reasons, and the counts of the
    /// workers that have measured.
    ///
    /// # Errors
    /// [`Error::Failed`] where a worker refuses.
    pub fn offer(
        &mut self,
        task: JointTask<W::Task>,
        watched: &mut Watched<'_>,
    ) -> Result<Joined<W::Measured>, Error> {
        self.workers.offer(task, watched)
    }

    /// Has all workers add latencies to their progress.
    pub(super) fn follow(&mut self) -> Result<(), Error> {
        self.workers.links.iter_mut().try_for_each(|link| link.send(&Request::Follow))
    }
}

/// The clock that times tasks.
fn kernel_clock() -> Box<dyn Fn() -> u64> {
    let timer = Timer::start();
    Box::new(move || timer.now_ns())
}

/// The workers of a coordinator, by links of any kind.
struct JointWorkers<L> {
    links: Vec<L>,
    now_ns: Box<dyn Fn() -> u64>,
    /// Whether a task counts only if all workers were at work at the same time.
    is_strict: bool,
    /// The number of the present task.
    level: u64,
    /// Workers that are gone: no further task can be done as it was asked for.
    lost: Vec<VoidReason>,
    /// A fault of the coordinator that a test plants, and must find.
    #[cfg(test)]
    bug: Option<tests::Bug>,
}

impl<L: WorkerLink> JointWorkers<L> {
    fn new(links: Vec<L>, now_ns: Box<dyn Fn() -> u64>) -> JointWorkers<L> {
        JointWorkers {
            links,
            now_ns,
            is_strict: false,
            level: 0,
            lost: Vec::new(),
            #[cfg(test)]
            bug: None,
        }
    }

    /// Sends each worker its settings. `build` is the checksum that the program of each must have.
    fn configure(
        &mut self,
        parts: Vec<<L::Work as JointWork>::Settings>,
        cpus: &[Option<u32>],
        build: Option<u32>,
    ) -> Result<(), Error> {
        for ((link, part), &cpu) in self.links.iter_mut().zip(parts).zip(cpus) {
            let (settings, reports_build) = (Box::new(part), build.is_some());
            link.send(&Request::Settings { settings, cpu, reports_build })?;
        }
        for link in &mut self.links {
            let reason = match link.receive(PATIENCE) {
                Ok(Some(Reply::Accepted { build: there })) if there == build => continue,
                Ok(Some(Reply::Accepted { .. })) => OTHER_BUILD.to_owned(),
                Ok(Some(Reply::Refused(reason))) => reason,
                Ok(Some(other)) => format!("it replied to its settings with {}", kind(&other)),
                Ok(None) => format!("it did not reply to its settings within {} s", PATIENCE.as_secs()),
                Err(error) => return Err(error),
            };
            return Err(Error::Failed { role: link.name().to_owned(), reason });
        }
        Ok(())
    }
}

const OTHER_BUILD: &str = "its program is another build of osdyno than this one: nothing may replace the \
                           file that is sent there";

/// The kind of a reply, for errors.
fn kind<M>(reply: &Reply<M>) -> &'static str {
    match reply {
        Reply::Accepted { .. } => "an acceptance",
        Reply::Clock { .. } => "its time",
        Reply::Ready { .. } => "its readiness",
        Reply::Progress(_) => "its progress",
        Reply::TooLate { .. } => "a missed begin",
        Reply::Measured { .. } => "measurements",
        Reply::Refused(_) => "a refusal",
    }
}

/// Round trips of an exchange.
const ROUND_TRIPS: usize = 32;

/// The most by which two clocks can drift apart, as a share of the time: each runs at most 500 parts in a
/// million fast or slow, the limit of adjtimex(2). A larger change is a step.
const DRIFT_MAX: f64 = 1e-3;

/// One round trip, by the clock of the coordinator and that of the worker.
#[derive(Clone, Copy, Debug)]
struct RoundTrip {
    sent_ns: u64,
    received_ns: u64,
    worker_ns: u64,
}

impl RoundTrip {
    fn delay_ns(&self) -> u64 {
        self.received_ns.saturating_sub(self.sent_ns)
    }

    /// The least and the largest offset that it allows.
    fn bounds(&self) -> (i64, i64) {
        let from = |coordinator_ns: u64| self.worker_ns.wrapping_sub(coordinator_ns) as i64;
        (from(self.received_ns), from(self.sent_ns))
    }
}

/// How far the clock of a worker is ahead of the coordinator's, at one moment.
#[derive(Clone, Copy, Debug, PartialEq)]
struct ClockOffset {
    offset_ns: i64,
    /// The offset is off by this much at most.
    error_ns: u64,
    /// The moment, by the coordinator's clock.
    at_ns: u64,
    /// The longest delay there and back.
    delay_max_ns: u64,
    /// How far it moved during the exchange, beyond the errors and the possible drift.
    stepped_ns: f64,
}

impl ClockOffset {
    /// The offset by the round trip with the smallest delay; `None` without round trips.
    fn from_round_trips(trips: &[RoundTrip]) -> Option<ClockOffset> {
        let best = trips.iter().min_by_key(|trip| trip.delay_ns())?;
        let lower = trips.iter().map(|trip| trip.bounds().0).max()?;
        let upper = trips.iter().map(|trip| trip.bounds().1).min()?;
        let first_ns = trips.iter().map(|trip| trip.sent_ns).min()?;
        let last_ns = trips.iter().map(|trip| trip.received_ns).max()?;
        let (low, high) = best.bounds();
        Some(ClockOffset {
            offset_ns: low + (high - low) / 2,
            error_ns: best.delay_ns().div_ceil(2),
            at_ns: best.sent_ns + best.delay_ns() / 2,
            delay_max_ns: trips.iter().map(RoundTrip::delay_ns).max()?,
            // No clock that is steady allows all of them if this is more than nothing.
            stepped_ns: ((lower - upper) as f64 - DRIFT_MAX * (last_ns - first_ns) as f64).max(0.0),
        })
    }

    /// A moment of the coordinator by the clock of the worker.
    fn at_worker_ns(&self, coordinator_ns: u64) -> u64 {
        coordinator_ns.wrapping_add_signed(self.offset_ns)
    }
}

/// The clock of a worker during a level, between two exchanges.
#[derive(Clone, Copy, Debug)]
struct LevelClock {
    before: ClockOffset,
    after: ClockOffset,
}

impl LevelClock {
    /// How far the clock was set, at least, in an exchange or between them; `None` where it was not.
    fn step_seconds(&self) -> Option<f64> {
        let LevelClock { before, after } = self;
        let moved_ns = after.offset_ns.wrapping_sub(before.offset_ns).unsigned_abs() as f64;
        let elapsed_ns = after.at_ns.saturating_sub(before.at_ns) as f64;
        let possible_ns = (before.error_ns + after.error_ns) as f64 + DRIFT_MAX * elapsed_ns;
        let stepped_ns = (moved_ns - possible_ns).max(before.stepped_ns).max(after.stepped_ns);
        (stepped_ns > 0.0).then_some(stepped_ns / 1e9)
    }

    /// A moment of the worker by the clock of the coordinator, in nanoseconds.
    fn coordinator_ns(&self, worker_ns: u64) -> f64 {
        let (from, to) = (self.before, self.after);
        let (from_worker, to_worker) = (from.at_worker_ns(from.at_ns), to.at_worker_ns(to.at_ns));
        let span = to_worker.wrapping_sub(from_worker) as i64 as f64;
        let rate = if span > 0.0 { (to.at_ns - from.at_ns) as f64 / span } else { 1.0 };
        from.at_ns as f64 + worker_ns.wrapping_sub(from_worker) as i64 as f64 * rate
    }

    /// How far such a moment can be off.
    fn error_ns(&self) -> f64 {
        self.before.error_ns.max(self.after.error_ns) as f64
    }

    fn offset_seconds(&self) -> f64 {
        self.before.offset_ns as f64 / 1e9
    }

    /// How fast it drifted, as a share of the time.
    fn drift(&self) -> f64 {
        let elapsed_ns = self.after.at_ns.saturating_sub(self.before.at_ns).max(1) as f64;
        (self.after.offset_ns - self.before.offset_ns) as f64 / elapsed_ns
    }
}
