//! One loop that serves all connections, over any event interface: wait, handle ready sockets, wait.
//!
//! - A connection that is ready has one turn: one recv(2) and its response, or one send of pending output.
//!   Where events are edges it goes on until `WouldBlock`, for some turns, and then waits in line for the
//!   rest of them. A short recv(2) does not end that earlier, although epoll(7) says that it may: the end of
//!   input can lie right behind the bytes, and no other edge would report it.
//! - Connections are accepted after all others had their turn, a limited number at a time. So a flood of them
//!   starves no other connection, and no slot is reused while events for its former connection may still be
//!   pending.
//! - When descriptors run out the loop does not wait for the listener until a connection ended or a moment
//!   passed. Otherwise the loop would spin.
//! - Responses leave at once, because connections inherit `TCP_NODELAY` from the listener; a response in
//!   pieces is held together by `MSG_MORE`.
//!
//! Its timer wheel, for the time limits of connections, is that of `proactor` too.

use std::io::{self, ErrorKind};
use std::time::Duration;

use slab::Slab;
use sys::event::{Event, Interest, Poller};

use super::connection::{Connection, LoopContext, Next};
use crate::network::{LISTENER, ServerKernel, ServerNetwork};
use crate::worker::{Counter, TICK, Terms, WorkerContext};

/// Connections accepted in one turn.
const ACCEPTS_MAX: usize = 64;

/// Connections accepted after the order to stop, because their clients expect service.
const LAST_ACCEPTS_MAX: usize = 4096;

/// The most steps of one connection in one turn where events are edges.
const TURNS_MAX: usize = 8;

/// Serves the worker until the order to stop.
pub(super) fn serve<P: Poller>(worker: &WorkerContext) -> io::Result<()> {
    Reactor::new(ServerKernel::<P>::new(worker)?, Terms::new(worker, &worker.counters)).run()
}

pub(super) struct Reactor<'worker, N: ServerNetwork> {
    pub(super) network: N,
    context: LoopContext<'worker>,
    slots: Slab<Slot<N::Socket>>,
    timers: TimerWheel,
    /// Connections that stopped in favour of others. Only edges need it.
    in_line: Vec<u32>,
    /// When to accept again, after descriptors ran out.
    pause_end_ms: Option<u64>,
    /// When to end in any case.
    end_ms: u64,
}

struct Slot<S> {
    connection: Connection<S>,
    /// The interest that is registered for the connection.
    interest: Interest,
    /// Whether it is in the queue, where it has its turn even if it is not ready.
    is_in_line: bool,
}

