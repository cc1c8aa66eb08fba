//! One connection of an engine, in plain text or with TLS: its input goes to its session, whose output is
//! sent. A host with which TLS fails is marked, so that later connections to it do not use it.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, ErrorKind, IoSlice};
use std::net::IpAddr;

use net::load::TlsSettings;
use net::output::{Output, Sender, Sent};
use net::{Handshake, TlsClient, TlsConnection};
use serde::{Deserialize, Serialize};
use sys::event::Interest;
use sys::handle::{AsHandle, Handle};
use sys::tcp::Connection;

use crate::MailError;
use crate::context::{DeliveryContext, MailStep, Results};
use crate::session::{Progress, Session};

/// Reads of one connection in a turn, where events are edges.
const READS_MAX: usize = 8;

pub(crate) struct Slot {
    pub(crate) transport: Transport,
    pub(crate) session: Session,
    pub(crate) output: Output,
    pub(crate) interest: Interest,
    pub(crate) is_connecting: bool,
    /// TLS has begun, and is not there yet.
    pub(crate) is_shaking_hands: bool,
    pub(crate) began_ns: u64,
    /// The time of the last event.
    pub(crate) active_ns: u64,
}

pub(crate) enum End {
    Done,
    SentAway(String),
    Broken(String),
    Fault(String),
    /// TLS was begun, and failed.
    NoTls(String),
    Late,
}

pub(crate) enum Exchanged {
    /// Until there is something to read, or to send with.
    Wait,
    /// A handshake goes on when the connection is ready for that.
    WaitFor(Interest),
    /// TLS begins.
    StartTls,
    /// There may be more to read.
    Again,
    End(End),
}

/// Receives, passes the input to the session, and sends its output.
pub(crate) fn exchange<R: Results>(
    slot: &mut Slot,
    buffer: &mut [u8],
    context: &mut DeliveryContext<'_, R>,
    is_edge: bool,
) -> io::Result<Exchanged> {
    if slot.is_connecting {
        slot.transport.connected()?;
        slot.is_connecting = false;
        context.measured.counts.connections += 1;
        context.took(MailStep::Connect, slot.began_ns);
        slot.session.on_connect(context.now_ns);
    }
    if slot.is_shaking_hands
        && let Transport::Tls(connection) = &slot.transport
    {
        match connection.handshake() {
            Ok(Handshake::Waits(interest)) => return Ok(Exchanged::WaitFor(interest)),
            Err(error) => return Ok(Exchanged::End(End::NoTls(error.to_string()))),
            Ok(Handshake::Done) => {
                slot.is_shaking_hands = false;
                context.measured.counts.encrypted += 1;
                slot.session.on_tls(context, &mut slot.output);
                let sent = slot.output.send(&slot.transport, &mut context.measured.counts.sent_bytes)?;
                if sent == Sent::Blocked {
                    return Ok(Exchanged::Wait);
                }
            }
        }
    }
    let reads = if is_edge { READS_MAX } else { 1 };
    for _ in 0..reads {
        let received = match slot.transport.receive(buffer) {
            Ok(0) => return Ok(Exchanged::End(End::Broken("closed by the server".to_owned()))),
            Ok(received) => received,
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                slot.output.send(&slot.transport, &mut context.measured.counts.sent_bytes)?;
                return Ok(Exchanged::Wait);
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        context.measured.counts.received_bytes += received as u64;
        let progress = match slot.session.on_input(&buffer[..received], context, &mut slot.output) {
            Ok(progress) => progress,
            Err(fault) => return Ok(Exchanged::End(End::Fault(fault.to_string()))),
        };
        match progress {
            Progress::Wait => {}
            Progress::StartTls => return Ok(Exchanged::StartTls),
            Progress::Close => return Ok(Exchanged::End(End::Done)),
            Progress::SentAway(reason) => return Ok(Exchanged::End(End::SentAway(reason))),
        }
        let sent = slot.output.send(&slot.transport, &mut context.measured.counts.sent_bytes)?;
        if sent == Sent::Blocked {
            return Ok(Exchanged::Wait);
        }
    }
    Ok(if is_edge { Exchanged::Again } else { Exchanged::Wait })
}

pub(crate) enum Transport {
    Plain(Connection),
    Tls(Box<TlsConnection>),
    /// Only while one becomes the other.
    Changing,
}

impl Transport {
    /// Speaks TLS from now on.
    pub(crate) fn start_tls(&mut self, client: &TlsClient, to: IpAddr) -> io::Result<()> {
        match std::mem::replace(self, Transport::Changing) {
            Transport::Plain(connection) => match client.start(connection, to) {
                Ok(connection) => *self = Transport::Tls(Box::new(connection)),
                Err((connection, error)) => {
                    *self = Transport::Plain(connection);
                    return Err(error);
                }
            },
            other => *self = other,
        }
        Ok(())
    }

    pub(crate) fn handle(&self) -> Option<Handle<'_>> {
        match self {
            Transport::Plain(connection) => Some(connection.handle()),
            Transport::Tls(connection) => Some(connection.handle()),
            Transport::Changing => None,
        }
    }

    /// The result of connecting.
    pub(crate) fn connected(&self) -> io::Result<()> {
        match self {
            Transport::Plain(connection) => connection.connected(),
            _ => Ok(()),
        }
    }

    /// One recv(2); 0 is the end.
    #[inline]
    pub(crate) fn receive(&self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Transport::Plain(connection) => connection.receive(buffer),
            Transport::Tls(connection) => connection.receive(buffer),
            Transport::Changing => Err(ErrorKind::NotConnected.into()),
        }
    }

    pub(crate) fn close(self) {
        if let Transport::Tls(connection) = self {
            connection.close();
        }
    }
}

