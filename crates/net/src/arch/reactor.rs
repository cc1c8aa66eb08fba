//! One loop that serves all connections, over any event interface: wait, do what can be done, wait.
//!
//! - A connection that is ready has one turn: one recv(2) and its answer, or one send of what is pending.
//!   Where events are edges it goes on until `WouldBlock`, for some turns, and then waits in line for the
//!   rest of them. A short recv(2) does not end that earlier, although epoll(7) says that it may: the end of
//!   input can lie right behind the bytes, and no other edge would tell of it.
//! - Connections are accepted after all others had their turn, a limited number at a time. So a flood of them
//!   starves nobody, and no place is used again while events for its former connection may still be in hand.
//! - When descriptors run out the listener is not waited for until a connection ended or a moment passed.
//!   Otherwise the loop would spin.
//! - Answers leave at once, for the listener's connections inherit `TCP_NODELAY`; an answer in pieces is held
//!   together by `MSG_MORE`.

use std::io::{self, ErrorKind};
use std::os::fd::AsFd;
use std::time::Duration;

use slab::Slab;
use sys::event::{Event, Interest, Poller};
use sys::tcp::{Connection, Waiting};

use super::alarms::Alarms;
use super::desk::Desk;
use super::talk::{Next, Talk};
use crate::site::{Count, Site, TICK};

/// The listener's token; connections have their places'.
const LISTENER: usize = u32::MAX as usize - 1;

/// Connections accepted in one turn.
const ACCEPTS_MAX: usize = 64;

/// Connections accepted after the order to stop, for their clients believe that they are served.
const LAST_ACCEPTS_MAX: usize = 4096;

/// Things that one connection does in one turn where events are edges.
const TURNS_MAX: usize = 8;

/// Serves the site until the order to stop.
pub(super) fn serve<P: Poller>(site: &Site) -> io::Result<()> {
    Reactor::<P>::new(site)?.run()
}

struct Reactor<'site, P> {
    poller: P,
    desk: Desk<'site>,
    places: Slab<Place>,
    alarms: Alarms,
    /// Connections that would have gone on but for the others. Edges alone need it.
    in_line: Vec<u32>,
    /// When to accept again, after descriptors ran out.
    pause_end_ms: Option<u64>,
    /// When to end in any case.
    end_ms: u64,
}

struct Place {
    talk: Talk,
    /// What the poller was told to wait for.
    interest: Interest,
    /// Whether it stands in line, where it has its turn whether it is ready or not.
    is_in_line: bool,
}

