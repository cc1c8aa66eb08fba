//! A worker from both sides: the link by which the coordinator has one, a process here or on another host, or
//! in tests a simulated one; and the process, which does its part of each task by the requests that come.

use std::io::{Read, Write};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use host::{Deadline, FrameReader, FrameWriter, Host, Process};
use serde::{Deserialize, Serialize};

use super::{JointWork, LEAD_MAX};
use crate::Error;
use crate::load::Progress;

/// How long a command may take until programs can be started through it.
const OPEN_PATIENCE: Duration = Duration::from_secs(60);

/// A request of the coordinator. Each task has a number of its own, its level, so that a late reply of an
/// earlier one is not taken for that of the present one.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Request<S, T> {
    /// First of all, with the processor to be bound to; `reports_build` asks which program this is.
    Settings { settings: Box<S>, cpu: Option<u32>, reports_build: bool },
    /// Read the clock by which the worker works.
    Clock,
    /// Make ready for this task.
    Prepare { level: u64, task: T },
    /// Add latencies to the progress.
    Follow,
    /// Begin it, at this moment of the worker's clock. Where that is over, a strict one is refused; any other
    /// begins at once.
    Begin { level: u64, at_ns: u64, is_strict: bool },
    /// Do no more of it.
    Stop,
}

/// A request to a worker that does such work.
type RequestOf<W> = Request<<W as JointWork>::Settings, <W as JointWork>::Task>;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Reply<M> {
    /// The settings are accepted; with the checksum of the program, if that was asked for.
    Accepted {
        build: Option<u32>,
    },
    /// The present time.
    Clock {
        ns: u64,
    },
    Ready {
        level: u64,
    },
    Progress(Progress),
    /// The time to begin was over by this much.
    TooLate {
        level: u64,
        ns: u64,
    },
    Measured {
        level: u64,
        measured: Box<M>,
    },
    Refused(String),
}

/// A reply of a worker that does such work.
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
    /// A program that calls [`work`], which is sent to each host.
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

/// Handles the requests of a coordinator, until its input ends.
///
/// # Errors
/// Those of reading requests and writing replies; a failure of a load is a reply to the coordinator.
pub fn work<W: JointWork>(requests: impl Read + Send + 'static, replies: impl Write) -> Result<(), Error> {
    let stop = Arc::new(AtomicBool::new(false));
    let (sender, received) = channel();
    let (reader, stopping) = (FrameReader::new(requests), Arc::clone(&stop));
    let listening = std::thread::Builder::new().spawn(move || listen::<W>(reader, &sender, &stopping));
    listening.map_err(Error::at("listen to the coordinator"))?;
    let mut worker = Worker::<W, _> { replies: FrameWriter::new(replies), stop, work: None, next: None };
    while let Ok(request) = received.recv() {
        if let Err(error) = worker.fulfil(request) {
            worker.reply(&Reply::Refused(error.to_string()))?;
        }
    }
    Ok(())
}

/// Receives requests, also during a task; the end of the input ends the task.
fn listen<W: JointWork>(
    mut requests: FrameReader<impl Read>,
    sender: &Sender<RequestOf<W>>,
    stop: &AtomicBool,
) {
    while let Ok(Some(request)) = requests.receive() {
        match request {
            Request::Stop => stop.store(true, Ordering::Relaxed),
            request => {
                if matches!(request, Request::Prepare { .. }) {
                    stop.store(false, Ordering::Relaxed);
                }
                if sender.send(request).is_err() {
                    return;
                }
            }
        }
    }
    stop.store(true, Ordering::Relaxed);
}

/// A process that helps.
struct Worker<W: JointWork, O> {
    replies: FrameWriter<O>,
    stop: Arc<AtomicBool>,
    work: Option<W>,
    next: Option<(u64, W::Task)>,
}

impl<W: JointWork, O: Write> Worker<W, O> {
    fn fulfil(&mut self, request: RequestOf<W>) -> Result<(), Error> {
        match request {
            Request::Settings { settings, cpu, reports_build } => {
                // The system chooses the processor where it cannot be set.
                let _ = cpu.map(sys::cpu::pin);
                let build = match reports_build {
                    true => Some(checksum_of_own_program()?),
                    false => None,
                };
                self.work = Some(W::open(*settings)?);
                self.reply(&Reply::Accepted { build })
            }
            Request::Clock => {
                let ns = self.work()?.now_ns();
                self.reply(&Reply::Clock { ns })
            }
            Request::Prepare { level, task } => {
                self.work()?.prepare(&task)?;
                self.next = Some((level, task));
                self.reply(&Reply::Ready { level })
            }
            Request::Follow => {
                self.work()?.follow();
                Ok(())
            }
            Request::Begin { level, at_ns, is_strict } => self.begin(level, at_ns, is_strict),
            // The listener has handled it.
            Request::Stop => Ok(()),
        }
    }

    fn begin(&mut self, level: u64, at_ns: u64, is_strict: bool) -> Result<(), Error> {
        let next = self.next.take().filter(|(prepared, _)| *prepared == level);
        let (_, task) = next.ok_or_else(out_of_order)?;
        let work = self.work.as_mut().ok_or_else(out_of_order)?;
        let now_ns = work.now_ns();
        if is_strict && now_ns > at_ns {
            return self.reply(&Reply::TooLate { level, ns: now_ns - at_ns });
        }
        // A clock that was set back since it was read must not wait for hours.
        let latest_ns = now_ns.saturating_add(2 * LEAD_MAX.as_nanos() as u64);
        let at_ns = (now_ns <= at_ns).then_some(at_ns.min(latest_ns));
        let (replies, stop) = (&mut self.replies, &self.stop);
        let mut watched = |progress: &Progress| {
            let is_wanted = !stop.load(Ordering::Relaxed) && !sys::signal::stop_ordered();
            is_wanted && replies.send(&Reply::<W::Measured>::Progress(progress.clone())).is_ok()
        };
        let measured = work.measure_at(&task, at_ns, &mut watched)?;
        self.reply(&Reply::Measured { level, measured: Box::new(measured) })
    }

    fn work(&mut self) -> Result<&mut W, Error> {
        self.work.as_mut().ok_or_else(out_of_order)
    }

    fn reply(&mut self, reply: &Reply<W::Measured>) -> Result<(), Error> {
        self.replies.send(reply).map_err(Error::at("reply to the coordinator"))
    }
}

fn out_of_order() -> Error {
    let message = "a request that must not come yet".to_owned();
    Error::Protocol { role: "the coordinator".to_owned(), message }
}

fn checksum_of_own_program() -> Result<u32, Error> {
    checksum(&sys::process::own_program().map_err(Error::at("find this program"))?)
}

/// The checksum of a program, by which two builds differ.
pub(super) fn checksum(program: &Path) -> Result<u32, Error> {
    let attempted = || Error::at(format!("read {}", program.display()));
    let mut file = std::fs::File::open(program).map_err(attempted())?;
    let mut piece = vec![0; 1 << 20];
    let mut hasher = crc32fast::Hasher::new();
    loop {
        match file.read(&mut piece) {
            Ok(0) => return Ok(hasher.finalize()),
            Ok(read) => hasher.update(&piece[..read]),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(attempted()(error)),
        }
    }
}
