//! Commands of the user's own: measured, compared, at levels, and all that they can do wrong.
#![cfg(target_os = "linux")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use record::{Outcome, Recording, Trial};

use crate::common::{expect_nothing_left, osdyno, processes_below, recording, run_well, text};

const RUN: [&str; 4] = ["run", "--trials=2", "--scratch=.", "--out=a.osdyno"];

/// The values of one series by variant and n.
fn values(recording: &Recording, variant: &str, name: &str) -> Vec<(u64, f64)> {
    let is_it = |key: &record::SeriesKey| key.variant == variant && key.name == name;
    let series = recording.series().filter(|(key, _)| is_it(key));
    series.flat_map(|(_, trials)| trials.to_vec()).flat_map(|one| one.points().collect::<Vec<_>>()).collect()
}

/// A program in the folder, whose processes can be told from others by their path.
fn sleeper(folder: &Path) {
    fs::copy("/bin/sleep", folder.join("own-sleep")).expect("a program");
    fs::set_permissions(folder.join("own-sleep"), fs::Permissions::from_mode(0o755)).expect("permissions");
}

/// Runs with these arguments, and returns the exit code, standard error and the trials.
fn run(folder: &Path, arguments: &[&str]) -> (Option<i32>, String, Vec<Trial>) {
    let output = osdyno(folder, &[&RUN[..], arguments].concat()).output().expect("osdyno starts");
    let trials = if folder.join("a.osdyno").exists() { recording(folder).trials } else { Vec::new() };
    (output.status.code(), text(&output.stderr), trials)
}

#[test]
fn a_command_alone_is_measured_with_all_that_it_takes() {
    let folder = tempfile::tempdir().expect("a folder");
    let arguments = ["--", "head", "-c", "300000", "/dev/zero"];
    run_well(folder.path(), &[&RUN[..], &arguments].concat());
    let recording = recording(folder.path());
    let one = |name: &str| values(&recording, "", name).first().map_or(f64::NAN, |&(_, value)| value);
    for name in ["time", "start", "peak memory", "faults"] {
        assert!(one(name) > 0.0, "{name}: {}", one(name));
    }
    assert!(one("user time") + one("system time") > 0.0 && one("time") < 60.0);
    // A kernel without the accounting says so in a remark.
    let warnings = &recording.trials[0].warnings;
    let is_available = !warnings.iter().any(|warning| warning.starts_with("written is not available"));
    assert!(!is_available || one("written") == 300_000.0, "{} {warnings:?}", one("written"));
    assert!(recording.trials.iter().all(|trial| trial.order.cpu.is_none()), "it may use all processors");
    expect_nothing_left(folder.path());
}

#[test]
fn several_commands_are_compared_in_pairs() {
    let folder = tempfile::tempdir().expect("a folder");
    let arguments = ["--vs", "sleep 0.001", "--", "sleep 0.2"];
    let printed = run_well(folder.path(), &[&RUN[..], &arguments].concat());
    let recording = recording(folder.path());
    let (old, new) = (values(&recording, "0.001", "time"), values(&recording, "0.2", "time"));
    assert_eq!((old.len(), new.len()), (2, 2), "{printed}");
    assert!(new.iter().all(|&(n, seconds)| n == 1 && seconds >= 0.2), "{new:?}");
    let order: Vec<u32> = recording.trials.iter().map(|trial| trial.order.trial).collect();
    assert_eq!(order, [1, 1, 2, 2], "in rounds");
    let named = &recording.workloads[0].variants;
    let named: Vec<(&str, &str)> =
        named.iter().map(|one| (one.name.as_str(), one.summary.as_str())).collect();
    assert_eq!(named, [("0.001", "sleep 0.001"), ("0.2", "sleep 0.2")]);
}

#[test]
fn levels_stand_for_n_in_the_command_and_around_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let arguments = [
        "--levels=3,20",
        "--prepare=seq {n} > in-{n}",
        "--cleanup=rm in-{n}",
        "--stdin=in-{n}",
        "--same-output",
        "--shell",
        "--",
        "test $(wc -l) = {n} && echo {n}",
    ];
    let printed = run_well(folder.path(), &[&RUN[..], &arguments].concat());
    let recording = recording(folder.path());
    let levels: Vec<u64> = values(&recording, "", "time").iter().map(|&(n, _)| n).collect();
    assert_eq!(levels, [3, 20, 3, 20], "{printed}");
    assert!(recording.trials.iter().all(|trial| trial.checks.len() == 2), "{:?}", recording.trials);
    expect_nothing_left(folder.path());
}

