//! The links of a coordinator to its workers: processes here and on other hosts. Tests have simulated ones.

use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::time::Duration;

use host::{Deadline, Host, Process};

use super::JointWork;
use super::worker::{Reply, RequestOf};
use crate::Error;

/// How long a command may take until programs can be started through it.
const OPEN_PATIENCE: Duration = Duration::from_secs(60);

/// A reply of a worker of that kind.
pub(super) type ReplyOf<W> = Reply<<W as JointWork>::Measured>;

/// A worker, wherever it is.
pub(super) trait WorkerLink {
    type Work: JointWork;

    /// Its name in results and errors.
    fn name(&self) -> &str;

    /// Sends a request. If the worker is gone, the missing reply shows it.
    fn send(&mut self, request: &RequestOf<Self::Work>) -> Result<(), Error>;

    /// The next reply where it comes within this time; `None` where it does not.
    fn receive(&mut self, within: Duration) -> Result<Option<ReplyOf<Self::Work>>, Error>;

    /// Ends a worker that no longer replies.
    fn end(&mut self);
}

/// A process with the role of a worker. Dropped, it is killed.
pub(super) struct WorkerProcess<W> {
    name: String,
    process: Process,
    work: PhantomData<fn() -> W>,
}

impl<W: JointWork> WorkerLink for WorkerProcess<W> {
    type Work = W;

    fn name(&self) -> &str {
        &self.name
    }

    fn send(&mut self, request: &RequestOf<W>) -> Result<(), Error> {
        Ok(self.process.send(request)?)
    }

    fn receive(&mut self, within: Duration) -> Result<Option<ReplyOf<W>>, Error> {
        Ok(self.process.poll(within)?)
    }

    fn end(&mut self) {
        self.process.kill();
    }
}

impl<W: JointWork> WorkerProcess<W> {
    /// Starts a worker on this machine.
    pub(super) fn start(program: &Path, name: String) -> Result<WorkerProcess<W>, Error> {
        Ok(WorkerProcess::new(Process::start(&name, host::role(program, &[W::ROLE]))?, name))
    }

    fn new(process: Process, name: String) -> WorkerProcess<W> {
        WorkerProcess { name, process: process.with_grace(Duration::ZERO), work: PhantomData }
    }
}

/// A host of workers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerHost {
    /// Its name in results and errors.
    pub name: String,
    /// The command that leads to a shell there, such as `ssh host`; empty for this machine.
    pub command: Vec<String>,
}

/// The workers of several hosts.
#[derive(Clone, Copy, Debug)]
pub struct WorkerPlan<'a> {
    /// A program that calls [`work`](super::work), which is sent to each host.
    pub program: &'a Path,
    /// The hosts.
    pub hosts: &'a [WorkerHost],
    /// Workers on each of them.
    pub workers_each: usize,
    /// A file that each host needs besides.
    pub file: Option<&'a Path>,
}

/// A host with its workers, which end before the command that leads there.
pub(super) struct OpenHost<W> {
    pub(super) workers: Vec<WorkerProcess<W>>,
    pub(super) host: Host,
    /// The file of the plan, where it is there.
    pub(super) file: Option<PathBuf>,
}

impl WorkerPlan<'_> {
    /// Opens all hosts at once, because a login takes most of the time, and starts the workers on each.
    pub(super) fn open<W: JointWork>(&self) -> Result<Vec<OpenHost<W>>, Error> {
        let opened = std::thread::scope(|scope| {
            let opening: Vec<_> =
                self.hosts.iter().map(|host| scope.spawn(move || self.open_host(host))).collect();
            let opened = opening.into_iter().map(|thread| match thread.join() {
                Ok(opened) => opened,
                Err(panic) => std::panic::resume_unwind(panic),
            });
            // All of them, so that none is left when one fails.
            opened.collect::<Vec<Result<OpenHost<W>, Error>>>()
        });
        if sys::signal::stop_ordered() {
            return Err(Error::Stopped);
        }
        opened.into_iter().collect()
    }

    fn open_host<W: JointWork>(&self, place: &WorkerHost) -> Result<OpenHost<W>, Error> {
        let failed =
            |error: host::Error| Error::Failed { role: place.name.clone(), reason: error.to_string() };
        let deadline = Deadline::within(OPEN_PATIENCE).or_when(sys::signal::stop_flag());
        let folders = Host::FOLDERS.map(str::to_owned);
        let mut host =
            Host::open(&place.command, self.program, self.program, &folders, deadline).map_err(failed)?;
        let file = self.file.map(|file| host.send_file(file, deadline)).transpose().map_err(failed)?;
        let mut workers = Vec::new();
        for number in 1..=self.workers_each {
            let name = match self.workers_each {
                1 => place.name.clone(),
                _ => format!("{}/{number}", place.name),
            };
            let process = host.start(&name, self.program, &[W::ROLE], deadline).map_err(failed)?;
            workers.push(WorkerProcess::new(process, name));
        }
        Ok(OpenHost { workers, host, file })
    }
}
