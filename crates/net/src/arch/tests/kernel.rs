//! Simulated interfaces of the kernel: the set of a reactor, with states or edges, closed sockets forgotten
//! or to be removed; and the ring of a proactor, with operations that end when the network says so, multishot
//! ones that end early, buffers that run out, and cancellations that come too late.

use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::rc::Rc;
use std::time::Duration;

use sys::event::{Event, Interest};
use sys::ring::Completion;

use super::ends::ServerSocket;
use super::world::{Fault, SERVER, Shared, World};
use crate::network::{LISTENER, ServerNetwork, ServerRing, SocketSet};

/// The events that are waited for.
struct Watch {
    link: usize,
    token: usize,
    interest: Interest,
}

/// A listener, the sockets that it accepted, and the set that they are in.
pub(super) struct SimulatedSet<const EDGE: bool, const FORGETS_CLOSED: bool> {
    world: Shared,
    worker: usize,
    listening: Interest,
    watches: Vec<Watch>,
    /// As many sockets fit into it.
    most: usize,
}

impl<const EDGE: bool, const FORGETS_CLOSED: bool> SimulatedSet<EDGE, FORGETS_CLOSED> {
    pub(super) fn new(world: &Shared, worker: usize, most: usize) -> Self {
        let world = Rc::clone(world);
        SimulatedSet { world, worker, listening: Interest::Read, watches: Vec::new(), most }
    }

    fn is_ready(&self, world: &World, watch: &Watch) -> Option<Event> {
        let end = &world.links[watch.link].ends[SERVER];
        let (mut readable, mut writable) = (end.is_readable(), end.is_writable());
        if EDGE {
            (readable, writable) = (readable && end.edge_read, writable && end.edge_write);
        }
        let is_wanted = match watch.interest {
            Interest::Read => readable,
            Interest::Write => writable,
            Interest::Both => readable || writable,
            Interest::Nothing => false,
        };
        let (readable, writable) = match watch.interest {
            Interest::Read => (readable, end.reset),
            Interest::Both => (readable, writable),
            _ => (end.reset, writable),
        };
        is_wanted.then_some(Event { token: watch.token, readable, writable })
    }

    fn listener_is_ready(&self, world: &World) -> bool {
        let backlog = &world.backlogs[self.worker];
        self.listening == Interest::Read && !backlog.waiting.is_empty() && (!EDGE || backlog.edge)
    }

    /// Whether a wait would return at once.
    pub(super) fn has_events(&self) -> bool {
        let world = self.world.borrow();
        self.listener_is_ready(&world)
            || self.open_watches(&world).any(|watch| self.is_ready(&world, watch).is_some())
    }

    fn open_watches<'a>(&'a self, world: &'a World) -> impl Iterator<Item = &'a Watch> {
        self.watches.iter().filter(|watch| world.links[watch.link].witness.is_open())
    }

    /// An edge set reads the state of a socket that is added or changed.
    fn look(&self, link: usize) {
        let end = &mut self.world.borrow_mut().links[link].ends[SERVER];
        (end.edge_read, end.edge_write) = (end.is_readable(), end.is_writable());
    }
}

impl<const EDGE: bool, const FORGETS_CLOSED: bool> SocketSet for SimulatedSet<EDGE, FORGETS_CLOSED> {
    type Socket = ServerSocket;

    fn add(&mut self, socket: &ServerSocket, token: usize, interest: Interest) -> io::Result<()> {
        if FORGETS_CLOSED {
            let world = self.world.borrow();
            self.watches.retain(|watch| world.links[watch.link].witness.is_open());
        }
        assert!(self.watches.iter().all(|watch| watch.token != token), "slot {token} is used twice");
        if self.watches.len() >= self.most {
            let mut world = self.world.borrow_mut();
            world.exhausted += 1;
            world.links[socket.link].witness.excuse("the set was full");
            return Err(io::Error::other("the set is full"));
        }
        self.watches.push(Watch { link: socket.link, token, interest });
        self.look(socket.link);
        Ok(())
    }

    fn change(&mut self, socket: &ServerSocket, token: usize, interest: Interest) -> io::Result<()> {
        let watch = self.watches.iter_mut().find(|watch| watch.link == socket.link);
        let watch = watch.ok_or_else(|| io::Error::other("changed, and never added"))?;
        (watch.token, watch.interest) = (token, interest);
        self.look(socket.link);
        Ok(())
    }
}

