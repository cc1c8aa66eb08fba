//! DNS for the delivery of mail: which hosts take the mail of a domain, and at which addresses.
//!
//! - here are the answers, the route of a domain's mail or the reason why there is none, and a resolver with
//!   its sockets, driven by the caller's loop: one UDP socket for each server, and a connection for each
//!   response that is too long for a datagram; and the servers of resolv.conf(5);
//! - `resolver` finds the exchangers of a domain, without sockets and without a clock;
//! - `lookup` finds one name and type, with a cache; `message` writes queries and reads responses;
//! - `authority` is our own server, also in a process of its own; its responses come from a `zone`.

mod authority;
mod lookup;
mod message;
mod resolver;
#[cfg(test)]
mod tests;
mod zone;

pub use authority::{Authority, AuthorityConduct, NAMES_ROLE, NameServer, NameServerPlan, serve_names};
pub use lookup::{Transmit, Transport};
pub use resolver::{Resolver, ResolverSettings};
pub use zone::{
    AuthorityCounts, AuthorityQueries, AuthorityResponses, DomainKind, ZoneHost, ZonePlan, respond,
};

use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use domain::base::Name;
use slab::Slab;
use sys::event::{Event, Interest, Poller};
use sys::handle::{AsHandle, Handle};
use sys::tcp::{Connection, Waiting};
use thiserror::Error;

use crate::settings::{NotPermitted, Permission};

/// A name as it is in messages, in lower case.
type HostName = Name<Vec<u8>>;

/// Where the mail of a domain goes (RFC 5321, section 5.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RouteAnswer {
    /// To these hosts, the first to be tried first; those of the same preference in random order. Each has an
    /// address.
    Exchangers(Vec<Exchanger>),
    /// Nowhere, which the domain declares (RFC 7505). Permanent.
    NullMx,
    /// There is no such domain. Permanent.
    NoSuchDomain,
    /// The domain has neither exchangers with an address nor, without exchangers, an address. Permanent.
    NoExchanger,
    /// The lookup failed; another attempt may succeed.
    Temporary(DnsFailure),
}

/// A host that takes mail for a domain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exchanger {
    /// The lowest comes first.
    pub preference: u16,
    /// Its name, without the last dot; of a domain without records MX its own.
    pub host: String,
    /// One at least, those of IPv4 first.
    pub addresses: Vec<IpAddr>,
}

/// Why a lookup failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum DnsFailure {
    /// No server has replied in time.
    #[error("no reply from DNS servers")]
    NoReply,
    /// SERVFAIL.
    #[error("DNS server failure (SERVFAIL)")]
    ServerFailure,
    /// REFUSED.
    #[error("DNS server refused the query (REFUSED)")]
    Refused,
    /// FORMERR, NOTIMP, or a code that a query cannot be answered with.
    #[error("DNS server does not understand the query")]
    NotImplemented,
    /// The server named others instead of asking them.
    #[error("DNS server neither knows the domain nor asks others")]
    Lame,
    /// The response cannot be read.
    #[error("malformed response from DNS server")]
    Malformed,
    /// The server cannot be reached, or closed the connection.
    #[error("DNS server cannot be reached")]
    Unreachable,
    /// A name is an alias of itself, or of an alias of it, or behind more than eight.
    #[error("loop of CNAME records, or more than 8 in a row")]
    AliasLoop,
}

/// The answer for a name and a type.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Answer {
    Exchangers(Vec<(u16, HostName)>),
    Addresses(Vec<IpAddr>),
    /// The name exists, and has no such record.
    Nothing,
    NoSuchDomain,
    Failed(DnsFailure),
}

/// Connections at once; queries beyond them wait.
const STREAMS_MAX: usize = 32;

/// The longest that a connection lives; the resolver has given it up long before.
const STREAM_NS: u64 = 30_000_000_000;

/// Datagrams taken in one turn from one socket, so that nothing else waits for a flood.
const DATAGRAMS_MAX: usize = 1024;

/// The longest datagram that UDP carries.
const DATAGRAM_BYTES: usize = 1 << 16;

