//! Server architectures, one file each: how connections are spread over processes, threads and events.
//!
//! A new architecture is a new file here, its `mod` line and its line in [`ALL`]; it then serves every
//! service, and `serve`, `list`, the workloads and the conformance table know it.

pub(crate) mod blocking;
mod connection;
mod connection_state;
mod definition;
mod devpoll;
mod epoll;
mod epoll_et;
mod event_ports;
mod fork;
mod inetd;
mod iocp;
mod kqueue;
mod loop_context;
mod poll;
mod pool;
mod prefork;
#[cfg(any(target_os = "linux", windows))]
mod proactor;
mod reactor;
mod select;
mod sigio;
pub(crate) mod supervisor;
mod tasks;
#[cfg(all(test, target_os = "linux"))]
mod tests;
mod thread;
mod timer_wheel;
mod tokio;
mod uring;

pub use definition::{Architecture, Serve, ServedBy};

use crate::Error;

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
    ALL.iter().copied().find(|architecture| architecture.name == name).ok_or_else(|| Error::Unknown {
        kind: "architecture",
        name: name.to_owned(),
        known: ALL.iter().map(|architecture| architecture.name).collect::<Vec<_>>().join(", "),
    })
}
