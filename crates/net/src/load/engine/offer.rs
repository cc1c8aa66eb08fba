//! One load from its beginning to its end: the starts of its requests (the places of a closed loop one after
//! the other, those of an open loop by its schedule), its counts, the time when it is over, and the wait for
//! responses under way, after which every request has its outcome.

use std::cmp::Reverse;

use super::places::{Counts, Mode, State};
use super::{
    CLOSE_NS, DRAIN_NS, Drive, EDGE_NS, Engine, LOOK_NS, NEVER, PROGRESS_NS, SCAN, SPREAD_NS, STARTS_MAX,
};
use crate::Error;
use crate::client::Client;
use crate::load::counts::{Cause, Recent, RequestStage};
use crate::load::measured::{Before, Measured, Watch, Window};
use crate::load::plan::{Load, LoadSettings};
use crate::load::{Progress, Starts, Watched};
use crate::network::{Carried, LoadNetwork};

/// A gap between two turns of the loop that is longer than this was not spent on a turn: the process was
/// stopped, or the system gave its processor to others.
const ABSENT_NS: u64 = 50_000_000;

/// The last part of the wait for a moment, in which the loop does not sleep: a timer rings that much late.
const SPIN_NS: u64 = 200_000;

/// So many starts that were never made are counted one by one; beyond, their expected number is as good.
const COUNTED_STARTS_MAX: u64 = 1_000_000;

/// How a load was held and ended.
pub(super) struct End {
    now: u64,
    /// When the loop was first at work in the measured time.
    first_ns: u64,
    /// How long it was not at work.
    absent_ns: u64,
    /// The user, or the watcher, has ended it.
    stopped: bool,
    /// Processor time of this thread.
    cpu_ns: Option<u64>,
}

impl<C: Client, N: LoadNetwork> Engine<C, N> {
    /// Offers a load from now on.
    #[cfg(test)]
    pub(crate) fn offer(&mut self, load: &Load, watched: &mut Watched<'_>) -> Result<Measured, Error> {
        self.offer_at(load, None, watched)
    }

    /// From here on the load is offered.
    pub(super) fn begin(&mut self, load: &Load, at_ns: Option<u64>) -> Result<Before, Error> {
        let length_ns = load.expected_ns() / 40;
        self.forget();
        // To clear many histograms takes milliseconds.
        self.slices.begin(0, EDGE_NS);
        let before = Before::now();
        if let Some(at_ns) = at_ns {
            self.wait_until(at_ns)?;
        }
        self.begin_ns = at_ns.unwrap_or_else(|| self.network.now_ns());
        self.from_ns = self.begin_ns + load.warm_up.as_nanos() as u64;
        self.until_ns = self.from_ns + load.duration.as_nanos() as u64;
        self.allowance = load.requests.unwrap_or(u64::MAX);
        self.measuring = load.warm_up.is_zero();
        self.slices.begin(self.from_ns, length_ns.clamp(EDGE_NS, 1_000_000_000));
        if let Some(look) = &mut self.look {
            look.due_ns = self.from_ns + LOOK_NS;
        }
        self.prepare(load);
        Ok(before)
    }

    /// Handles events until this moment.
    fn wait_until(&mut self, at_ns: u64) -> Result<(), Error> {
        loop {
            let now = self.network.now_ns();
            match at_ns.saturating_sub(now) {
                0 => return Ok(()),
                left if left > SPIN_NS => self.wait((at_ns - SPIN_NS).min(now + EDGE_NS))?,
                _ => self.wait(0)?,
            }
        }
    }

