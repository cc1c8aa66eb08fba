//! The network of a reactor: a listener, the connections that it accepts, a set of all of them, and a clock.

use std::io;
use std::time::{Duration, Instant};

use sys::event::{Event, Interest, Poller};
use sys::handle::AsHandle;
use sys::tcp::{Connection, Waiting};

use super::SocketSet;
use crate::worker::{Accept, WorkerContext};

/// The listener's token; connections have those that they were added with.
pub(crate) const LISTENER: usize = u32::MAX as usize - 1;

/// A listener that is waited for from the beginning, a set, and a clock.
pub(crate) trait ServerNetwork: SocketSet {
    /// See [`Poller::EDGE`].
    const EDGE: bool;

    /// See [`Poller::FORGETS_CLOSED`].
    const FORGETS_CLOSED: bool;

    /// Milliseconds since some beginning.
    fn now_ms(&self) -> u64;

    /// Accepts one connection, without waiting.
    fn accept(&mut self) -> io::Result<Self::Socket>;

    /// Waits for the listener, or no longer.
    fn listen(&mut self, interest: Interest) -> io::Result<()>;

    /// Refuses connections from now on.
    fn refuse_more(&mut self);

    /// Forgets the socket, before it is closed.
    fn remove(&mut self, socket: &Self::Socket, token: usize) -> io::Result<()>;

    /// Waits until something is ready or the time is over; see [`Poller::wait`].
    fn wait(&mut self, events: &mut Vec<Event>, timeout: Duration) -> io::Result<()>;
}

/// The kernel's.
pub(crate) struct ServerKernel<'worker, P> {
    poller: P,
    worker: &'worker WorkerContext,
    began: Instant,
}

impl<'worker, P: Poller> ServerKernel<'worker, P> {
    pub(crate) fn new(worker: &'worker WorkerContext) -> io::Result<ServerKernel<'worker, P>> {
        let mut kernel = ServerKernel { poller: P::new()?, worker, began: Instant::now() };
        kernel.add_listener()?;
        Ok(kernel)
    }

    fn add_listener(&mut self) -> io::Result<()> {
        let listener = self.worker.listener.handle();
        match self.worker.accept {
            Accept::Exclusive => self.poller.add_exclusive(listener, LISTENER),
            Accept::ReusePort | Accept::Shared => self.poller.add(listener, LISTENER, Interest::Read),
        }
    }
}

impl<P: Poller> SocketSet for ServerKernel<'_, P> {
    type Socket = Connection;

    #[inline]
    fn add(&mut self, socket: &Connection, token: usize, interest: Interest) -> io::Result<()> {
        self.poller.add(socket.handle(), token, interest)
    }

    #[inline]
    fn change(&mut self, socket: &Connection, token: usize, interest: Interest) -> io::Result<()> {
        self.poller.change(socket.handle(), token, interest)
    }
}

impl<P: Poller> ServerNetwork for ServerKernel<'_, P> {
    const EDGE: bool = P::EDGE;
    const FORGETS_CLOSED: bool = P::FORGETS_CLOSED;

    #[inline]
    fn now_ms(&self) -> u64 {
        milliseconds(self.began.elapsed())
    }

    #[inline]
    fn accept(&mut self) -> io::Result<Connection> {
        self.worker.listener.accept(Waiting::NonBlocking)
    }

    fn listen(&mut self, interest: Interest) -> io::Result<()> {
        // An exclusive wait cannot be changed, but it was given up before.
        if self.worker.accept == Accept::Exclusive && interest == Interest::Read {
            return self.add_listener();
        }
        self.poller.change(self.worker.listener.handle(), LISTENER, interest)
    }

    fn refuse_more(&mut self) {
        self.worker.refuse_more();
    }

    #[inline]
    fn remove(&mut self, socket: &Connection, token: usize) -> io::Result<()> {
        self.poller.remove(socket.handle(), token)
    }

    #[inline]
    fn wait(&mut self, events: &mut Vec<Event>, timeout: Duration) -> io::Result<()> {
        self.poller.wait(events, Some(timeout))
    }
}

/// Whole milliseconds, as many as a number holds.
pub(crate) fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
