//! All exchanges, their connections, and the list of those with reports.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::rc::Rc;

use slab::Slab;
use sys::event::{Event, Interest};

use super::{Link, LinkState, Outcome, Step};
use crate::ServerAddress;
use crate::http2::{ErrorCode, Http2Fault, Requests, ResponsePart};
use crate::network::{Carried, LoadNetwork, Socket};

/// A connection to the loop: one request after the other, each in a stream of its own.
struct Exchange {
    /// The connection of the present request, or of the last one.
    link: usize,
    /// The address that its connections begin at.
    from: Option<SocketAddr>,
    token: usize,
    interest: Interest,
    /// The request under way.
    request: Option<usize>,
    /// Whether that has to begin on a connection that is not established yet.
    is_pending: bool,
    /// Whether the server has refused it once.
    is_repeated: bool,
    /// Bytes that its connection had received when it was started.
    began: u64,
    /// The response so far, and how much of it the loop has taken.
    inbox: Vec<u8>,
    taken: usize,
    outcome: Option<Outcome>,
    is_listed: bool,
}

pub(super) struct Exchanges<S> {
    requests: Rc<Requests>,
    streams: usize,
    target: Option<ServerAddress>,
    links: Slab<Link<S>>,
    list: Slab<Exchange>,
    /// Connections that may have room for another exchange.
    roomy: Vec<usize>,
    /// Connections with output,
    unsent: Vec<usize>,
    /// exchanges that need another connection,
    strays: Vec<usize>,
    /// and those with reports.
    ready: Vec<usize>,
    buffer: Box<[u8]>,
    carried: Carried,
}

/// Bytes of one recv(2): as many as one of the loop, as TLS expects.
const BUFFER_BYTES: usize = 64 << 10;
/// One connection receives so often in a row at most.
const RECEIVES_MAX: usize = 16;

impl<S: Socket> Exchanges<S> {
    pub(super) fn new(requests: Requests, streams: usize) -> Exchanges<S> {
        Exchanges {
            requests: Rc::new(requests),
            streams,
            target: None,
            links: Slab::new(),
            list: Slab::new(),
            roomy: Vec::new(),
            unsent: Vec::new(),
            strays: Vec::new(),
            ready: Vec::new(),
            buffer: vec![0; BUFFER_BYTES].into_boxed_slice(),
            carried: Carried::default(),
        }
    }

    /// A new exchange, on a connection that has room for it, or on a new one.
    pub(super) fn open<N: LoadNetwork<Socket = S>>(
        &mut self,
        network: &mut N,
        to: &ServerAddress,
        from: Option<SocketAddr>,
    ) -> io::Result<usize> {
        if self.target.is_none() {
            self.target = Some(to.clone());
        }
        let number = self.list.insert(Exchange {
            link: usize::MAX,
            from,
            token: 0,
            interest: Interest::Nothing,
            request: None,
            is_pending: false,
            is_repeated: false,
            began: 0,
            inbox: Vec::new(),
            taken: 0,
            outcome: None,
            is_listed: false,
        });
        let attached = self.attach(network, number);
        if attached.is_err() {
            self.list.remove(number);
        }
        attached.map(|()| number)
    }

    /// Puts an exchange on a connection.
    fn attach<N: LoadNetwork<Socket = S>>(&mut self, network: &mut N, number: usize) -> io::Result<()> {
        let has_room = |link: &Link<S>| link.takes_requests() && link.exchanges.len() < self.streams;
        while let Some(&link) = self.roomy.last()
            && !self.links.get(link).is_some_and(has_room)
        {
            self.roomy.pop();
        }
        let link = match self.roomy.last() {
            Some(&link) => link,
            None => {
                let Some(target) = &self.target else { return Err(ErrorKind::NotConnected.into()) };
                let socket = network.connect(target, self.list[number].from)?;
                let entry = self.links.vacant_entry();
                let link = entry.key();
                network.add(&socket, link, Interest::Write)?;
                entry.insert(Link::new(socket, &self.requests, number));
                self.roomy.push(link);
                link
            }
        };
        self.links[link].exchanges.push(number);
        self.list[number].link = link;
        Ok(())
    }

