//! How long this machine stood still: a thread that sleeps briefly and notes when it wakes much later. What
//! is late during a stall is said to be so.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

const PAUSE: Duration = Duration::from_millis(50);

/// Shorter ones are what a scheduler does to any program on a busy machine.
const NOTED_FROM: Duration = Duration::from_millis(500);

/// When this machine stood still, and for how long.
#[derive(Default)]
pub(super) struct Stalls(Mutex<Vec<(Instant, Duration)>>);

impl Stalls {
    /// Watches until it is over.
    pub(super) fn watch(&self, is_over: &AtomicBool) {
        while !is_over.load(Ordering::Relaxed) {
            let start = Instant::now();
            std::thread::sleep(PAUSE);
            let late = start.elapsed().saturating_sub(PAUSE);
            if late >= NOTED_FROM {
                self.0.lock().unwrap_or_else(PoisonError::into_inner).push((Instant::now(), late));
            }
        }
    }

    /// How long it stood still since then.
    pub(super) fn since(&self, start: Instant) -> Duration {
        let stalls = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        stalls.iter().filter(|(end, _)| *end >= start).map(|(_, late)| *late).sum()
    }
}
