//! The output of `osdyno doctor`. `tests/limits.rs` measures its predictions.
#![cfg(target_os = "linux")]

use serde_json::Value;

use crate::common::lowered::{after, diagnosed};
use crate::common::{expect_nothing_left, run, run_well, text};

#[test]
fn the_verdict_comes_first_and_everything_has_its_command() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = after("ulimit -n 300", folder.path(), &["doctor", "--for", "connections=100000"]);
    let printed = text(&output.stdout);
    assert_eq!(output.status.code(), Some(3), "{printed}{}", text(&output.stderr));
    assert!(printed.starts_with("NOT FIT  local"), "{printed}");
    for expected in [
        "100000 connections do not fit: RLIMIT_NOFILE",
        "RLIMIT_NOFILE is 300, needed is 100032 (--for) · getrlimit(2)",
        "now       ulimit -n 100032",
        "systemd unit: LimitNOFILE=100032 · limits.d: * - nofile 100032 · container: --ulimit nofile=100032",
        "A reference operation of",
    ] {
        assert!(printed.contains(expected), "{expected} in\n{printed}");
    }
    assert!(printed.lines().count() <= 40, "one screen:\n{printed}");
    expect_nothing_left(folder.path());
}

/// The reasons of a diagnosis about one thing.
fn reasons<'a>(diagnosis: &'a Value, subject: &str) -> Vec<&'a str> {
    let reasons = diagnosis["systems"][0]["reasons"].as_array().expect("reasons");
    let about = reasons.iter().filter(|reason| reason["subject"] == subject);
    about.filter_map(|reason| reason["text"].as_str()).collect()
}

#[test]
fn processors_that_are_kept_from_a_run_are_named() {
    let online = std::thread::available_parallelism().map_or(1, usize::from);
    if online < 2 {
        skipped!("there is one processor only");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let first = "$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')";
    let before = format!("taskset -cp {first} $$ > output");
    let diagnosis = diagnosed(&before, folder.path(), &["noop"]);
    let [reason] = reasons(&diagnosis, "processors")[..] else { panic!("{diagnosis:#}") };
    assert!(reason.starts_with("1 of ") && reason.contains("CPU affinity"), "{reason}");
    let printed = text(&after(&before, folder.path(), &["doctor", "noop"]).stdout);
    assert!(printed.lines().next().is_some_and(|line| line.contains("processors usable")), "{printed}");
}

#[test]
fn a_limit_that_stops_workloads_is_among_what_to_raise() {
    let folder = tempfile::tempdir().expect("a folder");
    // 268 of 290 is near enough for a run, and still what the limit stops.
    let words = ["doctor", "ready/poll", "-n", "290"];
    let printed = text(&after("ulimit -n 300", folder.path(), &words).stdout);
    for expected in ["To raise", "RLIMIT_NOFILE is 300, needed is 322", "now       ulimit -n 322"] {
        assert!(printed.contains(expected), "{expected} in\n{printed}");
    }
    let diagnosis = diagnosed("ulimit -n 200", folder.path(), &["ready/poll", "-n", "290"]);
    assert!(reasons(&diagnosis, "limits")[0].contains("ends early, because RLIMIT_NOFILE"), "{diagnosis:#}");
    let weights = diagnosis["systems"][0]["reasons"].as_array().expect("reasons").iter();
    let of_limits: Vec<&Value> = weights.filter(|reason| reason["subject"] == "limits").collect();
    assert!(of_limits.iter().all(|reason| reason["weight"] == "limited"), "{of_limits:#?}");
}

#[test]
fn other_systems_are_examined_where_they_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let tight = "tight=sh -c 'ulimit -n 100; exec \"$@\"' --";
    let server = "127.0.0.1=sh -c 'ulimit -n 90; exec \"$@\"' --";
    let words =
        ["doctor", "ready/poll", "-n", "500", "--format", "json", "--system", tight, "--server", server];
    let output = run(folder.path(), &words);
    let diagnosis: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let n = |place: usize| diagnosis["systems"][place]["workloads"][0]["n"].as_u64();
    assert_eq!((n(0), n(1)), (Some(68), Some(58)), "{diagnosis:#}");
    assert_eq!(diagnosis["systems"][1]["name"], "127.0.0.1");
    assert!(diagnosis["systems"][0]["steadiness"]["samples"].as_u64() > Some(0), "{diagnosis:#}");
    let broken = run(folder.path(), &["doctor", "noop", "--system", "gone=/no/such/command"]);
    assert_eq!(broken.status.code(), Some(1), "{}", text(&broken.stderr));
    assert!(text(&broken.stderr).contains("gone"), "{}", text(&broken.stderr));
    expect_nothing_left(folder.path());
}

#[test]
fn each_system_has_its_recipe() {
    let folder = tempfile::tempdir().expect("a folder");
    for (system, expected) in [
        ("freebsd", "kern.ipc.soacceptqueue=4096"),
        ("netbsd", "net.inet.ip.anonportmin"),
        ("openbsd", "openfiles-max"),
        ("illumos", "process.max-file-descriptor"),
        ("macos", "launchd.plist(5)"),
        ("windows", "netsh int ipv4 set dynamicport tcp"),
        ("linux", "LimitNOFILE=60000"),
    ] {
        let printed = run_well(folder.path(), &["doctor", "--os", system, "--for", "connections=50000"]);
        assert!(printed.contains(expected), "{expected} in\n{printed}");
        let json = run_well(folder.path(), &["doctor", "--os", system, "--format", "json"]);
        let json: Value = serde_json::from_str(&json).expect("JSON");
        assert!(json["steps"].as_array().is_some_and(|steps| steps.len() > 3), "{json:#}");
    }
}

#[test]
fn nonsense_is_wrong_usage_with_what_to_write_instead() {
    let folder = tempfile::tempdir().expect("a folder");
    for (arguments, says) in [
        (&["doctor", "--for", "conections=5"][..], "kinds are connections, clients"),
        (&["doctor", "--for", "connections=many"], "write a number, such as 500 or 20k"),
        (&["doctor", "scoket"], "did you mean \"socket\""),
        (&["doctor", "--os", "plan9"], "possible values"),
        (&["doctor", "--server", "127.0.0.1"], "needs the command"),
        (&["doctor", "--preset", "fast"], "quick"),
        (&["tune", "--for", "files=1", "--undo", "x"], "cannot be used with"),
        (&["tune", "--undo", "x", "--apply"], "cannot be used with"),
    ] {
        let output = run(folder.path(), arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", text(&output.stderr));
        assert!(text(&output.stderr).contains(says), "{arguments:?}: {}", text(&output.stderr));
    }
}
