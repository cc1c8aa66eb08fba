//! Several systems in one run, each behind its command: interleaved, paired, and none left behind.
#![cfg(target_os = "linux")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Child, Output, Stdio};

use crate::common::{
    expect_nothing_left, osdyno, outcomes, processes_below, recording, run, run_well, signal, text, until,
};
use record::{NoiseFloor, Outcome, System};

const TINY: [&str; 10] =
    ["run", "noop", "socket/v4", "-n", "60", "--trials", "3", "--seed", "5", "--out=a.osdyno"];

fn tiny<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&TINY, more].concat()
}

#[test]
fn two_systems_are_interleaved_and_their_trials_are_pairs() {
    let folder = tempfile::tempdir().expect("a folder");
    let printed = run_well(folder.path(), &tiny(&["--system", "none=", "--system", "nice=nice -n 10"]));
    let recording = recording(folder.path());
    assert!(recording.run.paired);
    let names: Vec<&str> = recording.systems.iter().map(|system| system.name.as_str()).collect();
    assert_eq!(names, ["none", "nice"]);
    assert_eq!(recording.systems[1].prefix, ["nice", "-n", "10"]);
    assert!(recording.systems.iter().all(|system| system.environment.contains_key("kernel.release")));
    assert_eq!(recording.trials.len(), 2 * 2 * 3);
    // A block is one trial of each, back to back, with the same number, n and seed; the next block of the
    // same workload is in the reverse order.
    let mut last: Vec<(String, Vec<String>)> = Vec::new();
    for block in recording.trials.chunks(2) {
        let [one, two] = [&block[0].order, &block[1].order];
        assert_eq!((&one.workload, one.trial, one.n, one.seed), (&two.workload, two.trial, two.n, two.seed));
        assert_ne!(one.system, two.system);
        let order = vec![one.system.clone(), two.system.clone()];
        if one.trial == 2 {
            let first = last.iter().find(|(workload, _)| *workload == one.workload).expect("a first block");
            assert!(first.1.iter().rev().eq(&order), "{first:?} {order:?}");
        }
        last.push((one.workload.clone(), order));
    }
    assert!(printed.contains("nice against none") || printed.contains("nice"), "{printed}");
    expect_nothing_left(folder.path());
}

#[test]
fn a_system_that_cannot_start_is_recorded_and_the_others_are_measured() {
    let folder = tempfile::tempdir().expect("a folder");
    let systems = [
        "--system=here=",
        "--system=gone=/nonexistent/command --really",
        "--system=refuses=sh -c 'echo it is forbidden >&2; exit 7' --",
    ];
    let output = run(folder.path(), &tiny(&systems));
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    let recording = recording(folder.path());
    assert!(outcomes(&recording, "here").iter().all(|outcome| **outcome == Outcome::Complete));
    assert_eq!(outcomes(&recording, "here").len(), 6);
    for (system, word) in [("gone", "No such file"), ("refuses", "it is forbidden")] {
        let ends = outcomes(&recording, system);
        assert_eq!(ends.len(), 2, "once for each workload");
        for end in ends {
            assert!(matches!(end, Outcome::Failed { reason } if reason.contains(word)), "{end:?}");
        }
    }
    assert!(text(&output.stderr).contains("\"gone\" cannot be measured"), "{}", text(&output.stderr));
    expect_nothing_left(folder.path());
}

#[test]
fn why_nothing_can_be_compared_is_the_last_word() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = run(folder.path(), &tiny(&["--system=here=", "--system=gone=/nonexistent/command"]));
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    let told = text(&output.stderr);
    let last = told.lines().last().unwrap_or_default();
    assert!(last.contains("nothing can be compared: gone failed: "), "{told}");
    assert!(last.contains("cannot start /nonexistent/command"), "{told}");
    let output = run(folder.path(), &["compare", "a.osdyno"]);
    assert!(text(&output.stderr).contains("cannot start /nonexistent/command"), "{}", text(&output.stderr));
}

#[test]
fn where_no_system_can_start_there_is_no_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = run(folder.path(), &tiny(&["--system", "gone=/nonexistent/command"]));
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("\"gone\" cannot be measured"), "{}", text(&output.stderr));
    assert!(!folder.path().join("a.osdyno").exists());
    expect_nothing_left(folder.path());
}