impl Sender for Transport {
    #[inline]
    fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Transport::Plain(connection) => connection.send(bytes),
            Transport::Tls(connection) => connection.send(bytes),
            Transport::Changing => Err(ErrorKind::NotConnected.into()),
        }
    }

    #[inline]
    fn send_and_more(&self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Transport::Plain(connection) => connection.send_and_more(bytes),
            other => other.send(bytes),
        }
    }

    #[inline]
    fn send_pieces(&self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        match self {
            Transport::Plain(connection) => connection.send_pieces(pieces),
            Transport::Tls(connection) => connection.send_pieces(pieces),
            Transport::Changing => Err(ErrorKind::NotConnected.into()),
        }
    }

    /// A message is never a file.
    fn send_file(&self, _file: &File, _offset: &mut u64, _count: usize) -> io::Result<usize> {
        Err(ErrorKind::Unsupported.into())
    }
}

/// Whether connections are encrypted by STARTTLS (RFC 3207).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum TlsPolicy {
    /// Never: the server is not asked for it.
    #[default]
    Off,
    /// Where the server offers it; without it where it fails (RFC 7435).
    Opportunistic,
    /// Always: a server without it counts as unreachable.
    Required,
}

/// TLS of an engine.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct MailTls {
    /// Whether connections are encrypted.
    pub policy: TlsPolicy,
    /// Which certificates are accepted; `None` accepts all.
    pub certificates: Option<TlsSettings>,
}

/// TLS of a running engine.
pub(crate) struct EngineTls {
    policy: TlsPolicy,
    client: Option<TlsClient>,
    /// Hosts with which it failed.
    given_up: HashSet<u32>,
}

impl EngineTls {
    pub(crate) fn new(settings: &MailTls) -> Result<EngineTls, MailError> {
        let client = match settings.policy {
            TlsPolicy::Off => None,
            _ => Some(TlsClient::new(settings.certificates.as_ref())?),
        };
        Ok(EngineTls { policy: settings.policy, client, given_up: HashSet::new() })
    }

    pub(crate) fn is_required(&self) -> bool {
        self.policy == TlsPolicy::Required
    }

    /// The policy for a connection to the host.
    pub(crate) fn of_host(&self, host: u32) -> TlsPolicy {
        if self.given_up.contains(&host) { TlsPolicy::Off } else { self.policy }
    }

    /// Connections to the host are not encrypted any more.
    pub(crate) fn give_up(&mut self, host: u32) {
        self.given_up.insert(host);
    }

    pub(crate) fn start(&self, transport: &mut Transport, to: IpAddr) -> io::Result<()> {
        match &self.client {
            Some(client) => transport.start_tls(client, to),
            // Not reached: without a client no session asks for it.
            None => Err(io::ErrorKind::Unsupported.into()),
        }
    }
}
