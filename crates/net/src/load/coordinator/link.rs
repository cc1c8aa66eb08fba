//! The links of a coordinator to its workers: processes here and on other hosts. Tests have simulated ones.

use std::path::{Path, PathBuf};
use std::time::Duration;

use host::{Deadline, Host, Process};

use super::ROLE;
use super::worker::{Reply, Request};
use crate::Error;
use crate::load::LoadSettings;

/// How long a command may take until programs can be started through it.
const OPEN_PATIENCE: Duration = Duration::from_secs(60);

/// A worker, wherever it is.
pub(super) trait WorkerLink {
    /// Its name in results and errors.
    fn name(&self) -> &str;

    /// Sends a request. If the worker is gone, the missing reply shows it.
    fn send(&mut self, request: &Request) -> Result<(), Error>;

    /// The next reply where it comes within this time; `None` where it does not.
    fn receive(&mut self, within: Duration) -> Result<Option<Reply>, Error>;

    /// Ends a worker that no longer replies.
    fn end(&mut self);
}

/// A process with the role of a worker. Dropped, it is killed.
#[derive(Debug)]
pub(super) struct WorkerProcess {
    name: String,
    process: Process,
}

impl WorkerLink for WorkerProcess {
    fn name(&self) -> &str {
        &self.name
    }

    fn send(&mut self, request: &Request) -> Result<(), Error> {
        Ok(self.process.send(request)?)
    }

    fn receive(&mut self, within: Duration) -> Result<Option<Reply>, Error> {
        Ok(self.process.poll(within)?)
    }

    fn end(&mut self) {
        self.process.kill();
    }
}

impl WorkerProcess {
    /// Starts a worker on this machine.
    pub(super) fn start(program: &Path, name: String) -> Result<WorkerProcess, Error> {
        let process = Process::start(&name, host::role(program, &[ROLE]))?.with_grace(Duration::ZERO);
        Ok(WorkerProcess { name, process })
    }
}

/// A host of load generators.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GeneratorHost {
    /// Its name in results and errors.
    pub name: String,
    /// The command that leads to a shell there, such as `ssh host`; empty for this machine.
    pub command: Vec<String>,
}

/// A host with its workers, which end before the command that leads there.
pub(super) struct OpenHost {
    pub(super) workers: Vec<WorkerProcess>,
    pub(super) host: Host,
    /// The files of the settings, where they are there.
    pub(super) cacert: Option<PathBuf>,
}

/// Opens all hosts at once, because a login takes most of the time, and starts so many workers on each.
pub(super) fn open_hosts(
    program: &Path,
    hosts: &[GeneratorHost],
    workers_each: usize,
    settings: &LoadSettings,
) -> Result<Vec<OpenHost>, Error> {
    std::thread::scope(|scope| {
        let open = |host| scope.spawn(move || open_host(program, host, workers_each, settings));
        let opening: Vec<_> = hosts.iter().map(open).collect();
        let opened = opening.into_iter().map(|thread| match thread.join() {
            Ok(opened) => opened,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        // All of them, so that none is left when one fails.
        opened.collect::<Vec<_>>().into_iter().collect()
    })
}

fn open_host(
    program: &Path,
    place: &GeneratorHost,
    workers_each: usize,
    settings: &LoadSettings,
) -> Result<OpenHost, Error> {
    let failed = |error: host::Error| Error::Failed { role: place.name.clone(), reason: error.to_string() };
    let deadline = Deadline::within(OPEN_PATIENCE);
    let folders = Host::FOLDERS.map(str::to_owned);
    let mut host = Host::open(&place.command, program, program, &folders, deadline).map_err(failed)?;
    let cacert = settings.tls.as_ref().and_then(|tls| tls.cacert.as_deref());
    let cacert = cacert.map(|file| host.send_file(file, deadline)).transpose().map_err(failed)?;
    let mut workers = Vec::new();
    for number in 1..=workers_each {
        let name = match workers_each {
            1 => place.name.clone(),
            _ => format!("{}/{number}", place.name),
        };
        let process = host.start(&name, program, &[ROLE], deadline).map_err(failed)?;
        workers.push(WorkerProcess { name, process: process.with_grace(Duration::ZERO) });
    }
    Ok(OpenHost { workers, host, cacert })
}
