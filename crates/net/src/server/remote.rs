//! A server in another process, started from here or through a command.
//!
//! The server receives its plan, replies with its address, and then replies to every request with its
//! counters. At the end of its input it stops, and sends them once more.

use std::collections::BTreeMap;
use std::fs::DirEntry;
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use host::{Deadline, FrameReader, FrameWriter, Host, Process};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{ListeningServer, ServerPlan};
use crate::worker::{COUNTERS, Counter, Counters};
use crate::{Error, service};

/// The name of a server in errors.
const SERVER: &str = "the server";

/// The role in which a program calls [`serve_for`].
pub const ROLE: &str = "serve";

/// How long a command may take until programs can be started through it.
const OPEN_PATIENCE: Duration = Duration::from_secs(30);

/// The time for a server to begin, or to report its counters.
const PATIENCE: Duration = Duration::from_secs(10);

/// Beyond the time of grace that its connections have, a server may take this long to end.
const END_PATIENCE: Duration = Duration::from_secs(5);

/// The time in which a server that has stopped serving also ends.
const OWN_END_PATIENCE: Duration = Duration::from_secs(1);

/// The counters and the resources of a server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// By name.
    pub counts: BTreeMap<String, u64>,
    /// Connections now.
    pub open: u64,
    /// Most connections at a time.
    ///
    /// For several workers at least that many.
    pub peak: u64,
    /// Processes of the server; `None`, like the next two, where the system does not count them.
    pub processes: Option<u64>,
    /// User memory; shared memory counts once.
    pub memory_bytes: Option<u64>,
    /// Processor time of all its processes, those that have ended too.
    ///
    /// Absent in requests from outside: walking through all processes would be a part of every response.
    pub cpu_seconds: Option<f64>,
}

impl Report {
    /// The report of a server in this process and its descendants.
    pub fn new(counters: &Counters) -> Report {
        counters.look();
        let taken = sys::process::process_tree_usage().ok();
        let counts = COUNTERS.iter().map(|&name| name.to_owned()).zip(counters.sums());
        Report {
            counts: counts.collect(),
            open: counters.open(),
            peak: counters.peak(),
            processes: taken.as_ref().map(|taken| taken.processes),
            memory_bytes: taken.as_ref().map(|taken| taken.memory_bytes),
            cpu_seconds: taken.as_ref().map(|taken| taken.cpu_seconds),
        }
    }

    /// One count.
    pub fn count(&self, count: Counter) -> u64 {
        self.counts.get(COUNTERS[count as usize]).copied().unwrap_or(0)
    }
}

/// A reply of a server: first that it listens, then one report for every request.
#[derive(Debug, Serialize, Deserialize)]
enum Reply {
    Listening(SocketAddr),
    Report(Report),
    /// It cannot be set up or go on.
    Refused(String),
}

#[derive(Debug, Serialize, Deserialize)]
struct ReportNow;

/// The place where a server is started, and its program.
#[derive(Clone, Copy, Debug)]
pub struct ServerHost<'a> {
    /// The command through which it is started; empty for this machine.
    pub prefix: &'a [String],
    /// A program that calls [`serve_for`] in the role [`ROLE`]; behind a command, it is sent there.
    pub program: &'a Path,
    /// Where the agent of a command makes its folder, if that exists there.
    pub folder: &'a Path,
}

/// A server in another process. Dropped, it is killed.
#[derive(Debug)]
pub struct Remote {
    // The process ends before the command that it was started through.
    process: Process,
    _host: Host,
    address: SocketAddr,
    patience: Duration,
}

impl Remote {
    /// Starts a server, and waits until it listens. Files that it is to serve are sent along.
    ///
    /// # Errors
    /// When it cannot be started, or does not begin.
    pub fn start(place: ServerHost<'_>, plan: &ServerPlan) -> Result<Remote, Error> {
        let ServerHost { prefix, program, folder } = place;
        let own = folder.to_string_lossy().into_owned();
        let folders: Vec<String> = [own].into_iter().chain(Host::FOLDERS.map(str::to_owned)).collect();
        let mut host = Host::open(prefix, program, program, &folders, Deadline::within(OPEN_PATIENCE))?;
        let plan = with_files(&mut host, plan)?;
        let deadline = Deadline::within(PATIENCE);
        let process = host.start(SERVER, program, &[ROLE], deadline)?.with_grace(Duration::ZERO);
        process.send(&plan)?;
        let address = SocketAddr::from(([0; 4], 0));
        let patience = plan.limits.grace.saturating_add(END_PATIENCE);
        let mut remote = Remote { process, _host: host, address, patience };
        remote.address = match remote.receive(PATIENCE)? {
            Reply::Listening(address) => address,
            other => return Err(refused(other)),
        };
        Ok(remote)
    }