/// Why a client cannot be made.
#[derive(Debug, Error)]
pub enum DnsError {
    /// There is no server.
    #[error("no DNS server is known: name one with --dns ADDRESS:PORT")]
    NoServer,
    /// A public server that the user has not named.
    #[error("the DNS server may not be asked: {0}")]
    NotPermitted(#[from] NotPermitted),
    /// A call failed.
    #[error("cannot {what} for the DNS server {server}: {error}")]
    Socket {
        /// The attempt.
        what: &'static str,
        /// The server.
        server: SocketAddr,
        /// The error of the system.
        error: io::Error,
    },
}

struct Server {
    address: SocketAddr,
    socket: UdpSocket,
    /// There may be more datagrams, which an interface that reports changes does not report again.
    is_unread: bool,
}

/// Finds exchangers over the network. The owner of the loop starts queries, passes on the events with its
/// tokens, calls [`DnsClient::on_time`] at [`DnsClient::next_deadline_ns`], and takes the answers.
pub struct DnsClient {
    resolver: Resolver,
    servers: Vec<Server>,
    streams: Slab<StreamQuery>,
    /// Queries over TCP that wait until another one ends.
    waiting: VecDeque<Transmit>,
    buffer: Vec<u8>,
}

impl DnsClient {
    /// Its tokens are from this one on, up to the largest that there is.
    const FIRST_TOKEN: usize = u32::MAX as usize - SERVERS_MAX - STREAMS_MAX;

    /// A client of these servers, the first three; the number of servers in the settings is replaced.
    ///
    /// # Errors
    /// No server; a public one that is not permitted; those of socket(2), bind(2) and connect(2).
    pub fn new(
        servers: &[SocketAddr],
        permission: &Permission,
        settings: ResolverSettings,
    ) -> Result<DnsClient, DnsError> {
        let servers = &servers[..servers.len().min(SERVERS_MAX)];
        if servers.is_empty() {
            return Err(DnsError::NoServer);
        }
        for &server in servers {
            permission.check(server)?;
        }
        let sockets: Result<Vec<Server>, DnsError> = servers.iter().copied().map(Server::open).collect();
        Ok(DnsClient {
            resolver: Resolver::new(ResolverSettings { servers: servers.len(), ..settings }),
            servers: sockets?,
            streams: Slab::new(),
            waiting: VecDeque::new(),
            buffer: vec![0; DATAGRAM_BYTES],
        })
    }

    /// Makes the loop wait for responses.
    ///
    /// # Errors
    /// Those of [`Poller::add`].
    pub fn register<P: Poller>(&mut self, poller: &mut P) -> io::Result<()> {
        for (number, server) in self.servers.iter().enumerate() {
            poller.add(server.socket.handle(), DnsClient::FIRST_TOKEN + number, Interest::Read)?;
        }
        Ok(())
    }

    /// Whether an event is for this client.
    pub fn owns(token: usize) -> bool {
        token >= DnsClient::FIRST_TOKEN
    }

    /// See [`Resolver::ask`].
    pub fn ask<P: Poller>(&mut self, domain: u32, name: &str, poller: &mut P, now_ns: u64) {
        self.resolver.ask(domain, name, now_ns);
        self.transmit(poller, now_ns);
    }

    /// See [`Resolver::has_room`].
    pub fn has_room(&self) -> bool {
        self.resolver.has_room()
    }

    /// See [`Resolver::next_answer`].
    pub fn next_answer(&mut self) -> Option<(u32, RouteAnswer)> {
        self.resolver.next_answer()
    }

    /// See [`Resolver::unresolved`].
    pub fn unresolved(&self) -> usize {
        self.resolver.unresolved()
    }

    /// When [`DnsClient::on_time`] is to be called.
    pub fn next_deadline_ns(&self) -> Option<u64> {
        match self.servers.iter().any(|server| server.is_unread) {
            true => Some(0),
            false => self.resolver.next_deadline_ns(),
        }
    }

    /// Something is ready that this client owns.
    pub fn on_event<P: Poller>(&mut self, event: Event, poller: &mut P, now_ns: u64) {
        let Some(number) = event.token.checked_sub(DnsClient::FIRST_TOKEN) else { return };
        match number.checked_sub(SERVERS_MAX) {
            Some(stream) => self.exchange(stream, poller, now_ns),
            None => self.receive(number, now_ns),
        }
        self.transmit(poller, now_ns);
    }