impl<'worker, N: ServerNetwork> Reactor<'worker, N> {
    pub(super) fn new(network: N, terms: Terms<'worker>) -> Reactor<'worker, N> {
        Reactor {
            network,
            context: LoopContext::new(terms),
            slots: Slab::new(),
            timers: TimerWheel::new(),
            in_line: Vec::new(),
            pause_end_ms: None,
            end_ms: u64::MAX,
        }
    }

    fn run(&mut self) -> io::Result<()> {
        let (mut events, mut slots) = (Vec::new(), Vec::new());
        while !self.is_over() {
            self.turn(&mut events, &mut slots)?;
        }
        self.finish();
        Ok(())
    }

    /// Waits, and handles ready sockets. Both lists are memory that the turns share.
    #[inline]
    pub(super) fn turn(&mut self, events: &mut Vec<Event>, slots: &mut Vec<u32>) -> io::Result<()> {
        self.network.wait(events, self.patience())?;
        self.context.begin_turn(self.network.now_ms());
        slots.append(&mut self.in_line);
        let accepts = self.dispatch_ready(events) | self.dispatch_waiting(slots);
        if accepts {
            self.accept(ACCEPTS_MAX)?;
        }
        self.expire_timers(slots);
        let ended = self.context.end_turn() > 0;
        self.end_pause(ended)?;
        if !self.context.stopping && self.context.terms.stop.is_ordered() {
            self.stop(slots)?;
        }
        Ok(())
    }

    /// How long the next turn may wait.
    #[inline]
    pub(super) fn patience(&self) -> Duration {
        if self.in_line.is_empty() { TICK } else { Duration::ZERO }
    }

    /// Counts the connections that did not end in time.
    pub(super) fn finish(&mut self) {
        self.context.count(Counter::Ended, self.slots.len() as u64);
        self.context.end_turn();
    }

    /// Whether the listener is among the ready.
    fn dispatch_ready(&mut self, events: &[Event]) -> bool {
        let mut accepts = false;
        for event in events {
            let Some(slot) = self.slots.get(event.token) else {
                accepts |= event.token == LISTENER;
                continue;
            };
            let is_wanted = match slot.interest {
                Interest::Write => event.writable,
                Interest::Both => event.readable || event.writable,
                Interest::Read => event.readable,
                Interest::Nothing => false,
            };
            if is_wanted && !slot.is_in_line {
                self.dispatch(event.token);
            }
        }
        accepts
    }

    /// Whether the listener is in the queue.
    fn dispatch_waiting(&mut self, slots: &mut Vec<u32>) -> bool {
        let mut accepts = false;
        for slot in slots.drain(..) {
            accepts |= slot as usize == LISTENER;
            self.dispatch(slot as usize);
        }
        accepts
    }

    #[inline]
    fn dispatch(&mut self, number: usize) {
        let Some(slot) = self.slots.get_mut(number) else { return };
        let mut next = slot.connection.go_on(&mut self.context);
        if N::EDGE {
            for _ in 1..TURNS_MAX {
                if next != Next::Again {
                    break;
                }
                next = slot.connection.go_on(&mut self.context);
            }
            slot.is_in_line = next == Next::Again;
            if slot.is_in_line {
                self.in_line.push(number as u32);
            }
        }
        self.rearm(number, next);
    }

    /// Registers the interest that the connection has next, or ends it.
    #[inline]
    fn rearm(&mut self, number: usize, next: Next) {
        let Some(slot) = self.slots.get_mut(number) else { return };
        if next == Next::End {
            return self.forget(number);
        }
        self.timers.arm(number, slot.connection.state.due_ms);
        let interest = slot.connection.interest();
        if interest != slot.interest {
            slot.interest = interest;
            if self.network.change(&slot.connection.socket, number, interest).is_err() {
                self.context.count(Counter::Broken, 1);
                self.forget(number);
            }
        }
    }

    fn forget(&mut self, number: usize) {
        if let Some(slot) = self.slots.try_remove(number) {
            if !N::FORGETS_CLOSED {
                // An error here does not matter: the descriptor is closed.
                let _ = self.network.remove(&slot.connection.socket, number);
            }
            self.context.count(Counter::Ended, 1);
        }
    }

    fn accept(&mut self, most: usize) -> io::Result<()> {
        if self.context.stopping {
            return Ok(());
        }
        for _ in 0..most {
            match self.network.accept() {
                Ok(connection) => self.on_accept(connection),
                Err(error) => match error.kind() {
                    ErrorKind::WouldBlock => return Ok(()),
                    // That connection is gone already; others wait behind it.
                    ErrorKind::ConnectionAborted | ErrorKind::Interrupted => {}
                    _ => return self.pause(),
                },
            }
        }
        if N::EDGE {
            self.in_line.push(LISTENER as u32);
        }
        Ok(())
    }

    fn on_accept(&mut self, socket: N::Socket) {
        self.context.count(Counter::Accepted, 1);
        if self.slots.len() >= self.context.terms.limits.connections {
            self.context.count(Counter::Refused, 1);
            self.context.count(Counter::Ended, 1);
            return;
        }
        let (mut connection, mut next) = Connection::begin(socket, &mut self.context);
        if next == Next::Again {
            // Under load the request is there already, and a client that leaves after its response never
            // enters the set.
            next = connection.go_on(&mut self.context);
        }
        if next == Next::End {
            self.context.count(Counter::Ended, 1);
            return;
        }
        let interest = connection.interest();
        let entry = self.slots.vacant_entry();
        let number = entry.key();
        if self.network.add(&connection.socket, number, interest).is_err() {
            self.context.count(Counter::Exhausted, 1);
            self.context.count(Counter::Ended, 1);
            return;
        }
        self.timers.arm(number, connection.state.due_ms);
        entry.insert(Slot { connection, interest, is_in_line: false });
    }

    /// No connection can be accepted for now.
    fn pause(&mut self) -> io::Result<()> {
        self.context.count(Counter::Exhausted, 1);
        self.pause_end_ms = Some(self.context.due_ms(TICK));
        self.network.listen(Interest::Nothing)
    }

    fn end_pause(&mut self, a_connection_ended: bool) -> io::Result<()> {
        match self.pause_end_ms {
            Some(end_ms) if a_connection_ended || self.context.now_ms() >= end_ms => {
                self.pause_end_ms = None;
                self.network.listen(Interest::Read)
            }
            _ => Ok(()),
        }
    }

    fn expire_timers(&mut self, slots: &mut Vec<u32>) {
        let now_ms = self.context.now_ms();
        self.timers.expire(now_ms, slots);
        for number in slots.drain(..) {
            let number = number as usize;
            let Some(slot) = self.slots.get_mut(number) else { continue };
            // Most were active after the timer was armed.
            let next = if slot.connection.state.due_ms > now_ms {
                Next::Wait
            } else {
                slot.connection.late(&mut self.context)
            };
            if N::EDGE && next == Next::Again && !slot.is_in_line {
                // Input that came during a pause may have been reported before it.
                slot.is_in_line = true;
                self.in_line.push(number as u32);
            }
            self.rearm(number, next);
        }
    }

    /// Accepts the connections that wait, and none after them, and ends those that are idle. A request that
    /// was received is still answered.
    fn stop(&mut self, slots: &mut Vec<u32>) -> io::Result<()> {
        self.accept(LAST_ACCEPTS_MAX)?;
        self.context.stopping = true;
        self.end_ms = self.context.due_ms(self.context.terms.limits.grace);
        self.pause_end_ms = None;
        self.network.listen(Interest::Nothing)?;
        self.network.refuse_more();
        slots.extend(self.slots.iter().map(|(number, _)| number as u32));
        self.dispatch_waiting(slots);
        Ok(())
    }

    pub(super) fn is_over(&self) -> bool {
        self.context.stopping && (self.slots.is_empty() || self.context.now_ms() >= self.end_ms)
    }
}

/// A timer expires up to this much late, and up to a turn of its loop later.
const TICK_SHIFT: u32 = 7;

/// Ticks of one round, about two minutes; a timer farther ahead expires once a round.
const ROUND: u32 = 1024;

/// A tick that never comes.
const NEVER: u32 = u32::MAX;

/// A tick's list that grew beyond this is not kept.
const KEPT: usize = 4096;

/// The time limits of connections: a timer wheel of coarse ticks.
///
/// A slot has at most one timer, which belongs to the slot rather than to its connection. A timer is never
/// delayed: an owner that it wakes too early arms it again. So extending a limit, which every request does,
/// costs one comparison, and connections that come and go leave nothing behind.
#[derive(Debug)]
pub(super) struct TimerWheel {
    wheel: Vec<Vec<u32>>,
    /// For each slot the tick at which it expires.
    set_for: Vec<u32>,
    /// The last tick that has expired.
    last: u32,
}

impl TimerWheel {
    pub(super) fn new() -> TimerWheel {
        TimerWheel { wheel: vec![Vec::new(); ROUND as usize], set_for: Vec::new(), last: 0 }
    }

