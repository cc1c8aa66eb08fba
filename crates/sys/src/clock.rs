//! The clock that times operations: the time stamp counter of the processor where it is reliable, otherwise
//! the monotonic clock of the system. Its tick and its own cost are measured, never assumed.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Shortest time over which the counter's rate is derived. Either end is known to half the width of its
/// [`Moment`]; where that is 50 ns, 10 ms bounds the error of the rate by 5 parts in a million.
const CALIBRATION: Duration = Duration::from_millis(10);

/// How often a moment is tried: an interruption between its readings widens one try, but rarely all.
const MOMENT_TRIES: u32 = 10;

/// No clock that can time anything steps more rarely.
const STEP_MAX: Duration = Duration::from_millis(50);

/// Most readings by which the clock itself is measured; so many of a clock that takes 20 ns pass in 0.2 ms.
const READINGS_MAX: usize = 10_001;

/// A clock that is slow to read gets fewer readings: as many as fit into this time, and at least some.
const READINGS_TIME: Duration = Duration::from_millis(10);
const READINGS_MIN: usize = 101;

/// A monotonic clock that counts ticks.
#[derive(Clone, Debug)]
pub struct Clock {
    counter: bool,
    anchor: Moment,
}

/// One moment by both clocks.
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

/// The resolution of a clock, and the cost of one reading.
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

    /// The clock's name in the record.
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

    /// Measures the clock itself over ten thousand readings, or over those of ten milliseconds.
    pub fn resolution(&self) -> Resolution {
        let per_tick = self.seconds_per_tick();
        let mut readings = vec![0_u64; READINGS_MIN];
        // The first readings warm the caches, and tell how long one takes.
        let cost = median(&self.steps(&mut readings)).max(1);
        let time = (READINGS_TIME.as_secs_f64() / per_tick) as u64;
        let count = usize::try_from(time / cost).unwrap_or(READINGS_MAX);
        readings.resize(count.clamp(READINGS_MIN, READINGS_MAX), 0);
        let steps = self.steps(&mut readings);
        Resolution {
            tick_seconds: tick(&steps) as f64 * per_tick,
            read_seconds: median(&steps) as f64 * per_tick,
            is_standing: steps.last() == Some(&0) && self.stands_for(STEP_MAX),
        }
    }

    /// The sorted differences of neighbouring readings.
    fn steps(&self, readings: &mut [u64]) -> Vec<u64> {
        readings.iter_mut().for_each(|reading| *reading = self.now());
        let mut steps: Vec<u64> = readings.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).collect();
        steps.sort_unstable();
        steps
    }
}

fn median(sorted: &[u64]) -> u64 {
    sorted[sorted.len() / 2]
}

/// The step of a clock from sorted differences of neighbouring readings. For a clock that stands still
/// between readings, the tick is the smallest step; for one that is finer than the time of a reading, the
/// tick is the smallest difference between steps.
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

/// Seconds since 1970, in UTC, some milliseconds late at most; cheap, for callers that need only a second.
#[inline]
pub fn unix_seconds() -> u64 {
    cfg_select! {
        any(target_os = "linux", target_os = "android") => {
            let now = reading::read(libc::CLOCK_REALTIME_COARSE);
            u64::try_from(now.tv_sec).unwrap_or_default()
        }
        target_os = "freebsd" => {
            let now = reading::read(libc::CLOCK_REALTIME_FAST);
            u64::try_from(now.tv_sec).unwrap_or_default()
        }
        _ => {
            let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
            since.unwrap_or_default().as_secs()
        }
    }
}

/// The time stamp counter of x86-64 (Intel SDM vol. 3, "Time-Stamp Counter"; AMD APM vol. 2, 13.2.4).
#[cfg(target_arch = "x86_64")]
mod counter {
    use core::arch::x86_64::{__cpuid, __rdtscp};

    pub(super) const NAME: &str = "tsc";

    /// CPUID leaf and bit that promise a rate which neither frequency nor sleep states change.
    const POWER_LEAF: u32 = 0x8000_0007;
    const INVARIANT_TSC: u32 = 1 << 8;
    const RDTSCP_LEAF: u32 = 0x8000_0001;
    const RDTSCP: u32 = 1 << 27;

    /// Whether the processor promises an invariant counter and the kernel, which watches it against other
    /// clocks, keeps time by it.
    pub(super) fn is_trustworthy() -> bool {
        let highest = __cpuid(0x8000_0000).eax;
        highest >= POWER_LEAF
            && __cpuid(POWER_LEAF).edx & INVARIANT_TSC != 0
            && __cpuid(RDTSCP_LEAF).edx & RDTSCP != 0
            && kernel_trusts_it()
    }

    #[cfg(target_os = "linux")]
    fn kernel_trusts_it() -> bool {
        std::fs::read_to_string("/sys/devices/system/clocksource/clocksource0/current_clocksource")
            .is_ok_and(|source| source.trim() == "tsc")
    }

    #[cfg(not(target_os = "linux"))]
    fn kernel_trusts_it() -> bool {
        true
    }

    /// RDTSCP waits until all earlier instructions have executed, so that nothing timed leaks past it.
    #[inline(always)]
    pub(super) fn read() -> u64 {
        let mut processor = 0;
        // SAFETY: RDTSCP exists, because `is_trustworthy` was checked before; it writes only `processor`.
        unsafe { __rdtscp(&mut processor) }
    }
}

/// Processors whose cycle counter is not read: the clock of the system is used.
#[cfg(not(target_arch = "x86_64"))]
mod counter {
    pub(super) const NAME: &str = "none";

    pub(super) fn is_trustworthy() -> bool {
        false
    }

    #[inline(always)]
    pub(super) fn read() -> u64 {
        0
    }
}

/// The clocks of Unix systems.
#[cfg(unix)]
pub(crate) mod reading {
    use std::mem::MaybeUninit;

    /// Reads one of the clocks that exist on every system that defines its name. See clock_gettime(3).
    ///
    /// It is the function of the C library. That of rustix assumes that the vDSO of a 64-bit Linux has one,
    /// and ends the process under User-mode Linux, which has an empty vDSO.
    #[inline(always)]
    pub(crate) fn read(clock: libc::clockid_t) -> libc::timespec {
        let mut time = MaybeUninit::<libc::timespec>::zeroed();
        // SAFETY: `time` is memory for one `timespec`, which the call writes.
        unsafe { libc::clock_gettime(clock, time.as_mut_ptr()) };
        // SAFETY: all zero, as it was before the call, is a valid `timespec` too: its parts are integers.
        unsafe { time.assume_init() }
    }

    /// In nanoseconds since its origin. Of a clock that stands before its origin, differences are right.
    #[inline(always)]
    pub(crate) fn read_ns(clock: libc::clockid_t) -> u64 {
        let time = read(clock);
        (time.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec as u64)
    }
}

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
