//! HTTP/2 between a load generator and any network: to the loop each stream is a connection, on which one
//! request follows the other, and the responses have the form of HTTP/1.1.
//!
//! - `socket` what the loop takes for a connection: an exchange, whose requests each have their own stream;
//! - `link` a real connection, and the exchanges on it;
//! - `exchanges` all of them, and which have something to report.
//!
//! So the loop knows nothing of streams: it times, checks and counts each request as it does without them.
//! What it sends in a row leaves in one piece, before it waits again.

mod exchanges;
mod link;
mod socket;
#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;

use sys::event::{Event, Interest};

use self::exchanges::Exchanges;
use self::socket::StreamSocket;
use super::{ALARM, Carried, LoadNetwork, SocketSet};
use crate::client::Http2Choice;
use crate::{Error, ServerAddress};

/// A network whose connections speak HTTP/2.
pub(crate) struct Http2Network<N: LoadNetwork> {
    network: N,
    streams: usize,
    shared: Rc<RefCell<Exchanges<N::Socket>>>,
    /// What happened to the real connections.
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
