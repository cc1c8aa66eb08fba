//! HTTP/2 between a load generator and any network: to the loop each stream is a connection, on which one
//! request follows the other, and the responses have the form of HTTP/1.1.
//!
//! - [`StreamSocket`] is an exchange, which the loop takes for a connection; each request has its own stream;
//! - [`Link`] is a real connection, and the exchanges on it;
//! - `exchanges` are all of them, and those with reports.
//!
//! So the loop does not know streams: it times, checks and counts each request as without them. Its requests
//! in a row leave in one piece, before it waits again.

mod exchanges;
#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::io::{self, ErrorKind, IoSlice};
use std::net::SocketAddr;
use std::rc::Rc;

use sys::event::{Event, Interest};

use self::exchanges::Exchanges;
use super::{ALARM, Carried, Connected, LoadNetwork, Socket, SocketSet, TlsFault};
use crate::client::Http2Choice;
use crate::http2::{Http2Connection, Http2Fault, Requests, ResponsePart};
use crate::output::Sender;
use crate::{Error, ServerAddress};

/// A network whose connections speak HTTP/2.
pub(crate) struct Http2Network<N: LoadNetwork> {
    network: N,
    streams: usize,
    shared: Rc<RefCell<Exchanges<N::Socket>>>,
    /// The counts of the real connections.
    events: Vec<Event>,
}

impl<N: LoadNetwork> Http2Network<N> {
    pub(crate) fn new(choice: Http2Choice, network: N) -> Http2Network<N> {
        let shared = Rc::new(RefCell::new(Exchanges::new(choice.requests, choice.streams)));
        Http2Network { network, streams: choice.streams, shared, events: Vec::new() }
    }
}

impl<N: LoadNetwork> SocketSet for Http2Network<N> {
    type Socket = StreamSocket<N::Socket>;

    #[inline]
    fn add(&mut self, socket: &Self::Socket, token: usize, interest: Interest) -> io::Result<()> {
        self.shared.borrow_mut().watch(socket.number, token, interest);
        Ok(())
    }

    #[inline]
    fn change(&mut self, socket: &Self::Socket, token: usize, interest: Interest) -> io::Result<()> {
        self.add(socket, token, interest)
    }
}

impl<N: LoadNetwork> LoadNetwork for Http2Network<N> {
    const HAS_HANDSHAKE: bool = N::HAS_HANDSHAKE;

    #[inline(always)]
    fn now_ns(&self) -> u64 {
        self.network.now_ns()
    }

    fn connect(&mut self, to: &ServerAddress, from: Option<SocketAddr>) -> io::Result<Self::Socket> {
        let number = self.shared.borrow_mut().open(&mut self.network, to, from)?;
        Ok(StreamSocket { shared: Rc::clone(&self.shared), number })
    }

    #[inline]
    fn wait(&mut self, events: &mut Vec<Event>, until_ns: u64) -> Result<(), Error> {
        events.clear();
        let has_more = self.shared.borrow_mut().settle(&mut self.network);
        self.network.wait(&mut self.events, if has_more { 0 } else { until_ns })?;
        let mut shared = self.shared.borrow_mut();
        for &event in &self.events {
            if event.token == ALARM {
                events.push(event);
            } else {
                shared.on_event(&mut self.network, event);
            }
        }
        shared.report(events);
        Ok(())
    }

    #[inline]
    fn rang(&mut self) {
        self.network.rang();
    }

    fn streams(&self) -> usize {
        self.streams
    }

    fn carried(&mut self) -> Option<Carried> {
        Some(self.shared.borrow_mut().take_carried())
    }
}

pub(crate) struct StreamSocket<S: Socket> {
    shared: Rc<RefCell<Exchanges<S>>>,
    number: usize,
}

impl<S: Socket> Sender for StreamSocket<S> {
    /// Starts the request with this number.
    #[inline]
    fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        let number: [u8; 4] = bytes.try_into().map_err(|_| ErrorKind::InvalidInput)?;
        self.shared.borrow_mut().request(self.number, u32::from_le_bytes(number) as usize)?;
        Ok(bytes.len())
    }

    fn send_pieces(&self, _pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        Err(ErrorKind::Unsupported.into())
    }
}

impl<S: Socket> Socket for StreamSocket<S> {
    /// A request can be sent once the connection is established.
    fn connected(&self, _now_ns: u64) -> io::Result<Connected> {
        let shared = self.shared.borrow();
        match shared.connected(self.number)? {
            Some(handshake_from_ns) => Ok(Connected::Yes { handshake_from_ns }),
            None => Ok(Connected::NotYet(Interest::Write)),
        }
    }

    fn is_opener(&self) -> bool {
        self.shared.borrow().is_opener(self.number)
    }

    #[inline]
    fn receive(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.shared.borrow_mut().receive(self.number, buffer)
    }

    /// Connections do so from their beginning.
    fn send_at_once(&self) -> io::Result<()> {
        Ok(())
    }

    fn finish_sending(&self) -> io::Result<()> {
        Err(ErrorKind::Unsupported.into())
    }

    fn reset_on_close(&self) -> io::Result<()> {
        self.shared.borrow_mut().reset_on_close(self.number);
        Ok(())
    }

    fn acknowledged(&self) -> io::Result<u64> {
        Err(ErrorKind::Unsupported.into())
    }

    fn peer(&self) -> io::Result<SocketAddr> {
        Err(ErrorKind::Unsupported.into())
    }

    /// Gives up a request that is under way; the last exchange of a connection closes it.
    fn close(self) -> io::Result<()> {
        self.shared.borrow_mut().close(self.number);
        Ok(())
    }
}

/// A connection, and the exchanges on it.
struct Link<S> {
    /// `None` once it is over.
    socket: Option<S>,
    connection: Http2Connection,
    state: LinkState,
    exchanges: Vec<usize>,
    /// The exchange that made the connection.
    opener: usize,
    /// Whether it is among those that are to be flushed.
    is_listed: bool,
    is_reset: bool,
    /// Whether its output waits for room.
    is_blocked: bool,
    /// Bytes that came.
    received: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LinkState {
    Connecting,
    Open { handshake_from_ns: Option<u64> },
    Over(Outcome),
}

/// Why nothing more comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    /// The server closed.
    End,
    Errno(i32),
    Kind(ErrorKind),
    Tls(TlsFault),
    Http2(Http2Fault),
}

impl Outcome {
    fn from_error(error: &io::Error) -> Outcome {
        match (error.raw_os_error(), TlsFault::in_error(error)) {
            (Some(number), _) => Outcome::Errno(number),
            (None, Some(fault)) => Outcome::Tls(fault),
            (None, None) => Outcome::Kind(error.kind()),
        }
    }

    /// The result that a socket returns for it.
    fn received(self) -> io::Result<usize> {
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
enum Step {
    /// All of it is done.
    Done,
    /// It goes on when the socket is ready for this.
    Waits(Interest),
    Over(Outcome),
}

impl<S: Socket> Link<S> {
    fn new(socket: S, requests: &Rc<Requests>, opener: usize) -> Link<S> {
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
    fn takes_requests(&self) -> bool {
        !matches!(self.state, LinkState::Over(_)) && self.connection.takes_requests()
    }

    /// Goes on with connecting.
    fn connect(&mut self, now_ns: u64) -> Step {
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
    fn flush(&mut self) -> (u64, Step) {
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
    fn receive(
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
