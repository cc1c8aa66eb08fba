//! Several engines that deliver one list: in threads of one process, or in several processes, here and on
//! other hosts, which begin together. A domain belongs to one engine, each has its part of the connections,
//! and their counts are added up.

use std::io;
use std::num::NonZero;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use net::Error;
use net::load::coordinator::{JoinedWorker, JointProcesses, JointTask, JointWork, WorkerPlace, WorkerPlan};
use net::load::{JointWindow, Progress, TlsSettings, Watched, Window, WorkerPresence};
use serde::{Deserialize, Serialize};

use crate::connection::MailTls;
use crate::context::{DeliveryResult, MailCounts, MailMeasured, MailStep, NoResults, Results};
use crate::engine::{self, DeliveryEngine, Until};
use crate::recipients::{GeneratedList, Recipients};
use crate::settings::EngineSettings;
use crate::{MailError, NotPermitted};

/// How a list is delivered.
#[derive(Clone, Copy, Debug)]
pub struct DeliveryPlan<'a> {
    /// The event interface, one of [`crate::EVENT_INTERFACES`].
    pub interface: &'a str,
    /// Engines; there are no more than connections, in all and to one host.
    pub threads: NonZero<u32>,
    /// Connections of all engines at once, at most.
    pub connections: u32,
    /// Connections from one source address, at most.
    pub connections_per_source: u32,
    /// Work that is not begun within this time is left.
    pub duration: Duration,
    /// How long transactions under way may take after the end.
    pub grace: Duration,
    /// Ends all engines early. An engine that fails sets it.
    pub stop: &'a AtomicBool,
}

/// The result of all engines together.
#[derive(Debug, Serialize, Deserialize)]
pub struct Delivered {
    /// The counts and times.
    pub measured: MailMeasured,
    /// How long the longest of them took.
    pub elapsed_ns: u64,
    /// How long the busiest of them was at work: without the time in which it only waited for the time of
    /// another attempt.
    pub delivering_ns: u64,
}

impl Delivered {
    /// Adds the result of another engine that was at work at the same time.
    pub(crate) fn add(&mut self, other: &Delivered) {
        self.measured.add(&other.measured);
        self.elapsed_ns = self.elapsed_ns.max(other.elapsed_ns);
        self.delivering_ns = self.delivering_ns.max(other.delivering_ns);
    }
}

/// Delivers the list. `begun` is called once the first engine exists, so that impossible settings are an
/// error before.
///
/// # Errors
/// That of the first engine which failed.
pub fn deliver<R: Results + Send>(
    recipients: &Recipients,
    settings: &EngineSettings,
    results: R,
    plan: DeliveryPlan<'_>,
    begun: impl FnOnce(),
) -> Result<Delivered, MailError> {
    let sources = u32::try_from(settings.sources.0.len()).unwrap_or(u32::MAX).max(1);
    let connections = plan.connections.min(sources.saturating_mul(plan.connections_per_source));
    let plan = DeliveryPlan { connections, ..plan };
    let of = plan.threads.get().min(connections).min(settings.queue.connections_per_host).max(1);
    let results = Mutex::new(results);
    let open = |number| {
        let settings = settings.of_share(Share { number, of });
        engine::open(plan.interface, recipients, settings, Shared(&results))
    };
    let deliver_share = |number| {
        let engine = open(number)?;
        run(engine, Share { number, of }.part(plan.connections), plan)
    };
    std::thread::scope(|scope| {
        let first = open(0)?;
        begun();
        let others: Vec<_> = (1..of).map(|number| scope.spawn(move || deliver_share(number))).collect();
        let mut all = run(first, Share { number: 0, of }.part(plan.connections), plan)?;
        for other in others {
            let other = other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
            all.add(&other);
        }
        Ok(all)
    })
}