    /// Arms the timer of the slot to expire at that time at the latest.
    #[inline]
    pub(super) fn arm(&mut self, slot: usize, due_ms: u64) {
        if slot >= self.set_for.len() {
            self.set_for.resize(slot + 1, NEVER);
        }
        let tick = u32::try_from(due_ms.div_ceil(1 << TICK_SHIFT)).unwrap_or(NEVER);
        let tick = tick.clamp(self.last + 1, self.last + ROUND);
        if tick < self.set_for[slot] {
            self.set_for[slot] = tick;
            self.wheel[(tick % ROUND) as usize].push(slot as u32);
        }
    }

    /// Adds to `slots` those whose time has come, or may have.
    pub(super) fn expire(&mut self, now_ms: u64, slots: &mut Vec<u32>) {
        let now = u32::try_from(now_ms >> TICK_SHIFT).unwrap_or(NEVER - ROUND - 1);
        while self.last < now {
            self.last += 1;
            let list = &mut self.wheel[(self.last % ROUND) as usize];
            for slot in list.drain(..) {
                let set_for = &mut self.set_for[slot as usize];
                if *set_for == self.last {
                    *set_for = NEVER;
                    slots.push(slot);
                }
            }
            if list.capacity() > KEPT {
                *list = Vec::new();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expired(timers: &mut TimerWheel, now_ms: u64) -> Vec<u32> {
        let mut slots = Vec::new();
        timers.expire(now_ms, &mut slots);
        slots
    }

    #[test]
    fn expires_once_and_never_early() {
        let mut timers = TimerWheel::new();
        timers.arm(3, 1000);
        timers.arm(3, 5000);
        assert!(expired(&mut timers, 999).is_empty());
        assert_eq!(expired(&mut timers, 1000 + 128), [3]);
        assert!(expired(&mut timers, 60_000).is_empty());
    }

    #[test]
    fn an_earlier_time_counts() {
        let mut timers = TimerWheel::new();
        timers.arm(0, 75_000);
        timers.arm(0, 2000);
        assert_eq!(expired(&mut timers, 2200), [0]);
        timers.arm(0, 80_000);
        // The timer that was armed first has no meaning any more.
        assert!(expired(&mut timers, 79_000).is_empty());
        assert_eq!(expired(&mut timers, 81_000), [0]);
    }

    #[test]
    fn what_is_far_ahead_is_looked_at_once_a_round() {
        let mut timers = TimerWheel::new();
        timers.arm(1, u64::MAX);
        assert!(expired(&mut timers, 130_000).is_empty());
        assert_eq!(expired(&mut timers, 132_000), [1]);
    }
}
