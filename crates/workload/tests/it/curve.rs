//! A made-up curve: early ends of the way up, operations that cannot be timed, and helper processes.

use std::path::Path;
use std::sync::atomic::AtomicU64;

use sys::clock::Clock;
use workload::{EarlyEnd, Expect, Operation, Slots, Trial, Workload};

const CURVE: Workload = Workload {
    name: "curve",
    operations: &[
        Operation::up("socket", Expect::Constant, "one socket(2)"),
        Operation::down("close", Expect::Constant, "one close(2)"),
    ],
    ..Workload::CURVE
};

/// A trial of the curve to n, without a time limit, and where it measures.
fn with_trial(n: u64, test: impl FnOnce(Trial<'_>, Slots<'_>, &Clock)) {
    let numbers: Vec<AtomicU64> = (0..Slots::needed(&CURVE, n)).map(|_| AtomicU64::new(0)).collect();
    let slots = Slots::new(&CURVE, n, &numbers);
    let clock = Clock::start();
    test(Trial::new(&CURVE, "", n, Path::new("/"), 7, &clock, slots), slots, &clock);
}

#[test]
fn a_limit_shortens_the_trial_and_is_kept_as_a_result() {
    with_trial(50, |mut trial, slots, _| {
        let made = trial
            .untimed("made up", |n| if n < 20 { Ok(n) } else { Err(std::io::ErrorKind::OutOfMemory.into()) });
        assert_eq!(made.expect("what was made").len(), 20);
        assert_eq!((trial.n(), slots.top()), (20, 20));
        assert!(
            matches!(trial.ended(), Some(EarlyEnd::Refused { n: 20, operation: "made up", .. })),
            "{:?}",
            trial.ended()
        );
    });
}

#[test]
fn an_allowance_ends_the_way_up_early() {
    with_trial(1000, |mut trial, _, clock| {
        trial.allow((0.02 / clock.seconds_per_tick()) as u64);
        let pause = std::time::Duration::from_millis(1);
        let made = trial.timed("socket", |_| {
            std::thread::sleep(pause);
            Ok(())
        });
        let made = made.expect("what was made");
        assert!(made.len() < 25, "{}", made.len());
        assert!(matches!(trial.ended(), Some(EarlyEnd::Allowance { .. })));
    });
}

#[test]
fn what_there_was_no_time_to_prepare_is_not_measured() {
    with_trial(1000, |mut trial, slots, clock| {
        trial.allow((0.02 / clock.seconds_per_tick()) as u64);
        let mut parts = 0;
        let prepared = trial.prepare(|_| {
            parts += 1;
            std::thread::sleep(std::time::Duration::from_millis(1));
            Ok(())
        });
        prepared.expect("its parts");
        assert!((1..25).contains(&parts) && trial.n() == parts, "{parts}");
        let made = trial.timed("socket", Ok).expect("what was made");
        assert!(made.len() <= parts, "{} of {parts}", made.len());
        let reached = made.len() as u64;
        assert_eq!(slots.top(), reached);
        assert!(matches!(trial.ended(), Some(EarlyEnd::Allowance { n }) if *n == reached));
    });
}

#[test]
fn an_operation_that_no_curve_declares_cannot_be_timed() {
    let clock = Clock::start();
    let mut trial = Trial::new(&CURVE, "", 3, Path::new("/"), 7, &clock, Slots::new(&CURVE, 0, &[]));
    let stop = trial.timed("invented", |_| Ok(())).expect_err("no such operation");
    assert!(stop.to_string().contains("invented"), "{stop}");
}

/// The objects of a trial with two helpers: a file for each in a folder. `refuse` may refuse one.
#[cfg(unix)]
struct Shared {
    folder: tempfile::TempDir,
}

#[cfg(unix)]
impl Shared {
    /// The numbers of the existing files.
    fn files(&self) -> Vec<usize> {
        let entries = std::fs::read_dir(self.folder.path()).expect("a folder");
        let mut files: Vec<usize> = entries.map(|entry| number(&entry.expect("an entry").path())).collect();
        files.sort_unstable();
        files
    }

