//! A tiny made-up job: its phases, levels and early ends.

use std::io;
use std::path::Path;
use std::sync::atomic::AtomicU64;
use std::thread::sleep;
use std::time::Duration;

use sys::clock::Clock;
use workload::{EarlyEnd, Expect, JobRecorder, Operation, Sizes, Slots, Trial, Unit, Workload, levels};

const COPY: Workload = Workload {
    name: "copy",
    grows: "files",
    operations: &[
        Operation::sum("total", &["write", "sync"], Expect::Linear, "the whole job"),
        Operation::phase("write", Expect::Linear, "all files written"),
        Operation::phase("sync", Expect::Linear, "all files on the disk"),
        Operation::reported("rate", Unit::PerSecond, Expect::Constant, "files per second"),
    ],
    ..Workload::JOB
};

const GROWING: Workload = Workload { sizes: Sizes::Levels(levels::one_two_five), ..COPY };

/// The results of a job.
struct Left {
    n: usize,
    write: Vec<(usize, f64)>,
    sync: Vec<(usize, f64)>,
    rate: Vec<(usize, f64)>,
    ended: Option<String>,
    error: Option<String>,
}

/// Does the job to 10, which the growing one does at 1, 2, 5 and 10.
fn run(
    workload: &'static Workload,
    allowance: Option<Duration>,
    work: impl FnMut(u64, &mut JobRecorder<'_, '_>) -> io::Result<()>,
) -> Left {
    let numbers: Vec<AtomicU64> = (0..Slots::needed(workload, 10)).map(|_| AtomicU64::new(0)).collect();
    let (slots, clock) = (Slots::new(workload, 10, &numbers), Clock::start());
    let mut trial = Trial::new(workload, "", 10, Path::new("/"), 7, &clock, slots);
    if let Some(allowance) = allowance {
        trial.allow((allowance.as_secs_f64() / clock.seconds_per_tick()) as u64);
    }
    let error = trial.job(work).err().map(|error| error.to_string());
    Left {
        n: trial.n(),
        write: slots.reported(0).collect(),
        sync: slots.reported(1).collect(),
        rate: slots.reported(2).collect(),
        ended: trial.ended().map(|ended| match ended {
            EarlyEnd::Refused { n, operation, error } => format!("{operation} at {n}: {error}"),
            EarlyEnd::Allowance { n } => format!("allowance at {n}"),
        }),
        error,
    }
}

fn whole(_: u64, job: &mut JobRecorder<'_, '_>) -> io::Result<()> {
    job.phase("write", 1, || {
        sleep(Duration::from_millis(3));
        Ok(())
    })?;
    // Neither phase has this time in it.
    sleep(Duration::from_millis(40));
    job.phase("sync", 1, || Ok(()))?;
    job.value("rate", f64::NAN);
    job.level().check("every file is on the disk", true);
    Ok(())
}

#[test]
fn a_job_of_one_level_is_timed_phase_by_phase() {
    let left = run(&COPY, None, whole);
    assert_eq!((left.n, left.ended, left.error), (10, None, None));
    assert_eq!((left.write.len(), left.sync.len(), left.rate.len()), (1, 1, 0), "a rate of nothing is none");
    assert!((0.003..10.0).contains(&left.write[0].1), "{:?}", left.write);
    assert!(left.sync[0].1 < left.write[0].1, "the time between phases is not timed: {:?}", left.sync);
}

#[test]
fn a_job_has_as_many_levels_as_it_declares() {
    let mut met = Vec::new();
    let left = run(&GROWING, None, |n, job| {
        met.push(n);
        let files = job.phase("write", 1, || Ok(n))?;
        job.phase("sync", 1, || Ok(()))?;
        job.value("rate", files as f64);
        Ok(())
    });
    assert_eq!(met, [1, 2, 5, 10]);
    assert_eq!(left.rate, [(0, 1.0), (1, 2.0), (2, 5.0), (3, 10.0)]);
    assert_eq!(left.write.len(), 4);
}

#[test]
fn a_phase_that_is_refused_is_named_and_the_levels_below_stand() {
    let left = run(&GROWING, None, |n, job| {
        job.phase("write", 1, || Ok(()))?;
        job.phase("sync", 1, || if n > 2 { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) })?;
        job.value("rate", 1.0);
        Ok(())
    });
    assert_eq!((left.n, left.write.len(), left.error), (2, 2, None));
    assert!(left.ended.as_deref().is_some_and(|ended| ended.starts_with("sync at 5: ")), "{:?}", left.ended);
}

#[test]
fn an_allowance_ends_a_job_after_a_whole_level() {
    let left = run(&GROWING, Some(Duration::from_millis(1)), whole);
    assert_eq!(left.ended.as_deref(), Some("allowance at 1"));
    assert_eq!((left.n, left.write.len(), left.sync.len()), (1, 1, 1));
}

#[test]
fn a_job_measures_all_that_it_declares_once_and_nothing_else() {
    let error = |work: fn(&mut JobRecorder<'_, '_>) -> io::Result<()>| {
        run(&COPY, None, |_, job| work(job)).error.expect("a trial that cannot count")
    };
    let missing = error(|job| job.phase("write", 1, || Ok(())));
    assert!(missing.contains("sync") && missing.contains("without it"), "{missing}");
    let twice = error(|job| {
        whole(0, job)?;
        job.phase("write", 1, || Ok(()))
    });
    assert!(twice.contains("write") && twice.contains("twice"), "{twice}");
    let unknown = error(|job| {
        whole(0, job)?;
        job.phase("read", 1, || Ok(()))
    });
    assert!(unknown.contains("read") && unknown.contains("declares no such"), "{unknown}");
}
