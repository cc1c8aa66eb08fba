//! One loop that serves all connections over a ring: it submits operations, and the ring returns completions.
//!
//! - Receiving goes on while a response leaves. That input is held; when it becomes much, receiving ends
//!   until the response has left: a client that does not read its responses has no more requests read.
//! - A connection's slot is free only when nothing of it is in flight any more. So no completion can be
//!   mistaken for one of the slot's next connection.
//! - One send for a connection at a time, of 64 KiB at most: so much must leave within the limit for sending.
//! - A wait without connections for a long time is begun anew, because Linux wakes one ring for each
//!   connection (`poll_exclusive` of `io_uring/opdef.c`). The ring of a process that was killed takes part
//!   until the kernel has dismantled it, and a wake-up that meets it is lost: of 715 workers that were killed
//!   beside a busy machine, three left a connection that waited until the next one came (Linux 6.18).

use std::io::{self, ErrorKind};
use std::time::Duration;

use slab::Slab;
use sys::ring::{Completion, RingSettings, is_ended_by_ring};

use super::connection::{ConnectionState, Late, LoopContext, Then};
use super::reactor::TimerWheel;
use crate::network::{RingKernel, ServerRing, Socket};
use crate::output::Output;
use crate::service::Flow;
use crate::worker::{Counter, TICK, Terms, WorkerContext};

/// Requests are small, and all buffers are used in turn: the fewer bytes, the more of them stay in the cache.
const SETTINGS: RingSettings =
    RingSettings { entries: 1024, completions: 8192, buffers: 1024, buffer_bytes: 2048 };

/// The listener's token. A connection's are twice its slot, and one more for sending.
const ACCEPT: u64 = u64::MAX;

/// A small response is sent from a chunk of this size, which is kept for the next; a larger one in large
/// chunks.
const SMALL_CHUNK: usize = 4 << 10;
const LARGE_CHUNK: usize = 64 << 10;

/// Chunks that are kept.
const CHUNKS_MAX: usize = 1024;

/// So much may arrive during a response until receiving is ended.
const HELD_BYTES: usize = 16 << 10;

/// How long to let the kernel find memory.
const SHORTAGE: Duration = Duration::from_millis(1);

/// Serves the worker until the order to stop.
pub(super) fn serve(worker: &WorkerContext) -> io::Result<()> {
    let ring = RingKernel::new(worker, SETTINGS)?;
    Proactor::new(ring, Terms::new(worker, &worker.counters))?.run()
}

pub(super) struct Proactor<'worker, R: ServerRing> {
    // First, because it must be dropped before the descriptors that it works on.
    pub(super) ring: R,
    context: LoopContext<'worker>,
    slots: Slab<Slot<R>>,
    timers: TimerWheel,
    chunks: Vec<Vec<u8>>,
    accepting: Option<R::Operation>,
    /// When to accept again, after descriptors ran out.
    pause_end_ms: Option<u64>,
    /// When to wait for connections anew, unless one comes.
    renewal_ms: u64,
    /// When to end in any case.
    end_ms: u64,
}

struct Slot<R: ServerRing> {
    connection: R::Socket,
    state: ConnectionState,
    receiving: Option<R::Operation>,
    sending: Option<R::Operation>,
    /// The output behind the chunk that is being sent.
    pending: Option<Box<Output>>,
    /// Input that arrived in the meantime.
    held: Vec<u8>,
    /// No more input will come.
    read_closed: bool,
    /// Only operations in flight keep the slot.
    is_over: bool,
}

enum Action {
    Nothing,
    Response(Flow),
    Listen,
    HoldOn,
    End,
}

