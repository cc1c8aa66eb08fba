//! The simulated set of a reactor: states, or edges; closed sockets forgotten, or to be removed.

use std::io;
use std::rc::Rc;
use std::time::Duration;

use sys::event::{Event, Interest};

use super::socket::ServerSocket;
use super::world::{Fault, SERVER, Shared, World};
use crate::network::{LISTENER, ServerNetwork, SocketSet};

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
