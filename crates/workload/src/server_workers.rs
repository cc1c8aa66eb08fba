//! The workers of a server under test, and the load generators opposite them: how many, on which processors,
//! and how workers get their connections; with the files of a web server, and the client that requests one of
//! them.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use net::client::http::HttpClientSettings;
use net::load::coordinator::{Coordinator, WorkerHost, WorkerPlan};
use net::load::{Generator, LoadSettings, OffersLoad};
use net::server::ServerPlan;
use net::service::http::HttpSettings;
use net::worker::Accept;
use net::{Error, arch};
use record::ClientHost;

use crate::server::{ServerUnderTest, io_error};
use crate::{Setting, Trial, TrialError, Values};

/// More workers or load generators than this are a typing error.
const MOST: u64 = 256;

/// The setting of [`ServerWorkers`] that says how many there are.
pub const WORKERS: Setting = Setting {
    name: "workers",
    default: "1",
    values: Values::Number { least: 1, most: MOST },
    summary: "processors of the server; a server with an event loop has a process on each",
};

/// The setting that says how they get connections.
pub const ACCEPT: Setting = Setting {
    name: "accept",
    default: "reuseport",
    values: Values::OneOf(&Accept::NAMES),
    summary: "queues of event loops: one each, one for all that wakes all, or wakes one (EPOLLEXCLUSIVE)",
};

/// The setting that says how many load generators there are.
pub const GENERATORS: Setting = Setting {
    name: "generators",
    default: "0",
    values: Values::Number { least: 0, most: MOST },
    summary: "load generators in a closed loop; 0: as many as workers, as far as processors are free",
};

/// The workers of the server of a trial, by its settings.
#[derive(Debug)]
pub struct ServerWorkers {
    count: usize,
    accept: Accept,
    placement: ServerPlacement,
}

impl ServerWorkers {
    /// Those of this trial; a remark says which processors have several tasks.
    ///
    /// # Errors
    /// [`TrialError`] where the user has settings for a server that was started elsewhere.
    pub fn new(trial: &mut Trial<'_>) -> Result<ServerWorkers, TrialError> {
        let count = trial.number(WORKERS.name)? as usize;
        let accept = Accept::find(trial.setting(ACCEPT.name)?).unwrap_or_default();
        let generators = match trial.workload.setting(GENERATORS.name).is_some() {
            true => trial.number(GENERATORS.name)? as usize,
            false => 1,
        };
        let is_elsewhere = trial.server().is_some_and(|server| server.prefix.is_empty());
        if is_elsewhere && (count > 1 || accept != Accept::default()) {
            let why = "the server was started elsewhere, so that its workers cannot be chosen";
            return Err(TrialError::at("to choose workers".to_owned())(io::Error::other(why)));
        }
        let placement =
            ServerPlacement::new(trial.cpu(), trial.server_cpu(), trial.spare_cpus(), count, generators);
        if !trial.clients().is_empty() {
            if generators > 1 {
                trial.remark(
                    "generators has no effect: the load comes from the hosts of --clients.".to_owned(),
                );
            }
            return Ok(ServerWorkers { count, accept, placement });
        }
        if generators == 0 && count > 1 {
            let chosen = placement.generators.len();
            let generators = if chosen == 1 { "load generator" } else { "load generators" };
            trial.remark(format!("The server's {count} workers are loaded by {chosen} {generators}."));
        }
        // The processors of one worker are those of every run.
        if count > 1 || placement.generators.len() > 1 {
            placement.remarks().into_iter().for_each(|remark| trial.remark(remark));
        }
        Ok(ServerWorkers { count, accept, placement })
    }

    /// The plan of a server with these workers.
    ///
    /// # Errors
    /// Unsupported, where the architecture cannot accept in that way.
    pub fn of_server(&self, plan: ServerPlan) -> Result<ServerPlan, TrialError> {
        let at = || TrialError::at(format!("to serve with {}", plan.architecture));
        let architecture = arch::find(&plan.architecture).map_err(io_error).map_err(at())?;
        if let Some(reason) = architecture.accept_refusal(self.accept) {
            return Err(at()(io::Error::new(io::ErrorKind::Unsupported, reason)));
        }
        // It has all these processors, and spreads its threads or processes over them.
        let spreads_itself = architecture.accepts.is_empty();
        let workers = if spreads_itself { 1 } else { self.count };
        Ok(ServerPlan { workers, accept: self.accept, cpus: self.placement.server.clone(), ..plan })
    }