impl<const EDGE: bool, const FORGETS_CLOSED: bool> ServerNetwork for SimulatedSet<EDGE, FORGETS_CLOSED> {
    const EDGE: bool = EDGE;
    const FORGETS_CLOSED: bool = FORGETS_CLOSED;

    fn now_ms(&self) -> u64 {
        self.world.borrow().loop_ms()
    }

    fn accept(&mut self) -> io::Result<ServerSocket> {
        let link = self.world.borrow_mut().accept(self.worker)?;
        self.world.borrow_mut().show(link);
        Ok(ServerSocket { world: Rc::clone(&self.world), link })
    }

    fn listen(&mut self, interest: Interest) -> io::Result<()> {
        self.listening = interest;
        self.world.borrow_mut().backlogs[self.worker].edge = true;
        Ok(())
    }

    fn refuse_more(&mut self) {
        self.world.borrow_mut().refuse_more(self.worker);
    }

    fn remove(&mut self, socket: &ServerSocket, _token: usize) -> io::Result<()> {
        self.watches.retain(|watch| watch.link != socket.link);
        Ok(())
    }

    /// Does not wait: the simulation gives a turn only to a loop that is awake.
    fn wait(&mut self, events: &mut Vec<Event>, _timeout: Duration) -> io::Result<()> {
        events.clear();
        let mut world = self.world.borrow_mut();
        let mut ready: Vec<(usize, Event)> = self
            .open_watches(&world)
            .filter_map(|watch| Some((watch.link, self.is_ready(&world, watch)?)))
            .collect();
        world.random.shuffle(&mut ready);
        if world.random.u8(..8) == 0 {
            // The others are reported by the next wait.
            ready.truncate(1);
        }
        let loses = world.fault == Fault::LostWakeUp && world.random.u8(..4) == 0;
        for &(link, event) in &ready {
            let end = &mut world.links[link].ends[SERVER];
            (end.edge_read, end.edge_write) =
                (end.edge_read && !event.readable, end.edge_write && !event.writable);
        }
        if loses {
            // An edge that counts as reported.
            self.watches.retain(|watch| ready.iter().all(|&(link, _)| link != watch.link));
            ready.clear();
        }
        world.trace(&("set", self.worker), &ready);
        events.extend(ready.iter().map(|&(_, event)| event));
        if self.listener_is_ready(&world) {
            world.backlogs[self.worker].edge = false;
            events.push(Event { token: LISTENER, readable: true, writable: false });
        }
        if let Some(watch) = self.watches.first()
            && world.random.u8(..64) == 0
            && world.links[watch.link].witness.is_open()
            && events.iter().all(|event| event.token != watch.token)
        {
            // An event without a cause.
            events.push(Event { token: watch.token, readable: true, writable: true });
        }
        Ok(())
    }
}

/// `ECONNABORTED`, `ECANCELED` and `ENOBUFS` of Linux.
const ABORTED: i32 = 103;
const CANCELLED: i32 = 125;
const NO_BUFFERS: i32 = 105;

const BUFFER_BYTES: usize = 2048;

enum Kind {
    Accept,
    Receive(usize),
    /// The bytes, and how many of them have left.
    Send(usize, Vec<u8>, usize),
}

struct Operation {
    number: u64,
    token: u64,
    kind: Kind,
    is_cancelled: bool,
    /// It is tried once when it reaches the kernel, before later operations.
    is_new: bool,
}

/// A completion that was not read yet.
struct Done {
    token: u64,
    result: Result<u32, i32>,
    more: bool,
    input: Vec<u8>,
    returned: Option<Vec<u8>>,
    accepted: Option<usize>,
    /// The link of a send or a receive.
    link: Option<usize>,
}

impl Done {
    fn new(operation: &Operation, result: Result<u32, i32>, more: bool) -> Done {
        let (link, returned) = match &operation.kind {
            Kind::Accept => (None, None),
            Kind::Receive(link) => (Some(*link), None),
            Kind::Send(link, bytes, _) => (Some(*link), Some(bytes.clone())),
        };
        let token = operation.token;
        Done { token, result, more, input: Vec::new(), returned, accepted: None, link }
    }
}

