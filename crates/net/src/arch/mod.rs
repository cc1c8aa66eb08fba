//! Server architectures, one file each: how connections are spread over processes, threads and events.
//!
//! A new architecture is a new file here, its `mod` line and its line in [`ALL`]; it then serves every
//! service, and `serve`, `list`, the workloads and the conformance table know it.

#[cfg(unix)]
mod alarms;
pub(crate) mod blocking;
#[cfg(unix)]
mod course;
pub(crate) mod crew;
#[cfg(unix)]
mod desk;
mod epoll;
mod epoll_et;
mod event_ports;
mod fork;
mod inetd;
mod iocp;
mod kqueue;
mod poll;
mod pool;
mod prefork;
#[cfg(target_os = "linux")]
mod proactor;
#[cfg(unix)]
mod reactor;
mod select;
mod sigio;
#[cfg(unix)]
mod talk;
#[cfg(unix)]
mod tasks;
mod thread;
mod tokio;
mod uring;

use std::io;

use crate::Error;
use crate::site::Site;

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
    &event_ports::ARCHITECTURE,
    &iocp::ARCHITECTURE,
];

/// A way to serve many connections.
#[derive(Debug)]
pub struct Architecture {
    /// Name on the command line.
    pub name: &'static str,
    /// The text of its own file; its leading `//!` lines are the page.
    pub source: &'static str,
    /// Whether accept and the connections are to wait.
    pub blocking: bool,
    /// Whether several workers, each with a listener of its own, can share the port.
    pub workers: bool,
    /// Whether it can run here and now; an `Unsupported` error says why not.
    pub probe: fn() -> io::Result<()>,
    /// Serves until the order to stop, and then until the answers under way have left. Or why this system
    /// cannot have it.
    pub serve: Result<Serve, &'static str>,
}

/// What serves a site.
pub type Serve = fn(&Site) -> io::Result<()>;

/// For what needs no more than sockets that are descriptors.
const fn on_unix(serve: Serve) -> Result<Serve, &'static str> {
    cfg_select! {
        unix => { Ok(serve) }
        _ => { let _ = serve; Err("servers are not implemented on this system yet") }
    }
}

impl Architecture {
    /// The text that opens its file: what it is, when it was used, what it costs.
    pub fn page(&self) -> String {
        crate::page::page(self.source)
    }

    /// The page's first sentence.
    pub fn summary(&self) -> String {
        crate::page::summary(self.source)
    }

    /// Why it cannot run here, where it cannot.
    pub fn obstacle(&self) -> Option<String> {
        match self.serve {
            Err(reason) => Some(reason.to_owned()),
            Ok(_) => (self.probe)().err().map(|error| error.to_string()),
        }
    }
}

/// The architecture of that name.
///
/// # Errors
/// [`Error::Unknown`].
pub fn find(name: &str) -> Result<&'static Architecture, Error> {
    ALL.iter().copied().find(|architecture| architecture.name == name).ok_or_else(|| Error::Unknown {
        kind: "architecture",
        name: name.to_owned(),
        known: ALL.iter().map(|architecture| architecture.name).collect::<Vec<_>>().join(", "),
    })
}
