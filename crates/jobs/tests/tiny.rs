//! Every job and every variant, small, in this process, with all its checks.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a panic is the failure of a test")]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use sys::clock::Clock;
use workload::{EarlyEnd, Sizes, Slots, Trial, Workload};

/// How a trial ended, and by operation at how many n it was measured.
type Left = (Option<String>, BTreeMap<&'static str, usize>);

fn run(workload: &'static Workload, variant: &str, n: u64, scratch: &Path, set: &[(&str, &str)]) -> Left {
    let numbers: Vec<AtomicU64> = (0..Slots::needed(workload, n)).map(|_| AtomicU64::new(0)).collect();
    let slots = Slots::new(workload, n, &numbers);
    let clock = Clock::start();
    let settings = set.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
    let mut trial = Trial::new(workload, variant, n, scratch, 7, &clock, slots);
    trial.set_window(Duration::from_millis(1));
    trial.set_settings(&settings).expect("settings");
    match workload.run.expect("jobs exist here")(&mut trial) {
        Err(stop) if sys::error::means_unsupported(&stop.error) => {
            return (Some(format!("unsupported: {stop}")), BTreeMap::new());
        }
        ran => ran.expect("a trial"),
    }
    for check in trial.checks() {
        let warnings = trial.warnings();
        assert!(check.held, "{}/{variant}, n = {n}: not so: {}, {warnings:?}", workload.name, check.claim);
    }
    let is_checked = trial.ended().is_some() || workload.name == "small-files" || !trial.checks().is_empty();
    assert!(is_checked, "{}/{variant} proves nothing", workload.name);
    let ended = trial.ended().map(|ended| match ended {
        EarlyEnd::Refused { n, operation, error } => format!("{operation} at {n}: {error}"),
        EarlyEnd::Allowance { n } => format!("allowance at {n}"),
    });
    let count = |index, is_reported| match is_reported {
        true => slots.reported(index).filter(|(_, seconds)| *seconds > 0.0).count(),
        false => slots.ticks(index).count(),
    };
    let counted = workload.measured().enumerate();
    (ended, counted.map(|(index, operation)| (operation.name, count(index, operation.reported))).collect())
}

#[test]
fn every_job_measures_every_call_at_every_level_and_leaves_no_file() {
    // Servers are started by the program of trials, whose tests run these; and there a command cannot take
    // children of other tests for something that it left.
    let is_of_trials = |workload: &&&Workload| workload.server || workload.name == "command";
    for &workload in jobs::GROUP.workloads.iter().filter(|workload| !is_of_trials(workload)) {
        let set: &[(&str, &str)] = match workload.name {
            "small-files" => &[("files", "20")],
            "compile" => &[("optimize", "0")],
            "sql" => &[("rows", "1000")],
            _ => &[],
        };
        let tops: &[u64] = match workload.sizes {
            // Each makes a database, which takes seconds.
            Sizes::Levels(_) if workload.name == "sql" => &[3],
            Sizes::Levels(_) | Sizes::Chosen(_) => &[1, 3, 9],
            Sizes::Every => &[1, 2, 57],
        };
        for (variant, &n) in
            workload.variants.iter().flat_map(|variant| tops.iter().map(move |n| (variant, n)))
        {
            let scratch = tempfile::tempdir().expect("a scratch folder");
            let name = format!("{}/{} to {n}", workload.name, variant.name);
            let (ended, counts) = run(workload, variant.name, n, scratch.path(), set);
            let is_lack =
                |reason: &String| reason.starts_with("FICLONE") || reason.starts_with("unsupported");
            if let Some(reason) = ended.filter(is_lack) {
                println!("{name}: {reason}");
                continue;
            }
            for (operation, count) in counts {
                let only = workload.operation(operation).expect("an operation").variants;
                let is_measured = only.is_empty() || only.contains(&variant.name);
                let expected = if is_measured { workload.sizes.count(n) } else { 0 };
                assert_eq!(count, expected, "{name}: {operation}");
            }
            let left = std::fs::read_dir(scratch.path()).expect("the scratch folder");
            let left: Vec<String> = left
                .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
                .collect();
            // The archive of `tree` is for all trials of a run.
            assert!(left.iter().all(|name| name.ends_with(".tar")), "{name} left {left:?}");
        }
    }
}

#[test]
fn what_a_killed_trial_has_left_is_no_obstacle() {
    let find = |name| jobs::GROUP.find(name).expect("a workload");
    for (name, leftover) in [
        ("directory", "directory/old"),
        ("tree", "tree/first/tree/old"),
        ("copy", "copy/copy"),
        ("mail-queue", "mail-queue/active/0-0"),
    ] {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        let path = scratch.path().join(leftover);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(&path, "old").expect("a file");
        let (ended, _) = run(find(name), find(name).variants[0].name, 3, scratch.path(), &[]);
        assert_eq!(ended, None, "{name}");
    }
    let scratch = tempfile::tempdir().expect("a scratch folder");
    std::fs::create_dir(scratch.path().join("small-files")).expect("a folder");
    std::fs::write(scratch.path().join("small-files/new-1"), "old").expect("a file");
    let (ended, _) = run(find("small-files"), "warm", 4, scratch.path(), &[("files", "3")]);
    assert_eq!(ended, None);
}
