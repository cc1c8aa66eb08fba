//! Thousands of runs, each decided by its seed: trials of any cost that crash, hang and meet limits, disks
//! that fill up, interrupts at any moment, several systems. Everything between the plan and the record is the
//! program's own, with the real judge; only time, trials and the disk are simulated (`world.rs`). The
//! promises of every run are in `promises.rs`.
//!
//! A seed that fails is printed, and `OSDYNO_SEED=1234 cargo test -p runner --test it simulation` repeats that run
//! alone and prints its trials.

mod disk;
mod fleet;
mod judged;
mod promises;
mod scenario;
mod trials;
mod verdicts;
mod world;
mod written;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::time::Duration;

use record::Outcome;
use scenario::{Fate, LEVELS, N, Scenario};
use verdicts::Verdicts;
use world::{Fault, Simulation};

/// A planted fault must show in one of so many runs.
const SEEDS_OF_FAULT: u64 = 300;

/// Orders in which the first trials of loads may come.
const SEEDS_OF_LOADS: u64 = 20;

/// Checks the promises of every run, and of all together that verdicts on flat costs are wrong no more often
/// than allowed, wherever the run stopped.
#[test]
fn every_run_keeps_its_promises() {
    if let Some(seed) = crate::seeds::repeated() {
        return repeat(seed);
    }
    let verdicts = Mutex::new(Verdicts::default());
    crate::seeds::every(|seed| match attempt(seed, Fault::None) {
        Ok(found) => {
            verdicts.lock().unwrap().add(&found);
            Vec::new()
        }
        Err(promise) => vec![promise],
    });
    let verdicts = verdicts.into_inner().unwrap();
    println!("{verdicts:?}");
    verdicts.are_wrong_no_more_often_than_allowed();
}

/// On a machine so busy that a first trial has no time for all levels, the highest is measured all the same,
/// in all trials and on all systems, because it was requested. Levels in between are left out.
#[test]
fn a_slow_load_keeps_its_highest_level() {
    let simulation = Simulation::new(Scenario::of_load([Fate::LeavesOut, Fate::Healthy]), Fault::None);
    assert_eq!(promises::check(&simulation).err(), None);
    let ends = [LEVELS[0], N];
    assert_eq!(held(&simulation, "system0", "first"), [&ends[..]; 4]);
    // The first trial there came before or after that of the other system.
    assert_eq!(held(&simulation, "system1", "first")[1..], [&ends[..]; 3]);
    for system in ["system0", "system1"] {
        assert_eq!(held(&simulation, system, "second"), [&LEVELS[..]; 4]);
    }
}

/// A first trial that is killed at the highest level: the others go as far as it came.
#[test]
fn a_load_that_is_too_slow_for_its_highest_level_goes_as_far_as_it_can() {
    let simulation = Simulation::new(Scenario::of_load([Fate::TooSlow, Fate::Healthy]), Fault::None);
    assert_eq!(promises::check(&simulation).err(), None);
    assert_eq!(held(&simulation, "system0", "first"), [&LEVELS[..1]; 4]);
    assert_eq!(held(&simulation, "system1", "first")[1..], [&LEVELS[..1]; 3]);
    assert_eq!(held(&simulation, "system1", "second"), [&LEVELS[..]; 4]);
}

/// Where the first trials of all loads would take many times the budget, each item is measured within it, as far
/// as its share of the time lasts.
#[test]
fn on_a_slow_system_each_item_is_measured_within_the_budget() {
    let budget = Duration::from_secs(48);
    for seed in 0..SEEDS_OF_LOADS {
        let scenario = Scenario::of_slow_system(budget, seed, [60.0, 40.0, 120.0, 60.0, 25.0, 100.0]);
        let items = scenario.plan.items.len();
        let simulation = Simulation::new(scenario, Fault::None);
        assert_eq!(promises::check(&simulation).err(), None, "seed {seed}");
        let trials = &simulation.ran.as_ref().unwrap().recording.trials;
        let first: Vec<_> = trials.iter().filter(|trial| trial.order.trial == 1).collect();
        assert_eq!(first.len(), items, "seed {seed}");
        // Curves come first, so that the rest of the budget is known.
        let kinds: Vec<&str> = first.iter().map(|trial| trial.order.workload.as_str()).collect();
        assert!(kinds[..2].iter().all(|&name| name != "load"), "{kinds:?}");
        let elapsed = simulation.ended() - simulation.begun;
        assert!(elapsed <= budget, "seed {seed}: {elapsed:?}");
    }
}

/// One load that is expensive by itself among others that are not goes as far as it would alone.
#[test]
fn an_expensive_load_among_cheap_ones_is_not_cut() {
    for seed in 0..SEEDS_OF_LOADS {
        let rivals = [0.7, 0.5, 7.0, 1.0, 4.0, 0.7];
        let scenario = Scenario::of_slow_system(Duration::from_secs(48), seed, rivals);
        let simulation = Simulation::new(scenario, Fault::None);
        assert_eq!(promises::check(&simulation).err(), None, "seed {seed}");
        let trials = &simulation.ran.as_ref().unwrap().recording.trials;
        assert!(trials.iter().all(|trial| trial.outcome == Outcome::Complete), "seed {seed}");
    }
}

/// The levels that the trials of a variant have measured on a system.
fn held(simulation: &Simulation, system: &str, variant: &str) -> Vec<Vec<u64>> {
    let series = simulation.ran.as_ref().unwrap().recording.series();
    let is_its = |(key, _): &(&record::SeriesKey, &[record::Series])| {
        (key.system.as_str(), key.variant.as_str()) == (system, variant)
    };
    let (_, trials) = series.into_iter().find(is_its).unwrap();
    trials.iter().map(|series| series.sizes.clone()).collect()
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

/// A disk that reports success, and has left out a byte.
#[test]
fn a_disk_that_loses_what_it_took_is_found() {
    finds(Fault::ForgetfulDisk, "recorded once");
}

/// A clock that leaps after each trial of the first item of the plan: the run counts that item as the most
/// expensive, and measures it after items that cost more.
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
    assert_eq!(attempt(seed, Fault::None).err(), None, "seed {seed} without the fault");
}

/// Simulates one run; returns the promise that it broke, or its verdicts.
fn attempt(seed: u64, fault: Fault) -> Result<Verdicts, String> {
    let simulated = catch_unwind(AssertUnwindSafe(|| Simulation::new(Scenario::from_seed(seed), fault)));
    let simulation = simulated.map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        format!("panic: {}", text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("of unknown kind"))
    })?;
    promises::check(&simulation)?;
    Ok(simulation.ran.as_ref().map_or_else(|_| Verdicts::default(), |ran| Verdicts::new(&simulation, ran)))
}

/// Simulates one run and prints it.
fn repeat(seed: u64) {
    let simulation = Simulation::new(Scenario::from_seed(seed), Fault::None);
    println!("{:#?}", simulation.world.scenario);
    for trial in simulation.world.trials.borrow().iter() {
        println!("{trial}");
    }
    let ended = simulation.ran.as_ref().map(|ran| ran.recording.end.clone());
    println!("{ended:?}, interrupted: {}", simulation.world.is_interrupted());
    assert_eq!(promises::check(&simulation).err(), None, "seed {seed}");
}
