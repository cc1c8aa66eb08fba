//! Every workload and every variant, tiny, in this process, with all its checks.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a panic is the failure of a test")]

use std::process::ExitCode;
use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, MutexGuard, PoisonError};

use libtest_mimic::{Arguments, Completion};
use sys::clock::Clock;
use workload::{EarlyEnd, Operation, Slots, Trial, Workload};

/// A trial has its process to itself, and so its lowest descriptor: tests that open any take turns.
fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Their files are for all trials of a run, whose scratch folder is removed with them.
const SHARES_FILES: &[&str] = &["cgroup", "files", "mmap", "watch", "shared-memory", "queue"];

/// Runs the workload to `n` and returns the top of the way up and, per timed operation, how many values it made;
/// or what this system lacks for it. Any other error fails the test.
fn run(workload: &'static Workload, variant: &str, n: u64) -> Result<(u64, Vec<usize>), String> {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let numbers: Vec<AtomicU64> = (0..Slots::needed(workload, n)).map(|_| AtomicU64::new(0)).collect();
    let slots = Slots::new(workload, n, &numbers);
    let clock = Clock::start();
    let mut trial = Trial::new(workload, variant, n, scratch.path(), 7, &clock, slots);
    let ran = workload.run.map_err(str::to_owned)?(&mut trial);
    let lack = |attempted: &str, error: &std::io::Error| {
        let told = format!("{attempted}: {error}");
        assert!(sys::error::means_unsupported(error), "{}/{variant} to {n}: {told}", workload.name);
        told
    };
    ran.map_err(|stop| lack(&stop.attempted, &stop.error))?;
    if let Some(EarlyEnd::Refused { operation, error, .. }) = trial.ended() {
        return Err(lack(operation, error));
    }
    for check in trial.checks() {
        assert!(check.held, "{} {variant}, n = {n}: not so: {}", workload.name, check.claim);
    }
    if !SHARES_FILES.contains(&workload.name) {
        let left = std::fs::read_dir(scratch.path()).expect("the scratch folder").count();
        assert_eq!(left, 0, "{} {variant} leaves files behind", workload.name);
    }
    let counts = workload.measured().enumerate().map(|(index, _)| slots.ticks(index).count()).collect();
    Ok((slots.top(), counts))
}

/// Links that Linux follows: path_resolution(7).
const LINKS_MAX: u64 = 40;

/// A run stops before the limits of the system. One of them is lower than the n of these tests.
fn most(workload: &Workload, variant: &str) -> u64 {
    if cfg!(target_os = "linux") && (workload.name, variant) == ("path", "links") {
        return LINKS_MAX;
    }
    let is_limited = |need: &workload::Need| need.resource == workload::resource::POSIX_MESSAGES;
    match sys::limit::ceiling(sys::limit::Resource::PosixMessages) {
        Ok(bound) if workload.needs_of(variant).iter().any(is_limited) => bound.usable,
        _ => u64::MAX,
    }
}

fn main() -> ExitCode {
    let variants =
        |workload: &'static Workload| workload.variants.iter().map(move |one| (workload, one.name));
    let all = kernel::GROUP.workloads.iter().copied().flat_map(variants);
    let tests = all.map(|(workload, variant)| {
        let name = format!("{}/{variant}", workload.name);
        libtest_mimic::Trial::ignorable_test(name.trim_end_matches('/'), move || {
            Ok(measures_every_n_up_and_down(workload, variant))
        })
    });
    libtest_mimic::run(&Arguments::from_args(), tests.collect()).exit_code()
}

/// A test of something that the system lacks is ignored with the reason; on Linux no workload lacks its first
/// variant.
fn measures_every_n_up_and_down(workload: &'static Workload, variant: &str) -> Completion {
    let _turn = turn();
    for n in [1, 2, 3, 4, 57].into_iter().filter(|&n| n <= most(workload, variant)) {
        let (top, counts) = match run(workload, variant, n) {
            Ok(measured) => measured,
            Err(reason) => {
                assert!(!reason.is_empty(), "no reason");
                let is_first = workload.variants.first().is_some_and(|first| first.name == variant);
                assert!(!cfg!(target_os = "linux") || !is_first, "{reason}");
                return Completion::ignored_with(reason);
            }
        };
        assert_eq!(top, n);
        let count = |operation: &Operation| if operation.is_of(variant) { n as usize } else { 0 };
        let expected: Vec<usize> = workload.measured().map(count).collect();
        assert_eq!(counts, expected);
    }
    Completion::Completed
}
