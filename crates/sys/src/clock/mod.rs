//! The clock that times operations: the processor's time stamp counter where it can be trusted, the
//! system's monotonic clock elsewhere. Its tick and its own cost are measured, never assumed.

#[cfg(target_arch = "x86_64")]
#[path = "tsc.rs"]
mod counter;
#[cfg(not(target_arch = "x86_64"))]
#[path = "no_counter.rs"]
mod counter;

use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Shortest time over which the counter's rate is derived. Both clocks are read within about 50 ns of
/// each other, so 10 ms bounds the rate's error by 10 parts in a million.
const CALIBRATION: Duration = Duration::from_millis(10);

/// A monotonic clock that counts ticks.
#[derive(Clone, Debug)]
pub struct Clock {
    counter: bool,
    anchor_ticks: u64,
    anchor: Instant,
}

/// What a clock can resolve, and what it costs to ask it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Resolution {
    /// Smallest step between readings.
    pub tick_seconds: f64,
    /// Median time from one reading to the next.
    pub read_seconds: f64,
}

impl Clock {
    /// The best clock of this machine.
    pub fn start() -> Clock {
        let counter = counter::is_trustworthy();
        let mut clock = Clock { counter, anchor_ticks: 0, anchor: Instant::now() };
        clock.anchor_ticks = clock.now();
        clock
    }

    /// The clock's name, as the record has it.
    pub fn source(&self) -> &'static str {
        if self.counter { counter::NAME } else { "monotonic" }
    }

    /// The present time in ticks. Everything before it in program order has happened.
    #[inline(always)]
    pub fn now(&self) -> u64 {
        if self.counter { counter::read() } else { monotonic_ns() }
    }

    /// Length of a tick. Where the rate must be derived this takes until 10 ms after the start.
    pub fn seconds_per_tick(&self) -> f64 {
        if !self.counter {
            return 1e-9;
        }
        if let Some(missing) = CALIBRATION.checked_sub(self.anchor.elapsed()) {
            std::thread::sleep(missing);
        }
        let ticks = self.now() - self.anchor_ticks;
        self.anchor.elapsed().as_secs_f64() / ticks as f64
    }

    /// Measures the clock itself over ten thousand readings.
    pub fn resolution(&self) -> Resolution {
        let mut readings = vec![0_u64; 10_001];
        // Twice, so that the second pass meets warm caches and touched pages.
        for _ in 0..2 {
            for reading in &mut readings {
                *reading = self.now();
            }
        }
        let mut steps: Vec<u64> = readings.windows(2).map(|pair| pair[1] - pair[0]).collect();
        steps.sort_unstable();
        let per_tick = self.seconds_per_tick();
        Resolution {
            tick_seconds: tick(&steps) as f64 * per_tick,
            read_seconds: steps[steps.len() / 2] as f64 * per_tick,
        }
    }
}

/// The step of a clock from sorted differences of neighbouring readings. A clock that stands still
/// between readings shows its tick as the smallest step; one that is finer than a reading takes shows
/// it as the smallest difference between steps.
fn tick(sorted_steps: &[u64]) -> u64 {
    let smallest = |values: &mut dyn Iterator<Item = u64>| values.filter(|&value| value > 0).min();
    let standing_still = sorted_steps.first() == Some(&0);
    let found = if standing_still {
        smallest(&mut sorted_steps.iter().copied())
    } else {
        smallest(&mut sorted_steps.windows(2).map(|pair| pair[1] - pair[0]))
    };
    found.unwrap_or(1)
}

#[inline(always)]
fn monotonic_ns() -> u64 {
    #[cfg(unix)]
    {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
    }
    #[cfg(not(unix))]
    {
        ORIGIN.get_or_init(Instant::now).elapsed().as_nanos() as u64
    }
}

/// Where the system's clock has no readable origin, time counts from the first reading.
#[cfg_attr(unix, allow(dead_code))]
static ORIGIN: OnceLock<Instant> = OnceLock::new();

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_passes_at_the_rate_of_the_system_clock() {
        let clock = Clock::start();
        let (ticks, instant) = (clock.now(), Instant::now());
        std::thread::sleep(Duration::from_millis(30));
        let by_ticks = (clock.now() - ticks) as f64 * clock.seconds_per_tick();
        let by_system = instant.elapsed().as_secs_f64();
        assert!((by_ticks / by_system - 1.0).abs() < 0.01, "{by_ticks} against {by_system}");
    }

    #[test]
    fn resolution_is_finer_than_a_microsecond() {
        let resolution = Clock::start().resolution();
        assert!(resolution.tick_seconds > 0.0 && resolution.tick_seconds < 1e-6, "{resolution:?}");
        assert!(resolution.read_seconds > 0.0 && resolution.read_seconds < 1e-5, "{resolution:?}");
    }

    #[test]
    fn ticks_are_told_from_steps() {
        assert_eq!(tick(&[0, 0, 41, 41, 83]), 41);
        assert_eq!(tick(&[50, 50, 52, 54]), 2);
        assert_eq!(tick(&[7, 7, 7]), 1);
    }
}
