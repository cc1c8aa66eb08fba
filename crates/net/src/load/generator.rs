//! A generator: connections to one server that stay open from one load to the next; and generators that offer
//! one load together: its parts, and one level from the measurements of all.

use std::path::Path;
use std::time::Duration;

use super::coordinator::{
    Joined, JoinedWorker, JointProcesses, JointTask, JointWork, WorkerPlace, WorkerPlan,
};
use super::engine::{Drive, Engine};
use super::joint::{GeneratorReport, JointLoad, ObserverLevel};
use super::plan::LoadPart;
use super::{
    Distribution, Grown, Level, Load, LoadSettings, Measured, OffersLoad, TlsSettings, Watched, Window,
};
use crate::Error;
use crate::client::{ClientChoice, ClientSettings, ClientVisitor};
use crate::network::{Alpn, FORGETS_CLOSED, Http2Network, LoadKernel, TlsNetwork};

/// Connections to one server, and their loads. Dropped, it closes them all.
///
/// ```no_run
/// use std::time::Duration;
/// use net::client::http::HttpClientSettings;
/// use net::load::{Generator, LoadSettings, OffersLoad, closed_loop, unwatched};
/// # fn main() -> Result<(), net::Error> {
/// let server = std::net::SocketAddr::from(([127, 0, 0, 1], 8080));
/// let mut generator = Generator::new(LoadSettings::new(server, &HttpClientSettings::default()))?;
/// for connections in [1, 10, 100] {
///     let load = closed_loop(connections, Duration::from_secs(3));
///     let level = generator.offer(&load, &mut unwatched)?;
///     println!("{connections}: {} a second", level.completed_per_second);
/// }
/// let latency: Duration = generator.ask_once(99)?;
/// # Ok(()) }
/// ```
pub struct Generator {
    engine: Box<dyn Drive>,
    settings: LoadSettings,
}

/// Compiles an engine for a client, whichever it is.
struct OpenEngine<'a>(&'a LoadSettings);

impl ClientVisitor for OpenEngine<'_> {
    type Output = Box<dyn Drive>;

    fn visit<S: ClientSettings>(self, mut client: S) -> Result<Box<dyn Drive>, Error> {
        let mut settings = self.0.clone();
        if settings.new_connections {
            client.request_close();
            // Where the server closes, it is to do so first.
            settings.new_connections = !client.server_closes();
        }
        settings.client = ClientChoice::new(&client);
        let http2 = client.http2(settings.tls.is_some())?;
        if http2.is_some() && !FORGETS_CLOSED {
            // Its streams close their connection, and know nothing of the set.
            let reason = "its connections need an event interface that forgets closed connections: epoll(7)";
            return Err(Error::Unsupported { name: "HTTP/2".to_owned(), reason: reason.to_owned() });
        }
        let (client, network) = (client.open()?, LoadKernel::new()?);
        let protocol = if http2.is_some() { Alpn::HTTP_2 } else { Alpn::HTTP_1 };
        let tls = settings.tls.clone();
        Ok(match (tls, http2) {
            (None, None) => Box::new(Engine::new(client, settings, network)?),
            (None, Some(http2)) => {
                Box::new(Engine::new(client, settings, Http2Network::new(http2, network))?)
            }
            (Some(tls), http2) => {
                let network = TlsNetwork::new(&tls, protocol, network)?;
                match http2 {
                    None => Box::new(Engine::new(client, settings, network)?),
                    Some(http2) => {
                        Box::new(Engine::new(client, settings, Http2Network::new(http2, network))?)
                    }
                }
            }
        })
    }
}

impl Generator {
    /// One without connections yet.
    ///
    /// # Errors
    /// [`Error::Settings`] for invalid settings, [`Error::System`] where no event interface opens.
    pub fn new(settings: LoadSettings) -> Result<Generator, Error> {
        let engine = settings.client.visit(OpenEngine(&settings))?;
        Ok(Generator { engine, settings })
    }

    /// The server that it loads, and the settings.
    pub fn settings(&self) -> &LoadSettings {
        &self.settings
    }

    /// Sets the number of connections: opens missing ones, at [`LoadSettings::connect_rate`], or closes some.
    /// Connections that outlive no request are only places.
    ///
    /// # Errors
    /// [`Error::System`] where waiting for events fails. A connection that cannot be made is no error, but
    /// reported.
    pub fn grow_to(&mut self, connections: usize) -> Result<Grown, Error> {
        self.engine.grow_to(connections)
    }

    /// Connections that are open.
    pub fn connections(&self) -> usize {
        self.engine.connections()
    }

    /// One request on the connection of that number, while all others are silent.
    ///
    /// # Errors
    /// [`Error::NoConnection`], or [`Error::Request`] has the failure of the request.
    pub fn ask_once(&mut self, number: usize) -> Result<Duration, Error> {
        self.engine.ask_once(number)
    }
}

impl OffersLoad for Generator {
    fn offer(&mut self, load: &Load, watched: &mut Watched<'_>) -> Result<Level, Error> {
        let measured = self.measure_at(load, None, watched)?;
        Level::from_measured(load, vec![measured])
    }
}

impl JointWork for Generator {
    const ROLE: &str = "load-worker";
    type Settings = LoadSettings;
    type Task = Load;
    type Measured = Measured;

    fn open(settings: LoadSettings) -> Result<Generator, Error> {
        Generator::new(settings)
    }

    fn now_ns(&self) -> u64 {
        self.engine.now_ns()
    }

    fn prepare(&mut self, load: &Load) -> Result<(), Error> {
        self.grow_to(load.connections).map(drop)
    }

    fn follow(&mut self) {
        self.engine.follow();
    }

    fn measure_at(
        &mut self,
        load: &Load,
        at_ns: Option<u64>,
        watched: &mut Watched<'_>,
    ) -> Result<Measured, Error> {
        self.engine.offer_at(load, at_ns, watched)
    }

    fn window(measured: &Measured) -> Window {
        measured.window
    }
}

/// Generators that offer each load together. Dropped, they are killed.
pub struct Coordinator {
    processes: JointProcesses<Generator>,
    division: LoadDivision,
}

impl Coordinator {
    /// Starts a worker here for each of these processors, where one is named: a program that calls
    /// [`work`](super::coordinator::work) in the role of a [`Generator`].
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

    /// See [`JointWork::follow`].
    ///
    /// # Errors
    /// [`Error::Host`] for a request that cannot be written.
    pub fn follow(&mut self) -> Result<(), Error> {
        self.processes.follow()
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
