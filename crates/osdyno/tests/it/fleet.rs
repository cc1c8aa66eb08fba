//! Fleets, with commands on this machine as hosts: one run file, hosts at once, and hosts that are lost.
#![cfg(target_os = "linux")]

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::common::{
    complete, expect_nothing_left, osdyno, processes_below, recording, run, run_well, signal,
    start_measuring, text, until,
};
use record::{EndStatus, Outcome};

const TINY: [&str; 10] =
    ["run", "noop", "socket/v4", "-n", "60", "--trials", "3", "--seed", "5", "--out=a.osdyno"];

fn tiny<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&TINY, more].concat()
}

#[test]
fn a_fleet_is_one_run_in_which_the_systems_of_a_host_are_pairs() {
    let folder = tempfile::tempdir().expect("a folder");
    let systems = ["--hosts", "n[1-3]=env X={}", "--system", "none=", "--system", "nice=nice -n 5"];
    run_well(folder.path(), &tiny(&systems));
    let recording = recording(folder.path());
    let names: Vec<&str> = recording.systems.iter().map(|system| system.name.as_str()).collect();
    assert_eq!(names, ["n1 none", "n1 nice", "n2 none", "n2 nice", "n3 none", "n3 nice"]);
    let place = recording.systems[3].fleet.as_ref().expect("a place");
    assert_eq!((place.host.as_str(), place.configuration.as_str()), ("n2", "nice"));
    assert_eq!(recording.systems[3].prefix, ["env", "X=n2", "nice", "-n", "5"]);
    assert!(recording.run.paired);
    assert_eq!(complete(&recording), [("n1", 12), ("n2", 12), ("n3", 12)].map(|(n, c)| (n.into(), c)).into());
    // In the order of time, the trials of one host alternate; each pair has the same number, n and seed.
    let of_host: Vec<_> = recording.trials.iter().filter(|t| t.order.system.starts_with("n2")).collect();
    for pair in of_host.chunks(2) {
        let [one, two] = [&pair[0].order, &pair[1].order];
        assert_eq!((&one.workload, one.trial, one.n, one.seed), (&two.workload, two.trial, two.n, two.seed));
        assert_ne!(one.system, two.system);
    }
    expect_nothing_left(folder.path());
}

#[test]
fn hosts_that_are_lost_have_a_reason_and_disturb_no_other() {
    let folder = tempfile::tempdir().expect("a folder");
    let hosts = "good=env\nabsent=/no/such/program\nending=sh -c 'exit 3'\nnoisy=sh -c 'cat /dev/zero'\n";
    fs::write(folder.path().join("hosts"), hosts).expect("a file");
    let output = run(folder.path(), &tiny(&["--hosts", "hosts"]));
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{stderr}");
    for (host, reason) in [("absent", "/no/such/program"), ("ending", "ended"), ("noisy", "replied")] {
        assert!(stderr.contains(&format!("{host} is lost:")), "{host}: {stderr}");
        let recording = recording(folder.path());
        let system = recording.systems.iter().find(|system| system.name == host).expect("it is recorded");
        assert!(system.warnings[0].contains(reason), "{host}: {:?}", system.warnings);
    }
    let recording = recording(folder.path());
    assert_eq!(complete(&recording)["good"], 6, "{stderr}");
    assert_eq!(recording.end.as_ref().expect("an end").status, EndStatus::Complete);
    expect_nothing_left(folder.path());
}

#[test]
fn a_host_that_dies_again_and_again_is_given_up() {
    let folder = tempfile::tempdir().expect("a folder");
    // Its agent describes the host, and is killed when a process of its measures.
    let dying = "sh -c '(while [ -d /proc/$$ ]; do \
        for agent in $(cat /proc/$$/task/$$/children); do \
        for trial in $(cat /proc/$agent/task/$agent/children 2>/dev/null); do \
        grep -qsa supervise /proc/$trial/cmdline && kill -9 $$; done; done; \
        sleep 0.1; done) & exec \"$@\"' --";
    fs::write(folder.path().join("hosts"), format!("good=env\ndying={dying}\n")).expect("a file");
    // Each trial takes longer than a look.
    let long = ["run", "fork", "fork-static", "-n", "4000", "--trials", "5", "--preset", "full"];
    let hosts = ["--seed", "5", "--out=a.osdyno", "--hosts", "hosts"];
    let output = run(folder.path(), &[&long[..], &hosts].concat());
    let stderr = text(&output.stderr);
    assert!(stderr.contains("dying is lost:"), "{stderr}");
    let recording = recording(folder.path());
    assert_eq!(complete(&recording)["good"], 10, "{stderr}");
    let reasons = recording.trials.iter().filter_map(|trial| match &trial.outcome {
        Outcome::Failed { reason } => Some(reason.as_str()),
        _ => None,
    });
    assert!(reasons.clone().any(|reason| reason.starts_with("the host was lost: ")), "{stderr}");
    expect_nothing_left(folder.path());
}

#[test]
fn an_interrupt_keeps_what_is_finished_on_all_hosts() {
    let folder = tempfile::tempdir().expect("a folder");
    let long =
        ["run", "fork", "-n", "500", "--trials", "4000", "--out=a.osdyno", "--hosts", "n[1-3]=env X={}"];
    let child = start_measuring(folder.path(), &long);
    let written = || {
        let read = record::read(folder.path().join("a.osdyno"));
        read.is_ok_and(|(recording, _)| complete(&recording).values().all(|&count| count > 0))
    };
    until("each host has a trial", written);
    signal(child.id(), "INT");
    let output = child.wait_with_output().expect("an end");
    assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
    let recording = recording(folder.path());
    assert_eq!(recording.end.as_ref().expect("an end").status, EndStatus::Interrupted);
    assert!(complete(&recording).values().all(|&count| count > 0), "{:?}", complete(&recording));
    expect_nothing_left(folder.path());
}

