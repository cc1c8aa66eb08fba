//! A server: an architecture around a service, planned, set up, watched and ended in order. It can be in
//! another process (`remote`), or serve one connection in a program that was executed for it.

mod remote;

pub use remote::{ROLE, Remote, Report, ServerHost, serve_for};

use std::cell::RefCell;
use std::fs::{File, OpenOptions};
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sys::tcp::{Connection, Listener, Listening};

use crate::Error;
use crate::arch::blocking::{self, Live};
use crate::arch::prefork::Supervisor;
use crate::arch::{self, Architecture, ServedBy};
use crate::service::{self, OpenService, ServiceSettings};
use crate::worker::{Accept, Counters, Limits, StopFlag, TICK, Terms, WorkerContext};

/// A server that listens and is ready to serve.
pub struct ListeningServer {
    plan: ServerPlan,
    architecture: &'static Architecture,
    serve: fn(&WorkerContext) -> io::Result<()>,
    machine: Arc<dyn OpenService>,
    listeners: Vec<Listener>,
    address: SocketAddr,
    counters: Counters,
    stop: StopFlag,
    log: Option<File>,
}

impl ListeningServer {
    /// Listens, becomes the requested user, and makes the service ready. No input is read yet. From here on
    /// SIGTERM and SIGINT are orders to stop, and SIGUSR1 asks for a report.
    ///
    /// # Errors
    /// Names that are unknown or unsupported, invalid combinations, and errors of the system.
    pub fn set_up(plan: ServerPlan) -> Result<ListeningServer, Error> {
        let service = service::find(&plan.service)?;
        let open = |plan: &ServerPlan| service.open(&plan.settings, plan.log.is_some());
        ListeningServer::set_up_for(plan, open)
    }

    /// The same for a service that only a program of its own has; the plan's is not looked at.
    ///
    /// # Errors
    /// Those of [`ListeningServer::set_up`].
    pub fn set_up_for(
        plan: ServerPlan,
        open: impl FnOnce(&ServerPlan) -> Result<Arc<dyn OpenService>, Error>,
    ) -> Result<ListeningServer, Error> {
        let architecture = arch::find(&plan.architecture)?;
        let unsupported = |reason: String| Error::Unsupported { name: architecture.name.to_owned(), reason };
        let serve = architecture.serve.map_err(|reason| unsupported(reason.to_owned()))?;
        if let Some(reason) = architecture.unavailable_reason() {
            return Err(unsupported(reason));
        }
        check(&plan, architecture)?;
        // The system chooses the processor where it cannot be set.
        if !plan.cpus.is_empty() {
            let _ = sys::cpu::confine(&plan.cpus);
        }
        sys::signal::watch().map_err(Error::at("watch signals"))?;
        // A server needs a descriptor for every connection; no privilege is needed, and a refusal is no
        // reason not to serve.
        let _ = sys::limit::raise_soft_to_hard();

        let attempted = format!("listen at {}", plan.address);
        let listeners = listen(&plan, architecture).map_err(Error::at(attempted))?;
        let address = listeners[0].address().map_err(Error::at("ask where it listens"))?;
        let log = plan.log.as_deref().map(open_log).transpose()?;
        if let Some(user) = &plan.user {
            sys::process::become_user(user).map_err(Error::at(format!("become {user:?}")))?;
        }
        let machine = open(&plan)?;
        // The processes of a pool have rows of their own, behind that of the worker they belong to.
        let rows = plan.workers.max(1 + plan.pool);
        let counters = Counters::new(rows).map_err(Error::at("make room for counters"))?;
        let stop = StopFlag::default();
        Ok(ListeningServer { plan, architecture, serve, machine, listeners, address, counters, stop, log })
    }

    /// The address that it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The service and its address, in a few words.
    ///
    /// # Errors
    /// [`Error::Unknown`] for a service that only a program of its own has.
    pub fn describe(&self) -> Result<String, Error> {
        service::find(&self.plan.service)?.describe(&self.plan.settings, self.address)
    }

