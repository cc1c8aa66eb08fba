//! A curve, made up: how its way up ends early, and what cannot be timed.

use std::path::Path;
use std::sync::atomic::AtomicU64;

use sys::clock::Clock;
use workload::{EarlyEnd, Expect, Operation, Slots, Trial, Workload};

const CURVE: Workload = Workload {
    name: "curve",
    operations: &[Operation::up("socket", Expect::Constant, "one socket(2)")],
    ..Workload::CURVE
};

#[test]
fn a_limit_shortens_the_trial_and_is_kept_as_a_result() {
    let n = 50;
    let numbers: Vec<AtomicU64> =
        (0..Slots::needed(CURVE.declaration(), n)).map(|_| AtomicU64::new(0)).collect();
    let slots = Slots::new(CURVE.declaration(), n, &numbers);
    let clock = Clock::start();
    let mut trial = Trial::new(CURVE.declaration(), "", n, Path::new("/"), 7, &clock, slots);
    let made = trial
        .untimed("made up", |n| if n < 20 { Ok(n) } else { Err(std::io::ErrorKind::OutOfMemory.into()) });
    assert_eq!(made.expect("what was made").len(), 20);
    assert_eq!((trial.n(), slots.top()), (20, 20));
    assert!(
        matches!(trial.ended(), Some(EarlyEnd::Refused { n: 20, operation: "made up", .. })),
        "{:?}",
        trial.ended()
    );
}

#[test]
fn an_allowance_ends_the_way_up_early() {
    let n = 1000;
    let numbers: Vec<AtomicU64> =
        (0..Slots::needed(CURVE.declaration(), n)).map(|_| AtomicU64::new(0)).collect();
    let slots = Slots::new(CURVE.declaration(), n, &numbers);
    let clock = Clock::start();
    let mut trial = Trial::new(CURVE.declaration(), "", n, Path::new("/"), 7, &clock, slots);
    trial.allow((0.02 / clock.seconds_per_tick()) as u64);
    let pause = std::time::Duration::from_millis(1);
    let made = trial.timed("socket", |_| {
        std::thread::sleep(pause);
        Ok(())
    });
    let made = made.expect("what was made");
    assert!(made.len() < 25, "{}", made.len());
    assert!(matches!(trial.ended(), Some(EarlyEnd::Allowance { .. })));
}

#[test]
fn an_operation_that_no_curve_declares_cannot_be_timed() {
    let clock = Clock::start();
    let mut trial = Trial::new(
        CURVE.declaration(),
        "",
        3,
        Path::new("/"),
        7,
        &clock,
        Slots::new(CURVE.declaration(), 0, &[]),
    );
    let stop = trial.timed("invented", |_| Ok(())).expect_err("no such operation");
    assert!(stop.to_string().contains("invented"), "{stop}");
}
