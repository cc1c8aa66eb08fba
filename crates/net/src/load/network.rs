//! What the loop of a generator stands on: sockets, a set of them to wait for, and a clock. They are those of
//! the kernel, or in tests simulated ones, in which any order of events can be had, and had again.

use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::time::Duration;

use sys::alarm::Alarm;
use sys::event::{Event, Interest, Poller};
use sys::tcp::{Connection, Waiting};

use super::timer::Timer;
use crate::Error;

/// The token of what is no socket but a time that has come.
pub(super) const ALARM: usize = u32::MAX as usize - 1;

/// Sockets, the set in which they are waited for, and the clock.
pub(super) trait Network: Sized {
    /// A connection, or one that is being made.
    type Socket: Socket;

    /// Nanoseconds since some beginning.
    fn now_ns(&self) -> u64;

    /// Begins to connect, without waiting.
    fn connect(&mut self, to: SocketAddr, from: Option<SocketAddr>) -> io::Result<Self::Socket>;

    /// Waits for the socket too; see [`Poller::add`].
    fn add(&mut self, socket: &Self::Socket, token: usize, interest: Interest) -> io::Result<()>;

    /// Waits for something else on the socket.
    fn change(&mut self, socket: &Self::Socket, token: usize, interest: Interest) -> io::Result<()>;

    /// Waits until something is ready or it is this time; 0 only looks. A time that has come may be an event
    /// with the token [`ALARM`]: [`Network::rang`] must be told.
    fn wait(&mut self, events: &mut Vec<Event>, until_ns: u64) -> Result<(), Error>;

    /// The alarm is to be set anew by the next wait.
    fn rang(&mut self);
}

/// One connection, of which no call waits; see [`Connection`].
pub(super) trait Socket {
    fn connected(&self) -> io::Result<()>;
    fn receive(&self, buffer: &mut [u8]) -> io::Result<usize>;
    fn send(&self, bytes: &[u8]) -> io::Result<usize>;
    fn send_at_once(&self) -> io::Result<()>;
    fn reset_on_close(&self) -> io::Result<()>;
    fn close(self) -> io::Result<()>;
}

#[cfg(target_os = "linux")]
type Set = sys::event::Epoll;
#[cfg(all(unix, not(target_os = "linux")))]
type Set = sys::event::Poll;

/// The kernel's.
pub(super) struct Kernel {
    timer: Timer,
    set: Set,
    alarm: Option<Alarm>,
    /// When the alarm rings; 0 if it has rung, or was never set.
    alarm_ns: u64,
}

impl Kernel {
    pub(super) fn new() -> Result<Kernel, Error> {
        let mut set = Set::new().map_err(Error::at("open an event interface"))?;
        let alarm = Alarm::new().ok();
        if let Some(alarm) = &alarm {
            set.add(alarm.descriptor(), ALARM, Interest::Read).map_err(Error::at("wait for an alarm"))?;
        }
        Ok(Kernel { timer: Timer::start(), set, alarm, alarm_ns: 0 })
    }
}

impl Network for Kernel {
    type Socket = Connection;

    #[inline(always)]
    fn now_ns(&self) -> u64 {
        self.timer.now_ns()
    }

    #[inline]
    fn connect(&mut self, to: SocketAddr, from: Option<SocketAddr>) -> io::Result<Connection> {
        Connection::connect(to, from, Waiting::NonBlocking)
    }

    #[inline]
    fn add(&mut self, socket: &Connection, token: usize, interest: Interest) -> io::Result<()> {
        self.set.add(socket.as_fd(), token, interest)
    }

    #[inline]
    fn change(&mut self, socket: &Connection, token: usize, interest: Interest) -> io::Result<()> {
        self.set.change(socket.as_fd(), token, interest)
    }

    /// The alarm is set when the time is another than before, which in a closed loop is a hundred times a
    /// second. A time given to the wait itself would have the kernel set a timer for every wait.
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

impl Socket for Connection {
    fn connected(&self) -> io::Result<()> {
        self.connected()
    }

    #[inline]
    fn receive(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.receive(buffer)
    }

    #[inline]
    fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        self.send(bytes)
    }

    #[inline]
    fn send_at_once(&self) -> io::Result<()> {
        self.send_at_once()
    }

    fn reset_on_close(&self) -> io::Result<()> {
        self.reset_on_close()
    }

    #[inline]
    fn close(self) -> io::Result<()> {
        self.close()
    }
}