/// Runs one engine to its end. Where it fails, the others are stopped.
fn run(
    mut engine: Box<dyn DeliveryEngine + '_>,
    connections: u32,
    plan: DeliveryPlan<'_>,
) -> Result<Delivered, MailError> {
    let begun_ns = engine.now_ns();
    let end_ns = begun_ns.saturating_add(u64::try_from(plan.duration.as_nanos()).unwrap_or(u64::MAX));
    let (mut elapsed_ns, mut delivering_ns) = (0, 0);
    let run = engine.run(connections as usize, Until { end_ns, stop: Some(plan.stop) }).and_then(|()| {
        elapsed_ns = engine.now_ns() - begun_ns;
        delivering_ns = elapsed_ns.saturating_sub(engine.waiting_ns());
        engine.finish(plan.grace)
    });
    if run.is_err() {
        plan.stop.store(true, Ordering::Relaxed);
    }
    run.map(|()| Delivered { measured: engine.measured().clone(), elapsed_ns, delivering_ns })
}

/// Results of all engines have one destination, one after the other.
struct Shared<'a, R>(&'a Mutex<R>);

impl<R> Shared<'_, R> {
    /// An engine that failed has not left half a line there.
    fn lock(&self) -> MutexGuard<'_, R> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<R: Results> Results for Shared<'_, R> {
    fn put(&mut self, result: &DeliveryResult<'_>) -> io::Result<()> {
        self.lock().put(result)
    }

    fn turn_ended(&mut self) -> io::Result<()> {
        self.lock().turn_ended()
    }

    fn flush(&mut self) -> io::Result<()> {
        self.lock().flush()
    }
}

/// The share of one of several engines in a list and in its limits: of `of` domains in a row, the one with
/// its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    /// From 0.
    pub number: u32,
    /// How many engines there are.
    pub of: u32,
}

impl Share {
    /// Whether the domain is its own.
    pub(crate) fn has(self, domain: u32) -> bool {
        domain % self.of == self.number
    }

    /// The place among those of all engines of one that is the engine's own: no two have the same.
    pub(crate) fn place(self, own: usize) -> usize {
        own * self.of as usize + self.number as usize
    }

    /// Its part of a limit; all parts together are the limit.
    pub(crate) fn part(self, limit: u32) -> u32 {
        limit / self.of + u32::from(self.number < limit % self.of)
    }
}

impl Default for Share {
    fn default() -> Share {
        Share { number: 0, of: 1 }
    }
}

/// An engine looks so often whether it is to stop.
const SLICE_NS: u64 = 10_000_000;
/// One that took so much longer was stopped, or others had its processor.
const ABSENT_NS: u64 = 50_000_000;
/// How often progress is reported.
const PROGRESS_NS: u64 = 100_000_000;
/// The last part of the wait for the begin, in which it does not sleep: a timer rings that much late.
const SPIN: Duration = Duration::from_micros(200);

/// A list, as it is sent to other processes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum MailList {
    /// Each generates it.
    Generated(GeneratedList),
    /// One address per line.
    Text(String),
}

impl MailList {
    /// The recipients.
    pub fn recipients(&self) -> Recipients {
        match self {
            MailList::Generated(list) => Recipients::generate(list),
            MailList::Text(text) => Recipients::from_list(text.as_bytes()),
        }
    }
}

/// A list that several processes deliver.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct JointDelivery {
    /// The list.
    pub list: MailList,
    /// The settings of all engines together.
    pub engine: EngineSettings,
    /// The event interface, one of [`crate::EVENT_INTERFACES`].
    pub interface: String,
    /// Connections of all engines at once, at most.
    pub connections: u32,
    /// Work that is not begun within this time is left.
    pub duration: Duration,
    /// How long transactions under way may take after the end.
    pub grace: Duration,
}

/// The results of all engines together.
#[derive(Debug)]
pub struct JoinedDelivery {
    /// Counts and times.
    pub delivered: Delivered,
    /// Each of them.
    pub workers: Vec<DeliveryReport>,
    /// The time in which all were at work.
    pub window: JointWindow,
}