    /// Its counters, which can be read while it runs.
    pub fn counters(&self) -> Counters {
        self.counters.clone()
    }

    /// The flag that stops it.
    pub fn stop(&self) -> StopFlag {
        self.stop.clone()
    }

    /// Serves until the order to stop, and then until the responses under way have left or their time of
    /// grace is over. `asked` is called whenever SIGUSR1 has come. Returns the counts.
    ///
    /// # Errors
    /// The error that ends the architecture.
    pub fn run(self, mut asked: impl FnMut(&Counters) + Send) -> Result<Counters, Error> {
        let counters = self.counters.clone();
        let attempted = format!("go on serving with {}", self.architecture.name);
        let mut reports = sys::signal::reports_asked();
        let (needs_log, stop, log) = (self.machine.needs_log(), self.stop.clone(), self.plan.log.clone());
        let mut look = || {
            if needs_log && counters.log_error().is_some() {
                stop.order();
            }
            let now = sys::signal::reports_asked();
            if now != reports {
                reports = now;
                asked(&counters);
            }
        };
        let served = if self.plan.workers > 1 { self.run_workers(&mut look) } else { self.run_alone(look) };
        served.map_err(Error::at(attempted))?;
        if needs_log && let Some(error) = counters.log_error() {
            let name = log.unwrap_or_default();
            let attempted = format!("write to {}, and a ledger with gaps is of no use", name.display());
            return Err(Error::at(attempted)(error));
        }
        Ok(counters)
    }

    /// In this process, with a thread beside it that looks after signals.
    fn run_alone(mut self, mut look: impl FnMut() + Send) -> io::Result<()> {
        let Some(listener) = self.listeners.pop() else { return Ok(()) };
        let serve = self.serve;
        let worker = self.worker_context(0, listener)?;
        let ended = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let watcher =
                std::thread::Builder::new().stack_size(WATCHER_STACK).spawn_scoped(scope, || {
                    let mut late = 0;
                    while !ended.load(Ordering::Relaxed) {
                        std::thread::park_timeout(TICK);
                        look();
                        late += u32::from(worker.stop.is_ordered());
                        // A system may know no time limit of accept(2), as gVisor does not: its servers never
                        // stopped. A poll(2) before each accept(2) would be measured.
                        if late > LATE_TICKS {
                            worker.listener.finish();
                        }
                    }
                })?;
            let served = serve(&worker);
            ended.store(true, Ordering::Relaxed);
            watcher.thread().unpark();
            served
        })
    }

    /// In a process for each worker, which this one supervises.
    fn run_workers(mut self, look: &mut dyn FnMut()) -> io::Result<()> {
        let listeners = RefCell::new(std::mem::take(&mut self.listeners));
        Supervisor {
            size: self.plan.workers,
            stop: &self.stop,
            grace: self.plan.limits.grace,
            // Each has its row.
            counters: &|number| self.counters.of_worker(number),
            // In the child, which has a copy of all of this. The supervisor keeps every listener: the next
            // worker of that number takes the same one, with its waiting connections.
            work: &|number| {
                let mut listeners = listeners.take();
                let listener = listeners.swap_remove(number % listeners.len());
                if let Some(&cpu) = self.plan.cpus.get(number % self.plan.cpus.len().max(1)) {
                    let _ = sys::cpu::pin(cpu);
                }
                (self.serve)(&self.worker_context(number, listener)?)
            },
            stopping: &|| listeners.borrow().iter().for_each(Listener::finish),
        }
        .keep(look)
    }

    fn worker_context(&self, number: usize, listener: Listener) -> io::Result<WorkerContext> {
        let log = self.log.as_ref().map(File::try_clone).transpose()?;
        let session_command = match &self.plan.session_command[..] {
            // Nobody else executes it.
            command if command.is_empty() || self.architecture.served_by != ServedBy::Process => Vec::new(),
            command => {
                let parameters =
                    session_parameters(&self.plan, &*self.machine, &self.counters, log.as_ref())?;
                [command, &[parameters]].concat()
            }
        };
        Ok(WorkerContext {
            listener,
            service: Arc::clone(&self.machine),
            limits: self.plan.limits,
            counters: self.counters.of_worker(number),
            stop: self.stop.clone(),
            log,
            session_command,
            pool: self.plan.pool,
            accept: self.plan.accept,
            is_supervised: self.plan.workers > 1,
        })
    }
}