    /// Whether the error is that the server has ended without a reply, which is never intended.
    pub fn has_ended(error: &Error) -> bool {
        let Error::Host(host::Error::NoReply { role, reason, .. }) = error else { return false };
        role == SERVER && matches!(reason, host::NoReply::Exited(_))
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its counters and resources now.
    ///
    /// # Errors
    /// When it does not reply.
    pub fn report(&mut self) -> Result<Report, Error> {
        self.process.send(&ReportNow)?;
        self.receive_report(PATIENCE)
    }

    /// How it has ended without an order, if it has; a server that was stopped from outside needs a moment
    /// for it.
    pub fn own_end(&mut self) -> Option<String> {
        loop {
            match self.process.poll::<Reply>(OWN_END_PATIENCE) {
                // The last one of a server that was stopped in order.
                Ok(Some(Reply::Report(_))) => {}
                Ok(Some(other)) => return Some(refused(other).to_string()),
                Ok(None) => return None,
                Err(error) => return Some(error.to_string()),
            }
        }
    }

    /// Stops it, and waits for its end; returns its last report.
    ///
    /// # Errors
    /// When it does not end in time, or ends without a report.
    pub fn stop(mut self) -> Result<Report, Error> {
        self.process.close_input();
        let report = self.receive_report(self.patience)?;
        let ending = self.process.finish(END_PATIENCE);
        if ending.is_success {
            return Ok(report);
        }
        let reason = host::with_stderr(&ending.words, &self.process.stderr());
        Err(Error::at("stop the server in order")(io::Error::other(reason)))
    }

    fn receive_report(&mut self, patience: Duration) -> Result<Report, Error> {
        match self.receive(patience)? {
            Reply::Report(report) => Ok(report),
            other => Err(refused(other)),
        }
    }

    fn receive(&mut self, patience: Duration) -> Result<Reply, Error> {
        Ok(self.process.receive(Deadline::within(patience))?)
    }
}

/// The plan of a server that shares no folder with this process: the files that it serves are sent there.
fn with_files(host: &mut Host, plan: &ServerPlan) -> Result<ServerPlan, Error> {
    let mut plan = plan.clone();
    let Some(there) = host.folder().map(str::to_owned) else { return Ok(plan) };
    let Some(field) = service::find(&plan.service)?.folder else { return Ok(plan) };
    let Some(here) = plan.settings.get(field).and_then(Value::as_str) else { return Ok(plan) };
    let listed = Error::at(format!("list {here} to send its files"));
    let entries: Vec<_> = std::fs::read_dir(here).and_then(Iterator::collect).map_err(listed)?;
    for file in entries.iter().map(DirEntry::path).filter(|path| path.is_file()) {
        host.send_file(&file, Deadline::within(PATIENCE))?;
    }
    plan.settings[field] = Value::String(there);
    Ok(plan)
}

fn refused(reply: Reply) -> Error {
    let role = SERVER.to_owned();
    match reply {
        Reply::Refused(reason) => Error::Failed { role, reason },
        other => Error::Protocol { role, message: format!("{other:?}") },
    }
}

/// The other side of [`Remote`]: receives a plan and serves by it, until the input ends or a signal orders to
/// stop. The command is that of a program which calls [`serve_session`](super::serve_session).
///
/// # Errors
/// When it cannot be set up or go on; the other side has the error too.
pub fn serve_for(
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
    session_command: Vec<String>,
) -> Result<(), Error> {
    let mut requests = FrameReader::new(input);
    let plan: Option<ServerPlan> = requests.receive().map_err(Error::at("receive the plan of the server"))?;
    let Some(plan) = plan else { return Ok(()) };
    let replies = Arc::new(Mutex::new(FrameWriter::new(output)));
    let served = serve_until_end(ServerPlan { session_command, ..plan }, requests, &replies);
    let last = match &served {
        Ok(counters) => Reply::Report(Report::new(counters)),
        Err(error) => Reply::Refused(error.to_string()),
    };
    send(&replies, &last)?;
    served.map(drop)
}

fn serve_until_end(
    plan: ServerPlan,
    mut requests: FrameReader<impl Read + Send + 'static>,
    replies: &Arc<Mutex<FrameWriter<impl Write + Send + 'static>>>,
) -> Result<Counters, Error> {
    let server = ListeningServer::set_up(plan)?;
    send(replies, &Reply::Listening(server.address()))?;
    let (stop, counters, replies) = (server.stop(), server.counters(), Arc::clone(replies));
    // It may wait for input as long as the process lives, so it is not joined.
    let listening = std::thread::Builder::new().spawn(move || {
        while let Ok(Some(ReportNow)) = requests.receive() {
            let mut report = Report::new(&counters);
            // This thread does nothing else.
            let reporting_seconds = sys::thread::cpu_ns().map_or(0.0, |ns| ns as f64 / 1e9);
            report.cpu_seconds = report.cpu_seconds.map(|seconds| (seconds - reporting_seconds).max(0.0));
            if send(&replies, &Reply::Report(report)).is_err() {
                break;
            }
        }
        stop.order();
    });
    listening.map_err(Error::at("listen to standard input"))?;
    server.run(|_| ())
}

fn send(replies: &Mutex<FrameWriter<impl Write>>, reply: &Reply) -> Result<(), Error> {
    let mut replies = replies.lock().unwrap_or_else(PoisonError::into_inner);
    replies.send(reply).map_err(Error::at("reply to the process that started the server"))
}
