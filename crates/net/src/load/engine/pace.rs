//! The starts of requests: the places of a closed loop one after the other, those of an open loop by its
//! schedule.

use std::cmp::Reverse;

use super::places::Mode;
use super::{EDGE_NS, Engine, NEVER, SPREAD_NS, STARTS_MAX};
use crate::Error;
use crate::client::Client;
use crate::load::plan::{Load, LoadSettings};
use crate::load::schedule::Starts;
use crate::network::LoadNetwork;

impl<C: Client, N: LoadNetwork> Engine<C, N> {
    /// Makes the first requests wait for their time.
    pub(super) fn prepare(&mut self, load: &Load) {
        self.later.clear();
        self.free.clear();
        let places = self.silent as u32..self.slots.len() as u32;
        match load.rate {
            None => {
                (self.mode, self.starts) = (Mode::Closed, None);
                // In random order, and not all at once.
                let mut order: Vec<u32> = places.collect();
                fastrand::Rng::with_seed(load.seed(&self.settings)).shuffle(&mut order);
                let spread_ns = SPREAD_NS.min(load.duration.as_nanos() as u64 / 20);
                let step = |index: usize| (spread_ns as f64 * index as f64 / order.len() as f64) as u64;
                for (index, &place) in order.iter().enumerate() {
                    self.later.push(Reverse((self.begin_ns + step(index), place)));
                }
            }
            Some(rate) => {
                let LoadSettings { worker, workers, .. } = self.settings;
                let seed = load.seed(&self.settings);
                (self.mode, self.rate) = (Mode::Open, rate);
                let starts = Starts::new(load.schedule, rate, seed, worker, workers);
                self.starts = Some(starts.in_bursts(load.burst, load.spacing).peekable());
                self.free.extend(places);
            }
        }
    }

    /// Waits for events, at most until the next step is due.
    #[inline]
    pub(super) fn wait_for_next(&mut self, now: u64, end_ns: u64) -> Result<(), Error> {
        let places_max = self.places_max();
        let mut due = self.later.peek().map_or(NEVER, |Reverse((due, _))| *due);
        if self.allowance > 0
            && let Some(starts) = &mut self.starts
            && (!self.free.is_empty() || self.slots.len() - self.silent < places_max)
            && let Some(start) = starts.peek()
        {
            due = due.min(self.begin_ns.saturating_add(*start));
        }
        if due <= now {
            return self.wait(0);
        }
        let edge = if self.edge_ns > now { self.edge_ns } else { now + EDGE_NS };
        self.edge_ns = edge.min(end_ns);
        self.wait(due.min(self.edge_ns))
    }

    /// Starts the requests that are due.
    #[inline]
    pub(super) fn pace(&mut self, now: u64) {
        while let Some(&Reverse((due, place))) = self.later.peek() {
            if due > now {
                break;
            }
            self.later.pop();
            if self.mode == Mode::Closed && self.slots[place as usize].state.is_vacant() {
                self.ask_again(place, self.network.now_ns());
            }
        }
        if self.starts.is_some() {
            self.pace_open(now);
        }
    }

    fn pace_open(&mut self, mut now: u64) {
        for _ in 0..STARTS_MAX {
            let Some(start) = self.starts.as_mut().and_then(|starts| starts.peek().copied()) else { return };
            let intended_ns = self.begin_ns.saturating_add(start);
            if intended_ns > now || intended_ns >= self.until_ns || self.allowance == 0 {
                return;
            }
            // The counts begin anew when the warm-up is over, which may be in this very moment.
            if !self.measuring && intended_ns >= self.from_ns {
                return;
            }
            let Some(place) = self.free_place() else { return };
            if let Some(starts) = &mut self.starts {
                starts.next();
            }
            self.allowance -= 1;
            if intended_ns >= self.from_ns {
                self.lag.record(now - intended_ns);
                let possible_ns = intended_ns.max(self.slots[place as usize].free_ns);
                self.lateness.record(now.saturating_sub(possible_ns));
            }
            self.start(place, 1, intended_ns, now);
            now = self.network.now_ns();
        }
    }

    /// The place that has been free for longest, or a new one.
    fn free_place(&mut self) -> Option<u32> {
        while let Some(place) = self.free.pop_front() {
            if self.slots[place as usize].state.is_vacant() {
                return Some(place);
            }
        }
        (self.slots.len() - self.silent < self.places_max()).then(|| self.add_place())
    }

    fn places_max(&self) -> usize {
        self.settings.connections_max * self.network.streams()
    }

    /// Starts the requests that were due when the load ended, as far as there are places: where the generator
    /// itself had no processor then, it was late, and the requests were meant all the same.
    pub(super) fn catch_up(&mut self) {
        for _ in 0..self.places_max().div_ceil(STARTS_MAX) {
            let started = self.counts.requests.started;
            self.pace_open(self.network.now_ns());
            if self.counts.requests.started == started {
                return;
            }
        }
    }
}