#[test]
fn hyperfine_s_json_has_the_times_of_each_command_and_is_read_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let arguments = ["--levels=1,2", "--vs=sleep 0.00{n}", "--names=a,b", "--", "sleep 0.00{n}1"];
    run_well(folder.path(), &[&RUN[..], &arguments].concat());
    let json = run_well(folder.path(), &["export", "--format=hyperfine", "a.osdyno"]);
    let document: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let results = document["results"].as_array().expect("results");
    let commands: Vec<&str> = results.iter().filter_map(|one| one["command"].as_str()).collect();
    assert_eq!(commands, ["sleep 0.001", "sleep 0.002", "sleep 0.0011", "sleep 0.0021"]);
    for result in results {
        let times = result["times"].as_array().expect("times");
        let seconds: Vec<f64> = times.iter().filter_map(serde_json::Value::as_f64).collect();
        let mean = result["mean"].as_f64().expect("a mean");
        assert!((mean - (seconds[0] + seconds[1]) / 2.0).abs() < 1e-9, "{result}");
        assert_eq!((times.len(), &result["exit_codes"]), (2, &serde_json::json!([0, 0])));
        for name in ["stddev", "median", "user", "system", "min", "max"] {
            assert!(result[name].is_f64(), "{name}: {result}");
        }
    }
    fs::write(folder.path().join("a.json"), &json).expect("a file");
    let judged = run_well(folder.path(), &["judge", "a.json"]);
    assert!(judged.contains("sleep"), "{judged}");
    // A run without commands has none to write.
    run_well(folder.path(), &["run", "noop", "-n=100", "--trials=1", "--out=b.osdyno"]);
    let output = osdyno(folder.path(), &["export", "--format=hyperfine", "b.osdyno"]).output().unwrap();
    assert!(!output.status.success() && text(&output.stderr).contains("no command was measured"));
}

#[test]
fn words_are_variants() {
    let folder = tempfile::tempdir().expect("a folder");
    run_well(folder.path(), &[&RUN[..], &["--levels=x,yy", "--", "test {n} != yyy"]].concat());
    let variants: Vec<String> =
        recording(folder.path()).workloads[0].variants.iter().map(|one| one.name.clone()).collect();
    assert_eq!(variants, ["x", "yy"]);
}

#[test]
fn an_output_that_differs_fails_its_check() {
    let folder = tempfile::tempdir().expect("a folder");
    let (code, _, trials) = run(folder.path(), &["--same-output", "--vs=echo a", "--", "echo b"]);
    assert_eq!(code, Some(3));
    let is_failed = |trial: &&Trial| trial.checks.iter().any(|check| !check.held);
    let failed: Vec<&Trial> = trials.iter().filter(is_failed).collect();
    let warned = format!("{:?}", failed.iter().map(|trial| &trial.warnings).collect::<Vec<_>>());
    assert!(!failed.is_empty() && warned.contains("2 bytes (checksum"), "{warned}");
}

#[test]
fn a_gigabyte_is_drained_in_little_memory() {
    let folder = tempfile::tempdir().expect("a folder");
    let arguments = ["run", "--trials=1", "--out=a.osdyno", "--", "head", "-c", "1000000000", "/dev/zero"];
    run_well(folder.path(), &arguments);
    let memory = values(&recording(folder.path()), "", "peak memory");
    assert!(memory.iter().all(|&(_, bytes)| bytes < 64e6), "{memory:?}");
}

/// Runs what goes wrong, and expects the words in the outcome of a trial, and nothing left.
#[track_caller]
fn expect_trouble(arguments: &[&str], words: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    sleeper(folder.path());
    let (code, stderr, trials) = run(folder.path(), arguments);
    let outcomes = format!("{:?}", trials.iter().map(|trial| &trial.outcome).collect::<Vec<_>>());
    assert_eq!(code, Some(3), "{arguments:?}: {stderr}");
    assert!(outcomes.contains(words), "{arguments:?}: {outcomes}");
    expect_nothing_left(folder.path());
}