#[test]
fn a_killed_fleet_leaves_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let long =
        ["run", "fork", "-n", "500", "--trials", "4000", "--out=a.osdyno", "--hosts", "n[1-4]=env X={}"];
    let mut child = start_measuring(folder.path(), &long);
    until("all hosts measure", || processes_below(folder.path(), " measure ").len() >= 4);
    signal(child.id(), "KILL");
    child.wait().expect("an end");
    expect_nothing_left(folder.path());
}

#[test]
fn mistakes_of_the_command_line_are_refused_before_anything_starts() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("hosts"), "n1=env\nn1=nice\n").expect("a file");
    for (words, expected) in [
        (&["--hosts", "hosts"][..], "two hosts are called n1"),
        (&["--hosts", "nowhere"], "nowhere is no file, and no set of hosts"),
        (&["--hosts", "n[1-2]=env X={}", "--group", "m*"], "no host and no group matches m*"),
        (&["--hosts", "n[1-2]=env X={}", "--aa"], "--aa"),
        (&["--at-once", "2"], "--hosts"),
    ] {
        let output = run(folder.path(), &tiny(words));
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        assert!(text(&output.stderr).contains(expected), "{words:?}: {}", text(&output.stderr));
    }
    for words in [&["hosts", "hosts"][..], &["load", "--hosts", "hosts", "http://[::1]/"]] {
        assert_eq!(run(folder.path(), words).status.code(), Some(2), "{words:?}");
    }
    assert!(!folder.path().join("a.osdyno").exists());
    expect_nothing_left(folder.path());
}

#[test]
fn hosts_are_probed_with_their_clocks() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = run(folder.path(), &["hosts", "n[1-2]=env X={}", "--format", "json"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    for host in answer["hosts"].as_array().expect("a list") {
        let number = |field: &str| host[field].as_f64().unwrap_or_else(|| panic!("{field}: {host}"));
        let (offset, error) = (number("clock_offset_seconds"), number("clock_error_seconds"));
        assert!(offset.abs() <= error && error > 0.0, "it is the clock of this machine: {host}");
        assert!(number("processors") >= 1.0 && number("round_trip_seconds") <= 2.0 * error + 1e-9, "{host}");
        assert!(["free", "busy"].contains(&host["state"].as_str().expect("a state")), "{host}");
    }
    fs::write(folder.path().join("hosts"), "n1=env\nn2=/no/such/program\n").expect("a file");
    let output = run(folder.path(), &["hosts", "hosts"]);
    let printed = text(&output.stdout);
    assert_eq!(output.status.code(), Some(3), "{printed}");
    assert!(printed.contains("1 lost") && printed.contains("/no/such/program"), "{printed}");
    expect_nothing_left(folder.path());
}

/// A program of that name comes first on the search path of osdyno.
#[test]
fn ansible_reads_inventories_where_it_is_installed() {
    let folder = tempfile::tempdir().expect("a folder");
    let programs = folder.path().join("programs");
    fs::create_dir(&programs).expect("a folder");
    let ansible = programs.join("ansible-inventory");
    let list = r#"{"_meta": {"hostvars": {"dynamic": {"ansible_connection": "local"}}}, "web": {"hosts": ["dynamic"]}}"#;
    fs::write(&ansible, format!("#!/bin/sh\n[ \"$3\" = --list ] && echo '{list}'\n")).expect("a file");
    fs::set_permissions(&ansible, fs::Permissions::from_mode(0o755)).expect("permissions");
    fs::write(folder.path().join("hosts"), "[web]\nplain\n").expect("a file");
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap_or_default());
    let hosts = |words: &[&str]| {
        let output = osdyno(folder.path(), words).env("PATH", &path).output().expect("osdyno starts");
        text(&output.stdout) + &text(&output.stderr)
    };
    let printed = hosts(&["hosts", "hosts:web"]);
    assert!(printed.contains("dynamic") && !printed.contains("plain"), "{printed}");
    fs::write(&ansible, "#!/bin/sh\necho 'no such plugin' >&2; exit 4\n").expect("a file");
    let printed = hosts(&["hosts", "hosts"]);
    assert!(printed.contains("ansible-inventory refuses it: no such plugin"), "{printed}");
}

/// A partition that heals costs a host the trial in which it came, and no more.
#[test]
fn a_host_that_is_away_for_a_while_is_tried_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let gone = folder.path().join("gone");
    let command = format!("sh -c 'test ! -e {} && exec \"$@\"' --", gone.display());
    fs::write(folder.path().join("hosts"), format!("n1={command}\n")).expect("a file");
    let long = ["run", "fork", "-n", "500", "--trials", "40", "--preset", "full", "--seed", "5"];
    let child =
        start_measuring(folder.path(), &[&long[..], &["--out=a.osdyno", "--hosts", "hosts"]].concat());
    let written = || {
        let read = record::read(folder.path().join("a.osdyno"));
        read.is_ok_and(|(recording, _)| complete(&recording)["n1"] > 0)
    };
    until("the host has a trial", written);
    fs::write(&gone, "").expect("a file");
    processes_below(folder.path(), " agent ").into_iter().for_each(|agent| signal(agent, "KILL"));
    std::thread::sleep(std::time::Duration::from_secs(5));
    fs::remove_file(&gone).expect("the file");
    let output = child.wait_with_output().expect("an end");
    let counts = complete(&recording(folder.path()));
    assert!(counts["n1"] >= 39, "{counts:?} {}", text(&output.stderr));
    assert!(!text(&output.stderr).contains("lost"), "{}", text(&output.stderr));
    expect_nothing_left(folder.path());
}
