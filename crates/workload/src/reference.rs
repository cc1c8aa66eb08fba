//! Reference operations, which cannot depend on n: timed among those of a curve, and repeated for some
//! seconds to see how steady a machine is.
//!
//! Most noise of a shared machine is common to everything that runs at that moment. The part that a reference
//! shares with the operation under test is such noise, and statistics can remove it: control variates
//! (Lavenberg & Welch, Management Science 27, 1981). That works only at the scale of the noise, so references
//! are taken every few microseconds and not before and after a trial.
//!
//! A reference must be light, or it disturbs the measurement. A page fault on fresh memory is not light: the
//! next socket(2) took 1.33 times as long as the seven that followed (Linux 6.18), and 1.07 times after the
//! references below. The median of the eight does not move by a percent. Reads at random places of 8 MiB are
//! light, but varied by 7 to 28 % from trial to trial and had nothing in common with any of these operations.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use record::{Direction, Expect, Steadiness};
use sys::activity::{difference, snapshot};
use sys::clock::Clock;

use crate::definition::Operation;

/// References are taken once after so many operations under test.
pub const REFERENCE_STRIDE: usize = 8;

/// System calls that are timed together: one is only a few ticks of many clocks.
const CALLS: usize = 4;

/// How many references there are in one direction.
const COUNT: usize = 2;

/// The timed operations: on the way up, then the same on the way down.
pub(crate) const REFERENCES: &[Operation] = &[
    Operation::up("null-call", Expect::Constant, CALL),
    Operation::up("stat", Expect::Constant, STATUS),
    Operation::down("null-call", Expect::Constant, CALL),
    Operation::down("stat", Expect::Constant, STATUS),
];

const CALL: &str = "four getppid(2)";
const STATUS: &str = "one stat(2) of the scratch folder";

/// The references of one trial.
#[derive(Debug)]
pub(crate) struct References<'a> {
    path: sys::file::Path,
    columns: [&'a [AtomicU64]; 2 * COUNT],
}

impl<'a> References<'a> {
    /// Makes their objects; their values go to these columns, in the order of [`REFERENCES`].
    ///
    /// # Errors
    /// A path that the system cannot have.
    pub(crate) fn new(
        folder: &std::path::Path,
        column: impl Fn(usize) -> &'a [AtomicU64],
    ) -> io::Result<References<'a>> {
        let path = sys::file::Path::try_from(folder)?;
        Ok(References { path, columns: std::array::from_fn(column) })
    }

    /// Takes each of them once, and returns the time at the end. `row` counts the times of this direction.
    #[inline(never)]
    pub(crate) fn take(&self, clock: &Clock, direction: Direction, row: usize) -> u64 {
        let begun = clock.now();
        for _ in 0..CALLS {
            std::hint::black_box(sys::process::parent());
        }
        let called = clock.now();
        // Only the duration counts, even of a failure.
        let _ = sys::file::status(&self.path);
        let ended = clock.now();
        let columns = match direction {
            Direction::Up => &self.columns[..COUNT],
            Direction::Down => &self.columns[COUNT..],
        };
        let times = [called - begun, ended - called];
        for (column, ticks) in columns.iter().zip(times) {
            if let Some(slot) = column.get(row) {
                slot.store(ticks + 1, Ordering::Relaxed);
            }
        }
        clock.now()
    }
}

/// A sample takes at least so long: far above the tick of any clock, far below a time slice.
const SAMPLE: Duration = Duration::from_micros(20);
/// A sample above so many medians was interrupted.
const INTERRUPTED_FROM: f64 = 1.5;
/// Medians of so many periods are compared.
const PERIODS: usize = 20;
/// The slower and the faster periods are those beyond this share at each end: one may be chance.
const PERIODS_LEFT_OUT: usize = 2;

