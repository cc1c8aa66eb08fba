//! One loop that serves all connections over a ring: what is to be done is asked for, and what was done comes
//! back.
//!
//! - Receiving goes on while an answer leaves. What arrives then is held; when that becomes much, receiving
//!   ends until the answer has left: who does not read is not read from.
//! - A connection's place is free only when nothing of it is in flight any more. So no completion can be
//!   taken for that of the place's next connection.
//! - One send for a connection at a time, of 64 KiB at most: so much must leave within the limit for sending.

use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use slab::Slab;
use sys::ring::{Completion, Operation, Ring, Settings};
use sys::tcp::Connection;

use super::alarms::Alarms;
use super::course::{Course, Late, Then};
use super::desk::Desk;
use crate::output::Output;
use crate::service::Flow;
use crate::site::{Count, Site, TICK};

/// Requests are small, and all buffers are used in turn: the fewer bytes, the more of them stay in the cache.
const SETTINGS: Settings = Settings { entries: 1024, completions: 8192, buffers: 1024, buffer_bytes: 2048 };

/// The listener's token. A connection's are twice its place, and one more for sending.
const ACCEPT: u64 = u64::MAX;

/// A small answer is sent from a chunk of this size, which is kept for the next; a larger one in large
/// chunks.
const SMALL_CHUNK: usize = 4 << 10;
const LARGE_CHUNK: usize = 64 << 10;

/// Chunks that are kept.
const CHUNKS_MAX: usize = 1024;

/// So much may arrive during an answer until receiving is ended.
const HELD_BYTES: usize = 16 << 10;

/// How long to let the kernel find memory.
const SHORTAGE: Duration = Duration::from_millis(1);

/// Serves the site until the order to stop.
pub(super) fn serve(site: &Site) -> io::Result<()> {
    Proactor::new(site)?.run()
}

struct Proactor<'site> {
    // First, for it is to be dropped before the descriptors that it works on.
    ring: Ring,
    desk: Desk<'site>,
    places: Slab<Place>,
    alarms: Alarms,
    chunks: Vec<Vec<u8>>,
    accepting: Option<Operation>,
    /// When to accept again, after descriptors ran out.
    pause_end_ms: Option<u64>,
    /// When to end in any case.
    end_ms: u64,
}

struct Place {
    connection: Connection,
    course: Course,
    receiving: Option<Operation>,
    sending: Option<Operation>,
    /// What follows the chunk that is being sent.
    pending: Option<Box<Output>>,
    /// What arrived in the meantime.
    held: Vec<u8>,
    /// No more input will come.
    is_deaf: bool,
    /// Only what is in flight keeps the place.
    is_over: bool,
}

/// What input asks for.
enum Deed {
    Nothing,
    Answer(Flow),
    Listen,
    HoldOn,
    End,
}

