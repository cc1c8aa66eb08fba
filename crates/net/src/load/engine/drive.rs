//! The interface of every engine, for any client: called once for each load, not for each request.

use std::time::Duration;

use super::places::Mode;
use super::{EDGE_NS, Engine, Look};
use crate::Error;
use crate::client::Client;
use crate::load::counts::Failure;
use crate::load::{Grown, Load, Measured, Watched};
use crate::network::LoadNetwork;

pub(crate) trait Drive {
    /// Has the places of this many connections, and, where these outlive a request, a connection at each.
    fn grow_to(&mut self, connections: usize) -> Result<Grown, Error>;

    /// Offers a load from this moment of its clock on; without one it begins at once.
    fn offer_at(
        &mut self,
        load: &Load,
        at_ns: Option<u64>,
        watched: &mut Watched<'_>,
    ) -> Result<Measured, Error>;

    fn now_ns(&self) -> u64;

    /// One request on the connection of that number, and how long its response took.
    fn ask_once(&mut self, number: usize) -> Result<Duration, Error>;

    fn connections(&self) -> usize;

    fn follow(&mut self);
}

impl<C: Client, N: LoadNetwork> Drive for Engine<C, N> {
    fn grow_to(&mut self, connections: usize) -> Result<Grown, Error> {
        self.mode = Mode::Alone;
        self.starts = None;
        self.failures.take();
        self.connect.clear();
        let connections = connections * self.network.streams();
        let idle = self.settings.idle * self.network.streams();
        if self.silent < idle && self.slots.len() == self.silent {
            self.open_places(idle)?;
            self.silent = self.slots.len();
        }
        let wanted = self.silent + connections;
        while self.slots.len() > wanted {
            let place = self.slots.len() - 1;
            self.close(place as u32);
            self.slots.pop();
            self.vacant -= 1;
        }
        if self.one_request_each {
            while self.slots.len() < wanted {
                self.add_place();
            }
        } else {
            self.open_places(wanted)?;
        }
        Ok(Grown {
            connections: self.connections(),
            connect: self.connect.clone(),
            failures: self.failures.take(),
        })
    }

    fn offer_at(
        &mut self,
        load: &Load,
        at_ns: Option<u64>,
        watched: &mut Watched<'_>,
    ) -> Result<Measured, Error> {
        load.check(&self.settings)?;
        // The load tries again to open the rest, and counts it.
        self.grow_to(load.connections)?;
        let mut before = self.begin(load, at_ns)?;
        let end = self.hold(&mut before, watched)?;
        self.finish(&before, &end)
    }

    fn now_ns(&self) -> u64 {
        self.network.now_ns()
    }

    fn ask_once(&mut self, number: usize) -> Result<Duration, Error> {
        let place = self.silent + number * self.network.streams();
        if place >= self.slots.len() {
            return Err(Error::NoConnection { number, connections: self.connections() });
        }
        self.mode = Mode::Alone;
        self.starts = None;
        self.failures.take();
        let begin_ns = self.network.now_ns();
        self.start(place as u32, 1, begin_ns, begin_ns);
        let served = |engine: &Engine<C, N>| engine.slots[place].state.is_vacant();
        let mut now = begin_ns;
        while !served(self) {
            self.wait(now + EDGE_NS)?;
            now = self.network.now_ns();
            self.scan(now);
        }
        match self.failures.take().as_slice() {
            [] => Ok(Duration::from_nanos(self.slots[place].free_ns.saturating_sub(begin_ns))),
            [Failure { stage, cause, .. }, ..] => Err(Error::Request {
                target: self.settings.target.clone(),
                stage: stage.name(),
                cause: cause.clone(),
            }),
        }
    }

    fn connections(&self) -> usize {
        let open = self.slots[self.silent..].iter().filter(|slot| slot.socket.is_some()).count();
        open.div_ceil(self.network.streams())
    }

    fn follow(&mut self) {
        self.look = Some(Look::default());
    }
}
