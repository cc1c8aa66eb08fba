//! One load from its beginning to its end: who starts when, what is counted, and when it is over.

use std::cmp::Reverse;
use std::time::Duration;

use super::slot::{Counts, Mode};
use super::{DRAIN_NS, EDGE_NS, Engine, NEVER, PROGRESS_NS, SCAN, SPREAD_NS, STARTS_MAX};
use crate::Error;
use crate::client::Client;
use crate::load::failure::{Cause, Failure};
use crate::load::measured::Measured;
use crate::load::plan::{Load, LoadSettings};
use crate::load::schedule::Starts;
use crate::load::watch::{Before, Watch};
use crate::load::{Progress, Watched};

impl<C: Client> Engine<C> {
    pub(in crate::load) fn offer(
        &mut self,
        load: &Load,
        watched: &mut Watched<'_>,
    ) -> Result<Measured, Error> {
        load.check(&self.settings)?;
        // What could not be opened now is tried again, and counted, by the load.
        self.grow_to(load.connections)?;
        let length_ns = load.expected_ns() / 40;
        self.forget();
        let mut before = Before::now();
        self.begin_ns = self.timer.now_ns();
        self.from_ns = self.begin_ns + load.warm_up.as_nanos() as u64;
        let end_ns = self.from_ns + load.duration.as_nanos() as u64;
        self.until_ns = end_ns;
        self.allowance = load.requests.unwrap_or(u64::MAX);
        self.measuring = load.warm_up.is_zero();
        self.slices.begin(self.from_ns, length_ns.clamp(EDGE_NS, 1_000_000_000));
        self.prepare(load);

        let mut told_ns = self.begin_ns;
        let mut now = self.begin_ns;
        let mut stopped = false;
        loop {
            self.wait_for_next(now, end_ns)?;
            now = self.timer.now_ns();
            if !self.measuring && now >= self.from_ns {
                before.begin_cpu();
                self.counts = Counts::default();
                self.failures.take();
                self.measuring = true;
            }
            if self.measuring {
                self.slices.turn(now.min(end_ns - 1));
            }
            if now >= end_ns {
                break;
            }
            self.pace(now);
            self.scan(now);
            if self.is_exhausted() {
                break;
            }
            if now >= told_ns + PROGRESS_NS {
                told_ns = now;
                if !watched(&self.progress(now, end_ns)) {
                    stopped = true;
                    break;
                }
            }
        }
        let cpu_ns = sys::thread::cpu_ns().ok();
        let measured_until_ns = now.min(end_ns).max(self.from_ns + 1);
        let elapsed_seconds = (measured_until_ns - self.from_ns) as f64 / 1e9;
        let waits = (self.counts.waits, self.counts.events);
        let intended = self.intended(measured_until_ns);
        self.until_ns = measured_until_ns;
        self.drain(now, stopped)?;
        let watch = before.since(elapsed_seconds, cpu_ns);
        let slices = self.slices.finished(measured_until_ns);
        let counts = std::mem::take(&mut self.counts);
        let failures = self.failures.take();
        self.starts = None;
        Ok(Measured {
            connections: self.connections(),
            elapsed_seconds,
            intended,
            started: counts.started,
            completed: counts.completed,
            failed: counts.failed,
            late: counts.late,
            unanswered: counts.unanswered,
            connected: counts.connected,
            sent_bytes: counts.sent_bytes,
            received_bytes: counts.received_bytes,
            service: self.service.clone(),
            lag: self.lag.clone(),
            lateness: self.lateness.clone(),
            connect: self.connect.clone(),
            slices,
            failures,
            watch: Watch { sends_blocked: counts.sends_blocked, waits: waits.0, events: waits.1, ..watch },
        })
    }

    /// Has the first requests wait for their time.
    pub(super) fn prepare(&mut self, load: &Load) {
        self.later.clear();
        self.free.clear();
        let places = self.silent as u32..self.slots.len() as u32;
        match load.rate {
            None => {
                (self.mode, self.starts) = (Mode::Closed, None);
                // In random order, and not all at once.
                let mut order: Vec<u32> = places.collect();
                fastrand::Rng::with_seed(self.settings.seed).shuffle(&mut order);
                let spread_ns = SPREAD_NS.min(load.duration.as_nanos() as u64 / 20);
                let step = |index: usize| (spread_ns as f64 * index as f64 / order.len() as f64) as u64;
                for (index, &place) in order.iter().enumerate() {
                    self.later.push(Reverse((self.begin_ns + step(index), place)));
                }
            }
            Some(rate) => {
                let LoadSettings { seed, worker, workers, .. } = self.settings;
                self.mode = Mode::Open;
                self.starts = Some(Starts::new(load.schedule, rate, seed, worker, workers).peekable());
                self.free.extend(places);
            }
        }
    }

    /// Forgets what was counted so far.
    pub(super) fn forget(&mut self) {
        self.counts = Counts::default();
        self.failures.take();
        for times in [&mut self.service, &mut self.lag, &mut self.lateness, &mut self.connect] {
            times.clear();
        }
    }

    /// Waits for events, and no longer than until something is to be done.
    #[inline]
    pub(super) fn wait_for_next(&mut self, now: u64, end_ns: u64) -> Result<(), Error> {
        let mut due = self.later.peek().map_or(NEVER, |Reverse((due, _))| *due);
        if self.allowance > 0
            && let Some(starts) = &mut self.starts
            && (!self.free.is_empty() || self.slots.len() - self.silent < self.settings.connections_max)
            && let Some(start) = starts.peek()
        {
            due = due.min(self.begin_ns + start);
        }
        if due <= now {
            return self.wait(0);
        }
        let edge = if self.edge_ns > now { self.edge_ns } else { now + EDGE_NS };
        self.edge_ns = edge.min(end_ns);
        self.wait(due.min(self.edge_ns))
    }

