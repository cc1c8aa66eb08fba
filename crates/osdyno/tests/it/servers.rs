//! Servers that are measured: here, in another network, and one that somebody else has started.
#![cfg(target_os = "linux")]

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::common::network::Network;
use crate::common::{
    expect_nothing_left, osdyno, processes_below, run_well, signal, start_measuring, text, until,
};
use record::{GeneratorLevel, Outcome, Recording};

/// The run file, in which every trial must have gone well.
fn recording(folder: &Path) -> Recording {
    let recording = crate::common::recording(folder);
    for trial in &recording.trials {
        // On a slow line the time for a trial may be over before the last level.
        let is_well = matches!(trial.outcome, Outcome::Complete | Outcome::Allowance { .. });
        assert!(is_well, "{trial:?}");
        assert!(trial.checks.iter().all(|check| check.held), "{trial:?}");
    }
    assert!(!recording.trials.is_empty());
    recording
}

/// All values of that name.
fn values(recording: &Recording, name: &str) -> Vec<f64> {
    let of_name = recording.series().filter(|(key, _)| key.name == name);
    of_name.flat_map(|(_, trials)| trials).flat_map(|series| series.values.clone()).collect()
}

#[test]
fn a_server_in_another_network_is_started_loaded_and_ended() {
    let network = match Network::start(0) {
        Ok(network) => network,
        Err(reason) => return skipped!("no network of its own: {reason}"),
    };
    let folder = tempfile::tempdir().expect("a folder");
    let server = format!("{}=ip netns exec {}", network.there(), network.name);
    let measure = |workload: &str| {
        let arguments = ["run", workload, "-n", "5", "--trials", "2", "--window", "100ms"];
        run_well(folder.path(), &[&arguments[..], &["--server", &server, "--out", "a.osdyno"]].concat());
        let recording = recording(folder.path());
        for file in ["a.osdyno", "a.html"] {
            std::fs::remove_file(folder.path().join(file)).expect("a file of the run");
        }
        recording
    };
    let plain = measure("race/epoll");
    assert!(values(&plain, "throughput").iter().all(|&rate| rate > 0.0), "{plain:?}");
    // At two levels, in the trial that follows the one which finds out what can be offered.
    assert_eq!(values(&plain, "server cpu").len(), 2, "the server is ours, and reports its resources");

    match network.shape("netem delay 5ms") {
        // There and back, for the connection and for the response.
        Ok(()) => {
            let latencies = values(&measure("race/epoll"), "p50");
            assert!(latencies.iter().all(|&seconds| seconds > 0.009), "{latencies:?}");
        }
        Err(reason) => skipped!("no delay: {reason}"),
    }
    match network.shape("tbf rate 80mbit burst 256kb latency 50ms") {
        // 10 megabytes a second, and what the bucket holds at the beginning.
        Ok(()) => {
            let rates = values(&measure("web/1m"), "throughput");
            assert!(!rates.is_empty() && rates.iter().all(|&rate| rate < 30.0), "{rates:?}");
        }
        Err(reason) => skipped!("no limit of the rate: {reason}"),
    }
    expect_nothing_left(folder.path());
}

#[test]
fn a_server_that_somebody_else_started_is_loaded_and_left_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut server, address) = serve(folder.path());
    let arguments = ["run", "race/epoll", "-n", "5", "--trials", "2", "--window", "20ms"];
    run_well(folder.path(), &[&arguments[..], &["--server", &address, "--out", "a.osdyno"]].concat());
    let recording = recording(folder.path());
    assert_eq!(values(&recording, "throughput").len(), 2 * 2);
    assert_eq!(values(&recording, "p50").len(), 2);
    assert_eq!(values(&recording, "server cpu"), [0.0; 0], "its resources are unknown");
    expect_what_was_offered(&recording);
    assert!(server.try_wait().expect("a child").is_none(), "it goes on");
    signal(server.id(), "TERM");
    assert!(server.wait().expect("an end").success());
}

