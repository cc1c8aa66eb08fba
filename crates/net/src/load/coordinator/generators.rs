//! Load generators that offer one load together: its parts, and one level from the measurements of all.

use std::path::Path;
use std::time::Duration;

use super::{Joined, JoinedWorker, JointProcesses, JointTask, Request, WorkerPlace, WorkerPlan};
use crate::Error;
use crate::load::joint::{GeneratorReport, JointLoad, ObserverLevel};
use crate::load::measured::Measured;
use crate::load::plan::LoadPart;
use crate::load::{Distribution, Generator, Level, Load, LoadSettings, OffersLoad, TlsSettings, Watched};

/// Generators that offer each load together. Dropped, they are killed.
pub struct Coordinator {
    processes: JointProcesses<Generator>,
    division: LoadDivision,
}

impl Coordinator {
    /// Starts a worker here for each of these processors, where one is named: a program that calls
    /// [`work`](super::work) in the role of a [`Generator`].
    ///
    /// # Errors
    /// [`Error::Host`] where one cannot be started, [`Error::Failed`] where it refuses the settings.
    pub fn start(
        program: &Path,
        settings: &LoadSettings,
        cpus: &[Option<u32>],
    ) -> Result<Coordinator, Error> {
        let part = |place: WorkerPlace| settings.share(place.number, place.of);
        let processes = JointProcesses::start(program, cpus, part)?;
        Ok(Coordinator { processes, division: LoadDivision::new(settings, cpus.len()) })
    }

    /// Starts generators on hosts. With `observes` the last worker gets a hundredth of the load.
    ///
    /// # Errors
    /// Those of [`JointProcesses::start_on`].
    pub fn start_on(
        plan: WorkerPlan<'_>,
        settings: &LoadSettings,
        observes: bool,
    ) -> Result<Coordinator, Error> {
        let file = settings.tls.as_ref().and_then(|tls| tls.cacert.as_deref());
        let part = |place: WorkerPlace| {
            let tls = settings.tls.clone().map(|tls| TlsSettings { cacert: place.file, ..tls });
            let part = LoadPart { number: place.number, of: place.of, observes };
            LoadSettings { tls, ..settings.part(part) }
        };
        let processes = JointProcesses::start_on(WorkerPlan { file, ..plan }, part)?;
        let workers = plan.hosts.len() * plan.workers_each;
        Ok(Coordinator { processes, division: LoadDivision::on_hosts(settings, workers, observes) })
    }

    /// See [`Generator::follow`].
    ///
    /// # Errors
    /// [`Error::Host`] for a request that cannot be written.
    pub fn follow(&mut self) -> Result<(), Error> {
        self.processes.workers.ask(usize::MAX, &Request::Follow)
    }

    /// Offers a load with all workers together. In a closed loop a worker has at least one connection, so
    /// that fewer of them offer a load of few connections. A level that does not count has its reasons, and
    /// the counts of the workers that have measured.
    ///
    /// # Errors
    /// [`Error::Failed`] where a worker refuses.
    pub fn offer(&mut self, load: &Load, watched: &mut Watched<'_>) -> Result<Level, Error> {
        let joined = self.processes.offer(self.division.task(load), watched)?;
        self.division.level(load, joined)
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

/// How loads are divided among generators.
#[derive(Clone, Copy, Debug)]
pub(super) struct LoadDivision {
    workers: usize,
    /// Connections that all together begin in a second, and those that stay silent.
    connect_rate: f64,
    idle: usize,
    /// Whether a level counts only if all were at work at the same time.
    is_strict: bool,
    /// Whether the last one has a hundredth of the load.
    observes: bool,
}

impl LoadDivision {
    fn new(settings: &LoadSettings, workers: usize) -> LoadDivision {
        let LoadSettings { connect_rate, idle, .. } = *settings;
        LoadDivision { workers, connect_rate, idle, is_strict: false, observes: false }
    }

    pub(super) fn on_hosts(settings: &LoadSettings, workers: usize, observes: bool) -> LoadDivision {
        LoadDivision { is_strict: true, observes, ..LoadDivision::new(settings, workers) }
    }

    /// The parts of a load, one for each worker that offers it.
    pub(super) fn task(&self, load: &Load) -> JointTask<Load> {
        let all = self.workers;
        let of = if load.rate.is_none() { all.min(load.connections.max(1)) } else { all };
        let observes = self.observes && of == all && all > 1;
        let whole = if self.is_strict { ending_in_time(load) } else { load.clone() };
        let ramp_seconds = (load.connections + self.idle) as f64 / self.connect_rate;
        JointTask {
            parts: (0..of).map(|number| whole.part(LoadPart { number, of, observes })).collect(),
            preparation: Duration::try_from_secs_f64(ramp_seconds).unwrap_or(Duration::MAX),
            duration: whole.warm_up.saturating_add(whole.duration),
            has_common_end: whole.requests.is_none(),
        }
    }

    /// The level of all that have measured.
    pub(super) fn level(&self, load: &Load, joined: Joined<Measured>) -> Result<Level, Error> {
        let observer = self.observed(&joined)?;
        let is_joint = joined.of > 1 || self.is_strict;
        let (mut workers, mut measured) = (Vec::new(), Vec::new());
        for JoinedWorker { name, measured: own, presence, .. } in joined.workers {
            workers.push(GeneratorReport::new(name, &own, presence)?);
            measured.push(own);
        }
        if measured.is_empty() {
            measured.push(Measured::nothing()?);
        }
        let mut level = Level::from_measured(load, measured)?;
        level.workers = workers.len();
        level.joint = is_joint.then_some(JointLoad { workers, observer, window: joined.window });
        Ok(level)
    }

    fn observed(&self, joined: &Joined<Measured>) -> Result<Option<ObserverLevel>, Error> {
        match joined.workers.last() {
            Some(last) if self.observes && joined.of > 1 && last.number + 1 == self.workers => {
                let latency = Distribution::from_measured(&last.measured)?;
                Ok(Some(ObserverLevel { name: last.name.clone(), latency }))
            }
            _ => Ok(None),
        }
    }
}

/// The same load with an end that several hosts have at one moment: in an open loop a number of requests
/// takes a known time.
fn ending_in_time(load: &Load) -> Load {
    let Some((requests, rate)) = load.requests.zip(load.rate) else { return load.clone() };
    let needed = Duration::try_from_secs_f64(requests as f64 / rate).unwrap_or(Duration::MAX);
    let duration = load.duration.min(needed.saturating_sub(load.warm_up));
    Load { requests: None, duration, ..load.clone() }
}
