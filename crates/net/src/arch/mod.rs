//! Server architectures, one file each: how connections are spread over processes, threads and events.
//!
//! A new architecture is a new file here, its `mod` line and its line in [`ALL`]; it then serves every
//! service, and `serve`, `list`, the workloads and the conformance table know it.

pub(crate) mod blocking;
mod connection;
mod devpoll;
mod epoll;
mod epoll_et;
mod event_ports;
mod fork;
mod inetd;
mod iocp;
mod kqueue;
mod poll;
mod pool;
pub(crate) mod prefork;
#[cfg(any(target_os = "linux", windows))]
mod proactor;
mod reactor;
mod select;
mod sigio;
#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests;
mod thread;
mod tokio;
mod uring;

use std::io;

use crate::Error;
use crate::worker::{Accept, WorkerContext};

/// Every architecture, in the order of reports.
pub const ALL: &[&Architecture] = &[
    &inetd::ARCHITECTURE,
    &fork::ARCHITECTURE,
    &prefork::ARCHITECTURE,
    &thread::ARCHITECTURE,
    &pool::ARCHITECTURE,
    &select::ARCHITECTURE,
    &poll::ARCHITECTURE,
    &epoll::ARCHITECTURE,
    &epoll_et::ARCHITECTURE,
    &sigio::ARCHITECTURE,
    &uring::ARCHITECTURE,
    &tokio::ARCHITECTURE,
    &kqueue::ARCHITECTURE,
    &devpoll::ARCHITECTURE,
    &event_ports::ARCHITECTURE,
    &iocp::ARCHITECTURE,
];

/// The architecture of that name.
///
/// # Errors
/// [`Error::Unknown`].
pub fn find(name: &str) -> Result<&'static Architecture, Error> {
    let found = ALL.iter().copied().find(|architecture| architecture.name == name);
    found.ok_or_else(|| Error::unknown("architecture", name, ALL.iter().map(|one| one.name)))
}

/// A way to serve many connections.
#[derive(Debug)]
pub struct Architecture {
    /// Name on the command line.
    pub name: &'static str,
    /// The leading `//!` lines of its own file.
    pub source: &'static str,
    /// The thread or process that serves an open connection.
    pub served_by: ServedBy,
    /// How several workers of it can get the connections of one port; empty where it spreads them itself.
    pub accepts: &'static [Accept],
    /// Whether it can run here and now; an `Unsupported` error says why not.
    pub probe: fn() -> io::Result<()>,
    /// Serves until the order to stop, and then until the responses in progress have left; or the reason why
    /// this system lacks it.
    pub serve: Result<Serve, &'static str>,
}

/// The thread or process that serves an open connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServedBy {
    /// A loop that serves many.
    Loop,
    /// A thread for this connection.
    Thread,
    /// One of a fixed number of threads.
    PooledThread,
    /// A process for this connection.
    Process,
    /// One of a fixed number of processes.
    PooledProcess,
}

/// The function that serves a worker's connections.
pub type Serve = fn(&WorkerContext) -> io::Result<()>;

/// For architectures with processes for connections.
const fn on_unix(serve: Serve) -> Result<Serve, &'static str> {
    cfg_select! {
        unix => { Ok(serve) }
        _ => { let _ = serve; Err("this system has no fork(2), and no program takes over a connection here") }
    }
}

/// The probe of architectures that fork: only a system without fork(2) lacks them. A limit of processes may
/// be raised, and is reported when it is hit.
fn forks() -> io::Result<()> {
    cfg_select! {
        unix => {
            let forked = sys::process::try_fork();
            forked.or_else(|error| if sys::error::means_unsupported(&error) { Err(error) } else { Ok(()) })
        }
        _ => { Ok(()) }
    }
}

impl Architecture {
    /// The text that opens its file: its design, its use, its cost.
    pub fn page(&self) -> String {
        record::page(self.source)
    }

    /// The page's first sentence.
    pub fn summary(&self) -> String {
        record::summary(self.source)
    }

    /// Whether accept and the connections are to wait.
    pub fn is_blocking(&self) -> bool {
        self.served_by != ServedBy::Loop
    }

    /// Whether a fixed number of threads or processes limits the connections that are served at a time.
    pub fn has_pool(&self) -> bool {
        matches!(self.served_by, ServedBy::PooledThread | ServedBy::PooledProcess)
    }

    /// Whether a connection is served in another process than the one that was started.
    pub fn has_processes(&self) -> bool {
        matches!(self.served_by, ServedBy::Process | ServedBy::PooledProcess)
    }

    /// Why its workers cannot get connections in this way, where they cannot.
    pub fn accept_refusal(&self, accept: Accept) -> Option<String> {
        if accept == Accept::default() || self.accepts.contains(&accept) {
            return None;
        }
        let (name, known) = (self.name, self.accepts.iter().map(|accept| accept.name()));
        Some(match self.accepts {
            [] => format!("{name} spreads connections itself, so there is no choice how workers accept"),
            _ => format!(
                "workers of {name} cannot accept {}, but {}",
                accept.name(),
                known.collect::<Vec<_>>().join(", ")
            ),
        })
    }

    /// Why it cannot run here, where it cannot.
    pub fn unavailable_reason(&self) -> Option<String> {
        match self.serve {
            Err(reason) => Some(reason.to_owned()),
            Ok(_) => (self.probe)().err().map(|error| error.to_string()),
        }
    }
}