/// A ring, and the listener that it accepts from.
pub(super) struct SimulatedRing {
    world: Shared,
    worker: usize,
    operations: Vec<Operation>,
    done: VecDeque<Done>,
    number: u64,
    /// Buffers for input.
    buffers: usize,
    shown: Vec<u8>,
}

impl SimulatedRing {
    pub(super) fn new(world: &Shared, worker: usize) -> SimulatedRing {
        let buffers = [1, 2, 64][world.borrow_mut().random.usize(..3)];
        SimulatedRing {
            world: Rc::clone(world),
            worker,
            operations: Vec::new(),
            done: VecDeque::new(),
            number: 0,
            buffers,
            shown: Vec::new(),
        }
    }

    /// Whether a wait would return at once.
    pub(super) fn has_completions(&mut self) -> bool {
        self.work();
        !self.done.is_empty()
    }

    fn start(&mut self, kind: Kind, token: u64) -> u64 {
        self.number += 1;
        self.operations.push(Operation {
            number: self.number,
            token,
            kind,
            is_cancelled: false,
            is_new: true,
        });
        self.number
    }

    /// Makes progress on each operation.
    fn work(&mut self) {
        let world = Rc::clone(&self.world);
        let world = &mut world.borrow_mut();
        let mut operations = std::mem::take(&mut self.operations);
        operations.retain_mut(|operation| self.goes_on(operation, world));
        self.operations = operations;
    }

    /// Whether the operation goes on.
    fn goes_on(&mut self, operation: &mut Operation, world: &mut World) -> bool {
        let is_new = std::mem::replace(&mut operation.is_new, false);
        if operation.is_cancelled
            && !is_new
            && !matches!(&operation.kind, Kind::Send(_, _, sent) if *sent > 0)
        {
            self.done.push_back(Done::new(operation, Err(CANCELLED), false));
            return false;
        }
        match operation.kind {
            Kind::Accept if is_new => {
                world.missed_ns[self.worker] = None;
                self.accept(operation, world)
            }
            Kind::Accept if self.misses(world) => true,
            Kind::Accept => self.accept(operation, world),
            Kind::Receive(link) => self.receive(operation, link, world),
            Kind::Send(link, ..) => self.send(operation, link, world),
        }
    }

    /// Whether the wake-up for a connection was lost, as to a ring of a process that was killed.
    fn misses(&self, world: &mut World) -> bool {
        if !world.backlogs[self.worker].waiting.is_empty() && world.random.u8(..16) == 0 {
            let now_ns = world.now_ns;
            world.missed_ns[self.worker].get_or_insert(now_ns);
        }
        world.missed_ns[self.worker].is_some()
    }