impl<'worker, R: ServerRing> Proactor<'worker, R> {
    pub(super) fn new(mut ring: R, terms: Terms<'worker>) -> io::Result<Proactor<'worker, R>> {
        let accepting = Some(ring.accept_multishot(ACCEPT)?);
        Ok(Proactor {
            ring,
            context: LoopContext::new(terms),
            slots: Slab::new(),
            timers: TimerWheel::new(),
            chunks: Vec::new(),
            accepting,
            pause_end_ms: None,
            renewal_ms: 0,
            end_ms: u64::MAX,
        })
    }

    fn run(&mut self) -> io::Result<()> {
        let mut expired = Vec::new();
        while !self.is_over() {
            self.turn(&mut expired)?;
        }
        self.finish();
        Ok(())
    }

    /// Waits, and handles the completions. The list is memory that the turns share.
    #[inline]
    pub(super) fn turn(&mut self, expired: &mut Vec<u32>) -> io::Result<()> {
        let count = self.wait()?;
        self.context.begin_turn(self.ring.now_ms());
        for _ in 0..count {
            self.complete_one();
        }
        self.expire_timers(expired);
        let ended = self.context.end_turn() > 0;
        self.end_pause(ended);
        self.renew_accept();
        if !self.context.stopping && self.context.terms.stop.is_ordered() {
            self.stop();
        }
        Ok(())
    }

    /// Counts the connections that did not end in time.
    pub(super) fn finish(&mut self) {
        self.context.count(Counter::Ended, self.slots.len() as u64);
        self.context.end_turn();
    }

    fn wait(&mut self) -> io::Result<usize> {
        match self.ring.wait(TICK) {
            // The kernel is short of memory; operations in flight may give some back.
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::ResourceBusy) => {
                self.ring.pause(SHORTAGE);
                Ok(0)
            }
            response => response,
        }
    }

    fn complete_one(&mut self) {
        let Some(mut completion) = self.ring.completion() else { return };
        if completion.token == ACCEPT {
            let (accepted, more) = (completion.accepted.take(), completion.more);
            let trouble = completion.result.err();
            return self.accepted(accepted, trouble, more);
        }
        let number = (completion.token / 2) as usize;
        let Some(slot) = self.slots.get_mut(number) else { return };
        if completion.token % 2 == 1 {
            slot.sending = None;
            let (sent, chunk) = (completion.result.unwrap_or(0), completion.returned.unwrap_or_default());
            return self.sent(number, sent as usize, chunk);
        }
        let action = slot.take(&completion, &mut self.context);
        match action {
            Action::Nothing => self.release_if_over(number),
            Action::Response(flow) => self.respond(number, flow),
            Action::Listen => self.listen(number),
            Action::HoldOn => self.hold_on(number),
            Action::End => self.end(number),
        }
    }

    fn accepted(&mut self, accepted: Option<R::Accepted>, trouble: Option<io::Error>, more: bool) {
        if !more {
            self.accepting = None;
        }
        if let Some(descriptor) = accepted {
            self.renewal_ms = self.context.due_ms(TICK);
            self.on_accept(descriptor.into());
        }
        if more || self.context.stopping {
            return;
        }
        let is_passing = |error: &io::Error| {
            is_ended_by_ring(error)
                || matches!(error.kind(), ErrorKind::ConnectionAborted | ErrorKind::Interrupted)
        };
        match trouble {
            Some(error) if !is_passing(&error) => self.pause(),
            _ => self.accept(),
        }
    }

    fn accept(&mut self) {
        match self.ring.accept_multishot(ACCEPT) {
            Ok(operation) => self.accepting = Some(operation),
            Err(_) => self.pause(),
        }
    }

    /// No connection can be accepted for now.
    fn pause(&mut self) {
        self.context.count(Counter::Exhausted, 1);
        self.pause_end_ms = Some(self.context.due_ms(TICK));
    }

    fn end_pause(&mut self, a_connection_ended: bool) {
        if let Some(end_ms) = self.pause_end_ms
            && (a_connection_ended || self.context.now_ms() >= end_ms)
        {
            self.pause_end_ms = None;
            self.accept();
        }
    }

    /// Ends an accept that has been idle for a while; it is begun anew when its end is reported, and accepts
    /// at once any connection that waits.
    fn renew_accept(&mut self) {
        if self.context.now_ms() < self.renewal_ms || self.context.stopping {
            return;
        }
        self.renewal_ms = self.context.due_ms(TICK);
        if let Some(operation) = self.accepting {
            let _ = self.ring.cancel(operation);
        }
    }

    fn on_accept(&mut self, connection: R::Socket) {
        self.context.count(Counter::Accepted, 1);
        if self.slots.len() >= self.context.terms.limits.connections {
            self.context.count(Counter::Refused, 1);
            self.context.count(Counter::Ended, 1);
            return;
        }
        let (state, flow) = ConnectionState::begin(&connection, &mut self.context);
        let number = self.slots.insert(Slot {
            connection,
            state,
            receiving: None,
            sending: None,
            pending: None,
            held: Vec::new(),
            read_closed: false,
            is_over: false,
        });
        self.respond(number, flow);
    }