    /// The load generators of the trial: one on each host of the user, or else here.
    ///
    /// # Errors
    /// [`TrialError`] where one cannot be started.
    pub fn clients(
        &self,
        trial: &Trial<'_>,
        server: &ServerUnderTest,
        settings: LoadSettings,
    ) -> Result<Clients, TrialError> {
        let settings = server.load_settings(settings);
        let clients = match trial.clients() {
            [] => self.clients_here(&settings),
            hosts => clients_on(hosts, &settings),
        };
        clients.map_err(io_error).map_err(TrialError::at("to start load generators"))
    }

    fn clients_here(&self, settings: &LoadSettings) -> Result<Clients, Error> {
        let one = Generator::new(settings.clone())?;
        match &self.placement.generators[..] {
            generators @ [_, _, ..] => {
                let all = Coordinator::start(&program()?, settings, generators)?;
                Ok(Clients::Several { one, all })
            }
            _ => Ok(Clients::One(one)),
        }
    }
}

fn clients_on(hosts: &[ClientHost], settings: &LoadSettings) -> Result<Clients, Error> {
    let host = |host: &ClientHost| WorkerHost { name: host.name.clone(), command: host.command.clone() };
    let hosts: Vec<WorkerHost> = hosts.iter().map(host).collect();
    let plan = WorkerPlan { program: &program()?, hosts: &hosts, workers_each: 1, file: None };
    Ok(Clients::OnHosts(Coordinator::start_on(plan, settings, false)?))
}

fn program() -> Result<PathBuf, Error> {
    sys::process::own_program().map_err(Error::at("find this program"))
}

/// Load generators.
pub enum Clients {
    /// In this process.
    One(Generator),
    /// Processes of this machine, and one in this process.
    Several {
        /// In this process.
        one: Generator,
        /// The others.
        all: Coordinator,
    },
    /// On the hosts of the user, which begin together.
    OnHosts(Coordinator),
}

impl Clients {
    /// All of them together, for a closed loop.
    pub fn all(&mut self) -> &mut dyn OffersLoad {
        match self {
            Clients::One(one) => one,
            Clients::Several { all, .. } | Clients::OnHosts(all) => all,
        }
    }

    /// Those for an open loop, which one generator of this machine can offer by itself: bursts of several
    /// processes that compete for processors would not begin together.
    pub fn of_open_loop(&mut self) -> &mut dyn OffersLoad {
        match self {
            Clients::One(one) | Clients::Several { one, .. } => one,
            Clients::OnHosts(all) => all,
        }
    }
}

/// The processors of the workers of a server and of the load generators.
#[derive(Debug, PartialEq)]
struct ServerPlacement {
    /// By worker; fewer where there are not as many processors, and none where the system chooses.
    server: Vec<u32>,
    /// By load generator; `None` leaves it where this process is.
    generators: Vec<Option<u32>>,
    workers: usize,
}

impl ServerPlacement {
    /// The server gets the processor that servers always have, then spare ones, and at last that of this
    /// process, which has the first load generator. Further generators get what is left; without a choice
    /// there are as many as workers, each on a processor of its own, so that they are not the limit.
    fn new(
        own: Option<u32>,
        server: Option<u32>,
        spare: &[u32],
        workers: usize,
        generators: usize,
    ) -> ServerPlacement {
        let of_server = server.into_iter().chain(spare.iter().copied()).chain(own);
        let taken = if server.is_some() { workers - 1 } else { 0 };
        let left: Vec<u32> = own.into_iter().chain(spare.iter().skip(taken).copied()).collect();
        let generators = if generators == 0 { workers.min(left.len()).max(1) } else { generators };
        ServerPlacement {
            server: if server.is_some() { of_server.take(workers).collect() } else { Vec::new() },
            generators: (0..generators).map(|number| left.get(number % left.len().max(1)).copied()).collect(),
            workers,
        }
    }

