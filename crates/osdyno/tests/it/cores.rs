//! Scalings: what a run says of several workers at once, and of workers that are killed or stopped.
#![cfg(target_os = "linux")]

use std::path::Path;
use std::process::Child;

use record::{Outcome, Trial};

use crate::common::{
    expect_nothing_left, osdyno, processes_below, run, run_well, signal, start_measuring, text,
};

const LONG: &[&str] =
    &["run", "cores-syscall/processes", "-n", "2", "--trials", "1", "--window", "2s", "--out", "a.osdyno"];

fn trials(folder: &Path) -> Vec<Trial> {
    record::read(folder.join("a.osdyno")).expect("the run file").0.trials
}

/// On a machine that is busy with other tests some levels do not count, and perhaps none.
#[test]
fn every_level_counts_or_has_a_reason() {
    let folder = tempfile::tempdir().expect("a folder");
    let arguments = ["run", "cores-syscall", "cores-map/threads", "--trials", "4", "--window", "20ms"];
    let output =
        osdyno(folder.path(), &arguments).args(["--out", "a.osdyno"]).output().expect("osdyno starts");
    assert!([Some(0), Some(3)].contains(&output.status.code()), "{}", text(&output.stderr));
    let json = run_well(folder.path(), &["report", "a.osdyno", "--format", "json"]);
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let series = json["series"].as_array().expect("series");
    let scalings: Vec<_> = series.iter().filter(|one| !one["scaling"].is_null()).collect();
    for scaling in &scalings {
        assert_eq!(scaling["name"], "rate");
        assert!(scaling["scaling"]["speedups"][0]["ratio"]["value"].as_f64() > Some(0.0), "{scaling}");
    }
    let is_shown = text(&output.stdout).contains("workers at once, each on its own processor");
    assert_eq!(is_shown, !scalings.is_empty(), "{}", text(&output.stdout));
    for trial in trials(folder.path()) {
        let is_explained = trial.warnings.iter().any(|warning| warning.contains("does not count"));
        assert!(trial.outcome == Outcome::Complete || is_explained, "{trial:?}");
    }
}

#[test]
fn a_setting_places_the_workers() {
    let folder = tempfile::tempdir().expect("a folder");
    let of = |value: &str| {
        let setting = format!("placement={value}");
        let arguments =
            ["run", "cores-syscall/threads", "--trials", "1", "--window", "20ms", "--set", &setting];
        run(folder.path(), &arguments)
    };
    let refused = of("nowhere");
    assert!(!refused.status.success(), "{}", text(&refused.stdout));
    assert!(text(&refused.stderr).contains("spread, compact, node"), "{}", text(&refused.stderr));
    assert!(!text(&of("compact").stderr).contains("cannot be measured"));
}

/// The workers of the trial: those whose parent is another process of the run.
fn workers(folder: &Path) -> Vec<u32> {
    let measuring = processes_below(folder, " measure ");
    let parent = |number: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{number}/stat")).ok()?;
        stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse::<u32>().ok()
    };
    let is_worker = |number: &u32| parent(number).is_some_and(|parent| measuring.contains(&parent));
    measuring.iter().copied().filter(is_worker).collect()
}

/// Sends the signal to one worker, again and again where `is_repeated`, until the run has ended.
fn disturb(folder: &Path, mut run: Child, name: &str, is_repeated: bool) -> Vec<Trial> {
    let mut is_sent = false;
    while run.try_wait().expect("a child").is_none() {
        // The pass before the trial takes milliseconds.
        std::thread::sleep(std::time::Duration::from_millis(300));
        if let Some(worker) = workers(folder).first().filter(|_| is_repeated || !is_sent) {
            // It may have ended meanwhile.
            is_sent |= std::panic::catch_unwind(|| signal(*worker, name)).is_ok();
        }
    }
    assert!(is_sent, "no worker was there");
    expect_nothing_left(folder);
    trials(folder)
}

#[test]
fn a_worker_that_is_killed_voids_its_level() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = start_measuring(folder.path(), LONG);
    let trials = disturb(folder.path(), run, "KILL", true);
    let warnings = &trials[0].warnings;
    assert!(warnings.iter().any(|warning| warning.contains("ended by itself")), "{warnings:?}");
}

#[test]
fn a_worker_that_is_stopped_voids_its_level_and_nothing_stays() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = start_measuring(folder.path(), LONG);
    let trials = disturb(folder.path(), run, "STOP", false);
    let warnings = &trials[0].warnings;
    let is_void = |warning: &String| warning.contains("did not end") || warning.contains("did not begin");
    assert!(warnings.iter().any(is_void), "{warnings:?}");
}