/// The part of one of several processes.
#[derive(Clone, Debug, Serialize)]
pub struct DeliveryReport {
    /// Its host, with a number where that has several.
    pub name: String,
    /// Duration.
    pub elapsed_seconds: f64,
    /// The counts.
    pub counts: MailCounts,
    /// Median of a delivery.
    pub delivery_seconds_p50: Option<f64>,
    /// Time of a delivery that 99 % do not exceed.
    pub delivery_seconds_p99: Option<f64>,
    /// When it was at work.
    #[serde(flatten)]
    pub presence: WorkerPresence,
}

impl JointDelivery {
    /// Delivers the list from all workers of these hosts. The watcher ends the delivery.
    ///
    /// # Errors
    /// Those of [`JointProcesses::start_on`], and settings that leave a worker without a connection.
    pub fn deliver(
        &self,
        plan: WorkerPlan<'_>,
        watched: &mut Watched<'_>,
    ) -> Result<JoinedDelivery, MailError> {
        let workers = plan.hosts.len() * plan.workers_each;
        let connections = self.connections.min(self.engine.queue.connections_per_host) as usize;
        if workers > connections {
            let text = format!("{workers} workers need a connection each, and there are {connections}");
            return Err(MailError::Settings(text));
        }
        let file = self.engine.tls.certificates.as_ref().and_then(|tls| tls.cacert.as_deref());
        let plan = WorkerPlan { file, ..plan };
        let mut processes = JointProcesses::<MailWorker>::start_on(plan, |place| MailPart::new(self, place))?;
        let task = JointTask {
            parts: vec![(); workers],
            preparation: Duration::ZERO,
            duration: self.duration.saturating_add(self.grace),
            has_common_end: true,
        };
        let joined = processes.offer(task, watched)?;
        let mut delivered = Delivered { measured: MailMeasured::new()?, elapsed_ns: 0, delivering_ns: 0 };
        joined.workers.iter().for_each(|worker| delivered.add(&worker.measured.delivered));
        let workers = joined.workers.into_iter().map(DeliveryReport::new).collect();
        Ok(JoinedDelivery { delivered, workers, window: joined.window })
    }
}

impl DeliveryReport {
    fn new(worker: JoinedWorker<MailPartMeasured>) -> DeliveryReport {
        let Delivered { measured, elapsed_ns, .. } = worker.measured.delivered;
        let times = measured.times(MailStep::Delivery);
        let quantile = |share| (times.count() > 0).then(|| times.quantile_ns(share) as f64 / 1e9);
        DeliveryReport {
            name: worker.name,
            elapsed_seconds: elapsed_ns as f64 / 1e9,
            counts: measured.counts,
            delivery_seconds_p50: quantile(0.5),
            delivery_seconds_p99: quantile(0.99),
            presence: worker.presence,
        }
    }
}

/// The part of one process.
#[derive(Debug, Serialize, Deserialize)]
pub struct MailPart {
    delivery: JointDelivery,
    share: Share,
}

impl MailPart {
    fn new(delivery: &JointDelivery, place: WorkerPlace) -> MailPart {
        let mut delivery = delivery.clone();
        let certificates = delivery.engine.tls.certificates.take();
        let certificates = certificates.map(|tls| TlsSettings { cacert: place.file, ..tls });
        delivery.engine.tls = MailTls { certificates, ..delivery.engine.tls };
        MailPart { delivery, share: Share { number: place.number as u32, of: place.of as u32 } }
    }
}

/// The counts of one process.
#[derive(Debug, Serialize, Deserialize)]
pub struct MailPartMeasured {
    delivered: Delivered,
    window: Window,
}

/// An engine of one process, which delivers its part once.
pub struct MailWorker {
    engine: Box<dyn DeliveryEngine>,
    connections: usize,
    duration: Duration,
    grace: Duration,
}

impl JointWork for MailWorker {
    const ROLE: &str = "mail-worker";
    type Settings = MailPart;
    type Task = ();
    type Measured = MailPartMeasured;