    /// Which processors have several tasks, each a whole sentence.
    fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        let mut of_generators: Vec<u32> = self.generators.iter().flatten().copied().collect();
        of_generators.sort_unstable();
        of_generators.dedup();
        let shared = of_generators.iter().find(|cpu| self.server.contains(cpu));
        if let Some(cpu) = shared {
            remarks.push(format!(
                "Server and load generator share processor {cpu}, because the server uses all {} that there \
                 are.",
                self.server.len()
            ));
        }
        let (workers, processors) = (self.workers, self.server.len());
        if processors > 0 && processors < workers {
            remarks.push(format!("The {workers} workers of the server share processors."));
        }
        let (count, processors) = (self.generators.len(), of_generators.len());
        if processors > 0 && processors < count {
            let processors = if processors == 1 { "a processor" } else { "processors" };
            remarks.push(format!("The {count} load generators share {processors}."));
        }
        remarks
    }
}

/// The folder that is served, with nothing else in it: where the server runs elsewhere, it is sent there.
pub fn web_folder(trial: &Trial<'_>) -> PathBuf {
    trial.scratch().join("web")
}

/// Writes a file of this size into the folder that [`web`] serves. Returns its path in a request.
pub fn web_file(trial: &Trial<'_>, bytes: usize) -> Result<String, TrialError> {
    let mut random = fastrand::Rng::with_seed(trial.seed());
    let content: Vec<u8> = std::iter::repeat_with(|| random.u8(..)).take(bytes).collect();
    let name = format!("{bytes}.bin");
    let file = web_folder(trial).join(&name);
    let written = std::fs::create_dir_all(web_folder(trial)).and_then(|()| std::fs::write(&file, content));
    written.map_err(TrialError::at(format!("to write {}", file.display())))?;
    Ok(format!("/{name}"))
}

/// A web server for the trial's folder.
pub fn web(trial: &Trial<'_>, architecture: &str) -> ServerPlan {
    let settings = HttpSettings { root: web_folder(trial), ..HttpSettings::default() };
    ServerPlan::new(architecture, &settings)
}

/// Settings of a load generator that requests one file of a web server.
pub fn web_client(address: SocketAddr, path: String) -> LoadSettings {
    let client =
        HttpClientSettings { host: address.to_string(), paths: vec![path], ..HttpClientSettings::default() };
    LoadSettings::new(address, &client)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generators_get_what_the_server_leaves() {
        let of = |workers, generators| {
            let placement = ServerPlacement::new(Some(7), Some(6), &[5, 4], workers, generators);
            let remarks = placement.remarks().len();
            (placement.server, placement.generators.into_iter().flatten().collect::<Vec<_>>(), remarks)
        };
        assert_eq!(of(1, 1), (vec![6], vec![7], 0), "as without a choice");
        assert_eq!(of(1, 0), of(1, 1), "without a choice there is one for one worker");
        assert_eq!(of(2, 0), (vec![6, 5], vec![7, 4], 0));
        assert_eq!(of(4, 0), (vec![6, 5, 4, 7], vec![7], 1), "nothing is left");
        assert_eq!(of(1, 3), (vec![6], vec![7, 5, 4], 0));
        assert_eq!(of(2, 2), (vec![6, 5], vec![7, 4], 0));
        assert_eq!(of(3, 2), (vec![6, 5, 4], vec![7, 7], 1), "two generators share one");
        assert_eq!(of(4, 1), (vec![6, 5, 4, 7], vec![7], 1), "server and generator share one");
        assert_eq!(of(9, 2), (vec![6, 5, 4, 7], vec![7, 7], 3));
    }

    #[test]
    fn processors_are_not_chosen_where_a_process_cannot_be_bound() {
        let none = ServerPlacement::new(None, None, &[], 3, 2);
        assert_eq!((none.server.len(), &none.generators[..]), (0, &[None, None][..]));
        assert!(none.remarks().is_empty());
        let elsewhere = ServerPlacement::new(Some(1), None, &[0], 1, 2);
        assert_eq!((elsewhere.server.len(), &elsewhere.generators[..]), (0, &[Some(1), Some(0)][..]));
    }
}