    /// Starts a request. If the connection takes no more, another one is found before the loop waits.
    pub(super) fn request(&mut self, number: usize, request: usize) -> io::Result<()> {
        let exchange = &mut self.list[number];
        let link = self.links.get_mut(exchange.link).ok_or(ErrorKind::NotConnected)?;
        if link.state == LinkState::Connecting {
            return Err(ErrorKind::WouldBlock.into());
        }
        (exchange.request, exchange.is_repeated, exchange.outcome) = (Some(request), false, None);
        if link.takes_requests() {
            self.start(number, request);
        } else {
            exchange.is_pending = true;
            self.strays.push(number);
        }
        Ok(())
    }

    fn start(&mut self, number: usize, request: usize) {
        let exchange = &mut self.list[number];
        let link = &mut self.links[exchange.link];
        exchange.is_pending = false;
        exchange.began = link.received;
        link.connection.start(number as u32, request);
        if !link.is_listed {
            link.is_listed = true;
            self.unsent.push(exchange.link);
        }
    }

    /// Prepares a wait. True if there are reports already.
    pub(super) fn settle<N: LoadNetwork<Socket = S>>(&mut self, network: &mut N) -> bool {
        while let Some(number) = self.strays.pop() {
            self.move_on(network, number);
        }
        while let Some(link) = self.unsent.pop() {
            self.flush(network, link);
        }
        !self.ready.is_empty()
    }

    /// Finds another connection for a request.
    fn move_on<N: LoadNetwork<Socket = S>>(&mut self, network: &mut N, number: usize) {
        let Some(exchange) = self.list.get(number) else { return };
        let Some(request) = exchange.request.filter(|_| exchange.is_pending) else { return };
        self.leave(number);
        match self.attach(network, number) {
            Ok(()) => {
                if !matches!(self.links[self.list[number].link].state, LinkState::Connecting) {
                    self.start(number, request);
                }
            }
            Err(error) => {
                self.list[number].link = usize::MAX;
                self.cut(number, Outcome::from_error(&error));
            }
        }
    }

    fn flush<N: LoadNetwork<Socket = S>>(&mut self, network: &mut N, number: usize) {
        let Some(link) = self.links.get_mut(number) else { return };
        link.is_listed = false;
        if !matches!(link.state, LinkState::Open { .. }) {
            return;
        }
        let (sent, step) = link.flush();
        self.carried.sent_bytes += sent;
        let is_blocked = matches!(step, Step::Waits(_));
        if is_blocked && !link.is_blocked {
            self.carried.sends_blocked += 1;
        }
        let interest = if is_blocked { Interest::Both } else { Interest::Read };
        match (step, &link.socket) {
            (Step::Over(outcome), _) => self.end(number, outcome),
            (_, Some(socket)) if is_blocked != link.is_blocked => {
                link.is_blocked = is_blocked;
                if let Err(error) = network.change(socket, number, interest) {
                    self.end(number, Outcome::from_error(&error));
                }
            }
            _ => {}
        }
    }

    /// A real connection is ready for something.
    pub(super) fn on_event<N: LoadNetwork<Socket = S>>(&mut self, network: &mut N, event: Event) {
        let Some(link) = self.links.get_mut(event.token) else { return };
        if link.state != LinkState::Connecting {
            if event.readable {
                self.receive_all(event.token);
            }
            return self.flush(network, event.token);
        }
        let step = link.connect(network.now_ns());
        let interest = match step {
            Step::Over(outcome) => return self.end(event.token, outcome),
            Step::Waits(interest) => interest,
            Step::Done => Interest::Read,
        };
        if let Some(socket) = &link.socket
            && let Err(error) = network.change(socket, event.token, interest)
        {
            return self.end(event.token, Outcome::from_error(&error));
        }
        if matches!(link.state, LinkState::Open { .. }) {
            self.carried.connected += 1;
            self.on_open(event.token);
            self.flush(network, event.token);
        }
    }

    /// Requests can be sent on a connection.
    fn on_open(&mut self, link: usize) {
        for number in self.links[link].exchanges.clone() {
            match self.list[number].request {
                Some(request) if self.list[number].is_pending => self.start(number, request),
                _ => self.list_if_ready(number),
            }
        }
    }