    /// Repeats the queries without a response in time. Cheap where there are none.
    pub fn on_time<P: Poller>(&mut self, poller: &mut P, now_ns: u64) {
        for number in 0..self.servers.len() {
            if self.servers[number].is_unread {
                self.receive(number, now_ns);
            }
        }
        if self.resolver.next_deadline_ns().is_some_and(|deadline_ns| deadline_ns <= now_ns) {
            self.resolver.on_time(now_ns);
        }
        let is_late = |(_, stream): &(usize, &StreamQuery)| stream.deadline_ns <= now_ns;
        let late: Vec<usize> = self.streams.iter().filter(is_late).map(|(number, _)| number).collect();
        for number in late {
            self.close(number, poller);
        }
        self.transmit(poller, now_ns);
    }

    fn receive(&mut self, number: usize, now_ns: u64) {
        let Some(server) = self.servers.get_mut(number) else { return };
        server.is_unread = false;
        for _ in 0..DATAGRAMS_MAX {
            match server.socket.recv(&mut self.buffer) {
                Ok(length) => {
                    self.resolver.on_message(number, Transport::Udp, &self.buffer[..length], now_ns);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                // The network's error for an earlier datagram: its query will be sent again in time.
                Err(_) => {}
            }
        }
        server.is_unread = true;
    }

    /// Sends the queries of the resolver. A datagram that cannot be sent counts as lost.
    fn transmit<P: Poller>(&mut self, poller: &mut P, now_ns: u64) {
        while let Some(transmit) = self.resolver.next_transmit() {
            match transmit.transport {
                Transport::Udp => {
                    let server = self.servers.get(transmit.server);
                    let _ = server.map(|server| server.socket.send(&transmit.message));
                }
                Transport::Tcp => self.queue(transmit, poller),
            }
        }
        while self.streams.len() < STREAMS_MAX {
            let Some(transmit) = self.waiting.pop_front() else { return };
            self.connect(&transmit, poller, now_ns);
        }
    }

    /// In place of an earlier attempt of the same query.
    fn queue<P: Poller>(&mut self, transmit: Transmit, poller: &mut P) {
        let id = message::id(&transmit.message);
        let earlier = self.streams.iter().find(|(_, stream)| Some(stream.id) == id).map(|(number, _)| number);
        if let Some(number) = earlier {
            self.close(number, poller);
        }
        self.waiting.retain(|waiting| message::id(&waiting.message) != id);
        self.waiting.push_back(transmit);
    }

    fn connect<P: Poller>(&mut self, transmit: &Transmit, poller: &mut P, now_ns: u64) {
        let Some(id) = message::id(&transmit.message) else { return };
        let Some(server) = self.servers.get(transmit.server) else { return };
        let deadline_ns = now_ns.saturating_add(STREAM_NS);
        let stream =
            StreamQuery::connect(server.address, transmit.server, id, &transmit.message, deadline_ns);
        let entry = self.streams.vacant_entry();
        let token = DnsClient::FIRST_TOKEN + SERVERS_MAX + entry.key();
        match stream {
            Ok(stream) if poller.add(stream.handle(), token, Interest::Both).is_ok() => {
                entry.insert(stream);
            }
            _ => self.resolver.on_unreachable(transmit.server, id, now_ns),
        }
    }

    fn exchange<P: Poller>(&mut self, number: usize, poller: &mut P, now_ns: u64) {
        let Some(stream) = self.streams.get_mut(number) else { return };
        let (server, id, was_sent) = (stream.server, stream.id, stream.is_sent());
        match stream.exchange() {
            Ok(None) => {
                let token = DnsClient::FIRST_TOKEN + SERVERS_MAX + number;
                let is_sent_now = stream.is_sent() && !was_sent;
                if !is_sent_now || poller.change(stream.handle(), token, Interest::Read).is_ok() {
                    return;
                }
                self.resolver.on_unreachable(server, id, now_ns);
            }
            Ok(Some(response)) => {
                if !self.resolver.on_message(server, Transport::Tcp, response, now_ns) {
                    self.resolver.on_unreachable(server, id, now_ns);
                }
            }
            Err(_) => self.resolver.on_unreachable(server, id, now_ns),
        }
        self.close(number, poller);
    }

    fn close<P: Poller>(&mut self, number: usize, poller: &mut P) {
        if let Some(stream) = self.streams.try_remove(number)
            && !P::FORGETS_CLOSED
        {
            let token = DnsClient::FIRST_TOKEN + SERVERS_MAX + number;
            // An error here does not matter: the descriptor is closed.
            let _ = poller.remove(stream.handle(), token);
        }
    }
}

impl Server {
    /// Connected, so that the system drops datagrams of others.
    fn open(address: SocketAddr) -> Result<Server, DnsError> {
        let failed = |what| move |error| DnsError::Socket { what, server: address, error };
        let any: SocketAddr = match address {
            SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
            SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
        };
        let socket = UdpSocket::bind(any).map_err(failed("open a socket"))?;
        socket.connect(address).map_err(failed("connect a socket"))?;
        socket.set_nonblocking(true).map_err(failed("prepare a socket"))?;
        Ok(Server { address, socket, is_unread: false })
    }
}

/// Bytes of the length.
const PREFIX_BYTES: usize = 2;

/// Reads of one turn; the longest response takes 16.
const READ_BYTES: usize = 4096;

/// One query over TCP: a connection, the query after its length, and the response after its length (RFC 7766,
/// section 8). Answers too long for a datagram are few: no connection is kept for another.
#[derive(Debug)]
struct StreamQuery {
    connection: Connection,
    pub(super) server: usize,
    pub(super) id: u16,
    pub(super) deadline_ns: u64,
    output: Vec<u8>,
    sent: usize,
    input: Vec<u8>,
}

impl StreamQuery {
    /// Begins to connect.
    pub(super) fn connect(
        to: SocketAddr,
        server: usize,
        id: u16,
        message: &[u8],
        deadline_ns: u64,
    ) -> io::Result<StreamQuery> {
        let connection = Connection::connect(to, None, Waiting::NonBlocking)?;
        // A query has less than 300 bytes.
        let length = u16::try_from(message.len()).unwrap_or(u16::MAX).to_be_bytes();
        let output = [&length, message].concat();
        Ok(StreamQuery { connection, server, id, deadline_ns, output, sent: 0, input: Vec::new() })
    }