    fn accept(&mut self, operation: &Operation, world: &mut World) -> bool {
        loop {
            match world.accept(self.worker) {
                Ok(link) => {
                    let more = world.random.u8(..16) != 0;
                    self.done.push_back(Done { accepted: Some(link), ..Done::new(operation, Ok(0), more) });
                    if !more {
                        return false;
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return true,
                // The kernel begins again by itself.
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => {
                    let number = error.raw_os_error().unwrap_or(ABORTED);
                    self.done.push_back(Done::new(operation, Err(number), false));
                    return false;
                }
            }
        }
    }

    fn receive(&mut self, operation: &Operation, link: usize, world: &mut World) -> bool {
        loop {
            let end = &world.links[link].ends[SERVER];
            let has_input = !end.inbox.is_empty();
            if has_input && self.done.iter().filter(|done| !done.input.is_empty()).count() >= self.buffers {
                self.done.push_back(Done::new(operation, Err(NO_BUFFERS), false));
                return false;
            }
            if has_input && world.fault == Fault::LostWakeUp && world.random.u8(..8) == 0 {
                // The end of the operation is not reported.
                return false;
            }
            let mut input = vec![0; BUFFER_BYTES];
            match world.receive(link, SERVER, &mut input) {
                Ok(0) => {
                    self.done.push_back(Done::new(operation, Ok(0), false));
                    return false;
                }
                Ok(count) => {
                    input.truncate(count);
                    let more = world.random.u8(..16) != 0;
                    self.done.push_back(Done { input, ..Done::new(operation, Ok(count as u32), more) });
                    if !more {
                        return false;
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return true,
                Err(error) => {
                    let number = error.raw_os_error().unwrap_or_default();
                    self.done.push_back(Done::new(operation, Err(number), false));
                    return false;
                }
            }
        }
    }

    fn send(&mut self, operation: &mut Operation, link: usize, world: &mut World) -> bool {
        let Kind::Send(_, bytes, sent) = &mut operation.kind else { return false };
        let outcome = world.send(link, SERVER, &[&bytes[*sent..]]);
        *sent += outcome.as_ref().copied().unwrap_or(0);
        let (sent, all) = (*sent, bytes.len());
        let error = outcome.err().filter(|error| error.kind() != ErrorKind::WouldBlock);
        let is_over = sent == all || error.is_some() || operation.is_cancelled;
        if is_over {
            // An operation that has done a part reports that part, for any cause of its end.
            let number = error.and_then(|error| error.raw_os_error()).filter(|_| sent == 0);
            self.done.push_back(Done::new(operation, number.map_or(Ok(sent as u32), Err), false));
        }
        !is_over
    }
}

impl ServerRing for SimulatedRing {
    type Socket = ServerSocket;
    type Accepted = ServerSocket;
    type Operation = u64;

    fn now_ms(&self) -> u64 {
        self.world.borrow().loop_ms()
    }

    fn accept_multishot(&mut self, token: u64) -> io::Result<u64> {
        Ok(self.start(Kind::Accept, token))
    }

    fn refuse_more(&mut self) {
        // A connection that was accepted before is reported all the same.
        self.world.borrow_mut().refuse_more(self.worker);
    }

    fn recv_multishot(&mut self, socket: &ServerSocket, token: u64) -> io::Result<u64> {
        Ok(self.start(Kind::Receive(socket.link), token))
    }

    fn send(&mut self, socket: &ServerSocket, bytes: Vec<u8>, token: u64) -> io::Result<u64> {
        let mut world = self.world.borrow_mut();
        let now_ns = world.now_ns;
        world.links[socket.link].witness.sent(&Ok(0), true, now_ns);
        drop(world);
        Ok(self.start(Kind::Send(socket.link, bytes, 0), token))
    }

    /// It may be done already, or be in the middle of something.
    fn cancel(&mut self, operation: u64) -> io::Result<()> {
        if let Some(found) = self.operations.iter_mut().find(|found| found.number == operation) {
            found.is_cancelled = true;
            if let Kind::Receive(link) | Kind::Send(link, ..) = found.kind {
                self.world.borrow_mut().links[link].witness.is_cancelled = true;
            }
        }
        Ok(())
    }

    fn close(&mut self, socket: ServerSocket) {
        let uses = |operation: &Operation| match operation.kind {
            Kind::Accept => false,
            Kind::Receive(link) | Kind::Send(link, ..) => link == socket.link,
        };
        assert!(!self.operations.iter().any(uses), "connection {} is closed under way", socket.link);
    }

    fn wait(&mut self, _timeout: Duration) -> io::Result<usize> {
        if self.done.is_empty() && self.world.borrow_mut().random.u8(..16) == 0 {
            // The kernel is short of memory.
            return Err(ErrorKind::WouldBlock.into());
        }
        self.work();
        Ok(self.done.len())
    }

    fn completion(&mut self) -> Option<Completion<'_, ServerSocket>> {
        let done = self.done.pop_front()?;
        let mut world = self.world.borrow_mut();
        let now_ns = world.now_ns;
        let as_error = io::Error::from_raw_os_error;
        if let Some(link) = done.link {
            world.trace(&("ring", link), &(done.token % 2, &done.result, done.input.len()));
            let is_of_ring = matches!(done.result, Err(CANCELLED | NO_BUFFERS));
            let count = done.result.map(|count| count as usize).map_err(as_error);
            let witness = &mut world.links[link].witness;
            match &done.returned {
                Some(bytes) => witness.sent_all(&count, bytes.len(), now_ns),
                None if is_of_ring => {}
                None => witness.received(&count, now_ns),
            }
        }
        if let Some(link) = done.accepted {
            world.show(link);
        }
        drop(world);
        self.shown = done.input;
        Some(Completion {
            token: done.token,
            result: done.result.map_err(as_error),
            more: done.more,
            input: &self.shown,
            returned: done.returned,
            accepted: done.accepted.map(|link| ServerSocket { world: Rc::clone(&self.world), link }),
        })
    }

    fn pause(&mut self, time: Duration) {
        self.world.borrow_mut().now_ns += time.as_nanos() as u64;
    }
}