    /// Offers the load until its time is over, its requests are used up, or it is stopped.
    pub(super) fn hold(&mut self, before: &mut Before, watched: &mut Watched<'_>) -> Result<End, Error> {
        let end_ns = self.until_ns;
        let mut told_ns = self.begin_ns;
        let mut now = self.begin_ns;
        let mut stopped = false;
        let (first_ns, mut absent_ns) = (self.network.now_ns().max(self.from_ns), 0);
        let mut turned_ns = first_ns;
        loop {
            self.wait_for_next(now, end_ns)?;
            now = self.network.now_ns();
            let gap_ns = now.min(end_ns).saturating_sub(turned_ns);
            if gap_ns > ABSENT_NS {
                absent_ns += gap_ns - EDGE_NS;
            }
            turned_ns = turned_ns.max(now);
            if !self.measuring && now >= self.from_ns {
                before.begin_cpu();
                self.begin_counting();
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
        Ok(End { now, first_ns, absent_ns, stopped, cpu_ns: sys::thread::cpu_ns().ok() })
    }

    /// The warm-up is over. Requests under way in a closed loop are counted from here on: they will end in
    /// the measured time, as others that begin in it will end after it.
    fn begin_counting(&mut self) {
        self.counts = Counts::default();
        self.network.carried();
        self.failures.take();
        self.statuses.take();
        self.measuring = true;
        if self.starts.is_some() {
            return;
        }
        for slot in &mut self.slots {
            slot.counted = true;
            self.counts.requests.started += u64::from(slot.awaited);
        }
    }

    /// Waits for responses under way, and sums up.
    pub(super) fn finish(&mut self, before: &Before, end: &End) -> Result<Measured, Error> {
        let until_ns = end.now.min(self.until_ns).max(self.from_ns + 1);
        let elapsed_seconds = (until_ns - self.from_ns) as f64 / 1e9;
        let (waits, events) = (self.counts.waits, self.counts.events);
        self.until_ns = until_ns;
        self.drain(end.now, end.stopped)?;
        let watch = before.since(elapsed_seconds, end.cpu_ns);
        let slices = self.slices.finished(until_ns);
        let intended = self.intended(until_ns);
        let counts = self.take_counts()?;
        let carried = self.network.carried().unwrap_or(Carried {
            connected: counts.connected,
            sent_bytes: counts.sent_bytes,
            received_bytes: counts.received_bytes,
            sends_blocked: counts.sends_blocked,
        });
        let (failures, statuses) = (self.failures.take(), self.statuses.take());
        self.starts = None;
        Ok(Measured {
            connections: self.connections(),
            elapsed_seconds,
            intended,
            requests: counts.requests,
            connected: carried.connected,
            sent_bytes: carried.sent_bytes,
            received_bytes: carried.received_bytes,
            service: self.service.clone(),
            lag: self.lag.clone(),
            lateness: self.lateness.clone(),
            connect: self.connect.clone(),
            handshake: self.handshake.clone(),
            slices,
            failures,
            statuses,
            watch: Watch { sends_blocked: carried.sends_blocked, waits, events, ..watch },
            window: Window { begin_ns: end.first_ns, end_ns: until_ns, absent_ns: end.absent_ns },
        })
    }

    /// Resets the counts.
    fn forget(&mut self) {
        self.counts = Counts::default();
        self.network.carried();
        self.failures.take();
        self.statuses.take();
        let handshake = &mut self.handshake;
        for times in [&mut self.service, &mut self.lag, &mut self.lateness, &mut self.connect, handshake] {
            times.clear();
        }
    }

    /// Whether all requests that may be started were, and have their responses.
    fn is_exhausted(&self) -> bool {
        self.allowance == 0 && self.slots.len() == self.vacant && self.later.is_empty()
    }

    /// The latencies of the last second, if it is over and there is a watcher.
    fn recent(&mut self, now: u64) -> Option<Recent> {
        let look = self.look.as_mut().filter(|look| look.due_ns <= now)?;
        look.due_ns = now + LOOK_NS;
        Some(self.slices.since(&mut look.mark))
    }

    fn progress(&mut self, now: u64, end_ns: u64) -> Progress {
        let span = (end_ns - self.begin_ns).max(1) as f64;
        Progress {
            share: (now - self.begin_ns) as f64 / span,
            warming_up: !self.measuring,
            seconds: now.saturating_sub(self.from_ns) as f64 / 1e9,
            completed: self.counts.requests.completed,
            failed: self.counts.requests.failed,
            busy: self.slots.len() - self.vacant,
            open: (self.open - self.silent.min(self.open)).div_ceil(self.network.streams()),
            recent: self.recent(now),
        }
    }

    /// Makes the first requests wait for their time.
    fn prepare(&mut self, load: &Load) {
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
    fn wait_for_next(&mut self, now: u64, end_ns: u64) -> Result<(), Error> {
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
    fn pace(&mut self, now: u64) {
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
    fn catch_up(&mut self) {
        for _ in 0..self.places_max().div_ceil(STARTS_MAX) {
            let started = self.counts.requests.started;
            self.pace_open(self.network.now_ns());
            if self.counts.requests.started == started {
                return;
            }
        }
    }

    /// Waits for responses under way, sends no further request, and closes connections without a response by
    /// then.
    fn drain(&mut self, now: u64, stopped: bool) -> Result<(), Error> {
        let was_open = self.mode == Mode::Open;
        if was_open && !stopped {
            self.catch_up();
        }
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
            now = self.network.now_ns();
            self.scan(now);
        }
        self.give_up(now, was_open && !stopped);
        self.measuring = false;
        Ok(())
    }

    /// Closes connections with requests under way. Where a load was stopped, or a closed loop got stuck,
    /// those that were under way for longer than any response took are unanswered; the others had no time for
    /// a response, and are taken out.
    fn give_up(&mut self, now: u64, had_time: bool) {
        let overdue_ns = self.slices.longest_ns();
        for place in 0..self.slots.len() as u32 {
            let slot = &mut self.slots[place as usize];
            if slot.state.is_vacant() {
                continue;
            }
            let awaited = u64::from(std::mem::take(&mut slot.awaited));
            if slot.counted && (had_time || now.saturating_sub(slot.sent_ns) > overdue_ns) {
                self.counts.requests.unanswered += awaited;
            } else if slot.counted {
                self.counts.requests.started -= awaited;
            }
            self.close(place);
        }
    }

    /// How many starts of an open loop lay in the time that was measured. The present one and those behind it
    /// were not made.
    fn intended(&self, until_ns: u64) -> Option<u64> {
        let mut unstarted = 0;
        for start in self.starts.as_ref()?.clone() {
            let start_ns = self.begin_ns.saturating_add(start);
            if start_ns >= until_ns || unstarted >= self.allowance {
                break;
            }
            unstarted += u64::from(start_ns >= self.from_ns);
            if unstarted == COUNTED_STARTS_MAX {
                unstarted += ((until_ns - start_ns) as f64 * self.rate / 1e9) as u64;
                break;
            }
        }
        Some(self.counts.requests.started + unstarted.min(self.allowance))
    }

    /// Where every request has one outcome, the counts.
    fn take_counts(&mut self) -> Result<Counts, Error> {
        let counts = std::mem::take(&mut self.counts);
        let (started, outcomes) = (counts.requests.started, counts.requests.outcomes());
        if started == outcomes { Ok(counts) } else { Err(Error::Miscounted { started, outcomes }) }
    }

    /// Closes connections that the server announced to close. Their requests are complete, so none has
    /// failed.
    #[cold]
    fn close_instead(&mut self, place: u32, now: u64) {
        if self.measuring {
            self.failures.count(RequestStage::Close, Cause::LeftOpen);
        }
        self.close(place);
        self.next(place, now);
    }

    /// Checks some places for overdue responses, now and then, because it reads much memory.
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
            if slot.state == State::Closing {
                if now.saturating_sub(slot.free_ns) > CLOSE_NS {
                    self.close_instead(self.scanned as u32, now);
                }
            } else if !slot.state.is_vacant() && now.saturating_sub(slot.sent_ns) > timeout_ns {
                self.fail(self.scanned as u32, Cause::Timeout, now);
            }
        }
    }
}