    /// Starts what is due.
    #[inline]
    pub(super) fn pace(&mut self, now: u64) {
        while let Some(&Reverse((due, place))) = self.later.peek() {
            if due > now {
                break;
            }
            self.later.pop();
            if self.mode == Mode::Closed && self.slots[place as usize].state.is_vacant() {
                self.ask_again(place, self.timer.now_ns());
            }
        }
        if self.starts.is_some() {
            self.pace_open(now);
        }
    }

    pub(super) fn pace_open(&mut self, mut now: u64) {
        for _ in 0..STARTS_MAX {
            let Some(start) = self.starts.as_mut().and_then(|starts| starts.peek().copied()) else { return };
            let intended_ns = self.begin_ns + start;
            if intended_ns > now || intended_ns >= self.until_ns || self.allowance == 0 {
                return;
            }
            // What is counted begins anew when the warm-up is over, which may be in this very moment.
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
            self.start(place, intended_ns, now);
            now = self.timer.now_ns();
        }
    }

    /// The place that has been free for longest, or a new one.
    pub(super) fn free_place(&mut self) -> Option<u32> {
        while let Some(place) = self.free.pop_front() {
            if self.slots[place as usize].state.is_vacant() {
                return Some(place);
            }
        }
        (self.slots.len() - self.silent < self.settings.connections_max).then(|| self.add_place())
    }

    /// Whether all requests that may be started were, and have their answers.
    pub(super) fn is_exhausted(&self) -> bool {
        self.allowance < u64::from(self.settings.pipeline)
            && self.slots.len() == self.vacant
            && self.later.is_empty()
    }

    /// How many starts of an open loop lay in the time that was measured.
    pub(super) fn intended(&self, until_ns: u64) -> Option<u64> {
        // From the present one on they were not started.
        let unstarted = self.starts.as_ref()?.clone().map(|start| self.begin_ns + start);
        let unstarted =
            unstarted.take_while(|&start| start < until_ns).filter(|&start| start >= self.from_ns);
        let unstarted = unstarted.count() as u64;
        Some(self.counts.started + unstarted.min(self.allowance))
    }

    /// Waits for answers under way, asks no more, and closes what has none by then.
    pub(super) fn drain(&mut self, now: u64, stopped: bool) -> Result<(), Error> {
        let was_open = self.mode == Mode::Open;
        self.mode = Mode::Rest;
        self.later.clear();
        if !was_open {
            self.measuring = false;
        }
        let patience_ns = if stopped { 0 } else { DRAIN_NS.min(self.settings.timeout.as_nanos() as u64) };
        let deadline = now + patience_ns;
        let mut now = now;
        while self.vacant < self.slots.len() && now < deadline {
            self.wait(deadline.min(now + EDGE_NS))?;
            now = self.timer.now_ns();
            if was_open {
                self.scan(now);
            }
        }
        // A closed loop asks no more where it got stuck, and would say nothing of that otherwise.
        let overdue_ns = if was_open || stopped { NEVER } else { self.slices.longest_ns() };
        for place in 0..self.slots.len() as u32 {
            let slot = &self.slots[place as usize];
            if slot.state.is_vacant() {
                continue;
            }
            if now.saturating_sub(slot.sent_ns) > overdue_ns {
                self.counts.unanswered += u64::from(slot.awaited);
            }
            self.close(place);
        }
        self.measuring = false;
        Ok(())
    }

    /// Looks at some places for answers that are overdue, now and then: it goes through much memory.
    #[inline]
    pub(super) fn scan(&mut self, now: u64) {
        if now < self.scan_ns {
            return;
        }
        self.scan_ns = now + EDGE_NS;
        let timeout_ns = self.settings.timeout.as_nanos() as u64;
        for _ in 0..SCAN.max(self.slots.len() / 16).min(self.slots.len()) {
            self.scanned += 1;
            if self.scanned >= self.slots.len() {
                self.scanned = 0;
            }
            let slot = &self.slots[self.scanned];
            if !slot.state.is_vacant() && now.saturating_sub(slot.sent_ns) > timeout_ns {
                self.fail(self.scanned as u32, Cause::Timeout, now);
            }
        }
    }

    pub(super) fn progress(&self, now: u64, end_ns: u64) -> Progress {
        let span = (end_ns - self.begin_ns).max(1) as f64;
        Progress {
            share: (now - self.begin_ns) as f64 / span,
            warming_up: !self.measuring,
            seconds: now.saturating_sub(self.from_ns) as f64 / 1e9,
            completed: self.counts.completed,
            failed: self.counts.failed,
            busy: self.slots.len() - self.vacant,
        }
    }

    /// One request on the connection of that number, and how long its answer took.
    pub(in crate::load) fn ask_once(&mut self, number: usize) -> Result<Duration, Error> {
        let place = self.silent + number;
        if place >= self.slots.len() {
            return Err(Error::NoConnection { number, connections: self.slots.len() - self.silent });
        }
        self.mode = Mode::Alone;
        self.starts = None;
        self.failures.take();
        let begin_ns = self.timer.now_ns();
        self.start(place as u32, begin_ns, begin_ns);
        let served = |engine: &Engine<C>| engine.slots[place].state.is_vacant();
        let mut now = begin_ns;
        while !served(self) {
            self.wait(now + EDGE_NS)?;
            now = self.timer.now_ns();
            self.scan(now);
        }
        match self.failures.take().as_slice() {
            [] => Ok(Duration::from_nanos(self.slots[place].free_ns.saturating_sub(begin_ns))),
            [Failure { stage, cause, .. }, ..] => Err(Error::Request {
                target: self.settings.target,
                stage: stage.name(),
                cause: cause.clone(),
            }),
        }
    }
}
