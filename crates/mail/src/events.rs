//! The event interfaces over which an engine can wait; one line for each.

use std::io;
use std::time::Duration;

use sys::event::Poller;

use crate::MailError;
use crate::engine::{Engine, EngineSettings, Until};
use crate::measured::MailMeasured;
use crate::recipients::Recipients;
use crate::result::Results;

/// An engine over any interface; see [`Engine`].
pub trait DeliveryEngine {
    /// Nanoseconds since the engine was made.
    fn now_ns(&self) -> u64;
    /// Connections that exist.
    fn open(&self) -> usize;
    /// See [`Engine::peak`].
    fn peak(&self) -> usize;
    /// Nanoseconds in which it only waited for the time of another attempt.
    fn waiting_ns(&self) -> u64;
    /// Why this system made no further connection, if it has refused one since the last call.
    fn take_refusal(&mut self) -> Option<io::Error>;
    /// The counts and times.
    fn measured(&mut self) -> &mut MailMeasured;
    /// See [`Engine::run`].
    ///
    /// # Errors
    /// Those of [`Engine::run`].
    fn run(&mut self, connections: usize, until: Until<'_>) -> Result<(), MailError>;
    /// See [`Engine::finish`].
    ///
    /// # Errors
    /// Those of [`Engine::run`].
    fn finish(&mut self, grace: Duration) -> Result<(), MailError>;
}

impl<P: Poller, R: Results> DeliveryEngine for Engine<'_, P, R> {
    fn now_ns(&self) -> u64 {
        self.now_ns()
    }

    fn open(&self) -> usize {
        self.open()
    }

    fn peak(&self) -> usize {
        self.peak()
    }

    fn waiting_ns(&self) -> u64 {
        self.waiting_ns()
    }

    fn take_refusal(&mut self) -> Option<io::Error> {
        self.take_refusal()
    }

    fn measured(&mut self) -> &mut MailMeasured {
        self.measured()
    }

    fn run(&mut self, connections: usize, until: Until<'_>) -> Result<(), MailError> {
        self.run(connections, until)
    }

    fn finish(&mut self, grace: Duration) -> Result<(), MailError> {
        self.finish(grace)
    }
}

/// The names of all event interfaces, of every system.
pub const EVENT_INTERFACES: [&str; 5] = ["poll", "select", "epoll", "uring", "kqueue"];

/// An engine for that list over the interface of that name; see [`Engine::new`].
///
/// # Errors
/// Those of [`Engine::new`]; an interface that this system lacks.
pub fn open<'list, R: Results + 'list>(
    interface: &str,
    recipients: &'list Recipients,
    settings: EngineSettings,
    results: R,
) -> Result<Box<dyn DeliveryEngine + 'list>, MailError> {
    match interface {
        "poll" => boxed::<sys::event::Poll, R>(recipients, settings, results),
        #[cfg(unix)]
        "select" => boxed::<sys::event::Select, R>(recipients, settings, results),
        #[cfg(target_os = "linux")]
        "epoll" => boxed::<sys::event::Epoll, R>(recipients, settings, results),
        #[cfg(target_os = "linux")]
        "uring" => boxed::<sys::event::Uring, R>(recipients, settings, results),
        #[cfg(any(
            target_vendor = "apple",
            target_os = "dragonfly",
            target_os = "freebsd",
            target_os = "netbsd",
            target_os = "openbsd"
        ))]
        "kqueue" => boxed::<sys::event::Kqueue, R>(recipients, settings, results),
        _ => Err(MailError::NoInterface(interface.to_owned())),
    }
}

fn boxed<'list, P: Poller + 'list, R: Results + 'list>(
    recipients: &'list Recipients,
    settings: EngineSettings,
    results: R,
) -> Result<Box<dyn DeliveryEngine + 'list>, MailError> {
    Ok(Box::new(Engine::<P, R>::new(recipients, settings, results)?))
}
