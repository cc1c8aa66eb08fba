//! Every workload, in every variant, really runs: tiny, in this process, with all its checks. Those of servers
//! do so in the tests of the trial program, which they start again.

use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, MutexGuard, PoisonError};

use curve::{Curve, Direction, Ended, Group, Linkage, Sizes, Slots, Trial};
use sys::clock::Clock;

/// A trial has its process to itself, and so its lowest descriptor: tests that open any take turns.
fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The workloads that need no other program.
fn alone() -> impl Iterator<Item = &'static Curve> {
    curve::ALL.iter().copied().filter(|curve| curve.group == Group::Kernel)
}

/// Runs the curve to `n` and returns the top of the way up and, per timed operation, how many values it made.
fn run(curve: &'static Curve, variant: &str, n: u64) -> Result<(u64, Vec<usize>), String> {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let numbers: Vec<AtomicU64> = (0..Slots::needed(curve, n)).map(|_| AtomicU64::new(0)).collect();
    let slots = Slots::new(curve, &numbers);
    let clock = Clock::start();
    let mut trial = Trial::new(curve, variant, n, scratch.path(), 7, &clock, slots);
    curve.run.map_err(str::to_owned)?(&mut trial).map_err(|stop| stop.to_string())?;
    if let Some(Ended::Refused { operation, error, .. }) = trial.ended() {
        return Err(format!("{operation}: {error}"));
    }
    for check in trial.checks() {
        assert!(check.held, "{} {variant}, n = {n}: not so: {}", curve.name, check.claim);
    }
    let counts = curve.measured().enumerate().map(|(index, _)| slots.ticks(index).count()).collect();
    Ok((slots.top(), counts))
}

#[test]
fn every_workload_measures_every_n_up_and_down() {
    let _turn = turn();
    for curve in alone() {
        for variant in curve.variants {
            for n in [1, 2, 3, 4, 57] {
                match run(curve, variant.name, n) {
                    Ok((top, counts)) => {
                        assert_eq!(top, n, "{}/{}", curve.name, variant.name);
                        let all_n = vec![n as usize; curve.measured().count()];
                        assert_eq!(counts, all_n, "{}/{}", curve.name, variant.name);
                    }
                    // A system without IPv6, say.
                    Err(reason) if !reason.is_empty() => {
                        println!("{}/{}: {reason}", curve.name, variant.name)
                    }
                    Err(_) => panic!("{}/{} is unsupported without a reason", curve.name, variant.name),
                }
            }
        }
    }
}

#[test]
fn on_linux_nothing_is_unsupported() {
    let _turn = turn();
    if cfg!(target_os = "linux") {
        assert!(curve::ALL.iter().all(|curve| curve.run.is_ok()));
        for curve in alone() {
            let variant = curve.variants.first().expect("a variant").name;
            run(curve, variant, 3).unwrap_or_else(|reason| panic!("{}: {reason}", curve.name));
        }
    }
}

#[test]
fn a_limit_shortens_the_trial_and_is_kept_as_a_result() {
    let _turn = turn();
    let curve = curve::find("socket").expect("socket");
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let n = 50;
    let numbers: Vec<AtomicU64> = (0..Slots::needed(curve, n)).map(|_| AtomicU64::new(0)).collect();
    let slots = Slots::new(curve, &numbers);
    let clock = Clock::start();
    let mut trial = Trial::new(curve, "v4", n, scratch.path(), 7, &clock, slots);
    let made = trial
        .untimed("made up", |n| if n < 20 { Ok(n) } else { Err(std::io::ErrorKind::OutOfMemory.into()) });
    assert_eq!(made.expect("what was made").len(), 20);
    assert_eq!((trial.n(), slots.top()), (20, 20));
    assert!(
        matches!(trial.ended(), Some(Ended::Refused { n: 20, operation: "made up", .. })),
        "{:?}",
        trial.ended()
    );
}

#[test]
fn an_allowance_ends_the_way_up_early() {
    let _turn = turn();
    let curve = curve::find("socket").expect("socket");
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let n = 1000;
    let numbers: Vec<AtomicU64> = (0..Slots::needed(curve, n)).map(|_| AtomicU64::new(0)).collect();
    let slots = Slots::new(curve, &numbers);
    let clock = Clock::start();
    let mut trial = Trial::new(curve, "v4", n, scratch.path(), 7, &clock, slots);
    trial.allow((0.02 / clock.seconds_per_tick()) as u64);
    let pause = std::time::Duration::from_millis(1);
    let made = trial.timed("socket", |_| {
        std::thread::sleep(pause);
        Ok(())
    });
    let made = made.expect("what was made");
    assert!(made.len() < 25, "{}", made.len());
    assert!(matches!(trial.ended(), Some(Ended::Allowance { .. })));
}

#[test]
fn an_operation_that_no_curve_declares_cannot_be_timed() {
    let _turn = turn();
    let curve = curve::find("noop").expect("noop");
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let clock = Clock::start();
    let mut trial = Trial::new(curve, "", 3, scratch.path(), 7, &clock, Slots::new(curve, &[]));
    let stop = trial.timed("invented", |_| Ok(())).expect_err("no such operation");
    assert!(stop.to_string().contains("invented"), "{stop}");
}

#[test]
fn every_page_asks_says_how_and_predicts() {
    for curve in curve::ALL {
        let page = curve.page();
        for part in ["**Question.**", "**Method.**", "**Expected answer.**"] {
            assert!(page.contains(part), "{} has no {part}", curve.name);
        }
        assert!(!curve.summary().is_empty() && curve.summary().len() < 90, "{}", curve.summary());
        assert!(curve.classic_n > 0 && curve.version > 0 && !curve.variants.is_empty());
    }
}

#[test]
fn every_way_up_is_followed_by_a_way_down_where_objects_pile_up() {
    let piles_up = |curve: &&&Curve| matches!(curve.sizes, Sizes::Every) && curve.grows != "repetitions";
    for curve in curve::ALL.iter().filter(piles_up) {
        assert!(curve.measured().any(|operation| operation.direction == Direction::Down), "{}", curve.name);
    }
}

#[test]
fn levels_rise_to_the_top_and_only_there_something_is_told() {
    for curve in curve::ALL {
        for operation in curve.measured() {
            let is_level = matches!(curve.sizes, Sizes::Levels(_));
            assert_eq!(operation.told, is_level, "{} {}", curve.name, operation.name);
        }
        for n in [1, 2, 3, 8, 1000, 4711] {
            let levels = curve.sizes.list(n);
            assert_eq!(levels.len(), curve.sizes.count(n));
            assert!(levels.is_sorted_by(|a, b| a < b) && levels.last() <= Some(&n), "{} {n}", curve.name);
        }
    }
}

#[test]
fn names_are_unique_and_sums_name_what_is_timed() {
    for curve in curve::ALL {
        assert_eq!(curve::ALL.iter().filter(|other| other.name == curve.name).count(), 1, "{}", curve.name);
        for operation in curve.operations {
            let same = curve.operations.iter().filter(|other| other.name == operation.name).count();
            assert_eq!(same, 1, "{} {}", curve.name, operation.name);
            assert!(operation.sum_of.iter().all(|part| curve.measured().any(|timed| timed.name == *part)));
        }
    }
    assert_eq!(curve::find("fork-static").map(|curve| curve.linkage), Some(Linkage::Static));
}
