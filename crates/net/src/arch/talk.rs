//! One connection of an event loop: its course, its socket, and what is to happen next.
//!
//! A talk never waits. It is called when its socket is ready, or when its time is over, does one thing, and
//! says whether there may be more to do. While output is pending nothing is received: who does not read is
//! not read from.

use std::io::{self, ErrorKind};

use sys::event::Interest;
use sys::tcp::Connection;

use super::course::{Course, Late, Then};
use super::desk::Desk;
use crate::output::{Output, Sent};
use crate::service::Flow;
use crate::site::Count;

/// A connection and its session.
pub(super) struct Talk {
    pub(super) connection: Connection,
    pub(super) course: Course,
    /// What the connection did not take at once.
    pending: Option<Box<Output>>,
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
        let (course, flow) = Course::begin(&connection, desk);
        let mut talk = Talk { connection, course, pending: None };
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
        match self.course.late(&self.connection, desk) {
            Late::Answer(flow) => return self.answer(flow, desk),
            Late::Wait => return Next::Wait,
            Late::Reset => _ = self.connection.reset_on_close(),
            Late::Close => {}
        }
        Next::End
    }

    #[inline]
    fn receive(&mut self, desk: &mut Desk<'_>) -> Next {
        let received = self.connection.receive(&mut desk.input);
        let count = match received {
            Ok(count) => count,
            Err(error) => return self.nothing_received(&error, desk),
        };
        desk.count(Count::Received, count as u64);
        if let Some(is_enough) = self.course.drops(count) {
            return if is_enough || count == 0 { Next::End } else { Next::Again };
        }
        let flow = match count {
            0 => self.course.end_of_input(&mut desk.output),
            _ => self.course.feed(&desk.input[..count], &mut desk.output),
        };
        self.answer(flow, desk)
    }

    #[cold]
    fn nothing_received(&mut self, error: &io::Error, desk: &mut Desk<'_>) -> Next {
        match error.kind() {
            ErrorKind::WouldBlock if desk.stopping && self.course.is_idle() => Next::End,
            ErrorKind::WouldBlock => Next::Wait,
            ErrorKind::Interrupted => Next::Again,
            _ => broken(desk),
        }
    }

    /// Sends what is on the desk, and keeps what does not leave at once.
    #[inline]
    fn answer(&mut self, flow: Flow, desk: &mut Desk<'_>) -> Next {
        self.course.note_answers(desk);
        let mut sent_bytes = 0;
        let sent = desk.output.send_turn(&self.connection, &mut sent_bytes);
        desk.count(Count::Sent, sent_bytes);
        match sent {
            Ok(Sent::All) => self.settle(flow, desk),
            Ok(Sent::Blocked) => {
                self.pending = Some(Box::new(desk.take_output()));
                self.course.keep_sending(flow, desk);
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
        let (Some(output), Some(flow)) = (&mut self.pending, self.course.sending()) else { return Next::End };
        let mut sent_bytes = 0;
        let sent = output.send_turn(&self.connection, &mut sent_bytes);
        desk.count(Count::Sent, sent_bytes);
        match sent {
            Ok(Sent::All) => {
                self.pending = None;
                self.settle(flow, desk)
            }
            Ok(Sent::Blocked) if sent_bytes > 0 => {
                self.course.keep_sending(flow, desk);
                Next::Again
            }
            Ok(Sent::Blocked) => Next::Wait,
            Err(_) => broken(desk),
        }
    }

    #[inline]
    fn settle(&mut self, flow: Flow, desk: &Desk<'_>) -> Next {
        match self.course.settle(flow, desk) {
            Then::Listen => Next::Again,
            // An error says that the other end has closed already.
            Then::Linger if self.connection.finish_sending().is_ok() => Next::Again,
            Then::Linger | Then::Close => Next::End,
        }
    }
}

#[cold]
fn broken(desk: &mut Desk<'_>) -> Next {
    desk.count(Count::Broken, 1);
    Next::End
}
