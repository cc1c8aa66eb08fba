//! One connection of an event loop: its state, its socket, and its next step; and the context that all
//! connections of a loop share.
//!
//! A connection never waits. It is called when its socket is ready or its time limit has passed, does one
//! thing, and reports whether there may be more to do. Back-pressure: while output is pending, and while the
//! session pauses, nothing is received.

use std::io::{self, ErrorKind};
use std::time::Duration;

use sys::event::Interest;

use crate::network::{Socket, milliseconds};
use crate::output::{Output, Sent};
use crate::service::{Flow, Session, SessionStage};
use crate::worker::{COUNTERS, Counter, LINGER, LINGER_MAX, SEND_LOOKS, Terms, write_log};

pub(super) struct Connection<S> {
    pub(super) socket: S,
    pub(super) state: ConnectionState,
    /// Output that the connection did not take at once.
    pending: Option<Box<Output>>,
}

/// The next step of a connection.
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

    /// The readiness that it waits for.
    #[inline]
    pub(super) fn interest(&self) -> Interest {
        match self.pending {
            Some(_) => Interest::Write,
            None if self.state.is_paused() => Interest::Nothing,
            None => Interest::Read,
        }
    }

    /// Handles one readiness of its socket.
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

    /// Sends the output of the context, and keeps the rest.
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
            // An error means that the other end has closed already.
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

pub(super) struct ConnectionState {
    session: Box<dyn Session>,
    phase: Phase,
    /// When the limit of the phase is over, or when to check it.
    pub(super) due_ms: u64,
    /// When to give up sending, if the other end reads nothing until then.
    give_up_ms: u64,
    /// Bytes that the other end had acknowledged at the last look.
    acknowledged: u64,
    /// Whether it was counted as slow: a connection is, once.
    is_slow: bool,
}

/// The phase of a connection: the event that it waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The next request.
    Idle,
    /// The rest of a request.
    Request,
    /// The end of a pause.
    Paused,
    /// Output leaves; then this follows.
    Sending(Flow),
    /// The other end to finish, until this time at most.
    Lingering(u64),
}

/// The step after the output has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Then {
    /// More input.
    Listen,
    /// The end of sending, and input that is dropped.
    Linger,
    /// The end.
    Close,
    /// The end, by a reset.
    Reset,
}

/// The step after a time limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Late {
    /// Nothing: the other end reads its output, if slowly.
    Wait,
    /// The last output is to be sent, or the one after a pause.
    Response(Flow),
    /// The connection is to be closed.
    Close,
    /// Reset it: otherwise the system would go on trying to send the rest.
    Reset,
}

impl ConnectionState {
    /// The state of a new connection; its first output is on the context.
    pub(super) fn begin(connection: &impl Socket, context: &mut LoopContext<'_>) -> (ConnectionState, Flow) {
        let service = context.terms.service;
        let peer = if service.wants_peer() { connection.peer().ok() } else { None };
        let mut session = service.session(peer);
        let flow = session.begin(&mut context.output);
        let phase = Phase::Idle;
        (ConnectionState { session, phase, due_ms: 0, give_up_ms: 0, acknowledged: 0, is_slow: false }, flow)
    }

    #[inline]
    pub(super) fn on_input(&mut self, input: &[u8], output: &mut Output) -> Flow {
        self.session.on_input(input, output)
    }

    /// No more input will come, so it is over once the output has left, for any request of the session.
    pub(super) fn end_of_input(&mut self, output: &mut Output) -> Flow {
        let _ = self.session.end(output);
        Flow::Close
    }

    /// Counts the responses on the context.
    #[inline]
    pub(super) fn note_responses(&mut self, context: &mut LoopContext<'_>) {
        let responses = context.output.take_responses();
        if responses > 0 {
            context.count(Counter::Responses, responses);
            let recipients = context.output.take_recipients();
            context.count(Counter::Recipients, recipients);
            // If this is the middle of a request, it is that of another one.
            self.phase = Phase::Idle;
        }
    }

    /// Some output has left, or none yet, and the rest has to wait.
    pub(super) fn keep_sending(&mut self, flow: Flow, context: &LoopContext<'_>) {
        self.phase = Phase::Sending(flow);
        let limit = context.terms.limits.send;
        self.due_ms = context.due_ms(limit / SEND_LOOKS);
        self.give_up_ms = context.due_ms(limit);
    }

    /// The flow that the session chose, where its output is still leaving.
    #[inline]
    pub(super) fn sending(&self) -> Option<Flow> {
        if let Phase::Sending(flow) = self.phase { Some(flow) } else { None }
    }

    pub(super) fn is_idle(&self) -> bool {
        self.phase == Phase::Idle
    }

    /// Whether the session pauses, so that nothing is received for it.
    #[inline]
    pub(super) fn is_paused(&self) -> bool {
        self.phase == Phase::Paused
    }

    /// Whether input is dropped.
    #[inline]
    pub(super) fn drops(&mut self, context: &LoopContext<'_>) -> bool {
        let Phase::Lingering(until_ms) = self.phase else { return false };
        self.due_ms = context.due_ms(LINGER).min(until_ms);
        true
    }