    fn receive_all(&mut self, number: usize) {
        let mut buffer = std::mem::take(&mut self.buffer);
        for _ in 0..RECEIVES_MAX {
            let Some(link) = self.links.get_mut(number) else { break };
            let (list, ready, strays) = (&mut self.list, &mut self.ready, &mut self.strays);
            let received =
                link.receive(&mut buffer, &mut |token, part| take(list, ready, strays, token as usize, part));
            match received {
                Ok(received) => {
                    self.carried.received_bytes += received as u64;
                    if received < BUFFER_BYTES {
                        break;
                    }
                }
                Err(Step::Over(outcome)) => {
                    self.end(number, outcome);
                    break;
                }
                Err(_) => break,
            }
        }
        self.buffer = buffer;
    }

    /// A connection is over: every request on it fails. If there is none, one exchange reports it.
    fn end(&mut self, number: usize, outcome: Outcome) {
        let Some(link) = self.links.get_mut(number) else { return };
        let was_asked_to_leave = !link.connection.takes_requests();
        let was_connecting = link.state == LinkState::Connecting;
        link.state = LinkState::Over(outcome);
        let is_reset = link.is_reset;
        if let Some(socket) = link.socket.take() {
            // The server gets the reason; if that fails, nothing is lost.
            if matches!(outcome, Outcome::Http2(_)) {
                let _ = socket.send(link.connection.output());
            }
            close(socket, is_reset);
        }
        let exchanges = link.exchanges.clone();
        let is_idle = exchanges.iter().all(|&one| self.list[one].request.is_none());
        for (at, number) in exchanges.into_iter().enumerate() {
            let exchange = &self.list[number];
            let is_reported = match exchange.is_pending {
                // One that waits for another connection is not concerned.
                true => was_connecting,
                false if is_idle => was_connecting || (at == 0 && !was_asked_to_leave),
                false => exchange.request.is_some(),
            };
            if is_reported {
                self.cut(number, outcome);
            }
        }
    }

    fn cut(&mut self, number: usize, outcome: Outcome) {
        let exchange = &mut self.list[number];
        exchange.outcome.get_or_insert(outcome);
        exchange.is_pending = false;
        self.list_if_ready(number);
    }

    pub(super) fn watch(&mut self, number: usize, token: usize, interest: Interest) {
        let exchange = &mut self.list[number];
        (exchange.token, exchange.interest) = (token, interest);
        self.list_if_ready(number);
    }

    fn is_ready(&self, exchange: &Exchange) -> bool {
        match exchange.interest {
            Interest::Write => {
                let link = self.links.get(exchange.link);
                exchange.outcome.is_some() || link.is_none_or(|link| link.state != LinkState::Connecting)
            }
            Interest::Read | Interest::Both => {
                exchange.taken < exchange.inbox.len() || exchange.outcome.is_some()
            }
            Interest::Nothing => false,
        }
    }

    fn list_if_ready(&mut self, number: usize) {
        if self.is_ready(&self.list[number]) && !self.list[number].is_listed {
            self.list[number].is_listed = true;
            self.ready.push(number);
        }
    }

    /// The events that the loop must get.
    pub(super) fn report(&mut self, events: &mut Vec<Event>) {
        for number in std::mem::take(&mut self.ready) {
            let Some(exchange) = self.list.get_mut(number) else { continue };
            exchange.is_listed = false;
            let (token, writable) = (exchange.token, exchange.interest == Interest::Write);
            if self.is_ready(&self.list[number]) {
                events.push(Event { token, readable: !writable, writable });
            }
        }
    }

    pub(super) fn receive(&mut self, number: usize, buffer: &mut [u8]) -> io::Result<usize> {
        let exchange = &mut self.list[number];
        let rest = &exchange.inbox[exchange.taken..];
        if rest.is_empty() {
            return exchange.outcome.map_or(Err(ErrorKind::WouldBlock.into()), Outcome::received);
        }
        let length = rest.len().min(buffer.len());
        buffer[..length].copy_from_slice(&rest[..length]);
        exchange.taken += length;
        if exchange.taken == exchange.inbox.len() {
            exchange.inbox.clear();
            exchange.taken = 0;
        }
        self.list_if_ready(number);
        Ok(length)
    }