impl<'site, P: Poller> Reactor<'site, P> {
    fn new(site: &'site Site) -> io::Result<Reactor<'site, P>> {
        let mut poller = P::new()?;
        poller.add(site.listener.as_fd(), LISTENER, Interest::Read)?;
        Ok(Reactor {
            poller,
            desk: Desk::new(site),
            places: Slab::new(),
            alarms: Alarms::new(),
            in_line: Vec::new(),
            pause_end_ms: None,
            end_ms: u64::MAX,
        })
    }

    fn run(&mut self) -> io::Result<()> {
        let (mut events, mut places) = (Vec::new(), Vec::new());
        while !self.is_over() {
            let wait = if self.in_line.is_empty() { TICK } else { Duration::ZERO };
            self.poller.wait(&mut events, Some(wait))?;
            self.desk.begin_turn();
            places.append(&mut self.in_line);
            let accepts = self.attend_ready(&events) | self.attend_waiting(&mut places);
            if accepts {
                self.accept(ACCEPTS_MAX)?;
            }
            self.ring(&mut places);
            let ended = self.desk.end_turn() > 0;
            self.end_pause(ended)?;
            if !self.desk.stopping && self.desk.site.stop.is_ordered() {
                self.stop(&mut places)?;
            }
        }
        self.desk.count(Count::Ended, self.places.len() as u64);
        self.desk.end_turn();
        Ok(())
    }

    /// Whether the listener is among the ready.
    fn attend_ready(&mut self, events: &[Event]) -> bool {
        let mut accepts = false;
        for event in events {
            let Some(place) = self.places.get(event.token) else {
                accepts |= event.token == LISTENER;
                continue;
            };
            let is_wanted = match place.interest {
                Interest::Write => event.writable,
                Interest::Read | Interest::Nothing => event.readable,
            };
            if is_wanted && !place.is_in_line {
                self.attend(event.token);
            }
        }
        accepts
    }

    /// Whether the listener is among those that wait in line.
    fn attend_waiting(&mut self, places: &mut Vec<u32>) -> bool {
        let mut accepts = false;
        for place in places.drain(..) {
            accepts |= place as usize == LISTENER;
            self.attend(place as usize);
        }
        accepts
    }

    #[inline]
    fn attend(&mut self, number: usize) {
        let Some(place) = self.places.get_mut(number) else { return };
        let mut next = place.talk.go_on(&mut self.desk);
        if P::EDGE {
            for _ in 1..TURNS_MAX {
                if next != Next::Again {
                    break;
                }
                next = place.talk.go_on(&mut self.desk);
            }
            place.is_in_line = next == Next::Again;
            if place.is_in_line {
                self.in_line.push(number as u32);
            }
        }
        self.follow(number, next);
    }

    /// Waits for what the talk needs next, or ends it.
    #[inline]
    fn follow(&mut self, number: usize, next: Next) {
        let Some(place) = self.places.get_mut(number) else { return };
        if next == Next::End {
            return self.forget(number);
        }
        self.alarms.set(number, place.talk.course.due_ms);
        let interest = place.talk.interest();
        if interest != place.interest {
            place.interest = interest;
            if self.poller.change(place.talk.connection.as_fd(), number, interest).is_err() {
                self.desk.count(Count::Broken, 1);
                self.forget(number);
            }
        }
    }

    fn forget(&mut self, number: usize) {
        if let Some(place) = self.places.try_remove(number) {
            if !P::FORGETS_CLOSED {
                // What fails here ends with the descriptor all the same.
                let _ = self.poller.remove(place.talk.connection.as_fd(), number);
            }
            self.desk.count(Count::Ended, 1);
        }
    }

    fn accept(&mut self, most: usize) -> io::Result<()> {
        if self.desk.stopping {
            return Ok(());
        }
        for _ in 0..most {
            match self.desk.site.listener.accept(Waiting::NonBlocking) {
                Ok(connection) => self.welcome(connection),
                Err(error) => match error.kind() {
                    ErrorKind::WouldBlock => return Ok(()),
                    // That one is gone already; others wait behind it.
                    ErrorKind::ConnectionAborted | ErrorKind::Interrupted => {}
                    _ => return self.pause(),
                },
            }
        }
        if P::EDGE {
            self.in_line.push(LISTENER as u32);
        }
        Ok(())
    }

    fn welcome(&mut self, connection: Connection) {
        self.desk.count(Count::Accepted, 1);
        if self.places.len() >= self.desk.site.limits.connections {
            self.desk.count(Count::Refused, 1);
            self.desk.count(Count::Ended, 1);
            return;
        }
        let (mut talk, mut next) = Talk::begin(connection, &mut self.desk);
        if next == Next::Again {
            // Under load the request is there already, and who leaves after the answer never enters the set.
            next = talk.go_on(&mut self.desk);
        }
        if next == Next::End {
            self.desk.count(Count::Ended, 1);
            return;
        }
        let interest = talk.interest();
        let entry = self.places.vacant_entry();
        let number = entry.key();
        if self.poller.add(talk.connection.as_fd(), number, interest).is_err() {
            self.desk.count(Count::Exhausted, 1);
            self.desk.count(Count::Ended, 1);
            return;
        }
        self.alarms.set(number, talk.course.due_ms);
        entry.insert(Place { talk, interest, is_in_line: false });
    }

    /// No connection can be accepted for now.
    fn pause(&mut self) -> io::Result<()> {
        self.desk.count(Count::Exhausted, 1);
        self.pause_end_ms = Some(self.desk.due_ms(TICK));
        self.poller.change(self.desk.site.listener.as_fd(), LISTENER, Interest::Nothing)
    }

    fn end_pause(&mut self, a_connection_ended: bool) -> io::Result<()> {
        match self.pause_end_ms {
            Some(end_ms) if a_connection_ended || self.desk.now_ms() >= end_ms => {
                self.pause_end_ms = None;
                self.poller.change(self.desk.site.listener.as_fd(), LISTENER, Interest::Read)
            }
            _ => Ok(()),
        }
    }

    fn ring(&mut self, places: &mut Vec<u32>) {
        let now_ms = self.desk.now_ms();
        self.alarms.ring(now_ms, places);
        for number in places.drain(..) {
            let number = number as usize;
            let Some(place) = self.places.get_mut(number) else { continue };
            // Most have done something since the alarm was set.
            let next =
                if place.talk.course.due_ms > now_ms { Next::Wait } else { place.talk.late(&mut self.desk) };
            self.follow(number, next);
        }
    }

    /// Accepts those that wait, and nobody after them, and ends those that are idle; a request that has
    /// arrived is answered yet.
    fn stop(&mut self, places: &mut Vec<u32>) -> io::Result<()> {
        self.accept(LAST_ACCEPTS_MAX)?;
        self.desk.stopping = true;
        self.end_ms = self.desk.due_ms(self.desk.site.limits.grace);
        self.pause_end_ms = None;
        self.poller.change(self.desk.site.listener.as_fd(), LISTENER, Interest::Nothing)?;
        self.desk.site.refuse_more();
        places.extend(self.places.iter().map(|(number, _)| number as u32));
        self.attend_waiting(places);
        Ok(())
    }

    fn is_over(&self) -> bool {
        self.desk.stopping && (self.places.is_empty() || self.desk.now_ms() >= self.end_ms)
    }
}
