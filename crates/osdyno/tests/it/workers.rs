//! Servers with several workers: how these get connections, their processors, and runs that compare them.
#![cfg(target_os = "linux")]

use std::collections::{BTreeMap, BTreeSet};

use record::Outcome;

use crate::common::served::Served;
use crate::common::{
    expect_nothing_left, osdyno, processes_below, recording, run, run_well, start_measuring, text, until,
};

/// `EPOLLEXCLUSIVE` with `EPOLLIN`, and with `EPOLLERR` and `EPOLLHUP`, which are always there, as
/// /proc/PID/fdinfo prints it.
const EXCLUSIVE: &str = "events: 10000019";

fn listeners(port: u16) -> usize {
    let table = std::fs::read_to_string("/proc/net/tcp").expect("the table of sockets");
    // The local address, and the state TCP_LISTEN.
    let at = format!("0100007F:{port:04X} 00000000:0000 0A");
    table.lines().filter(|line| line.contains(&at)).count()
}

/// Processes of which an epoll set waits with `EPOLLEXCLUSIVE`.
fn exclusive_waiters(server: &Served) -> usize {
    let is_waiter = |process: &u32| {
        let files = std::fs::read_dir(format!("/proc/{process}/fdinfo"));
        files
            .into_iter()
            .flatten()
            .flatten()
            .any(|file| std::fs::read_to_string(file.path()).is_ok_and(|text| text.contains(EXCLUSIVE)))
    };
    server.processes().iter().filter(|process| is_waiter(process)).count()
}

#[test]
fn workers_have_a_queue_each_or_share_one() {
    let folder = tempfile::tempdir().expect("a folder");
    for (accept, queues, waiters) in [("reuseport", 2, 0), ("shared", 1, 0), ("exclusive", 1, 2)] {
        let words = ["--service", "busy", "--workers", "2", "--accept", accept];
        let server = Served::start(folder.path(), &words);
        until("the workers wait", || server.processes().len() == 3 && exclusive_waiters(&server) == waiters);
        assert_eq!(listeners(server.address.port()), queues, "{accept}");
    }
}

#[test]
fn a_way_to_accept_that_an_architecture_lacks_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    for (arch, accept, reason) in
        [("thread", "shared", "spreads connections itself"), ("poll", "exclusive", "but reuseport, shared")]
    {
        let refused = run(folder.path(), &["serve", "--arch", arch, "--accept", accept]);
        assert!(!refused.status.success() && text(&refused.stderr).contains(reason), "{refused:?}");
    }
    let arguments = ["run", "race/thread", "-n", "2", "--trials", "1", "--set", "accept=shared"];
    let output = run(folder.path(), &[&arguments[..], &["--out", "a.osdyno"]].concat());
    let trials = recording(folder.path()).trials;
    assert!(matches!(&trials[0].outcome, Outcome::Unsupported { .. }), "{trials:?}");
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
}

#[test]
fn several_values_of_a_setting_are_systems_that_are_compared() {
    let folder = tempfile::tempdir().expect("a folder");
    let arguments = ["run", "race/epoll", "-n", "3", "--trials", "2", "--window", "20ms"];
    let several = ["--set", "workers=1,2", "--set", "generators=2", "--out", "a.osdyno"];
    let output = run(folder.path(), &[&arguments[..], &several].concat());
    let recording = recording(folder.path());
    let names: Vec<&str> = recording.systems.iter().map(|system| system.name.as_str()).collect();
    assert_eq!(names, ["workers=1", "workers=2"], "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("workers=2 against workers=1"), "{}", text(&output.stdout));
    for trial in &recording.trials {
        assert!(trial.checks.iter().all(|check| check.held), "{trial:?}");
        let chosen = trial.order.settings.get("workers").map_or("1", String::as_str);
        assert_eq!(format!("workers={chosen}"), trial.order.system);
    }
    // With one connection there is nothing for a second generator; in an open loop one offers all.
    let mut generators: BTreeMap<(u64, bool), BTreeSet<u64>> = BTreeMap::new();
    for level in &recording.generators {
        let key = (level.n, level.intended_per_second.is_some());
        generators.entry(key).or_default().insert(level.generators);
    }
    let of = |n, is_open| generators.get(&(n, is_open)).map(|all| all.iter().copied().collect::<Vec<_>>());
    assert_eq!([of(1, false), of(3, false)], [Some(vec![1]), Some(vec![2])], "{generators:?}");
    assert!([of(1, true), of(3, true)].iter().flatten().all(|all| *all == [1]), "{generators:?}");
}

#[test]
fn a_workload_without_the_setting_is_not_measured_twice() {
    let folder = tempfile::tempdir().expect("a folder");
    let refused = run(folder.path(), &["run", "race/epoll", "noop", "--set", "workers=1,2"]);
    assert!(text(&refused.stderr).contains("noop has no setting"), "{}", text(&refused.stderr));
    let refused = run(folder.path(), &["run", "race/epoll", "--set", "workers=1,0"]);
    assert!(text(&refused.stderr).contains("1 to"), "{}", text(&refused.stderr));
}

/// The processors that a process may run on, as its status says.
fn allowed(process: u32) -> String {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    line.unwrap_or_default().trim().to_owned()
}

#[test]
fn workers_are_bound_to_processors_of_their_own() {
    let folder = tempfile::tempdir().expect("a folder");
    if std::thread::available_parallelism().map_or(1, usize::from) < 2 {
        return skipped!("one processor");
    }
    let arguments = ["run", "race/epoll", "-n", "2", "--trials", "1", "--window", "5s"];
    let more = ["--set", "workers=2", "--out", "a.osdyno"];
    let child = start_measuring(folder.path(), &[&arguments[..], &more].concat());
    let mut bound = BTreeSet::new();
    until("two workers serve", || {
        let serving = processes_below(folder.path(), " serve");
        bound = serving
            .iter()
            .map(|process| allowed(*process))
            .filter(|list| !list.contains(['-', ',']))
            .collect();
        serving.len() == 3 && bound.len() == 2
    });
    assert!(bound.iter().all(|list| list.parse::<u32>().is_ok()), "{bound:?}");
    let ended = child.wait_with_output().expect("an end");
    assert!(ended.status.success(), "{}", text(&ended.stderr));
    let warnings = recording(folder.path()).trials.remove(0).warnings;
    let is_shared = warnings.iter().any(|warning| warning.contains("share processor"));
    assert_eq!(is_shared, sys::cpu::count() == 2, "{warnings:?}");
    expect_nothing_left(folder.path());
}

#[test]
fn runs_with_other_settings_are_not_compared() {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, workers) in [("one", "workers=1"), ("two", "workers=2")] {
        let arguments =
            ["run", "race/epoll", "-n", "1", "--trials", "1", "--window", "20ms", "--set", workers];
        run_well(folder.path(), &[&arguments[..], &["--out", &format!("{name}.osdyno")]].concat());
    }
    let refused =
        osdyno(folder.path(), &["compare", "one.osdyno", "two.osdyno"]).output().expect("osdyno starts");
    let said = text(&refused.stderr) + &text(&refused.stdout);
    assert!(said.contains("different settings"), "{said}");
}