    pub(super) fn handle(&self) -> Handle<'_> {
        self.connection.handle()
    }

    fn is_sent(&self) -> bool {
        self.sent == self.output.len()
    }

    /// Sends and receives as much as is possible now; returns the response once it is complete.
    pub(super) fn exchange(&mut self) -> io::Result<Option<&[u8]>> {
        while !self.is_sent() {
            match self.connection.send(&self.output[self.sent..]) {
                Ok(count) => self.sent += count,
                Err(error) if is_not_yet(&error) => {
                    self.connection.connected()?;
                    return Ok(None);
                }
                Err(error) => return Err(error),
            }
        }
        let mut buffer = [0; READ_BYTES];
        while self.wanted() > 0 {
            let wanted = self.wanted().min(READ_BYTES);
            match self.connection.receive(&mut buffer[..wanted]) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(count) => self.input.extend_from_slice(&buffer[..count]),
                Err(error) if is_not_yet(&error) => return Ok(None),
                Err(error) => return Err(error),
            }
        }
        Ok(Some(&self.input[PREFIX_BYTES..]))
    }

    /// Bytes that are missing of the response, or of its length.
    fn wanted(&self) -> usize {
        match self.input.first_chunk::<PREFIX_BYTES>() {
            Some(length) => PREFIX_BYTES + usize::from(u16::from_be_bytes(*length)) - self.input.len(),
            None => PREFIX_BYTES - self.input.len(),
        }
    }
}

/// Nothing can be sent or received now. Some systems have another error for a connection that is not
/// established yet.
fn is_not_yet(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted | ErrorKind::NotConnected)
}

/// The port of DNS (RFC 1035, section 4.2).
const PORT: u16 = 53;

/// The most servers, as in resolv.conf(5).
const SERVERS_MAX: usize = 3;

/// The servers that a resolv.conf(5) names, the first three. Other lines are skipped, as by the system's own
/// resolver.
pub fn servers_of_resolv_conf(text: &str) -> Vec<SocketAddr> {
    let server = |line: &str| {
        let mut words = line.split_ascii_whitespace();
        let address: IpAddr =
            (words.next()? == "nameserver").then(|| words.next()?.parse().ok()).flatten()?;
        Some(SocketAddr::new(address, PORT))
    };
    text.lines().filter_map(server).take(SERVERS_MAX).collect()
}
