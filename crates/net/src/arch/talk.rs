//! One connection of an event loop: a session, its socket, and what is to happen next.
//!
//! A talk never waits. It is called when its socket is ready, or when its time is over, does one thing, and says
//! whether there may be more to do. While output is pending nothing is received: who does not read is not read from.

use std::io::ErrorKind;
use std::time::Duration;

use sys::event::Interest;
use sys::tcp::Connection;

use super::desk::Desk;
use crate::output::{Output, Sent};
use crate::service::{Flow, Session, Stage};
use crate::site::Count;

/// How long, and how much, the other end may go on sending after the last answer.
pub(super) const LINGER: Duration = Duration::from_secs(2);
pub(super) const LINGER_BYTES: usize = 256 << 10;

/// A connection and its session.
pub(super) struct Talk {
    pub(super) connection: Connection,
    session: Box<dyn Session>,
    /// What the connection did not take at once.
    pending: Option<Box<Output>>,
    phase: Phase,
    /// When the limit of the phase is over.
    pub(super) due_ms: u64,
}

/// What a talk is waiting for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The next request.
    Idle,
    /// The rest of a request.
    Request,
    /// The pending output to leave; what comes then.
    Sending(Flow),
    /// The other end to finish, after so many bytes at most.
    Lingering(usize),
}

/// What is to be done with a talk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// There may be more to do, now or once it is ready again.
    Again,
    /// Nothing can be done until it is ready.
    Wait,
    /// It is over.
    End,
}

impl Talk {
    /// Begins to talk on a new connection.
    pub(super) fn begin(connection: Connection, desk: &mut Desk<'_>) -> (Talk, Next) {
        let service = &desk.site.service;
        let peer = if service.wants_peer() { connection.peer().ok() } else { None };
        let session = service.session(peer);
        let mut talk = Talk { connection, session, pending: None, phase: Phase::Idle, due_ms: 0 };
        let flow = talk.session.begin(&mut desk.output);
        let next = talk.answer(flow, desk);
        (talk, next)
    }

    /// What its socket is to be ready for.
    #[inline]
    pub(super) fn interest(&self) -> Interest {
        if self.pending.is_some() { Interest::Write } else { Interest::Read }
    }

    /// Does what its socket is ready for, once.
    #[inline]
    pub(super) fn go_on(&mut self, desk: &mut Desk<'_>) -> Next {
        if self.pending.is_some() { self.send(desk) } else { self.receive(desk) }
    }

    /// Its time is over.
    pub(super) fn late(&mut self, desk: &mut Desk<'_>) -> Next {
        match self.phase {
            Phase::Idle | Phase::Lingering(_) => Next::End,
            Phase::Request => {
                desk.count(Count::Slow, 1);
                let flow = self.session.too_slow(&mut desk.output);
                self.answer(if flow == Flow::Linger { flow } else { Flow::Close }, desk)
            }
            Phase::Sending(_) => {
                desk.count(Count::Slow, 1);
                // Otherwise the system would go on trying to send what it was given.
                let _ = self.connection.reset_on_close();
                Next::End
            }
        }
    }

    fn receive(&mut self, desk: &mut Desk<'_>) -> Next {
        let count = match self.connection.receive(&mut desk.input) {
            Ok(0) => return self.end_of_input(desk),
            Ok(count) => count,
            Err(error) => return self.nothing_received(error.kind(), desk),
        };
        desk.count(Count::Received, count as u64);
        if let Phase::Lingering(left) = self.phase {
            self.phase = Phase::Lingering(left.saturating_sub(count));
            return if count < left { Next::Again } else { Next::End };
        }
        let flow = self.session.feed(&desk.input[..count], &mut desk.output);
        self.answer(flow, desk)
    }

    fn nothing_received(&mut self, why: ErrorKind, desk: &mut Desk<'_>) -> Next {
        match why {
            ErrorKind::WouldBlock if desk.stopping && self.phase == Phase::Idle => Next::End,
            ErrorKind::WouldBlock => Next::Wait,
            ErrorKind::Interrupted => Next::Again,
            _ => broken(desk),
        }
    }

    fn end_of_input(&mut self, desk: &mut Desk<'_>) -> Next {
        if let Phase::Lingering(_) = self.phase {
            return Next::End;
        }
        // Whatever the session would like: no more input can come.
        let _ = self.session.end(&mut desk.output);
        self.answer(Flow::Close, desk)
    }

    /// Sends what is on the desk, and keeps what does not leave at once.
    fn answer(&mut self, flow: Flow, desk: &mut Desk<'_>) -> Next {
        let answers = desk.output.take_answers();
        if answers > 0 {
            desk.count(Count::Answers, answers);
            // If this is the middle of a request, it is another one.
            self.phase = Phase::Idle;
        }
        let mut sent_bytes = 0;
        let sent = desk.output.send_turn(&self.connection, &mut sent_bytes);
        desk.count(Count::Sent, sent_bytes);
        match sent {
            Ok(Sent::All) => self.settle(flow, desk),
            Ok(Sent::Blocked) => {
                self.pending = Some(Box::new(desk.take_output()));
                self.phase = Phase::Sending(flow);
                self.due_ms = desk.due_ms(desk.site.limits.send);
                Next::Again
            }
            Err(_) => {
                desk.take_output();
                broken(desk)
            }
        }
    }

    /// Sends more of the pending output.
    fn send(&mut self, desk: &mut Desk<'_>) -> Next {
        let (Some(output), Phase::Sending(flow)) = (&mut self.pending, self.phase) else { return Next::End };
        let mut sent_bytes = 0;
        let sent = output.send_turn(&self.connection, &mut sent_bytes);
        desk.count(Count::Sent, sent_bytes);
        match sent {
            Ok(Sent::All) => {
                self.pending = None;
                self.settle(flow, desk)
            }
            Ok(Sent::Blocked) if sent_bytes > 0 => {
                self.due_ms = desk.due_ms(desk.site.limits.send);
                Next::Again
            }
            Ok(Sent::Blocked) => Next::Wait,
            Err(_) => broken(desk),
        }
    }

    /// All output has left.
    #[inline]
    fn settle(&mut self, flow: Flow, desk: &mut Desk<'_>) -> Next {
        match (flow, self.session.stage()) {
            (Flow::Close, _) => Next::End,
            (Flow::More, Stage::Idle) if !desk.stopping => {
                self.phase = Phase::Idle;
                self.due_ms = desk.due_ms(desk.site.limits.idle);
                Next::Again
            }
            (Flow::More, Stage::Request) => {
                // The limit runs from the first byte, however many follow.
                if self.phase != Phase::Request {
                    self.phase = Phase::Request;
                    self.due_ms = desk.due_ms(desk.site.limits.request);
                }
                Next::Again
            }
            (Flow::Linger | Flow::More, _) => {
                if self.connection.finish_sending().is_err() {
                    return Next::End;
                }
                self.phase = Phase::Lingering(LINGER_BYTES);
                self.due_ms = desk.due_ms(LINGER);
                Next::Again
            }
        }
    }
}

fn broken(desk: &mut Desk<'_>) -> Next {
    desk.count(Count::Broken, 1);
    Next::End
}
