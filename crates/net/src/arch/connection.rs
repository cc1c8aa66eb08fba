//! One connection of an event loop: its state, its socket, and what is to happen next.
//!
//! A connection never waits. It is called when its socket is ready or its time limit has passed, does one
//! thing, and reports whether there may be more to do. Back-pressure: while output is pending, and while the
//! session pauses, nothing is received.

use std::io::{self, ErrorKind};

use sys::event::Interest;

use super::connection_state::{ConnectionState, Late, Then};
use super::loop_context::LoopContext;
use crate::network::Socket;
use crate::output::{Output, Sent};
use crate::service::Flow;
use crate::worker::Counter;

/// A connection and its session.
pub(super) struct Connection<S> {
    pub(super) socket: S,
    pub(super) state: ConnectionState,
    /// What the connection did not take at once.
    pending: Option<Box<Output>>,
}

/// What is to be done with a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// There may be more to do, now or once it is ready again.
    Again,
    /// Nothing can be done until it is ready.
    Wait,
    /// It is over.
    End,
}

impl<S: Socket> Connection<S> {
    /// Starts a session on a socket that was just accepted.
    pub(super) fn begin(socket: S, context: &mut LoopContext<'_>) -> (Connection<S>, Next) {
        let (state, flow) = ConnectionState::begin(&socket, context);
        let mut connection = Connection { socket, state, pending: None };
        let next = connection.respond(flow, context);
        (connection, next)
    }

    /// What its socket is to be ready for.
    #[inline]
    pub(super) fn interest(&self) -> Interest {
        match self.pending {
            Some(_) => Interest::Write,
            None if self.state.is_paused() => Interest::Nothing,
            None => Interest::Read,
        }
    }

    /// Does what its socket is ready for, once.
    #[inline]
    pub(super) fn go_on(&mut self, context: &mut LoopContext<'_>) -> Next {
        match self.pending {
            Some(_) => self.send(context),
            None if self.state.is_paused() => Next::Wait,
            None => self.receive(context),
        }
    }

    /// Its time is over.
    pub(super) fn late(&mut self, context: &mut LoopContext<'_>) -> Next {
        match self.state.late(&self.socket, context) {
            Late::Response(flow) => return self.respond(flow, context),
            Late::Wait => return Next::Wait,
            Late::Reset => _ = self.socket.reset_on_close(),
            Late::Close => {}
        }
        Next::End
    }

    #[inline]
    fn receive(&mut self, context: &mut LoopContext<'_>) -> Next {
        let received = self.socket.receive(&mut context.input);
        let count = match received {
            Ok(count) => count,
            Err(error) => return self.nothing_received(&error, context),
        };
        context.count(Counter::Received, count as u64);
        if self.state.drops(context) {
            return if count == 0 { Next::End } else { Next::Again };
        }
        let flow = match count {
            0 => self.state.end_of_input(&mut context.output),
            _ => self.state.on_input(&context.input[..count], &mut context.output),
        };
        self.respond(flow, context)
    }

    #[cold]
    fn nothing_received(&mut self, error: &io::Error, context: &mut LoopContext<'_>) -> Next {
        match error.kind() {
            ErrorKind::WouldBlock if context.stopping && self.state.is_idle() => Next::End,
            ErrorKind::WouldBlock => Next::Wait,
            ErrorKind::Interrupted => Next::Again,
            _ => broken(context),
        }
    }

    /// Sends what is on the context, and keeps what does not leave at once.
    #[inline]
    fn respond(&mut self, flow: Flow, context: &mut LoopContext<'_>) -> Next {
        self.state.note_responses(context);
        if flow == Flow::Reset {
            context.take_output();
        }
        let mut sent_bytes = 0;
        let sent = context.output.send_turn(&self.socket, &mut sent_bytes);
        context.count(Counter::Sent, sent_bytes);
        match sent {
            Ok(Sent::All) => self.settle(flow, context),
            Ok(Sent::Blocked) => {
                self.pending = Some(Box::new(context.take_output()));
                self.state.keep_sending(flow, context);
                Next::Again
            }
            Err(_) => {
                context.take_output();
                broken(context)
            }
        }
    }

    /// Sends more of the pending output.
    fn send(&mut self, context: &mut LoopContext<'_>) -> Next {
        let (Some(output), Some(flow)) = (&mut self.pending, self.state.sending()) else { return Next::End };
        let mut sent_bytes = 0;
        let sent = output.send_turn(&self.socket, &mut sent_bytes);
        context.count(Counter::Sent, sent_bytes);
        match sent {
            Ok(Sent::All) => {
                self.pending = None;
                self.settle(flow, context)
            }
            Ok(Sent::Blocked) if sent_bytes > 0 => {
                self.state.keep_sending(flow, context);
                Next::Again
            }
            Ok(Sent::Blocked) => Next::Wait,
            Err(_) => broken(context),
        }
    }

    #[inline]
    fn settle(&mut self, flow: Flow, context: &LoopContext<'_>) -> Next {
        match self.state.settle(flow, context) {
            Then::Listen if self.state.is_paused() => Next::Wait,
            Then::Listen => Next::Again,
            // An error says that the other end has closed already.
            Then::Linger if self.socket.finish_sending().is_ok() => Next::Again,
            Then::Linger | Then::Close => Next::End,
            Then::Reset => {
                let _ = self.socket.reset_on_close();
                Next::End
            }
        }
    }
}

#[cold]
fn broken(context: &mut LoopContext<'_>) -> Next {
    context.count(Counter::Broken, 1);
    Next::End
}