impl<'site> Proactor<'site> {
    fn new(site: &'site Site) -> io::Result<Proactor<'site>> {
        let mut ring = Ring::new(SETTINGS)?;
        let accepting = Some(ring.accept_multishot(site.listener.as_fd(), ACCEPT)?);
        Ok(Proactor {
            ring,
            desk: Desk::new(site),
            places: Slab::new(),
            alarms: Alarms::new(),
            chunks: Vec::new(),
            accepting,
            pause_end_ms: None,
            end_ms: u64::MAX,
        })
    }

    fn run(&mut self) -> io::Result<()> {
        let mut rung = Vec::new();
        while !self.is_over() {
            let count = self.wait()?;
            self.desk.begin_turn();
            for _ in 0..count {
                self.complete_one();
            }
            self.ring_alarms(&mut rung);
            let ended = self.desk.end_turn() > 0;
            self.end_pause(ended);
            if !self.desk.stopping && self.desk.site.stop.is_ordered() {
                self.stop();
            }
        }
        self.desk.count(Count::Ended, self.places.len() as u64);
        self.desk.end_turn();
        Ok(())
    }

    fn wait(&mut self) -> io::Result<usize> {
        match self.ring.wait(Some(TICK)) {
            // The kernel is short of memory; what is in flight may give some back.
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::ResourceBusy) => {
                std::thread::sleep(SHORTAGE);
                Ok(0)
            }
            answer => answer,
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
        let Some(place) = self.places.get_mut(number) else { return };
        if completion.token % 2 == 1 {
            place.sending = None;
            let (sent, chunk) = (completion.result.unwrap_or(0), completion.returned.unwrap_or_default());
            return self.sent(number, sent as usize, chunk);
        }
        let deed = place.take(&completion, &mut self.desk);
        match deed {
            Deed::Nothing => self.release_if_over(number),
            Deed::Answer(flow) => self.answer(number, flow),
            Deed::Listen => self.listen(number),
            Deed::HoldOn => self.hold_on(number),
            Deed::End => self.end(number),
        }
    }

    fn accepted(&mut self, accepted: Option<OwnedFd>, trouble: Option<io::Error>, more: bool) {
        if !more {
            self.accepting = None;
        }
        if let Some(descriptor) = accepted {
            self.welcome(descriptor.into());
        }
        if more || self.desk.stopping {
            return;
        }
        match trouble.map(|error| error.kind()) {
            None | Some(ErrorKind::ConnectionAborted | ErrorKind::Interrupted) => self.accept(),
            Some(_) => self.pause(),
        }
    }

    fn accept(&mut self) {
        match self.ring.accept_multishot(self.desk.site.listener.as_fd(), ACCEPT) {
            Ok(operation) => self.accepting = Some(operation),
            Err(_) => self.pause(),
        }
    }

    /// No connection can be accepted for now.
    fn pause(&mut self) {
        self.desk.count(Count::Exhausted, 1);
        self.pause_end_ms = Some(self.desk.due_ms(TICK));
    }

    fn end_pause(&mut self, a_connection_ended: bool) {
        if let Some(end_ms) = self.pause_end_ms
            && (a_connection_ended || self.desk.now_ms() >= end_ms)
        {
            self.pause_end_ms = None;
            self.accept();
        }
    }

    fn welcome(&mut self, connection: Connection) {
        self.desk.count(Count::Accepted, 1);
        if self.places.len() >= self.desk.site.limits.connections {
            self.desk.count(Count::Refused, 1);
            self.desk.count(Count::Ended, 1);
            return;
        }
        let (course, flow) = Course::begin(&connection, &mut self.desk);
        let number = self.places.insert(Place {
            connection,
            course,
            receiving: None,
            sending: None,
            pending: None,
            held: Vec::new(),
            is_deaf: false,
            is_over: false,
        });
        self.answer(number, flow);
    }

    /// Has what is on the desk sent.
    fn answer(&mut self, number: usize, flow: Flow) {
        let Some(place) = self.places.get_mut(number) else { return };
        place.course.note_answers(&mut self.desk);
        if self.desk.output.is_empty() {
            return self.settle(number, flow);
        }
        let mut chunk = self.chunks.pop().unwrap_or_else(|| Vec::with_capacity(SMALL_CHUNK));
        let filled = fill(&mut self.desk.output, &mut chunk);
        if !self.desk.output.is_empty() {
            place.pending = Some(Box::new(self.desk.take_output()));
        }
        place.course.keep_sending(flow, &self.desk);
        match filled {
            Ok(()) => self.send(number, chunk),
            Err(_) => self.broken(number),
        }
    }

    fn send(&mut self, number: usize, chunk: Vec<u8>) {
        let Some(place) = self.places.get_mut(number) else { return };
        self.alarms.set(number, place.course.due_ms);
        match self.ring.send(place.connection.as_fd(), chunk, number as u64 * 2 + 1) {
            Ok(operation) => place.sending = Some(operation),
            Err(_) => self.broken(number),
        }
    }

    /// A chunk has left, or as much of it as could.
    fn sent(&mut self, number: usize, sent_bytes: usize, mut chunk: Vec<u8>) {
        self.desk.count(Count::Sent, sent_bytes as u64);
        let is_whole = sent_bytes == chunk.len();
        chunk.clear();
        let Some(place) = self.places.get_mut(number) else { return };
        let Some(flow) = place.course.sending().filter(|_| is_whole && !place.is_over) else {
            return self.broken(number);
        };
        let Some(mut output) = place.pending.take() else {
            if chunk.capacity() == SMALL_CHUNK && self.chunks.len() < CHUNKS_MAX {
                self.chunks.push(chunk);
            }
            return self.settle(number, flow);
        };
        let filled = fill(&mut output, &mut chunk);
        if !output.is_empty() {
            place.pending = Some(output);
        }
        place.course.keep_sending(flow, &self.desk);
        match filled {
            Ok(()) => self.send(number, chunk),
            Err(_) => self.broken(number),
        }
    }

    /// All output has left.
    fn settle(&mut self, number: usize, flow: Flow) {
        let Some(place) = self.places.get_mut(number) else { return };
        match place.course.settle(flow, &self.desk) {
            Then::Close => self.end(number),
            Then::Linger => {
                place.held = Vec::new();
                let is_done = place.connection.finish_sending().is_err() || place.is_deaf;
                if is_done { self.end(number) } else { self.listen(number) }
            }
            Then::Listen if !place.held.is_empty() => {
                let held = std::mem::take(&mut place.held);
                let flow = place.course.feed(&held, &mut self.desk.output);
                self.answer(number, flow);
            }
            Then::Listen if place.is_deaf => {
                let flow = place.course.end_of_input(&mut self.desk.output);
                self.answer(number, flow);
            }
            Then::Listen => self.listen(number),
        }
    }

    /// Receives, where that does not go on anyway.
    fn listen(&mut self, number: usize) {
        let Some(place) = self.places.get_mut(number) else { return };
        if self.desk.stopping && place.course.is_idle() {
            return self.end(number);
        }
        self.alarms.set(number, place.course.due_ms);
        if place.receiving.is_none() {
            match self.ring.recv_multishot(place.connection.as_fd(), number as u64 * 2) {
                Ok(operation) => place.receiving = Some(operation),
                Err(_) => self.broken(number),
            }
        }
    }

    /// Receives no more until the answer has left.
    fn hold_on(&mut self, number: usize) {
        if let Some(Place { receiving: Some(operation), .. }) = self.places.get(number) {
            // Should it fail, more is held.
            let _ = self.ring.cancel(*operation);
        }
    }

    fn broken(&mut self, number: usize) {
        if self.places.get(number).is_some_and(|place| !place.is_over) {
            self.desk.count(Count::Broken, 1);
        }
        self.end(number);
    }

    fn end(&mut self, number: usize) {
        let Some(place) = self.places.get_mut(number) else { return };
        place.is_over = true;
        for operation in [place.receiving, place.sending].into_iter().flatten() {
            let _ = self.ring.cancel(operation);
        }
        self.release_if_over(number);
    }

    fn release_if_over(&mut self, number: usize) {
        let Some(place) = self.places.get(number) else { return };
        if place.is_over && place.receiving.is_none() && place.sending.is_none() {
            let place = self.places.remove(number);
            self.ring.close(place.connection.into());
            self.desk.count(Count::Ended, 1);
        }
    }

    fn ring_alarms(&mut self, rung: &mut Vec<u32>) {
        let now_ms = self.desk.now_ms();
        self.alarms.ring(now_ms, rung);
        for number in rung.drain(..) {
            let number = number as usize;
            let Some(place) = self.places.get_mut(number).filter(|place| !place.is_over) else { continue };
            if place.course.due_ms > now_ms {
                self.alarms.set(number, place.course.due_ms);
                continue;
            }
            match place.course.late(&place.connection, &mut self.desk) {
                Late::Answer(flow) => self.answer(number, flow),
                Late::Close => self.end(number),
                Late::Wait => self.alarms.set(number, place.course.due_ms),
                Late::Reset => {
                    let _ = place.connection.reset_on_close();
                    self.end(number);
                }
            }
        }
    }

    /// Accepts no more, and ends those that are idle; a request that has arrived is answered yet.
    fn stop(&mut self) {
        self.desk.stopping = true;
        self.end_ms = self.desk.due_ms(self.desk.site.limits.grace);
        self.pause_end_ms = None;
        if let Some(operation) = self.accepting {
            let _ = self.ring.cancel(operation);
        }
        self.desk.site.refuse_more();
        for (_, place) in &self.places {
            // Once it has ended, `listen` looks whether the connection is idle still.
            if let Some(operation) = place.receiving.filter(|_| place.course.is_idle()) {
                let _ = self.ring.cancel(operation);
            }
        }
    }

    fn is_over(&self) -> bool {
        self.desk.stopping && (self.places.is_empty() || self.desk.now_ms() >= self.end_ms)
    }
}

impl Place {
    /// Takes what was received, or that receiving has ended.
    fn take(&mut self, completion: &Completion<'_>, desk: &mut Desk<'_>) -> Deed {
        if !completion.more {
            self.receiving = None;
        }
        desk.count(Count::Received, completion.input.len() as u64);
        if self.is_over {
            return Deed::Nothing;
        }
        match &completion.result {
            Ok(0) => self.end_of_input(desk),
            Ok(_) => self.input(completion.input, desk),
            Err(error) if is_of_ring(error) && self.sending.is_none() => Deed::Listen,
            Err(error) if is_of_ring(error) => Deed::Nothing,
            Err(_) => {
                desk.count(Count::Broken, 1);
                Deed::End
            }
        }
    }

