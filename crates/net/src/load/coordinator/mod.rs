//! Several generators at once: processes that begin together, here or on other hosts, with their counts added
//! up.
//!
//! The coordinator sends each worker its settings, and then load after load. Each opens its connections and
//! replies that it is ready. Then the clock of each is compared with the coordinator's, and all begin at one
//! moment, by their own clocks. After the load the clocks are compared again.
//!
//! - `link` a worker as the coordinator sees it, and processes here and on other hosts; tests simulate it;
//! - `offering` one load, from its preparation to the counts of all;
//! - `clock` the offset of a clock and its drift; `worker` the side of a worker.

mod clock;
mod link;
mod offering;
#[cfg(test)]
mod tests;
mod worker;

pub use link::GeneratorHost;
pub use worker::work;

use std::path::Path;
use std::time::Duration;

use host::Host;

use self::link::{OpenHost, WorkerLink, WorkerProcess, open_hosts};
use self::worker::{Reply, Request, checksum};
use super::plan::LoadPart;
use super::{Level, Load, LoadSettings, OffersLoad, TlsSettings, VoidReason, Watched};
use crate::Error;
use crate::network::Timer;

/// The role in which a program calls [`work`].
pub const ROLE: &str = "load-worker";

/// A worker without a reply for this long, beyond the time of its connections, is gone.
const PATIENCE: Duration = Duration::from_secs(60);

/// The most that the begin lies ahead of the order to begin.
const LEAD_MAX: Duration = Duration::from_secs(2);

/// Workers that offer each load together. Dropped, they are killed.
pub struct Coordinator {
    // The workers end before the commands that lead to them.
    workers: JointWorkers<WorkerProcess>,
    _hosts: Vec<Host>,
}

impl Coordinator {
    /// Starts a worker here for each of these processors, where one is named: a program that calls [`work`]
    /// in the role [`ROLE`].
    ///
    /// # Errors
    /// [`Error::Host`] where one cannot be started, [`Error::Failed`] where it refuses the settings.
    pub fn start(
        program: &Path,
        settings: &LoadSettings,
        cpus: &[Option<u32>],
    ) -> Result<Coordinator, Error> {
        let start = |number| WorkerProcess::start(program, format!("load worker {number}"));
        let links = (0..cpus.len()).map(start).collect::<Result<_, Error>>()?;
        let mut workers = JointWorkers::new(links, settings, kernel_clock());
        let parts = (0..cpus.len()).map(|number| settings.share(number, cpus.len()));
        workers.configure(&parts.collect::<Vec<_>>(), cpus, None)?;
        Ok(Coordinator { workers, _hosts: Vec::new() })
    }

    /// Starts so many workers on each host, and sends them the program. A level then counts only if all were
    /// at work at the same time; see [`Level::void`]. With `observes` the last host gets a hundredth of the
    /// load.
    ///
    /// # Errors
    /// [`Error::Failed`] names the host that cannot be reached, refuses the settings or has another program.
    pub fn start_on(
        program: &Path,
        settings: &LoadSettings,
        hosts: &[GeneratorHost],
        workers_each: usize,
        observes: bool,
    ) -> Result<Coordinator, Error> {
        let opened = open_hosts(program, hosts, workers_each, settings)?;
        let count = opened.iter().map(|one| one.workers.len()).sum();
        let (mut links, mut hosts, mut parts) = (Vec::new(), Vec::new(), Vec::new());
        for OpenHost { workers, host, cacert } in opened {
            for link in workers {
                let part = LoadPart { number: links.len(), of: count, observes };
                let tls = settings.tls.clone().map(|tls| TlsSettings { cacert: cacert.clone(), ..tls });
                parts.push(LoadSettings { tls, ..settings.part(part) });
                links.push(link);
            }
            hosts.push(host);
        }
        let mut workers = JointWorkers::new(links, settings, kernel_clock());
        (workers.is_strict, workers.observes) = (true, observes);
        workers.configure(&parts, &vec![None; count], Some(checksum(program)?))?;
        Ok(Coordinator { workers, _hosts: hosts })
    }

