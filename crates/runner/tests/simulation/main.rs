//! Thousands of runs, each decided by its seed: trials that cost what they like, crash, hang and meet limits, disks
//! that fill up, interrupts at any moment, several systems. Everything between the plan and the record is the
//! program's own, with the real judge; only time, trials and the disk are simulated (`world.rs`). What every run
//! promises is in `promises.rs`.
//!
//! A seed that fails is printed, and `OSDYNO_SEED=1234 cargo test -p runner --test simulation` repeats that run
//! alone and prints its trials.
#![allow(clippy::unwrap_used, reason = "a panic is the failure of a test")]

mod disk;
mod promises;
mod scenario;
mod trials;
mod verdicts;
mod world;
mod written;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use scenario::Scenario;
use verdicts::Verdicts;
use world::{Fault, Simulation};

/// How many runs are simulated.
const SEEDS: u64 = 10_000;

/// A planted fault must show in one of so many runs.
const SEEDS_OF_FAULT: u64 = 300;

/// Repeats one run.
const SEED: &str = "OSDYNO_SEED";

/// What every run promises, and of all together: the verdicts on costs that are flat are wrong no more often than
/// they are allowed to be, whenever the run stopped and whatever was known by then.
#[test]
fn every_run_keeps_its_promises() {
    if let Ok(seed) = std::env::var(SEED) {
        return repeat(seed.parse().unwrap_or_else(|_| panic!("{SEED} is a number, not {seed:?}")));
    }
    let (next, together) = (AtomicU64::new(0), Mutex::new((Verdicts::default(), Vec::new())));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let (mut verdicts, mut broken) = (Verdicts::default(), Vec::new());
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= SEEDS {
                        break;
                    }
                    match attempt(seed, Fault::None) {
                        Ok(found) => verdicts.add(&found),
                        Err(promise) => broken.push((seed, promise)),
                    }
                }
                let mut together = together.lock().unwrap();
                together.0.add(&verdicts);
                together.1.append(&mut broken);
            });
        }
    });
    let (verdicts, mut broken) = together.into_inner().unwrap();
    broken.sort_unstable();
    let first: Vec<String> =
        broken.iter().take(10).map(|(seed, text)| format!("{SEED}={seed}: {text}")).collect();
    assert!(broken.is_empty(), "{} of {SEEDS} runs broke a promise:\n{}", broken.len(), first.join("\n"));
    println!("{SEEDS} runs: {verdicts:?}");
    verdicts.are_wrong_no_more_often_than_allowed();
}

/// A clock that goes at half its speed: the run believes that it has time, and overruns its budget.
#[test]
fn a_budget_that_is_overrun_is_found() {
    finds(Fault::SlowClock, "budget");
}

/// A system that reports every seventh trial twice, as a careless agent would.
#[test]
fn a_trial_that_is_recorded_twice_is_found() {
    finds(Fault::ReportedTwice, "recorded once");
}

/// A system that reports that a trial has ended, and nothing of the trial.
#[test]
fn a_trial_that_is_lost_is_found() {
    finds(Fault::Lost, "recorded once");
}

/// A disk that says that all is written, and has left out a byte.
#[test]
fn a_disk_that_loses_what_it_took_is_found() {
    finds(Fault::ForgetfulDisk, "recorded once");
}

/// A clock that leaps whenever the first item of the plan has been measured: the run takes that item for the most
/// expensive of all, and leaves it behind items that cost more.
#[test]
fn an_item_that_is_starved_is_found() {
    finds(Fault::BlamedItem, "starved");
}

/// A system that makes other random choices than the one it is paired with.
#[test]
fn a_pair_that_is_none_is_found() {
    finds(Fault::OtherSeed, "pair");
}

/// The fault breaks this promise in some run that keeps it without the fault.
fn finds(fault: Fault, promise: &str) {
    let is_broken = |seed: &u64| attempt(*seed, fault).is_err_and(|text| text.starts_with(promise));
    let found = (0..SEEDS_OF_FAULT).find(is_broken);
    let seed = found.unwrap_or_else(|| panic!("{fault:?} was not found in {SEEDS_OF_FAULT} runs"));
    assert_eq!(attempt(seed, Fault::None).err(), None, "{SEED}={seed} without the fault");
}

/// Simulates one run; the promise that it broke, or what its verdicts are.
fn attempt(seed: u64, fault: Fault) -> Result<Verdicts, String> {
    let simulated = catch_unwind(AssertUnwindSafe(|| Simulation::of(Scenario::of(seed), fault)));
    let simulation = simulated.map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        format!("panic: {}", text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("of unknown kind"))
    })?;
    promises::check(&simulation)?;
    Ok(simulation.ran.as_ref().map_or_else(|_| Verdicts::default(), |ran| Verdicts::of(&simulation, ran)))
}

/// Simulates one run and prints it.
fn repeat(seed: u64) {
    let simulation = Simulation::of(Scenario::of(seed), Fault::None);
    println!("{:#?}", simulation.world.scenario);
    for trial in simulation.world.trials.borrow().iter() {
        println!("{trial}");
    }
    let ended = simulation.ran.as_ref().map(|ran| ran.recording.end.clone());
    println!("{ended:?}, interrupted: {}", simulation.world.is_interrupted());
    assert_eq!(promises::check(&simulation).err(), None, "{SEED}={seed}");
}