    /// Sends the output of the context.
    fn respond(&mut self, number: usize, flow: Flow) {
        let Some(slot) = self.slots.get_mut(number) else { return };
        slot.state.note_responses(&mut self.context);
        if flow == Flow::Reset {
            self.context.take_output();
        }
        if self.context.output.is_empty() {
            return self.settle(number, flow);
        }
        let mut chunk = self.chunks.pop().unwrap_or_else(|| Vec::with_capacity(SMALL_CHUNK));
        let filled = fill(&mut self.context.output, &mut chunk);
        if !self.context.output.is_empty() {
            slot.pending = Some(Box::new(self.context.take_output()));
        }
        self.send_filled(number, flow, filled, chunk);
    }

    /// Sends a chunk. Where a file has become shorter, the bytes before it leave; then the connection ends.
    fn send_filled(&mut self, number: usize, flow: Flow, filled: io::Result<()>, chunk: Vec<u8>) {
        let Some(slot) = self.slots.get_mut(number) else { return };
        if filled.is_err() {
            self.context.take_output();
            slot.pending = None;
            if chunk.is_empty() {
                return self.broken(number);
            }
            self.context.count(Counter::Broken, 1);
        }
        let flow = if filled.is_ok() { flow } else { Flow::Close };
        slot.state.keep_sending(flow, &self.context);
        self.send(number, chunk);
    }

    fn send(&mut self, number: usize, chunk: Vec<u8>) {
        let Some(slot) = self.slots.get_mut(number) else { return };
        self.timers.arm(number, slot.state.due_ms);
        match self.ring.send(&slot.connection, chunk, number as u64 * 2 + 1) {
            Ok(operation) => slot.sending = Some(operation),
            Err(_) => self.broken(number),
        }
    }

    /// A chunk has left, or as much of it as could.
    fn sent(&mut self, number: usize, sent_bytes: usize, mut chunk: Vec<u8>) {
        self.context.count(Counter::Sent, sent_bytes as u64);
        let is_whole = sent_bytes == chunk.len();
        chunk.clear();
        let Some(slot) = self.slots.get_mut(number) else { return };
        let Some(flow) = slot.state.sending().filter(|_| is_whole && !slot.is_over) else {
            return self.broken(number);
        };
        let Some(mut output) = slot.pending.take() else {
            if chunk.capacity() == SMALL_CHUNK && self.chunks.len() < CHUNKS_MAX {
                self.chunks.push(chunk);
            }
            return self.settle(number, flow);
        };
        let filled = fill(&mut output, &mut chunk);
        if !output.is_empty() {
            slot.pending = Some(output);
        }
        self.send_filled(number, flow, filled, chunk);
    }

    /// All output has left.
    fn settle(&mut self, number: usize, flow: Flow) {
        let Some(slot) = self.slots.get_mut(number) else { return };
        match slot.state.settle(flow, &self.context) {
            Then::Close => self.end(number),
            Then::Reset => self.reset(number),
            Then::Linger => {
                slot.held = Vec::new();
                let is_done = slot.connection.finish_sending().is_err() || slot.read_closed;
                if is_done { self.end(number) } else { self.listen(number) }
            }
            // Later input is held until the pause ends.
            Then::Listen if slot.state.is_paused() => self.hold_on(number),
            Then::Listen if !slot.held.is_empty() => {
                let held = std::mem::take(&mut slot.held);
                let flow = slot.state.on_input(&held, &mut self.context.output);
                self.respond(number, flow);
            }
            Then::Listen if slot.read_closed => {
                let flow = slot.state.end_of_input(&mut self.context.output);
                self.respond(number, flow);
            }
            Then::Listen => self.listen(number),
        }
    }

    /// Receives, unless a receive is in flight.
    fn listen(&mut self, number: usize) {
        let Some(slot) = self.slots.get_mut(number) else { return };
        if self.context.stopping && slot.state.is_idle() {
            return self.end(number);
        }
        self.timers.arm(number, slot.state.due_ms);
        if slot.receiving.is_none() {
            match self.ring.recv_multishot(&slot.connection, number as u64 * 2) {
                Ok(operation) => slot.receiving = Some(operation),
                Err(_) => self.broken(number),
            }
        }
    }

    /// Receives no more until the response has left, or the pause is over.
    fn hold_on(&mut self, number: usize) {
        let Some(slot) = self.slots.get(number) else { return };
        self.timers.arm(number, slot.state.due_ms);
        if let Some(operation) = slot.receiving {
            // Should it fail, more is held.
            let _ = self.ring.cancel(operation);
        }
    }

    fn broken(&mut self, number: usize) {
        if self.slots.get(number).is_some_and(|slot| !slot.is_over) {
            self.context.count(Counter::Broken, 1);
        }
        self.end(number);
    }

