//! Event interfaces: who of many descriptors is ready. One file per interface, all behind [`Poller`].

use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

/// What is waited for on a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interest {
    /// Input, or the end of it.
    Read,
    /// Room for output.
    Write,
    /// Nothing for now but the descriptor's breaking.
    Nothing,
}

/// A descriptor that is ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// What it was added with.
    pub token: usize,
    /// Input, its end, or an error waits.
    pub readable: bool,
    /// There is room for output, or an error waits.
    pub writable: bool,
}

/// An event interface.
pub trait Poller: Sized {
    /// Whether it tells of a change once, rather than of a state as long as it lasts. Whoever is told must then
    /// go on until `WouldBlock`.
    const EDGE: bool;

    /// An interface with nothing added.
    ///
    /// # Errors
    /// Those of the system; `Unsupported` where it has no such interface.
    fn new() -> io::Result<Self>;

    /// Waits for the descriptor too. `token` may be any number below `u32::MAX`.
    ///
    /// # Errors
    /// Those of the system; a descriptor too large for the interface is `EMFILE`, for that is what it means
    /// to the server.
    fn add(&mut self, descriptor: BorrowedFd<'_>, token: usize, interest: Interest) -> io::Result<()>;

    /// Waits for something else on a descriptor that was added.
    ///
    /// # Errors
    /// Those of the system.
    fn change(&mut self, descriptor: BorrowedFd<'_>, token: usize, interest: Interest) -> io::Result<()>;

    /// Forgets the descriptor; before it is closed.
    ///
    /// # Errors
    /// Those of the system.
    fn remove(&mut self, descriptor: BorrowedFd<'_>, token: usize) -> io::Result<()>;

    /// Waits until something is ready, the time is over, or a signal comes, and has in `events` who is ready;
    /// none after a signal. `None` waits for ever.
    ///
    /// # Errors
    /// Those of the system, without `EINTR`.
    fn wait(&mut self, events: &mut Vec<Event>, timeout: Option<Duration>) -> io::Result<()>;
}
