//! HTTP/2 between a load generator and any network: to the loop each stream is a connection, on which one
//! request follows the other, and the responses have the form of HTTP/1.1.
//!
//! - [`StreamSocket`] is an exchange, which the loop takes for a connection; each request has its own stream;
//! - `link` is a real connection, and the exchanges on it;
//! - `exchanges` are all of them, and those with reports.
//!
//! So the loop does not know streams: it times, checks and counts each request as without them. Its requests
//! in a row leave in one piece, before it waits again.

mod exchanges;
mod link;
#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, ErrorKind, IoSlice};
use std::net::SocketAddr;
use std::rc::Rc;

use sys::event::{Event, Interest};

use self::exchanges::Exchanges;
use super::{ALARM, Carried, LoadNetwork, SocketSet};
use crate::client::Http2Choice;
use crate::network::{Connected, Socket};
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
        self.shared.borrow_mut().watch(socket.number(), token, interest);
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
        Ok(StreamSocket::new(Rc::clone(&self.shared), number))
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

impl<S: Socket> StreamSocket<S> {
    fn new(shared: Rc<RefCell<Exchanges<S>>>, number: usize) -> StreamSocket<S> {
        StreamSocket { shared, number }
    }

    fn number(&self) -> usize {
        self.number
    }
}

impl<S: Socket> Sender for StreamSocket<S> {
    /// Starts the request with this number.
    #[inline]
    fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        let number: [u8; 4] = bytes.try_into().map_err(|_| ErrorKind::InvalidInput)?;
        self.shared.borrow_mut().request(self.number, u32::from_le_bytes(number) as usize)?;
        Ok(bytes.len())
    }

    fn send_and_more(&self, bytes: &[u8]) -> io::Result<usize> {
        self.send(bytes)
    }

    fn send_pieces(&self, _pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        Err(ErrorKind::Unsupported.into())
    }

    fn send_file(&self, _file: &File, _offset: &mut u64, _count: usize) -> io::Result<usize> {
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