/// Repeats four getppid(2) for so long.
pub fn measure_steadiness(time: Duration) -> Steadiness {
    let clock = Clock::start();
    let per_tick = clock.seconds_per_tick();
    let ticks = |time: Duration| (time.as_secs_f64() / per_tick) as u64;
    let calls = calls_of_sample(&clock, ticks(SAMPLE));
    // Twice as many as fit if none is interrupted, touched before: no page fault comes between.
    let room = (2 * time.as_micros() / SAMPLE.as_micros()) as usize;
    let mut samples = vec![1_u64; room.max(PERIODS)];
    let before = snapshot();
    let begun = clock.now();
    let end = begun + ticks(time);
    let (mut last, mut count) = (begun, 0);
    while last < end && count < samples.len() {
        call(calls);
        let now = clock.now();
        samples[count] = now - last;
        (last, count) = (now, count + 1);
    }
    samples.truncate(count);
    let seconds = (last - begun) as f64 * per_tick;
    let counters = difference(&before, &snapshot());
    let share = |name: &str| counters.get(name).map(|value| (value / seconds).min(1.0));
    let median = median(&samples).max(1) as f64;
    let lost = |sample: u64| {
        let above = sample as f64 - median;
        if sample as f64 > INTERRUPTED_FROM * median { above } else { 0.0 }
    };
    let lost: Vec<f64> = samples.iter().map(|&sample| lost(sample)).collect();
    Steadiness {
        seconds,
        samples: count as u64,
        operation_seconds: median * per_tick / calls as f64,
        lost_share: (lost.iter().sum::<f64>() * per_tick / seconds).clamp(0.0, 1.0),
        drift_share: drift(&samples),
        longest_seconds: lost.iter().copied().fold(0.0, f64::max) * per_tick,
        // Of all processors: one of them is ours.
        steal_share: share("steal_seconds").map(|share| share / f64::from(processors())),
        waited_share: share("run_delay_seconds"),
        thermal_throttles: counters.get("thermal_throttles").map_or(0, |times| *times as u64),
    }
}

fn processors() -> u32 {
    let count = sys::cpu::topology().map(|topology| topology.cpus.len()).unwrap_or(1);
    u32::try_from(count.max(1)).unwrap_or(1)
}

fn call(times: u64) {
    for _ in 0..CALLS as u64 * times {
        std::hint::black_box(sys::process::parent());
    }
}

/// So many that a sample takes long enough, by the fastest of some attempts.
fn calls_of_sample(clock: &Clock, ticks: u64) -> u64 {
    const TRIED: u64 = 64;
    let attempt = |_| {
        let begun = clock.now();
        call(TRIED);
        (clock.now() - begun).max(1)
    };
    let fastest = (0..10).map(attempt).min().unwrap_or(1);
    (ticks * TRIED).div_ceil(fastest).max(1)
}

fn median(samples: &[u64]) -> u64 {
    let mut sorted = samples.to_vec();
    sorted.sort_unstable();
    sorted.get(sorted.len() / 2).copied().unwrap_or(0)
}

/// By how much the median of slower periods exceeds that of faster ones.
fn drift(samples: &[u64]) -> f64 {
    let period = samples.len() / PERIODS;
    if period == 0 {
        return 0.0;
    }
    let mut medians: Vec<u64> = samples.chunks_exact(period).map(median).collect();
    medians.sort_unstable();
    let slow = medians[medians.len() - 1 - PERIODS_LEFT_OUT];
    slow as f64 / medians[PERIODS_LEFT_OUT].max(1) as f64 - 1.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drift_is_that_of_periods_and_not_of_samples() {
        let steady: Vec<u64> = (0..2000).map(|i| if i % 10 == 0 { 900 } else { 100 }).collect();
        assert_eq!(drift(&steady), 0.0, "each period has its outliers");
        let slower: Vec<u64> = (0..2000).map(|i| if i < 1000 { 100 } else { 150 }).collect();
        assert!((drift(&slower) - 0.5).abs() < 1e-12);
        assert_eq!(drift(&[7; 3]), 0.0);
    }

    #[test]
    fn a_short_look_has_sane_values() {
        let steadiness = measure_steadiness(Duration::from_millis(30));
        assert!(steadiness.samples > 0 && steadiness.seconds >= 0.03, "{steadiness:?}");
        assert!((0.0..=1.0).contains(&steadiness.lost_share), "{steadiness:?}");
        assert!(steadiness.operation_seconds > 0.0 && steadiness.drift_share >= 0.0, "{steadiness:?}");
    }
}