/// Ticks in which an architecture notices the order to stop, if anything wakes it.
const LATE_TICKS: u32 = 2;

/// Of the thread that looks after signals: room to print a report.
const WATCHER_STACK: usize = 256 << 10;

/// More processes or threads than this are a typing error.
const MOST: usize = 4096;

fn check(plan: &ServerPlan, architecture: &Architecture) -> Result<(), Error> {
    let settings = |text: String| Err(Error::Settings(text));
    if plan.workers == 0 || plan.workers > MOST || plan.pool == 0 || plan.pool > MOST {
        return settings(format!("workers and pool must be between 1 and {MOST}"));
    }
    if plan.workers > 1 && architecture.accepts.is_empty() {
        let name = architecture.name;
        return settings(format!("{name} spreads connections itself; several workers make no sense with it"));
    }
    if let Some(reason) = architecture.accept_refusal(plan.accept) {
        return settings(reason);
    }
    let Limits { idle, request, send, .. } = plan.limits;
    if [idle, request, send].iter().any(Duration::is_zero) {
        return settings("a connection needs more than no time to ask, and to take its response".to_owned());
    }
    if plan.limits.connections == 0 {
        return settings("a server that may have no connection serves nobody".to_owned());
    }
    Ok(())
}

/// A listener for each worker, or one for all.
fn listen(plan: &ServerPlan, architecture: &Architecture) -> io::Result<Vec<Listener>> {
    let blocking = architecture.is_blocking();
    let how = Listening { blocking, loopback: plan.loopback, ..Listening::default() };
    let alone = Listener::bind(plan.address, how)?;
    let listeners = if plan.workers == 1 || plan.accept != Accept::ReusePort {
        vec![alone]
    } else {
        // It proved that no other program listens there, which could share the port and take connections.
        let address = alone.address()?;
        drop(alone);
        let how = Listening { share_port: true, ..how };
        (0..plan.workers).map(|_| Listener::bind(address, how)).collect::<io::Result<Vec<_>>>()?
    };
    for listener in &listeners {
        if blocking {
            plan.limits.inherit(listener)?;
        }
    }
    Ok(listeners)
}

fn open_log(path: &Path) -> Result<File, Error> {
    let opened = if path == Path::new("-") {
        sys::file::standard_output()
    } else {
        OpenOptions::new().append(true).create(true).open(path)
    };
    opened.map_err(Error::at(format!("open {} for the access log", path.display())))
}

/// The plan of a server, as a process that serves receives it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct ServerPlan {
    /// Name of the architecture.
    pub architecture: String,
    /// Name of the service.
    pub service: String,
    /// Settings of the service, which it alone can read. Fields that are missing have its defaults.
    pub settings: serde_json::Value,
    /// Where to listen; port 0 lets the system choose.
    pub address: SocketAddr,
    /// Connections come from this machine alone: with the address 0.0.0.0 all of 127.0.0.0/8 is served.
    pub loopback: bool,
    /// Processes that share the port; one is this process itself.
    pub workers: usize,
    /// Threads or processes of an architecture that has a fixed pool of them.
    pub pool: usize,
    /// Its limits, in number and in time.
    pub limits: Limits,
    /// File that the access log is appended to; `-` is standard output.
    pub log: Option<PathBuf>,
    /// Name of the user to become once it listens.
    pub user: Option<String>,
    /// How its workers get connections.
    pub accept: Accept,
    /// The processors that all of it stays on, where the system can do that; each worker on one of them, in
    /// turn. Empty leaves it to the system.
    pub cpus: Vec<u32>,
    /// The beginning of the command that `inetd` executes for every connection; it is given one more word,
    /// and hands that to [`serve_session`].
    pub session_command: Vec<String>,
}