    /// Since when there was a handshake, once requests can be sent.
    pub(super) fn connected(&self, number: usize) -> io::Result<Option<Option<u64>>> {
        let exchange = &self.list[number];
        let link = self.links.get(exchange.link).map(|link| link.state);
        match (exchange.outcome, link) {
            (Some(outcome), _) | (None, Some(LinkState::Over(outcome))) => {
                outcome.received()?;
                Err(ErrorKind::UnexpectedEof.into())
            }
            (None, Some(LinkState::Connecting) | None) => Ok(None),
            (None, Some(LinkState::Open { handshake_from_ns })) => {
                Ok(Some(handshake_from_ns.filter(|_| self.is_opener(number))))
            }
        }
    }

    /// Whether the connection was made for this exchange.
    pub(super) fn is_opener(&self, number: usize) -> bool {
        self.links.get(self.list[number].link).is_some_and(|link| link.opener == number)
    }

    pub(super) fn reset_on_close(&mut self, number: usize) {
        if let Some(link) = self.links.get_mut(self.list[number].link) {
            link.is_reset = true;
        }
    }

    /// The loop has given an exchange up, with its request if there is one.
    pub(super) fn close(&mut self, number: usize) {
        let exchange = &self.list[number];
        let link = self.links.get_mut(exchange.link).filter(|link| link.socket.is_some());
        if let Some(link) = link
            && exchange.request.is_some()
            && !exchange.is_pending
        {
            link.connection.cancel(number as u32);
            // A server that sends nothing at all gets no further request on this connection.
            if link.received == exchange.began {
                link.connection.retire();
            }
            if !link.is_listed {
                link.is_listed = true;
                self.unsent.push(exchange.link);
            }
        }
        self.leave(number);
        self.list.remove(number);
    }

    /// Takes an exchange off its connection, which the last one closes.
    fn leave(&mut self, number: usize) {
        let place = self.list[number].link;
        let Some(link) = self.links.get_mut(place) else { return };
        link.exchanges.retain(|&one| one != number);
        if !link.exchanges.is_empty() {
            if link.exchanges.len() + 1 == self.streams {
                self.roomy.push(place);
            }
            return;
        }
        let mut link = self.links.remove(place);
        if let Some(socket) = link.socket.take() {
            if matches!(link.state, LinkState::Open { .. }) && !link.is_reset {
                link.connection.go_away(ErrorCode(0));
                let _ = socket.send(link.connection.output());
            }
            close(socket, link.is_reset);
        }
    }

    pub(super) fn take_carried(&mut self) -> Carried {
        std::mem::take(&mut self.carried)
    }
}

fn close(socket: impl Socket, is_reset: bool) {
    if is_reset {
        let _ = socket.reset_on_close();
    }
    let _ = socket.close();
}

/// Puts a part of a response into the inbox of its exchange.
#[inline]
fn take(
    list: &mut Slab<Exchange>,
    ready: &mut Vec<usize>,
    strays: &mut Vec<usize>,
    number: usize,
    part: ResponsePart<'_>,
) {
    let Some(exchange) = list.get_mut(number) else { return };
    match part {
        ResponsePart::Bytes(bytes) => exchange.inbox.extend_from_slice(bytes),
        ResponsePart::End => exchange.request = None,
        ResponsePart::Cut(fault) => exchange.outcome = Some(fault.map_or(Outcome::End, Outcome::Http2)),
        ResponsePart::Unprocessed if exchange.is_repeated => {
            exchange.outcome = Some(Outcome::Http2(Http2Fault::GoneAway(ErrorCode(0))));
        }
        ResponsePart::Unprocessed => {
            (exchange.is_repeated, exchange.is_pending) = (true, true);
            return strays.push(number);
        }
    }
    if !exchange.is_listed && exchange.interest != Interest::Nothing {
        exchange.is_listed = true;
        ready.push(number);
    }
}
