//! Engines in several processes, here and on other hosts, that deliver one list: they begin together, each
//! has its domains and its part of the connections, and their counts are added up.

use std::time::{Duration, Instant};

use net::Error;
use net::load::coordinator::{JoinedWorker, JointProcesses, JointTask, JointWork, WorkerPlace, WorkerPlan};
use net::load::{JointWindow, Progress, TlsSettings, Watched, Window, WorkerPresence};
use serde::{Deserialize, Serialize};

use crate::connection::MailTls;
use crate::engine::{EngineSettings, Until};
use crate::events::{self, DeliveryEngine};
use crate::measured::{MailCounts, MailMeasured, MailStep};
use crate::recipients::{GeneratedList, Recipients};
use crate::result::NoResults;
use crate::threads::{Delivered, Share};
use crate::{MailError, NotPermitted};

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
        let engine = events::open(&delivery.interface, recipients, settings, NoResults).map_err(of_engine)?;
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
