//! The network of a load generator: connections that it makes, a set of all of them, and a clock.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use sys::alarm::Alarm;
use sys::event::{Event, Interest, Poller};
use sys::handle::AsHandle;
use sys::tcp::{Connection, Waiting};

use super::{SocketSet, Timer};
use crate::{Error, ServerAddress};

/// The token of the timer.
pub(crate) const ALARM: usize = u32::MAX as usize - 1;

/// Connections that are made, the set in which they are waited for, and the clock.
pub(crate) trait LoadNetwork: SocketSet {
    /// Whether a connection needs a further step before requests are sent.
    const HAS_HANDSHAKE: bool = false;

    /// Nanoseconds since some beginning.
    fn now_ns(&self) -> u64;

    /// Begins to connect, without waiting.
    fn connect(&mut self, to: &ServerAddress, from: Option<SocketAddr>) -> io::Result<Self::Socket>;

    /// Waits until a socket is ready or it is this time; 0 does not wait. A time that has come may be an
    /// event with the token [`ALARM`], after which [`LoadNetwork::rang`] must be called.
    fn wait(&mut self, events: &mut Vec<Event>, until_ns: u64) -> Result<(), Error>;

    /// The alarm is to be set anew by the next wait.
    fn rang(&mut self);

    /// Sockets that share a connection, at most.
    fn streams(&self) -> usize {
        1
    }

    /// The traffic of the connections since the last call, if several sockets share one.
    fn carried(&mut self) -> Option<Carried> {
        None
    }
}

/// The traffic of connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Carried {
    /// Connections that were made.
    pub(crate) connected: u64,
    pub(crate) sent_bytes: u64,
    pub(crate) received_bytes: u64,
    pub(crate) sends_blocked: u64,
}

#[cfg(target_os = "linux")]
type Set = sys::event::Epoll;
#[cfg(not(target_os = "linux"))]
type Set = sys::event::Poll;

/// Whether a connection can be closed without [`SocketSet::forget`].
pub(crate) const FORGETS_CLOSED: bool = Set::FORGETS_CLOSED;

/// The kernel's.
pub(crate) struct LoadKernel {
    timer: Timer,
    set: Set,
    alarm: Option<Alarm>,
    /// When the alarm rings; 0 if it has rung, or was never set.
    alarm_ns: u64,
}

impl LoadKernel {
    pub(crate) fn new() -> Result<LoadKernel, Error> {
        let mut set = Set::new().map_err(Error::at("open an event interface"))?;
        let alarm = Alarm::new().ok();
        if let Some(alarm) = &alarm {
            set.add(alarm.descriptor(), ALARM, Interest::Read).map_err(Error::at("wait for an alarm"))?;
        }
        Ok(LoadKernel { timer: Timer::start(), set, alarm, alarm_ns: 0 })
    }
}

impl SocketSet for LoadKernel {
    type Socket = Connection;

    #[inline]
    fn add(&mut self, socket: &Connection, token: usize, interest: Interest) -> io::Result<()> {
        self.set.add(socket.handle(), token, interest)
    }

    #[inline]
    fn change(&mut self, socket: &Connection, token: usize, interest: Interest) -> io::Result<()> {
        self.set.change(socket.handle(), token, interest)
    }

    #[inline]
    fn forget(&mut self, socket: &Connection, token: usize) {
        if !Set::FORGETS_CLOSED {
            // A refused socket was never added.
            let _ = self.set.remove(socket.handle(), token);
        }
    }
}

impl LoadNetwork for LoadKernel {
    #[inline(always)]
    fn now_ns(&self) -> u64 {
        self.timer.now_ns()
    }

    #[inline]
    fn connect(&mut self, to: &ServerAddress, from: Option<SocketAddr>) -> io::Result<Connection> {
        match to {
            ServerAddress::Network(to) => Connection::connect(*to, from, Waiting::NonBlocking),
            ServerAddress::Unix(path) => Connection::connect_unix(path, Waiting::NonBlocking),
        }
    }

    /// The alarm is set when the time has changed, which in a closed loop happens a hundred times per second.
    /// A timeout of the wait itself would make the kernel set a timer for every wait.
    #[inline]
    fn wait(&mut self, events: &mut Vec<Event>, until_ns: u64) -> Result<(), Error> {
        let timeout = match &self.alarm {
            _ if until_ns == 0 => Some(Duration::ZERO),
            Some(_) if until_ns == self.alarm_ns => None,
            Some(alarm) => {
                let left = until_ns.saturating_sub(self.timer.now_ns());
                alarm.set(Duration::from_nanos(left)).map_err(Error::at("set an alarm"))?;
                self.alarm_ns = until_ns;
                None
            }
            None => Some(Duration::from_nanos(until_ns.saturating_sub(self.timer.now_ns()))),
        };
        self.set.wait(events, timeout).map_err(Error::at("wait for events"))
    }

    #[inline]
    fn rang(&mut self) {
        // It rings until it is set anew.
        self.alarm_ns = 0;
    }
}