    /// See [`Generator::follow`](super::Generator::follow).
    ///
    /// # Errors
    /// [`Error::Host`] for a request that cannot be written.
    pub fn follow(&mut self) -> Result<(), Error> {
        self.workers.ask(usize::MAX, &Request::Follow)
    }

    /// Offers a load with all workers together. In a closed loop a worker has at least one connection, so
    /// that fewer of them offer a load of few connections. A level that does not count has its reasons, and
    /// the counts of the workers that have measured.
    ///
    /// # Errors
    /// [`Error::Failed`] where a worker refuses.
    pub fn offer(&mut self, load: &Load, watched: &mut Watched<'_>) -> Result<Level, Error> {
        self.workers.offer(load, watched)
    }
}

impl OffersLoad for Coordinator {
    fn offer(&mut self, load: &Load, watched: &mut Watched<'_>) -> Result<Level, Error> {
        let level = Coordinator::offer(self, load, watched)?;
        match level.void() {
            [] => Ok(level),
            [reason, ..] => Err(Error::Void(reason.clone())),
        }
    }
}

/// The clock that times loads.
fn kernel_clock() -> Box<dyn Fn() -> u64> {
    let timer = Timer::start();
    Box::new(move || timer.now_ns())
}

/// The workers of a coordinator, by links of any kind.
struct JointWorkers<L> {
    links: Vec<L>,
    now_ns: Box<dyn Fn() -> u64>,
    /// Connections that all together begin in a second, and those that stay silent.
    connect_rate: f64,
    idle: usize,
    /// Whether a level counts only if all workers were at work at the same time.
    is_strict: bool,
    /// Whether the last worker has a hundredth of the load.
    observes: bool,
    /// The number of the present load.
    level: u64,
    /// Workers that are gone: no further load can be offered as it was asked for.
    lost: Vec<VoidReason>,
    /// A fault of the coordinator that a test plants, and must find.
    #[cfg(test)]
    bug: Option<tests::Bug>,
}

impl<L: WorkerLink> JointWorkers<L> {
    fn new(links: Vec<L>, settings: &LoadSettings, now_ns: Box<dyn Fn() -> u64>) -> JointWorkers<L> {
        let LoadSettings { connect_rate, idle, .. } = *settings;
        JointWorkers {
            links,
            now_ns,
            connect_rate,
            idle,
            is_strict: false,
            observes: false,
            level: 0,
            lost: Vec::new(),
            #[cfg(test)]
            bug: None,
        }
    }

    /// Sends each worker its settings. `build` is the checksum that the program of each must have.
    fn configure(
        &mut self,
        parts: &[LoadSettings],
        cpus: &[Option<u32>],
        build: Option<u32>,
    ) -> Result<(), Error> {
        for ((link, part), &cpu) in self.links.iter_mut().zip(parts).zip(cpus) {
            let (settings, reports_build) = (Box::new(part.clone()), build.is_some());
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

    /// Sends a request to so many workers.
    fn ask(&mut self, count: usize, request: &Request) -> Result<(), Error> {
        self.links.iter_mut().take(count).try_for_each(|link| link.send(request))
    }

    /// The parts of a load, one for each worker that offers it.
    fn parts(&self, load: &Load) -> Vec<Load> {
        let all = self.links.len();
        let count = if load.rate.is_none() { all.min(load.connections.max(1)) } else { all };
        let observes = self.observes && count == all && all > 1;
        (0..count).map(|number| load.part(LoadPart { number, of: count, observes })).collect()
    }
}

const OTHER_BUILD: &str = "its program is another build of osdyno than this one: nothing may replace the \
                           file that is sent there";

/// The kind of a reply, for errors.
fn kind(reply: &Reply) -> &'static str {
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
