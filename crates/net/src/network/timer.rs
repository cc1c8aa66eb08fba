//! Nanoseconds since the start, by the clock that times operations: one reading takes about 20 ns.

use sys::clock::Clock;

/// A clock that counts nanoseconds from its own start.
#[derive(Clone, Debug)]
pub struct Timer {
    clock: Clock,
    start_ticks: u64,
    /// Nanoseconds in a tick, in units of 2^-32.
    scale: u64,
}

impl Timer {
    /// Starts counting. Takes 10 ms where the rate of the processor's counter must be found out.
    pub fn start() -> Timer {
        let clock = Clock::start();
        let scale = (clock.seconds_per_tick() * 1e9 * (1_u64 << 32) as f64) as u64;
        let start_ticks = clock.now();
        Timer { clock, start_ticks, scale }
    }

    /// Nanoseconds since the start.
    #[inline(always)]
    pub fn now_ns(&self) -> u64 {
        // A counter that another processor reads a little behind must not wrap around.
        let ticks = self.clock.now().saturating_sub(self.start_ticks);
        ((u128::from(ticks) * u128::from(self.scale)) >> 32) as u64
    }
}
