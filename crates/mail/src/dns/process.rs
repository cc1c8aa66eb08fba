//! Our own DNS server in a process of its own, started from here as a role: it receives its plan, replies
//! with its address, and then replies to every request with its processor time. At the end of its input it
//! stops, and sends its counters.

use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use host::{Deadline, FrameReader, FrameWriter, Host, Process};
use serde::{Deserialize, Serialize};

use super::authority::{Authority, AuthorityConduct, AuthorityCounts};
use super::zone::ZonePlan;

/// The name of the server in errors.
const ROLE: &str = "the DNS server";

/// The word for which a program calls [`serve_names`].
pub const NAMES_ROLE: &str = "names";

/// How long it may take to begin, to reply, or to end.
const PATIENCE: Duration = Duration::from_secs(10);

/// The plan of a server.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NameServerPlan {
    /// Where it answers; port 0 lets the system choose.
    pub address: SocketAddr,
    /// Its zone.
    pub zone: ZonePlan,
    /// The processor that it stays on, where the system can do that.
    pub cpu: Option<u32>,
}

/// A reply of the server.
#[derive(Debug, Serialize, Deserialize)]
enum Reply {
    Listening(SocketAddr),
    /// Processor time in seconds, where the system reports it.
    Taken(Option<f64>),
    /// The last one.
    Counted(AuthorityCounts),
    /// It cannot be set up or go on.
    Refused(String),
}

/// The request for the processor time.
#[derive(Debug, Serialize, Deserialize)]
struct TakenNow;

/// A DNS server in another process. Dropped, it is killed.
#[derive(Debug)]
pub struct NameServer {
    process: Process,
    address: SocketAddr,
}

impl NameServer {
    /// Starts a server, and waits until it responds. The program calls [`serve_names`] for [`NAMES_ROLE`].
    ///
    /// # Errors
    /// When it cannot be started, or does not begin.
    pub fn start(program: &Path, plan: &NameServerPlan) -> io::Result<NameServer> {
        let deadline = Deadline::within(PATIENCE);
        let mut host = Host::open(&[], program, program, &[], deadline).map_err(io::Error::other)?;
        let process = host.start(ROLE, program, &[NAMES_ROLE], deadline).map_err(io::Error::other)?;
        let process = process.with_grace(Duration::ZERO);
        process.send(plan).map_err(io::Error::other)?;
        let mut server = NameServer { process, address: plan.address };
        match server.receive()? {
            Reply::Listening(address) => server.address = address,
            other => return Err(unexpected(&other)),
        }
        Ok(server)
    }

    /// Where it answers.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its processor time until now, in seconds; `None` where the system does not report it.
    ///
    /// # Errors
    /// When it does not reply.
    pub fn cpu_seconds(&mut self) -> io::Result<Option<f64>> {
        self.process.send(&TakenNow).map_err(io::Error::other)?;
        match self.receive()? {
            Reply::Taken(seconds) => Ok(seconds),
            other => Err(unexpected(&other)),
        }
    }

    /// Stops it, and waits for its end; returns its counters.
    ///
    /// # Errors
    /// When it does not end in time, or ends without a reply.
    pub fn stop(mut self) -> io::Result<AuthorityCounts> {
        self.process.close_input();
        let counts = match self.receive()? {
            Reply::Counted(counts) => counts,
            other => return Err(unexpected(&other)),
        };
        let ending = self.process.finish(PATIENCE);
        if ending.is_success {
            return Ok(counts);
        }
        Err(io::Error::other(host::with_stderr(&ending.words, &self.process.stderr())))
    }

    fn receive(&mut self) -> io::Result<Reply> {
        self.process.receive(Deadline::within(PATIENCE)).map_err(io::Error::other)
    }
}

fn unexpected(reply: &Reply) -> io::Error {
    let words = match reply {
        Reply::Refused(reason) => format!("{ROLE} {reason}"),
        other => format!("{ROLE} replied {other:?}"),
    };
    io::Error::other(words)
}

/// The other side of [`NameServer`]: receives a plan and serves by it, until the input ends.
///
/// # Errors
/// When it cannot be set up or go on; the other side has the error too.
pub fn serve_names(input: impl Read + Send + 'static, output: impl Write + Send + 'static) -> io::Result<()> {
    let mut requests = FrameReader::new(input);
    let Some(plan) = requests.receive::<NameServerPlan>()? else { return Ok(()) };
    let replies = Arc::new(Mutex::new(FrameWriter::new(output)));
    let served = serve_until_end(plan, requests, &replies);
    let last = match &served {
        Ok(counts) => Reply::Counted(*counts),
        Err(error) => Reply::Refused(format!("cannot go on: {error}")),
    };
    send(&replies, &last)?;
    served.map(drop)
}

fn serve_until_end(
    plan: NameServerPlan,
    mut requests: FrameReader<impl Read + Send + 'static>,
    replies: &Arc<Mutex<FrameWriter<impl Write + Send + 'static>>>,
) -> io::Result<AuthorityCounts> {
    // The system chooses the processor where it cannot be set.
    let _ = plan.cpu.map(sys::cpu::pin);
    let authority = Authority::bind(plan.address, plan.zone, AuthorityConduct::default())?;
    send(replies, &Reply::Listening(authority.address()?))?;
    let stop = Arc::new(AtomicBool::new(false));
    let (replies, ordered) = (Arc::clone(replies), Arc::clone(&stop));
    // It may wait for input as long as the process lives, so it is not joined.
    std::thread::Builder::new().spawn(move || {
        while let Ok(Some(TakenNow)) = requests.receive() {
            let seconds = sys::process::process_tree_usage().ok().map(|taken| taken.cpu_seconds);
            if send(&replies, &Reply::Taken(seconds)).is_err() {
                break;
            }
        }
        ordered.store(true, Ordering::Relaxed);
    })?;
    authority.run(&stop)
}

fn send(replies: &Mutex<FrameWriter<impl Write>>, reply: &Reply) -> io::Result<()> {
    replies.lock().unwrap_or_else(PoisonError::into_inner).send(reply)
}