    /// All output has left.
    #[inline]
    pub(super) fn settle(&mut self, flow: Flow, context: &LoopContext<'_>) -> Then {
        match (flow, self.session.stage()) {
            (Flow::Close, _) => Then::Close,
            (Flow::Reset, _) => Then::Reset,
            (Flow::More, SessionStage::Idle) if !context.stopping => {
                self.phase = Phase::Idle;
                self.due_ms = context.due_ms(context.terms.limits.idle);
                Then::Listen
            }
            (Flow::More, SessionStage::Paused(time)) => {
                if self.phase != Phase::Paused {
                    self.phase = Phase::Paused;
                    self.due_ms = context.due_ms(time);
                }
                Then::Listen
            }
            (Flow::More, stage @ (SessionStage::Request | SessionStage::Data)) => {
                // The limit of a request runs from its first byte, however many follow.
                if self.phase != Phase::Request || stage == SessionStage::Data {
                    self.phase = Phase::Request;
                    self.due_ms = context.due_ms(context.terms.limits.request);
                }
                Then::Listen
            }
            (Flow::Linger | Flow::More, _) => {
                self.phase = Phase::Lingering(context.due_ms(LINGER_MAX));
                self.due_ms = context.due_ms(LINGER);
                Then::Linger
            }
        }
    }

    /// Whether the other end still reads output, or has time to. Where the system does not count acknowledged
    /// bytes, a socket that is not writable in time is given up.
    fn is_taken(&mut self, connection: &impl Socket, context: &LoopContext<'_>) -> bool {
        let limit = context.terms.limits.send;
        let acknowledged = connection.acknowledged().unwrap_or(0);
        if acknowledged > self.acknowledged {
            self.acknowledged = acknowledged;
            self.give_up_ms = context.due_ms(limit);
        }
        self.due_ms = context.due_ms(limit / SEND_LOOKS).min(self.give_up_ms);
        context.now_ms() < self.give_up_ms
    }

    fn count_slow(&mut self, context: &mut LoopContext<'_>) {
        if !std::mem::replace(&mut self.is_slow, true) {
            context.count(Counter::Slow, 1);
        }
    }

    /// The limit of the phase is over.
    pub(super) fn late(&mut self, connection: &impl Socket, context: &mut LoopContext<'_>) -> Late {
        match self.phase {
            Phase::Idle | Phase::Lingering(_) => Late::Close,
            Phase::Paused => {
                self.phase = Phase::Idle;
                Late::Response(self.session.resume(&mut context.output))
            }
            Phase::Request => {
                self.count_slow(context);
                let flow = self.session.too_slow(&mut context.output);
                Late::Response(if flow == Flow::Linger { flow } else { Flow::Close })
            }
            Phase::Sending(_) => {
                if self.is_taken(connection, context) {
                    return Late::Wait;
                }
                self.count_slow(context);
                Late::Reset
            }
        }
    }
}

/// The most bytes of one recv(2).
const INPUT_BYTES: usize = 64 << 10;

/// The context that the connections of one loop share: a buffer for input, an output, the time, and counts.
/// One connection uses it at a time, and leaves the output empty: it takes unsent output along.
pub(super) struct LoopContext<'worker> {
    pub(super) terms: Terms<'worker>,
    pub(super) input: Box<[u8]>,
    pub(super) output: Output,
    /// Whether the order to stop was given: connections end as soon as their response has left.
    pub(super) stopping: bool,
    counts: [u64; COUNTERS.len()],
    now_ms: u64,
}

impl<'worker> LoopContext<'worker> {
    pub(super) fn new(terms: Terms<'worker>) -> LoopContext<'worker> {
        LoopContext {
            terms,
            input: vec![0; INPUT_BYTES].into_boxed_slice(),
            output: Output::default(),
            stopping: false,
            counts: [0; COUNTERS.len()],
            now_ms: 0,
        }
    }

    /// A turn of the loop begins: the clock is read once for all of it.
    #[inline]
    pub(super) fn begin_turn(&mut self, now_ms: u64) {
        self.now_ms = now_ms;
    }

    /// A turn ends: counts and log are handed on. Returns how many connections have ended in it.
    #[inline]
    pub(super) fn end_turn(&mut self) -> u64 {
        let ended = self.counts[Counter::Ended as usize];
        for count in ALL_COUNTERS {
            let amount = &mut self.counts[count as usize];
            if *amount > 0 {
                self.terms.counters.add(count, *amount);
                *amount = 0;
            }
        }
        if !self.output.log.is_empty() {
            write_log(self.terms.log, &mut self.output.log, self.terms.counters);
        }
        ended
    }

    /// Counts; the counters are updated at the end of the turn.
    #[inline]
    pub(super) fn count(&mut self, count: Counter, amount: u64) {
        self.counts[count as usize] += amount;
    }

    /// Since the loop began.
    #[inline]
    pub(super) fn now_ms(&self) -> u64 {
        self.now_ms
    }

    /// When a limit that begins now is over.
    #[inline]
    pub(super) fn due_ms(&self, limit: Duration) -> u64 {
        self.now_ms.saturating_add(milliseconds(limit))
    }

    /// Takes the output off the context, for a connection that has to wait. The log stays.
    pub(super) fn take_output(&mut self) -> Output {
        let mut output = std::mem::take(&mut self.output);
        self.output.log = std::mem::take(&mut output.log);
        output
    }
}

/// The order in which they are added: connections that ended in a turn were not open beside those that came
/// in it.
const ALL_COUNTERS: [Counter; COUNTERS.len()] = [
    Counter::Ended,
    Counter::Accepted,
    Counter::Refused,
    Counter::Broken,
    Counter::Slow,
    Counter::Responses,
    Counter::Received,
    Counter::Sent,
    Counter::Exhausted,
    Counter::Restarts,
    Counter::Recipients,
];
