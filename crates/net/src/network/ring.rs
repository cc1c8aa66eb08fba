//! The network of a proactor: a ring that accepts, receives, sends and closes, and a clock.

use std::io;
use std::time::{Duration, Instant};

use sys::handle::{AsHandle, OwnedHandle};
use sys::ring::{Completion, OperationId, Ring, RingSettings};
use sys::tcp::Connection;

use super::{Socket, milliseconds};
use crate::worker::WorkerContext;

/// A ring with a listener, and a clock; see [`Ring`].
pub(crate) trait ServerRing {
    /// A connection.
    type Socket: Socket;

    /// A connection as it is accepted.
    type Accepted: Into<Self::Socket>;

    /// The handle by which an operation is cancelled.
    type Operation: Copy;

    /// Milliseconds since some beginning.
    fn now_ms(&self) -> u64;

    /// Accepts every connection that comes.
    fn accept_multishot(&mut self, token: u64) -> io::Result<Self::Operation>;

    /// Refuses connections from now on.
    fn refuse_more(&mut self);

    /// Receives all that arrives.
    fn recv_multishot(&mut self, socket: &Self::Socket, token: u64) -> io::Result<Self::Operation>;

    /// Sends all of `bytes`, and gives them back.
    fn send(&mut self, socket: &Self::Socket, bytes: Vec<u8>, token: u64) -> io::Result<Self::Operation>;

    /// Ends an operation, which completes in any case.
    fn cancel(&mut self, operation: Self::Operation) -> io::Result<()>;

    /// Closes after all earlier operations.
    fn close(&mut self, socket: Self::Socket);

    /// Waits until a completion is there or the time is over. Returns how many completions there are at most.
    fn wait(&mut self, timeout: Duration) -> io::Result<usize>;

    /// The next completion that is there.
    fn completion(&mut self) -> Option<Completion<'_, Self::Accepted>>;

    /// Lets time pass without a look at completions.
    fn pause(&mut self, time: Duration);
}

/// The kernel's.
pub(crate) struct RingKernel<'worker> {
    ring: Ring,
    worker: &'worker WorkerContext,
    began: Instant,
}

impl<'worker> RingKernel<'worker> {
    pub(crate) fn new(worker: &'worker WorkerContext, settings: RingSettings) -> io::Result<Self> {
        Ok(RingKernel { ring: Ring::new(settings)?, worker, began: Instant::now() })
    }
}

impl ServerRing for RingKernel<'_> {
    type Socket = Connection;
    type Accepted = OwnedHandle;
    type Operation = OperationId;

    #[inline]
    fn now_ms(&self) -> u64 {
        milliseconds(self.began.elapsed())
    }

    fn accept_multishot(&mut self, token: u64) -> io::Result<OperationId> {
        self.ring.accept_multishot(self.worker.listener.handle(), token)
    }

    fn refuse_more(&mut self) {
        self.worker.refuse_more();
    }

    #[inline]
    fn recv_multishot(&mut self, socket: &Connection, token: u64) -> io::Result<OperationId> {
        self.ring.recv_multishot(socket.handle(), token)
    }

    #[inline]
    fn send(&mut self, socket: &Connection, bytes: Vec<u8>, token: u64) -> io::Result<OperationId> {
        self.ring.send(socket.handle(), bytes, token)
    }

    #[inline]
    fn cancel(&mut self, operation: OperationId) -> io::Result<()> {
        self.ring.cancel(operation)
    }

    #[inline]
    fn close(&mut self, socket: Connection) {
        self.ring.close(socket.into());
    }

    #[inline]
    fn wait(&mut self, timeout: Duration) -> io::Result<usize> {
        self.ring.wait(Some(timeout))
    }

    #[inline]
    fn completion(&mut self) -> Option<Completion<'_>> {
        self.ring.completion()
    }

    fn pause(&mut self, time: Duration) {
        std::thread::sleep(time);
    }
}