/// The second trial offers what the first has found out, in an open loop, and has its reasons.
fn expect_what_was_offered(recording: &Recording) {
    let [first, second] = &recording.trials[..] else { panic!("{:?}", recording.trials) };
    assert!(first.order.offered.is_empty());
    let levels: Vec<u64> = second.order.offered.iter().map(|level| level.n).collect();
    assert_eq!(levels, [1, 5]);
    for offered in &second.order.offered {
        assert_eq!(offered.slowest, "epoll");
        assert!(offered.per_second <= offered.slowest_per_second / 2.0, "{offered:?}");
        let is_it = |level: &&GeneratorLevel| level.n == offered.n && level.intended_per_second.is_some();
        let [open] = &recording.generators.iter().filter(is_it).collect::<Vec<_>>()[..] else {
            panic!("{:?}", recording.generators)
        };
        assert_eq!((open.of.trial, &open.series[..]), (2, &["p50".to_owned(), "p99".to_owned()][..]));
    }
    let closed = recording.generators.iter().filter(|level| level.intended_per_second.is_none());
    assert_eq!(closed.filter(|level| level.series == ["throughput"]).count(), 2 * 2);
}

/// A server on loopback, and its address.
fn serve(folder: &Path) -> (Child, String) {
    let mut command = osdyno(folder, &["serve", "--service", "busy", "--listen", "127.0.0.1:0"]);
    let mut server = command.stderr(Stdio::piped()).spawn().expect("osdyno starts");
    let said = BufReader::new(server.stderr.take().expect("its words"));
    let address = said.lines().map_while(Result::ok).find_map(|line| {
        let at = line.split_once("busy at ")?.1;
        Some(at.split(' ').next()?.to_owned())
    });
    (server, address.expect("where it listens"))
}

#[test]
fn a_server_ends_with_its_worker_whatever_ends_that() {
    for killed in [" measure ", " supervise ", " run "] {
        let folder = tempfile::tempdir().expect("a folder");
        let arguments = ["run", "race/prefork", "-n", "10", "--trials", "1", "--window", "20s"];
        let child = start_measuring(folder.path(), &[&arguments[..], &["--out", "a.osdyno"]].concat());
        until("a server serves", || !processes_below(folder.path(), " serve ").is_empty());
        let victim = match killed {
            " run " => child.id(),
            words => *processes_below(folder.path(), words).first().expect("a process"),
        };
        signal(victim, "KILL");
        let output = child.wait_with_output().expect("an end");
        assert!(!output.status.success(), "{killed}: {}", text(&output.stderr));
        expect_nothing_left(folder.path());
    }
}

/// However it ends, that is no limit of the server, and the trials after it are measured.
#[test]
fn a_server_that_ends_by_itself_is_a_crash_of_that_trial() {
    for name in ["TERM", "KILL"] {
        let folder = tempfile::tempdir().expect("a folder");
        let arguments = ["run", "race/epoll", "-n", "10", "--trials", "2", "--window", "1s"];
        let child = start_measuring(folder.path(), &[&arguments[..], &["--out", "a.osdyno"]].concat());
        until("the first trial is over", || {
            // Every server until then, because that of the rehearsal comes first. A server of the second trial
            // is not there before the first trial is written.
            let servers = processes_below(folder.path(), " serve ");
            let recorded = record::read(folder.path().join("a.osdyno"));
            let is_over = recorded.is_ok_and(|(recording, _)| !recording.trials.is_empty());
            if !is_over {
                servers.iter().for_each(|server| {
                    let _ = Command::new("kill").args([&format!("-{name}"), &server.to_string()]).output();
                });
            }
            is_over
        });
        let output = child.wait_with_output().expect("an end");
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{name}: {told}");
        assert!(told.contains("crashed at n =") && told.contains("the server ended"), "{name}: {told}");
        let (recording, _) = record::read(folder.path().join("a.osdyno")).expect("the run file");
        let [first, second] = &recording.trials[..] else { panic!("{name}: {:?}", recording.trials) };
        assert!(matches!(&first.outcome, Outcome::Crashed { .. }), "{name}: {:?}", first.outcome);
        assert_eq!(second.outcome, Outcome::Complete, "{name}");
    }
}
