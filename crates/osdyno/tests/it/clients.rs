//! `run --clients`: servers of a run that several hosts load, which are commands on this machine.
#![cfg(target_os = "linux")]

use std::path::Path;
use std::time::Duration;

use crate::common::{
    expect_nothing_left, processes_below, run, run_well, signal, start_measuring, text, until,
};
use record::{Outcome, Recording};

const TWO: &str = "n[1-2]=env X={}";

fn recording(folder: &Path, file: &str) -> Recording {
    record::read(folder.join(file)).expect("the run file").0
}

/// Whether a trial failed because other tests had the processors of the hosts.
fn is_void(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Failed { reason } if reason.contains("the load does not count"))
}

#[test]
fn hosts_load_the_servers_of_a_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let load =
        ["run", "race/epoll", "request/epoll", "bind", "-n", "6", "--trials", "2", "--window", "300ms"];
    let output = run(folder.path(), &[&load[..], &["--clients", TWO, "--out", "a.osdyno"]].concat());
    let told = text(&output.stdout) + &text(&output.stderr);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{told}");
    assert!(told.contains("the servers were loaded from n1 and n2"), "{told}");
    let recording = recording(folder.path(), "a.osdyno");
    for trial in &recording.trials {
        let names: Vec<&str> = trial.order.clients.iter().map(|client| client.name.as_str()).collect();
        let is_race = trial.order.workload == "race";
        assert_eq!(names, if is_race { vec!["n1", "n2"] } else { vec![] }, "{trial:?}");
        let is_right = match trial.order.workload.as_str() {
            "race" => trial.outcome == Outcome::Complete || is_void(&trial.outcome),
            "request" => {
                matches!(&trial.outcome, Outcome::Unsupported { reason } if reason.contains("--clients"))
            }
            _ => trial.outcome == Outcome::Complete,
        };
        assert!(is_right && trial.checks.iter().all(|check| check.held), "{trial:?}");
    }
    if recording.trials.iter().any(|trial| is_void(&trial.outcome)) {
        return skipped!("this machine is too busy: a load of two hosts does not count");
    }
    for level in &recording.generators {
        let parts: Vec<&str> = level.parts.iter().map(|part| part.name.as_str()).collect();
        // In a closed loop one connection is loaded from one host.
        let expected =
            if level.n == 1 && level.intended_per_second.is_none() { vec![] } else { vec!["n1", "n2"] };
        assert_eq!(parts, expected, "{level:?}");
        let started: f64 = level.parts.iter().map(|part| part.started_per_second).sum();
        assert!(parts.is_empty() || (started / level.started_per_second - 1.0).abs() < 0.05, "{level:?}");
    }
    expect_nothing_left(folder.path());
}

#[test]
fn runs_with_different_clients_are_not_compared() {
    let folder = tempfile::tempdir().expect("a folder");
    let load = ["run", "race/epoll", "-n", "1", "--trials", "1", "--window", "50ms", "--out"];
    run_well(folder.path(), &[&load[..], &["here.osdyno"]].concat());
    run(folder.path(), &[&load[..], &["there.osdyno", "--clients", "n1=env"]].concat());
    let output = run(folder.path(), &["compare", "here.osdyno", "there.osdyno"]);
    let told = text(&output.stdout) + &text(&output.stderr);
    assert!(!output.status.success(), "{told}");
    let why = "race has different clients: the system itself in here and n1 in there";
    assert!(told.contains(why), "{told}");
}

#[test]
fn clients_that_cannot_load_are_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let load = ["run", "race/epoll", "-n", "2", "--trials", "1", "--window", "50ms", "--out", "a.osdyno"];
    for (words, code, why) in [
        (&["--clients", "n1,n2"][..], 2, "n1, n2 are other machines"),
        (&["--clients", "n1=ssh n1", "--server", "127.0.0.1=env"], 2, "--server 10.0.0.2=env"),
        (&["--clients", "a=env,a=true"], 2, "two hosts are called a"),
        (&["--clients", "a=env", "--hosts", "b=env"], 2, "--hosts"),
        (&["--clients", "a=env,b=false"], 3, "b: "),
    ] {
        let output = run(folder.path(), &[&load[..], words].concat());
        let told = text(&output.stderr) + &text(&output.stdout);
        assert_eq!(output.status.code(), Some(code), "{words:?}: {told}");
        assert!(told.contains(why), "{words:?}: {told}");
    }
    expect_nothing_left(folder.path());
}

/// It is no limit of the server, and the next trial begins with all hosts again.
#[test]
fn a_client_that_is_lost_is_the_error_of_its_trial() {
    let folder = tempfile::tempdir().expect("a folder");
    let load = ["run", "web/590", "-n", "2", "--trials", "1", "--window", "20s", "--out", "a.osdyno"];
    let child = start_measuring(folder.path(), &[&load[..], &["--clients", TWO]].concat());
    until("both load", || processes_below(folder.path(), " load-worker ").len() >= 2);
    // The load of one request on each connection is over.
    std::thread::sleep(Duration::from_secs(2));
    signal(processes_below(folder.path(), " load-worker ")[0], "KILL");
    let output = child.wait_with_output().expect("an end");
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    let [trial] = &recording(folder.path(), "a.osdyno").trials[..] else { panic!("one trial") };
    let Outcome::Failed { reason } = &trial.outcome else { panic!("{trial:?}") };
    assert!(reason.contains("was lost") && reason.contains("SIGKILL"), "{reason}");
    expect_nothing_left(folder.path());
}
