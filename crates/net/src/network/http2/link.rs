//! A real connection.

use std::io::{self, ErrorKind};
use std::rc::Rc;

use sys::event::Interest;

use crate::http2::{Http2Connection, Http2Fault, Requests, ResponsePart};
use crate::network::{Connected, Socket, TlsFault};

/// A connection, and the exchanges on it.
pub(super) struct Link<S> {
    /// `None` once it is over.
    pub(super) socket: Option<S>,
    pub(super) connection: Http2Connection,
    pub(super) state: LinkState,
    pub(super) exchanges: Vec<usize>,
    /// The exchange that made the connection.
    pub(super) opener: usize,
    /// Whether it is among those that are to be flushed.
    pub(super) is_listed: bool,
    pub(super) is_reset: bool,
    /// Whether its output waits for room.
    pub(super) is_blocked: bool,
    /// Bytes that came.
    pub(super) received: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LinkState {
    Connecting,
    Open { handshake_from_ns: Option<u64> },
    Over(Outcome),
}

/// Why nothing more comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The server closed.
    End,
    Errno(i32),
    Kind(ErrorKind),
    Tls(TlsFault),
    Http2(Http2Fault),
}

impl Outcome {
    pub(super) fn from_error(error: &io::Error) -> Outcome {
        match (error.raw_os_error(), TlsFault::in_error(error)) {
            (Some(number), _) => Outcome::Errno(number),
            (None, Some(fault)) => Outcome::Tls(fault),
            (None, None) => Outcome::Kind(error.kind()),
        }
    }

    /// The result that a socket returns for it.
    pub(super) fn received(self) -> io::Result<usize> {
        Err(match self {
            Outcome::End => return Ok(0),
            Outcome::Errno(number) => io::Error::from_raw_os_error(number),
            Outcome::Kind(kind) => kind.into(),
            Outcome::Tls(fault) => fault.into(),
            Outcome::Http2(fault) => fault.into(),
        })
    }
}

/// The result of a step.
pub(super) enum Step {
    /// All of it is done.
    Done,
    /// It goes on when the socket is ready for this.
    Waits(Interest),
    Over(Outcome),
}

impl<S: Socket> Link<S> {
    pub(super) fn new(socket: S, requests: &Rc<Requests>, opener: usize) -> Link<S> {
        Link {
            socket: Some(socket),
            connection: Http2Connection::new(Rc::clone(requests)),
            state: LinkState::Connecting,
            exchanges: Vec::new(),
            opener,
            is_listed: false,
            is_reset: false,
            is_blocked: false,
            received: 0,
        }
    }

    /// Whether another request may be started.
    pub(super) fn takes_requests(&self) -> bool {
        !matches!(self.state, LinkState::Over(_)) && self.connection.takes_requests()
    }

    /// Goes on with connecting.
    pub(super) fn connect(&mut self, now_ns: u64) -> Step {
        let Some(socket) = &self.socket else { return Step::Done };
        match socket.connected(now_ns) {
            Ok(Connected::NotYet(interest)) => Step::Waits(interest),
            Ok(Connected::Yes { handshake_from_ns }) => {
                let _ = socket.send_at_once();
                self.state = LinkState::Open { handshake_from_ns };
                Step::Done
            }
            Err(error) => Step::Over(Outcome::from_error(&error)),
        }
    }

    /// Sends the output; how much of it left.
    pub(super) fn flush(&mut self) -> (u64, Step) {
        let mut sent = 0;
        let Some(socket) = &self.socket else { return (sent, Step::Done) };
        loop {
            let output = self.connection.output();
            if output.is_empty() {
                return (sent, Step::Done);
            }
            match socket.send(output) {
                Ok(bytes) => {
                    sent += bytes as u64;
                    self.connection.sent(bytes);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    return (sent, Step::Waits(Interest::Both));
                }
                Err(error) => return (sent, Step::Over(Outcome::from_error(&error))),
            }
        }
    }

    /// One recv(2), whose parts are handed on; how many bytes it took.
    pub(super) fn receive(
        &mut self,
        buffer: &mut [u8],
        to: &mut impl FnMut(u32, ResponsePart<'_>),
    ) -> Result<usize, Step> {
        let Some(socket) = &self.socket else { return Err(Step::Done) };
        match socket.receive(buffer) {
            Ok(0) => Err(Step::Over(Outcome::End)),
            Ok(received) => {
                self.received += received as u64;
                let input = self.connection.on_input(&buffer[..received], to);
                input.map_err(|fault| Step::Over(Outcome::Http2(fault)))?;
                Ok(received)
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => Err(Step::Waits(Interest::Read)),
            Err(error) => Err(Step::Over(Outcome::from_error(&error))),
        }
    }
}
