//! One connection of an engine: what is received goes to its session, and what that says is sent.

use std::io::{self, ErrorKind};

use net::Handshake;
use net::output::{Output, Sent};
use sys::event::Interest;

use crate::context::DeliveryContext;
use crate::measured::MailStep;
use crate::result::Results;
use crate::session::{Progress, Session};
use crate::transport::Transport;

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
    /// When something happened last.
    pub(crate) active_ns: u64,
}

/// How a connection ended.
pub(crate) enum End {
    Done,
    SentAway(String),
    Broken(String),
    Fault(String),
    /// TLS was begun, and did not come about.
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

/// Reads what is there, has the session answer, and sends.
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
