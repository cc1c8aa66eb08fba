//! What hostile clients attack, and until when.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::soak::findings::Findings;
use crate::soak::site::Site;

/// A server under attack.
pub(in crate::soak) struct Battlefield<'a> {
    pub(in crate::soak) address: SocketAddr,
    pub(in crate::soak) site: &'a Site,
    pub(in crate::soak) findings: &'a Findings,
    pub(in crate::soak) is_over: &'a AtomicBool,
}

impl Battlefield<'_> {
    pub(super) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    /// Waits so long, unless the attack ends before.
    pub(super) fn rest(&self, time: Duration) {
        let end = Instant::now() + time;
        while !self.is_over() {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            std::thread::sleep(left.min(Duration::from_millis(20)));
        }
    }

    /// Whether a client is still to wait for what was promised until then.
    pub(super) fn is_wanted(&self, end: Instant) -> bool {
        !self.is_over() && Instant::now() < end
    }
}