    /// Up and down, with a claim of every process; what the trial itself made.
    fn run(
        &self,
        trial: &mut Trial<'_>,
        refuse: impl Fn(usize) -> std::io::Result<()>,
        claim: impl Fn(&[usize]) -> bool,
    ) -> Result<Vec<usize>, workload::TrialError> {
        let path = |n: usize| self.folder.path().join(n.to_string());
        let own = std::process::id();
        let mut measured = || {
            let made = trial.timed("socket", |n| {
                refuse(n)?;
                std::fs::write(path(n), "")?;
                // Removed too where it is dropped, as a descriptor is closed.
                tempfile::TempPath::try_from_path(path(n))
            })?;
            let numbers: Vec<usize> = made.iter().map(|path| number(path)).collect();
            if std::process::id() == own {
                assert_eq!(self.files(), (0..trial.n()).collect::<Vec<_>>(), "all of them together");
            }
            trial.check("the claim", claim(&numbers));
            let objects = trial.shuffled(made);
            trial.timed_down("close", objects, |path| path.close())?;
            Ok(numbers)
        };
        let (made, ran) = match measured() {
            Ok(made) => (made, Ok(())),
            Err(error) => (Vec::new(), Err(error)),
        };
        trial.conclude(ran).map(|()| made)
    }
}

#[cfg(unix)]
fn number(path: &Path) -> usize {
    let name = path.file_name().expect("a name").to_string_lossy();
    name.parse().expect("a number")
}

/// Runs `test` with a trial to 31 that has two helpers.
#[cfg(unix)]
fn with_helpers(test: impl FnOnce(&mut Trial<'_>, Slots<'_>, &Shared)) {
    let numbers: Vec<AtomicU64> = (0..Slots::needed(&CURVE, 10)).map(|_| AtomicU64::new(0)).collect();
    let slots = Slots::new(&CURVE, 10, &numbers);
    let clock = Clock::start();
    let mut trial = Trial::new(&CURVE, "", 31, Path::new("/"), 7, &clock, slots);
    trial.have_helpers(2);
    test(&mut trial, slots, &Shared { folder: tempfile::tempdir().expect("a folder") });
}

#[cfg(unix)]
#[test]
fn helpers_make_and_remove_what_the_trial_does_not() {
    with_helpers(|trial, slots, shared| {
        let own = std::process::id();
        let made = shared.run(trial, |_| Ok(()), |made| std::process::id() == own || made.len() == 10);
        assert_eq!(made.expect("a whole trial"), [0, 3, 6, 9, 12, 15, 18, 21, 24, 27]);
        assert_eq!((trial.n(), slots.top()), (30, 30));
        assert_eq!([0, 1].map(|index| slots.ticks(index).count()), [10, 10]);
        assert_eq!(shared.files(), [0; 0], "all are removed");
        assert!(trial.checks()[0].held);
    });
}

#[cfg(unix)]
#[test]
fn a_claim_that_fails_in_a_helper_fails() {
    with_helpers(|trial, _, shared| {
        let own = std::process::id();
        shared.run(trial, |_| Ok(()), |_| std::process::id() == own).expect("a whole trial");
        assert!(!trial.checks()[0].held);
    });
}

#[cfg(unix)]
#[test]
fn a_limit_that_a_helper_meets_ends_the_way_up() {
    with_helpers(|trial, slots, shared| {
        let refuse = |n| match n {
            13 => Err(std::io::Error::from_raw_os_error(24)),
            _ => Ok(()),
        };
        let made = shared.run(trial, refuse, |_| true);
        assert_eq!(made.expect("a shorter trial"), [0, 3, 6, 9]);
        assert_eq!((trial.n(), slots.top()), (12, 12));
        match trial.ended() {
            Some(EarlyEnd::Refused { n: 12, operation: "socket", error }) => {
                assert_eq!(error.raw_os_error(), Some(24));
            }
            other => panic!("{other:?}"),
        }
    });
}

#[cfg(unix)]
#[test]
fn a_helper_that_ends_is_an_error_and_no_hang() {
    with_helpers(|trial, _, shared| {
        let own = std::process::id();
        let end = |n| {
            if n == 14 && std::process::id() != own {
                sys::process::end_now(3);
            }
            Ok(())
        };
        let error = shared.run(trial, end, |_| true).expect_err("a helper is missing");
        assert!(error.to_string().contains("a helper process has ended"), "{error}");
    });
}