#[test]
fn what_goes_wrong_has_a_reason() {
    expect_trouble(&["--", "no-such-program-42 x"], "it is not in PATH");
    expect_trouble(&["--", "./no-such-program-42"], "there is no such file");
    expect_trouble(&["--", "sleep 1", "x"], "each further one follows its own --vs");
    expect_trouble(
        &["--shell", "--", "echo planted >&2; exit 7"],
        "exit status 7; its standard error: planted",
    );
    expect_trouble(&["--expect-exit=1", "--", "true"], "--expect-exit 0 accepts that");
    expect_trouble(&["--shell", "--", "read line < /dev/tty"], "cannot open /dev/tty");
    expect_trouble(&["--prepare=echo bad >&2; false", "--", "true"], "--prepare 'echo bad >&2; false'");
    expect_trouble(&["--stdin=missing", "--", "cat"], "missing: No such file");
    expect_trouble(&["--shell", "--expect-exit=any", "--", "kill -SEGV $$"], "killed by SIGSEGV");
    expect_trouble(
        &["--timeout=1s", "--shell", "--", "trap '' TERM; ./own-sleep 4711; ./own-sleep 4712"],
        "TimedOut",
    );
}

#[test]
fn a_command_that_is_right_in_another_way_is_measured() {
    let folder = tempfile::tempdir().expect("a folder");
    let (code, stderr, _) = run(folder.path(), &["--expect-exit=1", "--", "false"]);
    assert_eq!(code, Some(0), "{stderr}");
}

#[test]
fn a_level_that_fails_leaves_those_below_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let fails = "if [ {n} = 3 ]; then kill -SEGV $$; fi";
    let arguments = ["run", "--trials=4", "--out=a.osdyno", "--levels=1,2,3", "--shell", "--", fails];
    let output = osdyno(folder.path(), &arguments).output().expect("osdyno starts");
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    let recording = recording(folder.path());
    let outcomes: Vec<&Outcome> = recording.trials.iter().map(|trial| &trial.outcome).collect();
    assert!(matches!(outcomes[0], Outcome::Crashed { n: 3, .. }), "{outcomes:?}");
    assert!(outcomes[1..].iter().all(|outcome| **outcome == Outcome::Complete), "{outcomes:?}");
    let levels: Vec<u64> = values(&recording, "", "time").iter().map(|&(n, _)| n).collect();
    assert_eq!(levels, [1, 2, 1, 2, 1, 2, 1, 2]);
}

#[test]
fn a_daemon_is_ended_after_each_execution() {
    let folder = tempfile::tempdir().expect("a folder");
    sleeper(folder.path());
    let arguments = ["--shell", "--", "setsid ./own-sleep 4713 & exit 0"];
    let (code, stderr, trials) = run(folder.path(), &arguments);
    assert_eq!(code, Some(0), "{stderr}");
    let warnings = format!("{:?}", trials[0].warnings);
    assert!(warnings.contains("left processes running"), "{warnings}");
    assert!(processes_below(folder.path(), "own-sleep").is_empty());
    expect_nothing_left(folder.path());
}

#[test]
fn wrong_usage_is_refused_before_anything_is_measured() {
    let folder = tempfile::tempdir().expect("a folder");
    for (arguments, words) in [
        (&["command"][..], "needs a command"),
        (&["--", "sleep {n}"], "--levels 1k,10k,100k"),
        (&["--levels=1,2", "--", "sleep 1"], "write {n} where the level is to stand"),
        (&["--vs=sleep 1", "--", "sleep 1"], "--names a,b"),
        (&["--vs=a", "--names=x", "--", "b"], "--names has 1 for 2 commands"),
        (&["--levels=a,a", "--", "{n}"], "a twice"),
        (&["--levels=a,b", "copy"], "words are levels of the workload command only"),
        (&["--levels=1,2", "bind"], "has no levels"),
        (&["--", "ls | wc"], "add --shell"),
        (&["--", "echo 'x"], "a quotation mark is not closed"),
        (&["--expect-exit=256", "--", "true"], "0 to 255, or any"),
        (&["copy", "--", "true"], "is measured by the workload command"),
        (&["copy", "--shell"], "-- <COMMAND>"),
        (&["--blame", "race/epoll"], "--blame samples curves and jobs"),
    ] {
        let (code, stderr, _) = run(folder.path(), arguments);
        assert_eq!(code, Some(2), "{arguments:?}: {stderr}");
        assert!(stderr.contains(words), "{arguments:?}: {stderr}");
    }
    assert!(!folder.path().join("a.osdyno").exists());
}
