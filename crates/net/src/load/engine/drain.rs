//! The end of a load: responses under way are waited for, and every request gets its outcome.

use super::slot::{Counts, Mode, State};
use super::{CLOSE_NS, DRAIN_NS, EDGE_NS, Engine, SCAN};
use crate::Error;
use crate::client::Client;
use crate::load::failure::{Cause, RequestStage};
use crate::network::LoadNetwork;

/// So many starts that were never made are counted one by one; beyond, their expected number is as good.
const COUNTED_STARTS_MAX: u64 = 1_000_000;

impl<C: Client, N: LoadNetwork> Engine<C, N> {
    /// Waits for responses under way, asks no more, and closes what has none by then.
    pub(super) fn drain(&mut self, now: u64, stopped: bool) -> Result<(), Error> {
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

    /// Closes what is under way. A load that was stopped, or a closed loop, which asks no more where it got
    /// stuck, leaves requests unanswered that were under way for longer than any response took; the others
    /// had no time for a response, and are taken out.
    fn give_up(&mut self, now: u64, had_time: bool) {
        let overdue_ns = self.slices.longest_ns();
        for place in 0..self.slots.len() as u32 {
            let slot = &mut self.slots[place as usize];
            if slot.state.is_vacant() {
                continue;
            }
            let awaited = u64::from(std::mem::take(&mut slot.awaited));
            if slot.counted && (had_time || now.saturating_sub(slot.sent_ns) > overdue_ns) {
                self.counts.unanswered += awaited;
            } else if slot.counted {
                self.counts.started -= awaited;
            }
            self.close(place);
        }
    }

    /// How many starts of an open loop lay in the time that was measured. The present one and those behind it
    /// were not made.
    pub(super) fn intended(&self, until_ns: u64) -> Option<u64> {
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
        Some(self.counts.started + unstarted.min(self.allowance))
    }

    /// Where every request has one outcome, the counts.
    pub(super) fn take_counts(&mut self) -> Result<Counts, Error> {
        let counts = std::mem::take(&mut self.counts);
        let outcomes = counts.completed + counts.failed + counts.late + counts.unanswered;
        if counts.started == outcomes {
            return Ok(counts);
        }
        Err(Error::Miscounted { started: counts.started, outcomes })
    }

    /// Closes where the server said that it would. The requests are complete, so none of them has failed.
    #[cold]
    fn close_instead(&mut self, place: u32, now: u64) {
        if self.measuring {
            self.failures.count(RequestStage::Close, Cause::LeftOpen);
        }
        self.close(place);
        self.next(place, now);
    }

    /// Looks at some places for responses that are overdue, now and then: it goes through much memory.
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
