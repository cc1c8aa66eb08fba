//! Simulations in tests, by their seeds, on every processor. A seed that fails is printed; `OSDYNO_SEED=N`
//! repeats it alone, and `OSDYNO_SEEDS=N` changes how many there are. The tests of the runner
//! include this file.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Seeds of a test run; `cargo xtask verify` has more.
const SEEDS: u64 = 500;

/// Repeats one seed.
const SEED: &str = "OSDYNO_SEED";

/// The seed to repeat.
pub(crate) fn repeated() -> Option<u64> {
    number(SEED)
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

/// Simulates every seed, and fails with the first promises that were broken.
///
/// # Panics
/// When a promise was broken.
pub(crate) fn every(simulate: impl Fn(u64) -> Vec<String> + Sync) {
    let seeds = match repeated() {
        Some(seed) => seed..seed + 1,
        None => 0..number("OSDYNO_SEEDS").unwrap_or(SEEDS),
    };
    let (next, broken) = (AtomicU64::new(seeds.start), Mutex::new(Vec::new()));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds.end {
                        break;
                    }
                    let found = simulate(seed).into_iter().map(|text| (seed, text));
                    broken.lock().unwrap_or_else(PoisonError::into_inner).extend(found);
                }
            });
        }
    });
    let mut broken = broken.into_inner().unwrap_or_else(PoisonError::into_inner);
    broken.sort_unstable();
    let first: Vec<String> =
        broken.iter().take(10).map(|(seed, text)| format!("{SEED}={seed}: {text}")).collect();
    assert!(broken.is_empty(), "{} promises were broken:\n{}", broken.len(), first.join("\n"));
}