    fn open(settings: MailPart) -> Result<MailWorker, Error> {
        let MailPart { delivery, share } = settings;
        // A connection takes a descriptor; a refusal is no reason not to begin.
        let _ = sys::limit::raise_soft_to_hard();
        // The list lives as long as the process, which delivers nothing else.
        let recipients: &'static Recipients = Box::leak(Box::new(delivery.list.recipients()));
        let settings = delivery.engine.of_share(share);
        let engine = engine::open(&delivery.interface, recipients, settings, NoResults).map_err(of_engine)?;
        let connections = share.part(delivery.connections) as usize;
        Ok(MailWorker { engine, connections, duration: delivery.duration, grace: delivery.grace })
    }

    fn now_ns(&self) -> u64 {
        self.engine.now_ns()
    }

    fn prepare(&mut self, _task: &()) -> Result<(), Error> {
        Ok(())
    }

    fn measure_at(
        &mut self,
        _task: &(),
        at_ns: Option<u64>,
        watched: &mut Watched<'_>,
    ) -> Result<MailPartMeasured, Error> {
        let at_ns = at_ns.unwrap_or_else(|| self.engine.now_ns());
        wait(Duration::from_nanos(at_ns.saturating_sub(self.engine.now_ns())));
        let begin_ns = self.engine.now_ns();
        let duration_ns = u64::try_from(self.duration.as_nanos()).unwrap_or(u64::MAX);
        let (ended_ns, absent_ns) =
            self.run(at_ns.saturating_add(duration_ns), watched).map_err(of_engine)?;
        let elapsed_ns = ended_ns.saturating_sub(begin_ns);
        let delivering_ns = elapsed_ns.saturating_sub(self.engine.waiting_ns());
        self.engine.finish(self.grace).map_err(of_engine)?;
        let measured = self.engine.measured().clone();
        Ok(MailPartMeasured {
            delivered: Delivered { measured, elapsed_ns, delivering_ns },
            window: Window { begin_ns, end_ns: ended_ns, absent_ns },
        })
    }

    fn window(measured: &MailPartMeasured) -> Window {
        measured.window
    }
}

impl MailWorker {
    /// Delivers until all recipients have ended, the time is over, or the watcher ends it. Returns that
    /// moment, and how long it was not at work.
    fn run(&mut self, end_ns: u64, watched: &mut Watched<'_>) -> Result<(u64, u64), MailError> {
        let begin_ns = self.engine.now_ns();
        let (mut told_ns, mut absent_ns) = (begin_ns, 0);
        loop {
            let until_ns = self.engine.now_ns().saturating_add(SLICE_NS).min(end_ns);
            self.engine.run(self.connections, Until { end_ns: until_ns, stop: None })?;
            let now_ns = self.engine.now_ns();
            if now_ns < until_ns {
                return Ok((now_ns, absent_ns));
            }
            let gap_ns = now_ns.min(end_ns) - until_ns;
            absent_ns += if gap_ns > ABSENT_NS { gap_ns } else { 0 };
            if now_ns >= end_ns {
                return Ok((end_ns, absent_ns));
            }
            if now_ns >= told_ns + PROGRESS_NS {
                told_ns = now_ns;
                let counts = self.engine.measured().counts;
                let progress = Progress {
                    seconds: (now_ns - begin_ns) as f64 / 1e9,
                    completed: counts.accepted(),
                    failed: counts.failed,
                    open: self.engine.open(),
                    ..Progress::default()
                };
                if !watched(&progress) {
                    return Ok((now_ns, absent_ns));
                }
            }
        }
    }
}

/// Waits so long, and not much longer.
fn wait(time: Duration) {
    let begun = Instant::now();
    std::thread::sleep(time.saturating_sub(SPIN));
    while begun.elapsed() < time {
        std::hint::spin_loop();
    }
}

fn of_engine(error: MailError) -> Error {
    match error {
        MailError::Net(error) => error,
        MailError::NotPermitted(NotPermitted(_)) | MailError::Settings(_) | MailError::NoInterface(_) => {
            Error::Settings(error.to_string())
        }
        other => Error::Failed { role: "the mail engine".to_owned(), reason: other.to_string() },
    }
}