impl Default for ServerPlan {
    fn default() -> ServerPlan {
        ServerPlan {
            architecture: "thread".to_owned(),
            service: "busy".to_owned(),
            settings: serde_json::json!({}),
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            loopback: false,
            workers: 1,
            pool: 32,
            limits: Limits::default(),
            log: None,
            user: None,
            accept: Accept::default(),
            cpus: Vec::new(),
            session_command: Vec::new(),
        }
    }
}

impl ServerPlan {
    /// A server of this architecture for the service of these settings.
    pub fn new<S: ServiceSettings>(architecture: &str, settings: &S) -> ServerPlan {
        ServerPlan {
            architecture: architecture.to_owned(),
            service: S::NAME.to_owned(),
            settings: crate::options::to_value(settings),
            ..ServerPlan::default()
        }
    }
}

/// The parameters of a program that serves one connection; one word of its command.
#[derive(Serialize, Deserialize)]
struct SessionParameters {
    service: String,
    settings: serde_json::Value,
    limits: Limits,
    /// The descriptor of the counters, and the number of workers they are for.
    counters: (i32, usize),
    /// The descriptor of the access log.
    log: Option<i32>,
    /// The process whose death ends the program.
    parent: u32,
}

/// The last word of the command that serves one connection of a server in this process.
///
/// # Errors
/// Those of fcntl(2).
fn session_parameters(
    plan: &ServerPlan,
    service: &dyn OpenService,
    counters: &Counters,
    log: Option<&File>,
) -> io::Result<String> {
    let parameters = SessionParameters {
        service: plan.service.clone(),
        settings: service.handed_on().unwrap_or(&plan.settings).clone(),
        limits: plan.limits,
        counters: counters
            .inheritable()
            .ok_or_else(|| io::Error::other("the counters cannot be inherited"))?,
        log: log.map(sys::process::bequeath).transpose()?,
        parent: std::process::id(),
    };
    Ok(serde_json::to_string(&parameters)?)
}

/// Serves the connection that is this program's standard input and output, by the parameters that the server
/// added to the command.
///
/// # Errors
/// When the parameters, the descriptors or the service are invalid.
pub fn serve_session(parameters: &str) -> Result<(), Error> {
    let unreadable = |error: serde_json::Error| Error::Protocol {
        role: "the server of this session".to_owned(),
        message: error.to_string(),
    };
    let parameters: SessionParameters = serde_json::from_str(parameters).map_err(unreadable)?;
    if !sys::process::die_with(parameters.parent) {
        return Ok(());
    }
    let watching = sys::signal::watch().and_then(|()| sys::signal::watch_nudges());
    watching.map_err(Error::at("watch signals"))?;
    let (descriptor, workers) = parameters.counters;
    let counters = Counters::inherit(descriptor, workers).map_err(Error::at("count with the server"))?;
    let log = parameters.log.map(sys::process::inherited).transpose();
    let log = log.map_err(Error::at("use the server's access log"))?;
    let machine = service::find(&parameters.service)?.open(&parameters.settings, parameters.log.is_some())?;
    let connection = Connection::on_standard_input().map_err(Error::at("use the connection"))?;
    let stop = StopFlag::default();
    let terms = Terms {
        service: &*machine,
        limits: &parameters.limits,
        counters: &counters,
        stop: &stop,
        log: log.as_ref(),
    };
    blocking::serve(terms, &Live::new(connection));
    Ok(())
}
