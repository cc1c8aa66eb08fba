//! Scalings: what a run says of several workers at once, and of workers that are killed or stopped.
#![cfg(target_os = "linux")]

use std::path::Path;
use std::process::{Child, Output};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use record::{Outcome, Trial};

use crate::common::control_group::ControlGroup;
use crate::common::lowered::after;
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

/// Microseconds of each 100 ms, in version 2 and version 1.
const QUOTA: &[&str] = &["cpu.max", "cpu.cfs_quota_us"];

/// One worker, for a while.
const ONE: &[&str] =
    &["run", "cores-syscall/threads", "-n", "1", "--trials", "1", "--window", "500ms", "--out", "a.osdyno"];

fn group_with_quota(microseconds: u64) -> Option<ControlGroup> {
    let group = ControlGroup::make("cpu", QUOTA, microseconds);
    if group.is_none() {
        skipped!("no control group with a quota can be made here");
    }
    group
}

fn has_several_processors() -> bool {
    let has_several = sys::cpu::allowed().is_ok_and(|cpus| cpus.len() > 1);
    if !has_several {
        skipped!("there is one processor only");
    }
    has_several
}

#[test]
fn a_quota_that_stops_workers_voids_their_level() {
    // So little that a worker uses it up on a busy machine, too.
    let Some(group) = group_with_quota(5_000) else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let output = after(&group.enter(), folder.path(), ONE);
    let warnings = &trials(folder.path())[0].warnings;
    let reason =
        "The level of 1 worker does not count: the control group's quota of 0.05 processors stopped it";
    assert!(warnings.iter().any(|warning| warning.starts_with(reason)), "{warnings:?}");
    let printed = text(&output.stdout) + &text(&output.stderr);
    let is_shown = printed.contains("processors usable") && printed.contains("quota 0.05");
    assert!(is_shown || !has_several_processors(), "{printed}");
}

/// Two workers would use two processors all the time.
#[test]
fn a_quota_of_one_and_a_half_processors_suffices_for_one_worker() {
    let Some(group) = group_with_quota(150_000).filter(|_| has_several_processors()) else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let arguments = [&ONE[..2], &ONE[4..6], &["--window", "20ms", "--out", "a.osdyno"]].concat();
    after(&group.enter(), folder.path(), &arguments);
    assert_eq!(trials(folder.path())[0].order.n, 1);
}

/// Changes something again and again, each time after so many milliseconds, while something else happens.
fn while_changing(
    mut change: impl FnMut() -> Option<()> + Send,
    pauses_ms: &[u64],
    action: impl FnOnce() -> Output,
) {
    /// A panic of the action ends the changes, too.
    struct Over<'a>(&'a AtomicBool);
    impl Drop for Over<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for pause_ms in pauses_ms.iter().cycle() {
                if is_over.load(Ordering::Relaxed) || change().is_none() {
                    break;
                }
                std::thread::sleep(Duration::from_millis(*pause_ms));
            }
        });
        let _over = Over(&is_over);
        action();
    });
}

#[test]
fn a_quota_that_shrinks_voids_the_level() {
    // More than one worker uses, and less than the machine has, so that it matters and stops nothing.
    let quota = |times: u64| 199_000 - 1000 * times;
    let Some(group) = group_with_quota(quota(0)).filter(|_| has_several_processors()) else { return };
    let mut times = (1..=50).cycle();
    let mut warnings = Vec::new();
    // On a busy machine no change may come in time.
    for _ in 0..5 {
        let folder = tempfile::tempdir().expect("a folder");
        let change = || group.set(QUOTA, quota(times.next()?));
        while_changing(change, &[100], || after(&group.enter(), folder.path(), ONE));
        warnings.extend(trials(folder.path()).swap_remove(0).warnings);
        if warnings.iter().any(|warning| warning.contains("the control group's quota changed meanwhile")) {
            return;
        }
    }
    panic!("no level was void by a change of the quota: {warnings:?}");
}

/// One whose programs run on these of the allowed processors only.
fn group_of_processors(processors: &str) -> Option<ControlGroup> {
    // Version 1 takes no program before it has memory.
    let group = ControlGroup::make("cpuset", &["cpuset.mems"], 0);
    let group = group.filter(|group| group.set(&["cpuset.cpus"], processors).is_some());
    if group.is_none() {
        skipped!("no control group with a cpuset can be made here");
    }
    group
}

#[test]
fn a_cpuset_of_one_processor_leaves_nothing_to_judge() {
    let Some(first) = sys::cpu::allowed().ok().and_then(|cpus| cpus.first().copied()) else { return };
    if !has_several_processors() {
        return;
    }
    let Some(group) = group_of_processors(&first.to_string()) else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let arguments =
        ["run", "cores-syscall/threads", "--trials", "3", "--window", "20ms", "--out", "a.osdyno"];
    let output = after(&group.enter(), folder.path(), &arguments);
    let printed = text(&output.stdout) + &text(&output.stderr);
    assert!(printed.contains("processors usable (") && printed.contains("cpuset"), "{printed}");
    // On a machine that is busy with other tests perhaps no level counts.
    let reasons = ["Scaling is not judged, because only one processor is usable", "nothing was measured"];
    assert!(reasons.iter().any(|reason| printed.contains(reason)), "{printed}");
    assert_eq!(trials(folder.path())[0].order.n, 1);
}

#[test]
fn a_cpuset_that_shrinks_voids_the_level() {
    let Some(allowed) = sys::cpu::allowed().ok().filter(|_| has_several_processors()) else { return };
    let (one, two) = (allowed[0].to_string(), format!("{},{}", allowed[0], allowed[1]));
    let Some(group) = group_of_processors(&two) else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let mut processors = [&one, &two].into_iter().cycle();
    let change = || group.set(&["cpuset.cpus"], processors.next()?);
    // Longer than a level: most see one change, which the next does not undo.
    let arguments = ["run", "cores-syscall/threads", "-n", "1", "--trials", "8", "--window", "500ms"];
    let arguments = [&arguments[..], &["--out", "a.osdyno"]].concat();
    while_changing(change, &[900, 1300], || after(&group.enter(), folder.path(), &arguments));
    let trials = trials(folder.path());
    let warns = |trial: &record::Trial, of: &str| trial.warnings.iter().any(|warning| warning.contains(of));
    if trials.iter().all(|trial| warns(trial, "waited for its processor")) {
        return skipped!("this machine is too busy: the worker waited for its processor at each level");
    }
    assert!(trials.iter().any(|trial| warns(trial, "the usable processors changed meanwhile")), "{trials:?}");
}
