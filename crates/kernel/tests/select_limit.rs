//! select(2) ends where descriptors reach `FD_SETSIZE`: a result with a reason, not a failure.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a panic is the failure of a test")]

use std::sync::atomic::AtomicU64;

use sys::clock::Clock;
use workload::{EarlyEnd, Slots, Trial};

#[test]
fn the_sweep_of_select_ends_at_its_limit() {
    sys::limit::raise_soft_to_hard().expect("limits");
    let workload = kernel::GROUP.find("ready").expect("ready");
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let numbers: Vec<AtomicU64> = (0..Slots::needed(workload, 1100)).map(|_| AtomicU64::new(0)).collect();
    let clock = Clock::start();
    let slots = Slots::new(workload, 1100, &numbers);
    let mut trial = Trial::new(workload, "select", 1100, scratch.path(), 7, &clock, slots);
    workload.run.expect("supported")(&mut trial).expect("no stop");
    let Some(EarlyEnd::Refused { n, operation: "add", error }) = trial.ended() else {
        panic!("{:?}", trial.ended());
    };
    assert!((900..1024).contains(n), "{n}");
    assert_eq!(sys::error::name(error), "FD_SETSIZE");
    assert!(sys::error::advice(error).contains("FD_SETSIZE"));
    assert!(trial.checks().iter().all(|check| check.held), "{:?}", trial.checks());
    let counts: Vec<u64> =
        workload.measured().enumerate().map(|(index, _)| slots.ticks(index).count() as u64).collect();
    assert_eq!(counts, [*n, *n, *n], "the measurements until then stay, and the way down too");
}