#[test]
fn a_system_with_a_lower_limit_goes_less_far_and_the_others_do_not() {
    let folder = tempfile::tempdir().expect("a folder");
    let systems = ["--system=free=", "--system=tight=sh -c 'ulimit -n 60; exec \"$@\"' --"];
    // No helper process can hold descriptors of the set that the trial waits for.
    let arguments = ["run", "noop", "ready/poll", "-n", "60", "--trials", "4", "--out=a.osdyno"];
    let output = run(folder.path(), &[&arguments[..], &systems].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let recording = recording(folder.path());
    assert!(recording.trials.iter().all(|trial| trial.outcome == Outcome::Complete), "planned, not met");
    // Of 60 descriptors a trial keeps 32 for itself; noop needs none.
    let n_of = |system: &str, workload: &str| -> BTreeSet<u64> {
        let orders = recording.trials.iter().map(|trial| &trial.order);
        orders.filter(|order| order.system == system && order.workload == workload).map(|o| o.n).collect()
    };
    for (system, workload, n) in
        [("free", "ready", 60), ("free", "noop", 60), ("tight", "ready", 28), ("tight", "noop", 60)]
    {
        assert_eq!(n_of(system, workload), BTreeSet::from([n]), "{workload} on {system}");
    }
    let [free, tight] = &recording.systems[..] else { panic!("two systems") };
    assert_eq!(tight.limits["descriptors"][0].value, 60);
    assert!(free.limits["descriptors"][0].value > 60);
    let said = "The largest n of ready is 28 instead of 60, because RLIMIT_NOFILE is 60";
    let is_said = |system: &System| system.warnings.iter().any(|warning| warning.starts_with(said));
    assert!(is_said(tight) && !is_said(free), "{:?}", tight.warnings);
    assert!(text(&output.stderr).contains(said), "{}", text(&output.stderr));
    let compared = run_well(folder.path(), &["compare", "a.osdyno", "--verbose"]);
    assert!(compared.contains("28"), "over the n that both have: {compared}");
}

#[test]
fn wrong_systems_are_wrong_usage() {
    let folder = tempfile::tempdir().expect("a folder");
    for (wrong, word) in [
        (vec!["--system", "nice"], "NAME=COMMAND"),
        (vec!["--system", "a='x"], "quotation mark"),
        (vec!["--system", "a=", "--system", "a=nice"], "two systems are called"),
        (vec!["--aa"], "at least 10 trials"),
        (vec!["--aa", "--system", "a=", "--system", "b="], "one system against itself"),
    ] {
        let output = run(folder.path(), &tiny(&wrong));
        assert_eq!(output.status.code(), Some(2), "{wrong:?}: {}", text(&output.stderr));
        assert!(text(&output.stderr).contains(word), "{wrong:?}: {}", text(&output.stderr));
    }
}

/// A command that hangs with children in groups and sessions of their own, which ignore the end of its input.
const HANGS: &str = "sleep 4711 & setsid sleep 4711 & exec sleep 4711";

#[test]
fn a_command_that_hangs_leaves_no_process_when_the_user_stops_it() {
    // Once while it should describe itself, and once while it should measure.
    let measures = HANGS.replace("exec", "\"$@\"; exec");
    for (case, asleep) in [(HANGS, 3), (measures.as_str(), 2)] {
        let folder = tempfile::tempdir().expect("a folder");
        // In the environment of all it starts, so that nobody else's processes are taken for ours.
        let mark = folder.path().to_string_lossy().into_owned();
        let long = ["run", "fork", "-n", "3000", "--trials", "400", "--system=here=", "--out=a.osdyno"];
        let mut program = osdyno(folder.path(), &long);
        program.arg(format!("--system=hangs=sh -c '{case}' --")).env("OSDYNO_TEST_MARK", &mark);
        let child = program.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("osdyno starts");
        until("the command hangs", || sleepers(&mark) == asleep);
        if case == measures {
            until("it measures", || !processes_below(folder.path(), " measure ").is_empty());
        }
        let output = interrupted(child);
        assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
        assert_eq!(sleepers(&mark), 0);
        expect_nothing_left(folder.path());
    }
}

#[test]
fn a_command_that_hangs_leaves_no_process_when_osdyno_is_killed() {
    let folder = tempfile::tempdir().expect("a folder");
    let mark = folder.path().to_string_lossy().into_owned();
    let mut program = osdyno(folder.path(), &tiny(&[]));
    program.arg(format!("--system=hangs=sh -c '{HANGS}' --")).env("OSDYNO_TEST_MARK", &mark);
    let mut child = program.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("osdyno starts");
    until("the command hangs", || sleepers(&mark) == 3);
    signal(child.id(), "KILL");
    child.wait().expect("an end");
    until("nothing sleeps", || sleepers(&mark) == 0);
    expect_nothing_left(folder.path());
}

fn interrupted(child: Child) -> Output {
    signal(child.id(), "INT");
    child.wait_with_output().expect("an end")
}

/// How many processes sleep as in [`HANGS`] with that mark in their environment.
fn sleepers(mark: &str) -> usize {
    let holds = |number: &str, file: &str, word: &str| {
        let bytes = fs::read(format!("/proc/{number}/{file}")).unwrap_or_default();
        text(&bytes).split('\0').any(|part| part == word)
    };
    let entries = fs::read_dir("/proc").expect("/proc").flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mark = format!("OSDYNO_TEST_MARK={mark}");
    numbers.filter(|number| holds(number, "cmdline", "4711") && holds(number, "environ", &mark)).count()
}

#[test]
fn a_system_against_itself_has_a_noise_floor_that_later_runs_know() {
    let folder = tempfile::tempdir().expect("a folder");
    let state = folder.path().join("state");
    let with_state = |arguments: &[&str]| {
        let output =
            osdyno(folder.path(), arguments).env("XDG_STATE_HOME", &state).output().expect("osdyno starts");
        assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
        text(&output.stdout)
    };
    let printed =
        with_state(&["run", "--aa", "noop", "socket/v4", "-n", "60", "--trials", "10", "--out", "a.osdyno"]);
    assert!(printed.contains("false alarms") && printed.contains("noise floor"), "{printed}");
    // The file alone says the same, and compares nothing.
    let again = with_state(&["report", "a.osdyno", "--force"]);
    let is_claim = |line: &&str| line.contains("false alarms") || line.contains("noise floor");
    assert!(again.lines().filter(is_claim).eq(printed.lines().filter(is_claim)), "{again}");
    assert!(!again.contains("b against a"), "{again}");

    let recording = recording(folder.path());
    let names: BTreeSet<&str> = recording.trials.iter().map(|trial| trial.order.system.as_str()).collect();
    assert!(recording.run.paired && names.into_iter().eq(["a", "b"]));
    let floor = recording.systems[0].noise_floor.as_ref().expect("a floor in the record");
    assert_eq!(recording.systems[1].noise_floor.as_ref(), Some(floor));
    assert!(floor.run.is_empty() && floor.trials == 10 && floor.share > 0.0);
    assert!((0.0..=1.0).contains(&floor.false_alarm_rate));
    assert!(floor.series.contains_key("socket/v4 socket up"), "{floor:?}");
    assert!(floor.series.values().all(|share| *share > 0.0), "{floor:?}");

    with_state(&["run", "noop", "-n", "60", "--trials", "2", "--out", "later.osdyno"]);
    let (later, _) = record::read(folder.path().join("later.osdyno")).expect("the run file");
    let known = later.systems[0].noise_floor.clone().expect("the floor of this machine");
    assert!(Path::new(&known.run).ends_with("a.osdyno") && Path::new(&known.run).is_absolute());
    assert_eq!(NoiseFloor { run: String::new(), ..known }, *floor);

    // What a later A/A run finds of one series leaves the others as they were, and no floor is zero.
    let tiny = ["run", "--aa", "noop", "-n", "60", "--trials", "10", "--out", "noop.osdyno"];
    let output = osdyno(folder.path(), &tiny).env("XDG_STATE_HOME", &state).output().expect("osdyno starts");
    assert!(text(&output.stdout).contains("noise floor"), "{}", text(&output.stdout));
    let has_zero = ["floor 0 %", "floor 0.0 %"].iter().any(|zero| text(&output.stdout).contains(zero));
    assert!(!has_zero, "{}", text(&output.stdout));
    with_state(&["run", "noop", "-n", "60", "--trials", "2", "--out", "beside.osdyno"]);
    let (beside, _) = record::read(folder.path().join("beside.osdyno")).expect("the run file");
    let beside = beside.systems[0].noise_floor.clone().expect("the floor of this machine");
    assert!(beside.share >= floor.share && beside.series.values().all(|share| *share > 0.0), "{beside:?}");
    let socket = "socket/v4 socket up";
    assert_eq!(beside.series[socket], floor.series[socket]);

    // A system behind a command of its own has a floor of its own, and until it has, that of its machine.
    let floor_of = |file: &str| {
        let (recording, _) = record::read(folder.path().join(file)).expect("the run file");
        recording.systems[0].noise_floor.clone().expect("a floor")
    };
    with_state(&["run", "noop", "-n", "60", "-t2", "--system", "nice=nice", "--out", "before.osdyno"]);
    assert_eq!(floor_of("before.osdyno").run, floor_of("beside.osdyno").run);
    let niced = ["--system", "nice=nice", "--out", "nice.osdyno"];
    with_state(&[&["run", "--aa", "socket/v4", "-n", "60", "--trials", "10"], &niced[..]].concat());
    with_state(&["run", "noop", "-n", "60", "-t2", "--system", "nice=nice", "--out", "after.osdyno"]);
    assert!(floor_of("after.osdyno").run.ends_with("nice.osdyno"));

    let kept: Vec<_> = fs::read_dir(state.join("osdyno/noise-floor")).expect("a folder").flatten().collect();
    assert_eq!(kept.len(), 2, "{kept:?}");
    kept.iter().for_each(|file| fs::write(file.path(), "{}").expect("a damaged floor"));
    let output = osdyno(folder.path(), &["run", "noop", "-n", "60", "--trials", "2", "--out", "c.osdyno"])
        .env("XDG_STATE_HOME", &state)
        .output()
        .expect("osdyno starts");
    assert!(output.status.success());
    assert!(text(&output.stderr).contains("cannot be used"), "{}", text(&output.stderr));
}
