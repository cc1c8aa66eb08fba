//! `run --clients` and `mail --clients`: servers that several hosts load, which are commands on this machine.
#![cfg(target_os = "linux")]

use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::common::accounts::ledger;
use crate::common::served::Served;
use crate::common::{
    expect_nothing_left, osdyno, processes_below, run, run_well, signal, start_measuring, text, until,
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

/// A server that takes mail, and its address.
fn sink(folder: &Path) -> (Served, String) {
    let server = Served::start(folder, &["--service", "smtp", "--access-log", "ledger"]);
    let address = server.address.to_string();
    (server, address)
}

fn start(folder: &Path, words: &[&str]) -> Child {
    let mut command = osdyno(folder, words);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("osdyno starts")
}

/// The answer of `osdyno mail --clients`, in which the counts of all hosts are those of the whole.
fn mail_answer(folder: &Path, words: &[&str]) -> Value {
    let output = run(folder, &[&["mail", "--clients", TWO, "--format", "json"], words].concat());
    let answer: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {} {}", text(&output.stdout), text(&output.stderr)));
    let workers = answer["joint"]["workers"].as_array().expect("workers");
    let names: Vec<&str> = workers.iter().filter_map(|worker| worker["name"].as_str()).collect();
    assert_eq!(names, ["n1", "n2"]);
    for (name, count) in answer["counts"].as_object().expect("counts") {
        let sum: u64 = workers.iter().filter_map(|worker| worker["counts"][name].as_u64()).sum();
        assert_eq!(Some(sum), count.as_u64(), "{name}: {answer}");
    }
    let is_void = answer["joint"].get("void").is_some();
    let is_whole = answer["counts"]["queued"] == 0 && answer["counts"]["failed"] == 0;
    assert_eq!(output.status.code(), Some(if is_whole && !is_void { 0 } else { 3 }), "{answer}");
    answer
}

#[test]
fn hosts_deliver_a_list_together_and_each_recipient_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let (server, relay) = sink(folder.path());
    let list = ["--relay", &relay, "--recipients", "3000", "--domains", "101", "--sizes", "uniform"];
    let answer = mail_answer(folder.path(), &list);
    assert_eq!(answer["counts"]["tested"], 3000, "{answer}");
    server.stop();
    let taken = ledger(&folder.path().join("ledger"), "reset", 250);
    assert!(taken.len() == 3000 && taken.values().all(|&times| times == 1), "{} recipients", taken.len());
}

/// With a time and a list that is long enough all end together.
#[test]
fn hosts_deliver_for_a_time_and_the_server_counts_as_many() {
    let folder = tempfile::tempdir().expect("a folder");
    let (server, relay) = sink(folder.path());
    let list =
        ["--relay", &relay, "--recipients", "2M", "--deliver", "-d", "1s", "-c", "8", "--threads", "1"];
    let answer = mail_answer(folder.path(), &list);
    let count = |name: &str| answer["counts"][name].as_u64().expect("a count");
    assert_eq!(count("delivered") + count("queued"), 2_000_000, "{answer}");
    assert!(count("delivered") > 0);
    assert_eq!(server.stop().count("recipients"), count("delivered"));
    let window = &answer["joint"];
    match window.get("void") {
        None => assert!(window["overlap_share"].as_f64().is_some_and(|share| share >= 0.99), "{window}"),
        Some(reasons) => skipped!("this machine is too busy: {reasons}"),
    }
}

#[test]
fn mail_of_a_client_that_is_lost_is_void() {
    let folder = tempfile::tempdir().expect("a folder");
    let (server, relay) = sink(folder.path());
    let words = ["mail", "--clients", TWO, "--relay", &relay, "--recipients", "2M", "-d", "30s"];
    let child = start(folder.path(), &words);
    until("both deliver", || {
        processes_below(folder.path(), " mail-worker ").len() >= 2 && server.counter("responses") > 0
    });
    signal(processes_below(folder.path(), " mail-worker ")[0], "KILL");
    let output = child.wait_with_output().expect("an end");
    let told = text(&output.stdout);
    assert_eq!(output.status.code(), Some(3), "{told}");
    assert!(told.contains("void: n") && told.contains("was lost") && told.contains("SIGKILL"), "{told}");
    drop(server);
    expect_nothing_left(folder.path());
}

#[test]
fn mail_of_clients_that_cannot_deliver_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    for (words, code, why) in [
        (&["--clients", "n1"][..], 2, "n1 is another machine"),
        (&["--clients", TWO, "-c", "1"], 2, "2 workers need a connection each"),
        (&["--clients", TWO, "--results", "-"], 2, "--results"),
        (&["--clients", "a=env,b=false"], 1, "b: "),
    ] {
        let output = run(folder.path(), &[&["mail", "--relay", "127.0.0.1:9"], words].concat());
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{words:?}: {told}");
        assert!(told.contains(why), "{words:?}: {told}");
    }
    expect_nothing_left(folder.path());
}

/// A host that does not reply is waited for no longer than until the user has enough of it.
#[test]
fn an_interrupt_ends_the_wait_for_hosts_at_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let begun_file = folder.path().join("begun");
    let silent = format!("n1=sh -c 'echo $$ > {}; exec sleep 300' --", begun_file.display());
    for words in [
        &["load", "http://127.0.0.1:9/", "--from", &silent][..],
        &["mail", "--relay", "127.0.0.1:9", "--clients", &silent],
    ] {
        let child = start(folder.path(), words);
        let begun = || std::fs::read_to_string(&begun_file).unwrap_or_default().trim().parse::<u32>();
        until("the host is opened", || begun().is_ok());
        let (host, moment) = (begun().expect("a process"), Instant::now());
        signal(child.id(), "INT");
        let output = child.wait_with_output().expect("an end");
        assert_eq!(output.status.code(), Some(130), "{words:?}: {}", text(&output.stderr));
        assert!(moment.elapsed() < Duration::from_secs(20), "{words:?}: {:?}", moment.elapsed());
        until("the command is gone", || !Path::new(&format!("/proc/{host}")).exists());
        std::fs::remove_file(&begun_file).expect("a file");
    }
}
