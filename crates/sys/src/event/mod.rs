//! Event interfaces, which report the ready ones of many descriptors. One file per interface, all behind
//! [`Poller`].

#[cfg(unix)]
mod by_descriptor;
#[cfg(any(target_os = "illumos", target_os = "solaris"))]
mod devpoll;
#[cfg(target_os = "linux")]
mod epoll;
#[cfg(any(target_os = "illumos", target_os = "solaris"))]
mod event_ports;
mod flag;
#[cfg(any(
    target_vendor = "apple",
    target_os = "dragonfly",
    target_os = "freebsd",
    target_os = "netbsd",
    target_os = "openbsd"
))]
mod kqueue;
#[cfg(unix)]
mod poll;
#[cfg(windows)]
#[path = "wsapoll.rs"]
mod poll;
#[cfg(unix)]
mod select;
#[cfg(target_os = "linux")]
mod signal_io;
#[cfg(unix)]
mod uring;

use std::io;
use std::time::Duration;

use crate::handle::Handle;

#[cfg(any(target_os = "illumos", target_os = "solaris"))]
pub use devpoll::DevPoll;
#[cfg(target_os = "linux")]
pub use epoll::{Epoll, EpollEdge, ExclusiveWatch, SharedSet};
#[cfg(any(target_os = "illumos", target_os = "solaris"))]
pub use event_ports::EventPorts;
pub use flag::Flag;
#[cfg(any(
    target_vendor = "apple",
    target_os = "dragonfly",
    target_os = "freebsd",
    target_os = "netbsd",
    target_os = "openbsd"
))]
pub use kqueue::Kqueue;
pub use poll::Poll;
#[cfg(unix)]
pub use select::{BeyondSelect, Select};
#[cfg(target_os = "linux")]
pub use signal_io::SignalIo;
#[cfg(unix)]
pub use uring::Uring;

/// The events that are waited for on a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interest {
    /// Input, or the end of it.
    Read,
    /// Room for output.
    Write,
    /// Either.
    Both,
    /// Nothing for now, not even an error: an interface that reports states would report that one again and
    /// again.
    Nothing,
}

/// A descriptor that is ready.
///
/// A connection that is broken, or closed by the other end in both directions, is ready for both. select(2)
/// and kqueue(2) report it only for the requested events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// The token that it was added with.
    pub token: usize,
    /// Input, its end, or an error waits.
    pub readable: bool,
    /// There is room for output, or an error waits.
    pub writable: bool,
}

/// An event interface.
pub trait Poller: Sized {
    /// Whether it reports a change once, rather than a state as long as it lasts. The caller must then go on
    /// until `WouldBlock`.
    const EDGE: bool;

    /// Whether closing a descriptor that was not duplicated removes it without [`Poller::remove`].
    const FORGETS_CLOSED: bool = false;

    /// An interface with nothing added.
    ///
    /// # Errors
    /// Those of the system; `Unsupported` where it has no such interface.
    fn new() -> io::Result<Self>;

    /// Waits for the descriptor too. `token` may be any number below `u32::MAX`.
    ///
    /// # Errors
    /// Those of the system; `BeyondSelect` for a descriptor too large for the interface. A server treats it
    /// like `EMFILE`: `crate::error::out_of_descriptors` holds for both.
    fn add(&mut self, descriptor: Handle<'_>, token: usize, interest: Interest) -> io::Result<()>;

    /// Waits for input on a descriptor that several sets watch, each for a process of its own: a change wakes
    /// one of them, or a few.
    ///
    /// # Errors
    /// Those of the system; `Unsupported` where every change wakes all.
    fn add_exclusive(&mut self, _descriptor: Handle<'_>, _token: usize) -> io::Result<()> {
        Err(crate::Unsupported("only epoll(7) wakes one of several sets").into())
    }

    /// Waits for something else on a descriptor that was added.
    ///
    /// # Errors
    /// Those of the system.
    fn change(&mut self, descriptor: Handle<'_>, token: usize, interest: Interest) -> io::Result<()>;

    /// Forgets the descriptor; before it is closed.
    ///
    /// # Errors
    /// Those of the system.
    fn remove(&mut self, descriptor: Handle<'_>, token: usize) -> io::Result<()>;

    /// Waits until something is ready, the time is over, or a signal comes, and fills `events` with each
    /// ready descriptor once; with nothing after a signal. `None` waits for ever, zero only looks. Times may
    /// be rounded up to milliseconds, never down.
    ///
    /// # Errors
    /// Those of the system, without `EINTR`.
    fn wait(&mut self, events: &mut Vec<Event>, timeout: Option<Duration>) -> io::Result<()>;
}

/// The most events that one wait returns, where the interface has a choice.
#[cfg(unix)]
const EVENTS_MAX: usize = 512;

/// For poll(2): rounded up, for a wait that ends before its time is only begun again; -1 waits for ever.
#[cfg(unix)]
fn milliseconds(timeout: Option<Duration>) -> libc::c_int {
    timeout
        .map_or(-1, |timeout| timeout.as_nanos().div_ceil(1_000_000).try_into().unwrap_or(libc::c_int::MAX))
}

/// The events that poll(2) waits for.
#[cfg(unix)]
fn poll_events(interest: Interest) -> libc::c_short {
    match interest {
        Interest::Read => libc::POLLIN,
        Interest::Write => libc::POLLOUT,
        Interest::Both => libc::POLLIN | libc::POLLOUT,
        Interest::Nothing => 0,
    }
}

/// The bits of poll(2) for a descriptor that cannot be used any more.
#[cfg(unix)]
const BROKEN: libc::c_short = libc::POLLERR | libc::POLLHUP | libc::POLLNVAL;

/// The event that the bits of poll(2) mean.
#[cfg(unix)]
fn event_from_revents(token: u32, bits: libc::c_short) -> Event {
    let has = |wanted| bits & (wanted | BROKEN) != 0;
    Event { token: token as usize, readable: has(libc::POLLIN), writable: has(libc::POLLOUT) }
}

/// A token as the tables keep it.
fn narrow(token: usize) -> io::Result<u32> {
    u32::try_from(token)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "a token must fit in 32 bits"))
}

/// A wait that a signal ended found nothing; that is no error.
#[cfg(unix)]
fn nothing_if_interrupted(error: io::Error) -> io::Result<usize> {
    if error.kind() == io::ErrorKind::Interrupted { Ok(0) } else { Err(error) }
}
