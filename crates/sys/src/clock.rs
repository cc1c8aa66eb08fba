//! The clock that times operations: the time stamp counter of the processor where it is reliable, otherwise
//! the monotonic clock of the system. Its tick and its own cost are measured, never assumed.

mod calendar;
#[cfg(target_arch = "x86_64")]
#[path = "tsc.rs"]
mod counter;
#[cfg(not(target_arch = "x86_64"))]
#[path = "no_counter.rs"]
mod counter;
#[cfg(unix)]
pub(crate) mod reading;

use std::sync::OnceLock;
use std::time::{Duration, Instant};

pub use calendar::unix_seconds;

/// Shortest time over which the counter's rate is derived. Either end is known to half the width of its
/// [`Moment`]; where that is 50 ns, 10 ms bounds the error of the rate by 5 parts in a million.
const CALIBRATION: Duration = Duration::from_millis(10);

/// How often a moment is tried: an interruption between its readings widens one try, hardly all.
const MOMENT_TRIES: u32 = 10;

/// No clock that can time anything steps more rarely.
const STEP_MAX: Duration = Duration::from_millis(50);

/// A monotonic clock that counts ticks.
#[derive(Clone, Debug)]
pub struct Clock {
    counter: bool,
    anchor: Moment,
}

/// A moment as both clocks have it.
#[derive(Clone, Copy, Debug)]
struct Moment {
    /// Midway between the readings right before and right after the system's clock was read.
    ticks: u64,
    /// How far these two are apart.
    width: u64,
    instant: Instant,
}

impl Moment {
    /// The narrowest of ten tries.
    fn now(mut ticks: impl FnMut() -> u64) -> Moment {
        let mut one = || {
            let before = ticks();
            let instant = Instant::now();
            let width = ticks().saturating_sub(before);
            Moment { ticks: before + width / 2, width, instant }
        };
        let first = one();
        let narrower = |best: Moment, next: Moment| if next.width < best.width { next } else { best };
        (1..MOMENT_TRIES).map(|_| one()).fold(first, narrower)
    }
}

/// What a clock can resolve, and what it costs to ask it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Resolution {
    /// Smallest step between readings.
    pub tick_seconds: f64,
    /// Median time from one reading to the next.
    pub read_seconds: f64,
    /// It does not step at all.
    pub is_standing: bool,
}

impl Clock {
    /// The best clock of this machine.
    pub fn start() -> Clock {
        let counter = counter::is_trustworthy();
        Clock { counter, anchor: Moment::now(|| ticks(counter)) }
    }

    /// The clock's name, as the record has it.
    pub fn source(&self) -> &'static str {
        if self.counter { counter::NAME } else { "monotonic" }
    }

    /// The present time in ticks. Everything before it in program order has happened.
    #[inline(always)]
    pub fn now(&self) -> u64 {
        ticks(self.counter)
    }

    /// Length of a tick. Where the rate must be derived this takes until 10 ms after the start.
    pub fn seconds_per_tick(&self) -> f64 {
        if !self.counter {
            return 1e-9;
        }
        if let Some(missing) = CALIBRATION.checked_sub(self.anchor.instant.elapsed()) {
            std::thread::sleep(missing);
        }
        let end = Moment::now(|| self.now());
        let seconds = end.instant.duration_since(self.anchor.instant).as_secs_f64();
        seconds / (end.ticks - self.anchor.ticks) as f64
    }

    /// The present time in ticks, and by another clock, as close to each other as ten tries bring them.
    pub fn beside(&self, mut other: impl FnMut() -> u64) -> (u64, u64) {
        let mut one = || {
            let before = self.now();
            let other = other();
            let width = self.now().saturating_sub(before);
            (width, (before + width / 2, other))
        };
        let tries = (0..MOMENT_TRIES).map(|_| one());
        tries.min_by_key(|&(width, _)| width).map_or((0, 0), |(_, both)| both)
    }

    /// Whether it shows the same after this time, which the system measures in another way.
    fn stands_for(&self, time: Duration) -> bool {
        let before = self.now();
        std::thread::sleep(time);
        self.now() == before
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
            is_standing: steps.last() == Some(&0) && self.stands_for(STEP_MAX),
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
fn ticks(counter: bool) -> u64 {
    if counter { counter::read() } else { monotonic_ns() }
}

#[inline(always)]
fn monotonic_ns() -> u64 {
    #[cfg(unix)]
    {
        reading::read_ns(libc::CLOCK_MONOTONIC)
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
    fn of_ten_tries_the_narrowest_moment_is_kept() {
        let widths = [900, 40, 700, 41, 90, 90, 90, 90, 90, 90];
        let mut readings = widths.iter().enumerate().flat_map(|(number, width)| {
            let before = 1000 * number as u64;
            [before, before + width]
        });
        let moment = Moment::now(|| readings.next().unwrap());
        assert_eq!((moment.ticks, moment.width), (1020, 40));
        assert_eq!(readings.next(), None);
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
