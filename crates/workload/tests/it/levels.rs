//! A tiny made-up load: the values of each level, and the rest when it ends early.

use std::io;
use std::path::Path;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use sys::clock::Clock;
use workload::{
    EarlyEnd, Expect, LevelRecorder, Operation, Server, Slots, Trial, TrialError, Unit, Workload,
};

const LOAD: Workload = Workload {
    name: "load",
    operations: &[
        Operation::reported("throughput", Unit::PerSecond, Expect::Constant, "responses"),
        Operation::reported("p99", Unit::Seconds, Expect::Constant, "latency of the slowest in a hundred"),
        Operation::up("connect", Expect::Constant, "timed, so never reported"),
    ],
    ..Workload::LOAD
};

/// The numbers of a trial to `n`.
fn numbers(n: u64) -> Vec<AtomicU64> {
    (0..Slots::needed(&LOAD, n)).map(|_| AtomicU64::new(0)).collect()
}

/// The results of a load.
struct Left {
    n: usize,
    top: u64,
    throughput: Vec<(usize, f64)>,
    p99: Vec<(usize, f64)>,
    ended: Option<String>,
    checks: Vec<(String, bool)>,
    warnings: Vec<String>,
    stopped: Option<String>,
}

/// Runs the load to 10, which is at 1, 2, 5 and 10.
fn run(measure: impl FnMut(u64, &mut LevelRecorder<'_>) -> io::Result<()>) -> Left {
    let (numbers, clock) = (numbers(10), Clock::start());
    let slots = Slots::new(&LOAD, 10, &numbers);
    let mut trial = Trial::new(&LOAD, "", 10, Path::new("/"), 7, &clock, slots);
    let stopped = trial.at_levels(measure).err().map(|stop| stop.to_string());
    Left {
        n: trial.n(),
        top: slots.top(),
        throughput: slots.reported(0).collect(),
        p99: slots.reported(1).collect(),
        ended: trial.ended().map(|ended| format!("{ended:?}")),
        checks: trial.checks().iter().map(|check| (check.claim.clone(), check.held)).collect(),
        warnings: trial.warnings().to_vec(),
        stopped,
    }
}

#[test]
fn every_level_is_reported_in_turn() {
    let mut met = Vec::new();
    let left = run(|level, recorder| {
        met.push(level);
        recorder.value("throughput", 1000.0 * level as f64);
        recorder.value("p99", 0.0);
        Ok(())
    });
    assert_eq!(met, [1, 2, 5, 10]);
    assert_eq!(left.throughput, [(0, 1000.0), (1, 2000.0), (2, 5000.0), (3, 10_000.0)]);
    assert_eq!(left.p99, [(0, 0.0), (1, 0.0), (2, 0.0), (3, 0.0)], "nothing is a value like any other");
    assert_eq!((left.n, left.top, left.ended), (10, 10, None));
}

#[test]
fn what_is_no_number_leaves_a_gap_and_no_more() {
    let left = run(|level, recorder| {
        recorder.value("throughput", -0.0);
        recorder.value("p99", if level == 2 { f64::NAN } else { f64::MAX });
        Ok(())
    });
    assert_eq!(left.p99, [(0, f64::MAX), (2, f64::MAX), (3, f64::MAX)]);
    assert_eq!(left.throughput.len(), 4);
    for nothing in [f64::INFINITY, f64::NEG_INFINITY, f64::from_bits(u64::MAX)] {
        let left = run(|_, recorder| {
            recorder.value("p99", nothing);
            Ok(())
        });
        assert!(left.p99.is_empty(), "{nothing}");
    }
}

#[test]
fn a_refusal_ends_it_and_what_was_measured_below_stands() {
    let left = run(|level, recorder| {
        recorder.doing("connect");
        recorder.value("throughput", 1.0);
        if level == 5 { Err(io::ErrorKind::ConnectionRefused.into()) } else { Ok(()) }
    });
    assert_eq!(left.throughput, [(0, 1.0), (1, 1.0)]);
    assert_eq!((left.n, left.top), (2, 2));
    let ended = left.ended.expect("an early end");
    assert!(ended.contains("Refused") && ended.contains("n: 5") && ended.contains("connect"), "{ended}");
}

#[test]
fn what_does_not_fit_into_the_allowance_is_left_out_but_never_the_last() {
    // No level fits into no time, and all into unlimited time.
    for (n, allowed, places) in [(10, 0, vec![0, 3]), (10, u64::MAX, vec![0, 1, 2, 3]), (1, 0, vec![0])] {
        let (numbers, clock) = (numbers(n), Clock::start());
        let slots = Slots::new(&LOAD, n, &numbers);
        let mut trial = Trial::new(&LOAD, "", n, Path::new("/"), 7, &clock, slots);
        trial.allow(allowed);
        let measured = trial.at_levels(|_, recorder| {
            recorder.value("throughput", 1.0);
            Ok(())
        });
        measured.expect("levels");
        assert_eq!(slots.reported(0).map(|(row, _)| row).collect::<Vec<_>>(), places);
        assert!(trial.ended().is_none() && trial.n() as u64 == n);
        let is_reported =
            trial.warnings().iter().any(|warning| warning.starts_with("The levels 2, 5 are left out"));
        assert_eq!(is_reported, (n, allowed) == (10, 0), "{:?}", trial.warnings());
    }
}

/// The first level is measured in any case; the next ones as long as they are likely to end in time.
#[test]
fn a_load_ends_where_its_time_ends() {
    let (numbers, clock) = (numbers(10), Clock::start());
    let slots = Slots::new(&LOAD, 10, &numbers);
    let mut trial = Trial::new(&LOAD, "", 10, Path::new("/"), 7, &clock, slots);
    trial.end_at(0);
    let measured = trial.at_levels(|_, recorder| {
        assert_eq!(recorder.time_left(), Duration::MAX);
        recorder.value("throughput", 1.0);
        Ok(())
    });
    measured.expect("levels");
    assert_eq!(slots.reported(0).collect::<Vec<_>>(), [(0, 1.0)]);
    assert!(matches!(trial.ended(), Some(EarlyEnd::Allowance { n: 1 })), "{:?}", trial.ended());
    assert_eq!((trial.n(), slots.top()), (1, 1));
}

/// The known duration of a level decides before it is measured.
#[test]
fn a_level_that_takes_longer_than_the_trial_does_not_count() {
    let (numbers, clock) = (numbers(10), Clock::start());
    let slots = Slots::new(&LOAD, 10, &numbers);
    let mut trial = Trial::new(&LOAD, "", 10, Path::new("/"), 7, &clock, slots);
    let hour = Duration::from_secs(3600);
    trial.end_at(clock.now() + (hour.as_secs_f64() / clock.seconds_per_tick()) as u64);
    let measured = trial.at_levels(|level, recorder| {
        recorder.value("throughput", 1.0);
        recorder.expect_time(hour / 2)?;
        if level == 5 { recorder.expect_time(hour * 2) } else { Ok(()) }
    });
    measured.expect("levels");
    assert_eq!(slots.reported(0).collect::<Vec<_>>(), [(0, 1.0), (1, 1.0)]);
    assert!(matches!(trial.ended(), Some(EarlyEnd::Allowance { n: 2 })), "{:?}", trial.ended());
}

/// All trials have time for the levels of the first.
#[test]
fn a_load_is_held_at_the_levels_that_are_given() {
    let (numbers, clock) = (numbers(10), Clock::start());
    let load = LOAD.at_levels(&[1, 10]);
    let slots = Slots::new(load, 10, &numbers);
    let mut trial = Trial::new(load, "", 10, Path::new("/"), 7, &clock, slots);
    let mut met = Vec::new();
    let measured = trial.at_levels(|level, _| {
        met.push(level);
        Ok(())
    });
    measured.expect("levels");
    assert_eq!((met, trial.n(), trial.warnings().len()), (vec![1, 10], 10, 0));
}

#[test]
fn a_crash_leaves_the_level_that_was_under_way_and_what_was_reported() {
    let (numbers, clock) = (numbers(10), Clock::start());
    let slots = Slots::new(&LOAD, 10, &numbers);
    let crash = std::panic::catch_unwind(|| {
        let mut trial = Trial::new(&LOAD, "", 10, Path::new("/"), 7, &clock, slots);
        trial.at_levels(|level, recorder| {
            recorder.value("throughput", 1.0);
            if level == 5 { std::panic::resume_unwind(Box::new(())) } else { Ok(()) }
        })
    });
    assert!(crash.is_err());
    assert_eq!((slots.top(), slots.reported(0).count()), (5, 3));
}

#[test]
fn what_was_not_declared_as_told_stops_the_trial() {
    for name in ["invented", "connect"] {
        let left = run(|_, recorder| {
            recorder.value(name, 1.0);
            Ok(())
        });
        assert!(left.stopped.is_some_and(|stopped| stopped.contains(name)));
    }
    let (numbers, clock) = (numbers(10), Clock::start());
    let mut trial = Trial::new(&LOAD, "", 10, Path::new("/"), 7, &clock, Slots::new(&LOAD, 10, &numbers));
    let timed: Result<Vec<()>, TrialError> = trial.timed("throughput", |_| Ok(()));
    assert!(timed.is_err(), "a reported value cannot be timed");
}

#[test]
fn the_same_claim_of_several_levels_is_one_and_holds_where_it_always_held() {
    let left = run(|level, recorder| {
        recorder.check("client and server agree", level != 2);
        recorder.check("every response is whole", true);
        recorder.warn("The generator was the limit.".to_owned());
        Ok(())
    });
    let claims = [("client and server agree", false), ("every response is whole", true)];
    assert_eq!(left.checks, claims.map(|(claim, held)| (claim.to_owned(), held)));
    assert_eq!(left.warnings, ["The generator was the limit."]);
}

#[test]
fn a_window_is_as_asked_or_fits_the_time_allowed() {
    let (numbers, clock) = (numbers(10), Clock::start());
    let slots = Slots::new(&LOAD, 10, &numbers);
    let trial = || Trial::new(&LOAD, "", 10, Path::new("/"), 7, &clock, slots);
    let allowed = |seconds: f64| {
        let mut trial = trial();
        trial.allow((seconds / clock.seconds_per_tick()) as u64);
        trial.window().as_secs_f64()
    };
    assert!((allowed(0.4) - 0.1).abs() < 1e-6, "four levels");
    assert_eq!((allowed(0.001), allowed(1000.0)), (0.02, 2.0));
    assert_eq!(trial().window(), Duration::from_millis(500));
    let mut wished = trial();
    wished.set_window(Duration::from_secs(7));
    assert_eq!(wished.window(), Duration::from_secs(7));
}

#[test]
fn a_rehearsal_is_one_small_level_and_short() {
    let n = workload::warm_up_n(10_000);
    let (numbers, clock) = (numbers(n), Clock::start());
    let slots = Slots::new(&LOAD, n, &numbers);
    let mut trial = Trial::new(&LOAD, "", n, Path::new("/"), 7, &clock, slots);
    trial.set_window(Duration::from_secs(7));
    trial.rehearse();
    assert_eq!((trial.levels(), trial.window()), (vec![8], Duration::from_millis(10)));
    trial.set_window(Duration::from_millis(1));
    assert_eq!(trial.window(), Duration::from_millis(1));
    let told = trial.at_levels(|level, recorder| {
        recorder.value("throughput", level as f64);
        Ok(())
    });
    told.expect("a level");
    assert_eq!(slots.reported(0).collect::<Vec<_>>(), [(0, 8.0)]);
}

#[test]
fn a_trial_knows_where_its_server_is() {
    let clock = Clock::start();
    let mut trial = Trial::new(&LOAD, "", 3, Path::new("/"), 7, &clock, Slots::new(&LOAD, 0, &[]));
    assert_eq!((trial.server(), trial.server_cpu(), trial.seed()), (None, None, 7));
    let server = Server { address: "10.0.0.2".to_owned(), prefix: Vec::new() };
    trial.set_server(Some(&server), Some(3));
    assert_eq!((trial.server(), trial.server_cpu()), (Some(&server), Some(3)));
}