    fn input(&mut self, input: &[u8], desk: &mut Desk<'_>) -> Deed {
        if let Some(is_enough) = self.course.drops(input.len()) {
            return if is_enough { Deed::End } else { Deed::Listen };
        }
        if self.sending.is_none() {
            return Deed::Answer(self.course.feed(input, &mut desk.output));
        }
        self.held.extend_from_slice(input);
        if self.held.len() > HELD_BYTES { Deed::HoldOn } else { Deed::Nothing }
    }

    fn end_of_input(&mut self, desk: &mut Desk<'_>) -> Deed {
        self.is_deaf = true;
        if self.course.drops(0).is_some() {
            return Deed::End;
        }
        match self.sending {
            Some(_) => Deed::Nothing,
            None => Deed::Answer(self.course.end_of_input(&mut desk.output)),
        }
    }
}

/// Fills a chunk, which grows for what is large.
fn fill(output: &mut Output, chunk: &mut Vec<u8>) -> io::Result<()> {
    output.fill(chunk)?;
    if !output.is_empty() {
        chunk.reserve_exact(LARGE_CHUNK - chunk.len());
        output.fill(chunk)?;
    }
    Ok(())
}

/// Whether it is not the connection that has ended the operation: it was told to, or all buffers were full.
fn is_of_ring(error: &io::Error) -> bool {
    matches!(sys::error::name(error).as_str(), "ECANCELED" | "ENOBUFS")
}