    fn reset(&mut self, number: usize) {
        let _ = self.slots.get(number).map(|slot| slot.connection.reset_on_close());
        self.end(number);
    }

    fn end(&mut self, number: usize) {
        let Some(slot) = self.slots.get_mut(number) else { return };
        slot.is_over = true;
        for operation in [slot.receiving, slot.sending].into_iter().flatten() {
            let _ = self.ring.cancel(operation);
        }
        self.release_if_over(number);
    }

    fn release_if_over(&mut self, number: usize) {
        let Some(slot) = self.slots.get(number) else { return };
        if slot.is_over && slot.receiving.is_none() && slot.sending.is_none() {
            let slot = self.slots.remove(number);
            self.ring.close(slot.connection);
            self.context.count(Counter::Ended, 1);
        }
    }

    fn expire_timers(&mut self, expired: &mut Vec<u32>) {
        let now_ms = self.context.now_ms();
        self.timers.expire(now_ms, expired);
        for number in expired.drain(..) {
            let number = number as usize;
            let Some(slot) = self.slots.get_mut(number).filter(|slot| !slot.is_over) else { continue };
            if slot.state.due_ms > now_ms {
                self.timers.arm(number, slot.state.due_ms);
                continue;
            }
            match slot.state.late(&slot.connection, &mut self.context) {
                Late::Response(flow) => self.respond(number, flow),
                Late::Close => self.end(number),
                Late::Wait => self.timers.arm(number, slot.state.due_ms),
                Late::Reset => self.reset(number),
            }
        }
    }

    /// Accepts no more, and ends those that are idle; a request that has arrived is answered yet.
    fn stop(&mut self) {
        self.context.stopping = true;
        self.end_ms = self.context.due_ms(self.context.terms.limits.grace);
        self.pause_end_ms = None;
        if let Some(operation) = self.accepting {
            let _ = self.ring.cancel(operation);
        }
        self.ring.refuse_more();
        for (_, slot) in &self.slots {
            // Once it has ended, `listen` checks whether the connection is still idle.
            if let Some(operation) = slot.receiving.filter(|_| slot.state.is_idle()) {
                let _ = self.ring.cancel(operation);
            }
        }
    }

    pub(super) fn is_over(&self) -> bool {
        self.context.stopping && (self.slots.is_empty() || self.context.now_ms() >= self.end_ms)
    }
}

impl<R: ServerRing> Slot<R> {
    /// Handles received input, or the end of receiving.
    fn take(&mut self, completion: &Completion<'_, R::Accepted>, context: &mut LoopContext<'_>) -> Action {
        if !completion.more {
            self.receiving = None;
        }
        context.count(Counter::Received, completion.input.len() as u64);
        if self.is_over {
            return Action::Nothing;
        }
        match &completion.result {
            Ok(0) => self.end_of_input(context),
            Ok(_) => self.input(completion.input, context),
            Err(error) if is_ended_by_ring(error) && self.takes_input() => Action::Listen,
            Err(error) if is_ended_by_ring(error) => Action::Nothing,
            Err(_) => {
                context.count(Counter::Broken, 1);
                Action::End
            }
        }
    }

    fn input(&mut self, input: &[u8], context: &mut LoopContext<'_>) -> Action {
        if self.state.drops(context) {
            return Action::Listen;
        }
        if self.takes_input() {
            return Action::Response(self.state.on_input(input, &mut context.output));
        }
        self.held.extend_from_slice(input);
        if self.held.len() > HELD_BYTES { Action::HoldOn } else { Action::Nothing }
    }

    fn end_of_input(&mut self, context: &mut LoopContext<'_>) -> Action {
        self.read_closed = true;
        if self.state.drops(context) {
            return Action::End;
        }
        if !self.takes_input() {
            return Action::Nothing;
        }
        Action::Response(self.state.end_of_input(&mut context.output))
    }

    /// Whether the session may have input now: not while its output leaves, nor while it pauses.
    fn takes_input(&self) -> bool {
        self.sending.is_none() && !self.state.is_paused()
    }
}

/// Fills a chunk, which grows for large output.
fn fill(output: &mut Output, chunk: &mut Vec<u8>) -> io::Result<()> {
    output.fill(chunk)?;
    if !output.is_empty() {
        chunk.reserve_exact(LARGE_CHUNK - chunk.len());
        output.fill(chunk)?;
    }
    Ok(())
}
