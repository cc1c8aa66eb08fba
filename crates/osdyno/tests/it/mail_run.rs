//! The group `mail`: the engine as a workload, opposite a sink and a DNS server in processes of their own.
#![cfg(unix)]

use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::Path;
use std::process::{Output, Stdio};

use crate::common::served::Served;
use crate::common::{
    expect_nothing_left, osdyno, processes_below, run_well, signal, start_measuring, text, until,
};
use record::{GeneratorLevel, Outcome, Recording, Tester};

fn recording(folder: &Path) -> Recording {
    let (recording, losses) = record::read(folder.join("a.osdyno")).expect("the run file");
    assert!(losses.is_empty(), "{losses:?}");
    recording
}

/// The values of a series in all trials, level by level.
fn values(recording: &Recording, workload: &str, variant: &str, name: &str) -> Vec<(u64, f64)> {
    let is_it = |key: &record::SeriesKey| {
        (&key.workload[..], &key.variant[..], &key.name[..]) == (workload, variant, name)
    };
    let series = recording.series().filter(|(key, _)| is_it(key)).flat_map(|(_, trials)| trials);
    series.flat_map(|series| series.sizes.iter().copied().zip(series.values.clone())).collect()
}

/// Small lists and windows, for tests.
const SMALL: [&str; 8] = ["-n", "20", "-t", "1", "--window", "20ms", "--set", "domains=50"];

#[test]
fn every_mode_over_every_interface_delivers_and_all_counters_agree() {
    let folder = tempfile::tempdir().expect("a folder");
    // Some interfaces are those of other systems.
    run_well(folder.path(), &[&["run", "mail", "--out", "a.osdyno"], &SMALL[..]].concat());
    let recording = recording(folder.path());
    assert_eq!(recording.trials.len(), 3 * mail::EVENT_INTERFACES.len());
    for trial in &recording.trials {
        let (workload, variant) = (&trial.order.workload[..], &trial.order.variant[..]);
        if let Outcome::Unsupported { reason } = &trial.outcome {
            assert!(reason.contains(variant) && !["poll", "select"].contains(&variant), "{reason}");
            continue;
        }
        assert_eq!(trial.outcome, Outcome::Complete, "{workload}/{variant}: {trial:?}");
        assert_eq!(trial.checks.len(), 4, "{:?}", trial.checks);
        assert!(trial.checks.iter().all(|check| check.held), "{workload}/{variant}: {:?}", trial.checks);
        // What the engine makes of DNS and of a greeting may have been there when it looked.
        let may_lack = ["dns p99", "banner p99"];
        let operations = mail::GROUP.find(workload).expect("a workload").operations;
        for operation in operations.iter().filter(|operation| !may_lack.contains(&operation.name)) {
            let found = values(&recording, workload, variant, operation.name);
            let levels: Vec<u64> = found.iter().map(|(n, _)| *n).collect();
            assert_eq!(levels, [10, 20], "{workload}/{variant} {}", operation.name);
            assert!(found.iter().all(|(_, value)| *value > 0.0), "{workload}/{variant} {found:?}");
        }
        let is_its = |level: &&GeneratorLevel| {
            (&level.of.workload, &level.of.variant) == (&trial.order.workload, &trial.order.variant)
        };
        let levels: Vec<&GeneratorLevel> = recording.generators.iter().filter(is_its).collect();
        assert_eq!(levels.len(), 2);
        for level in levels {
            assert_eq!((level.tester, level.connections), (Tester::Sink, level.n), "{level:?}");
            assert!(
                !level.series.iter().any(|name| name == "engine cpu") && level.cpu_share > 0.0,
                "{level:?}"
            );
        }
    }
    expect_nothing_left(folder.path());
}

#[test]
fn a_connection_may_be_for_several_deliveries_and_a_message_of_any_length() {
    let folder = tempfile::tempdir().expect("a folder");
    let set = ["--set", "deliveries=30", "--set", "bytes=100000"];
    run_well(folder.path(), &[&["run", "mail-deliver/poll", "--out", "a.osdyno"], &SMALL[..], &set].concat());
    let recording = recording(folder.path());
    let trial = &recording.trials[0];
    assert!(trial.checks.len() == 4 && trial.checks.iter().all(|check| check.held), "{trial:?}");
    let throughput = values(&recording, "mail-deliver", "poll", "throughput");
    assert!(throughput.len() == 2 && throughput.iter().all(|(_, rate)| *rate > 0.0), "{throughput:?}");
}

#[test]
fn a_sink_that_somebody_else_started_is_used_and_left_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let sink = Served::start(folder.path(), &["--service", "smtp"]);
    let address = sink.address.to_string();
    let words = ["run", "mail-lockstep/poll", "--server", &address, "--out", "a.osdyno"];
    run_well(folder.path(), &[&words, &SMALL[..]].concat());
    let recording = recording(folder.path());
    assert_eq!(recording.trials[0].outcome, Outcome::Complete, "{:?}", recording.trials);
    let ended = sink.stop();
    assert!(ended.count("recipients") > 0 && ended.count("accepted") == ended.count("ended"), "{ended:?}");
}

/// The sink and the DNS server start where the command leads.
#[test]
fn a_sink_is_started_by_a_command() {
    let folder = tempfile::tempdir().expect("a folder");
    let words = ["run", "mail-lockstep/poll", "mail-deliver/poll", "--server", "127.0.0.1=env OSDYNO_FAR=1"];
    run_well(folder.path(), &[&words, &SMALL[..], &["--out", "a.osdyno"]].concat());
    let recording = recording(folder.path());
    assert_eq!(recording.trials.len(), 2);
    for trial in &recording.trials {
        assert_eq!(trial.outcome, Outcome::Complete, "{trial:?}");
        assert!(trial.checks.len() == 4 && trial.checks.iter().all(|check| check.held), "{trial:?}");
        let server = trial.order.server.as_ref().expect("where it was");
        assert_eq!(server.prefix, ["env", "OSDYNO_FAR=1"]);
    }
    expect_nothing_left(folder.path());
}

/// Neither of them is what is measured, so their end is no limit of the engine.
#[test]
fn a_sink_or_a_dns_server_that_ends_is_a_crash_of_that_trial() {
    for role in [" serve ", " names "] {
        let folder = tempfile::tempdir().expect("a folder");
        let words = ["run", "mail-lockstep/poll", "-n", "50", "-t", "1", "--window", "2s"];
        let child = start_measuring(
            folder.path(),
            &[&words[..], &["--set", "domains=50", "--out", "a.osdyno"]].concat(),
        );
        until("the process is there", || !processes_below(folder.path(), role).is_empty());
        // It is measured when it has taken mail for a while.
        std::thread::sleep(std::time::Duration::from_secs(2));
        processes_below(folder.path(), role).into_iter().for_each(|process| signal(process, "KILL"));
        let output = child.wait_with_output().expect("an end");
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{role}: {told}");
        let recording = recording(folder.path());
        let Outcome::Crashed { reason, .. } = &recording.trials[0].outcome else {
            panic!("{role}: {:?}", recording.trials[0])
        };
        let name = if role == " serve " { "the server ended" } else { "the DNS server ended" };
        assert!(reason.contains(name) && reason.contains("SIGKILL"), "{reason}");
        expect_nothing_left(folder.path());
    }
}

/// Somebody else's mail in the sink: nobody can say any more whether the engine's was all accepted.
#[cfg(target_os = "linux")]
#[test]
fn a_trial_whose_counters_disagree_is_not_judged() {
    let folder = tempfile::tempdir().expect("a folder");
    // On a machine that stands still for seconds, the first window may pass before its sink was seen.
    let output = ["3s", "20s", "60s"].iter().find_map(|window| disturbed_run(folder.path(), window));
    let output = output.expect("a sink was seen before the end of at least one of three runs");
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    let recording = recording(folder.path());
    let trial = &recording.trials[0];
    let broken: Vec<&str> =
        trial.checks.iter().filter(|check| !check.held).map(|check| &check.claim[..]).collect();
    assert_eq!(
        broken,
        [
            "the sink accepted as many connections as the engine made",
            "the sink accepted as many recipients as the engine delivered to"
        ],
        "{trial:?}"
    );
    let told = text(&output.stdout);
    assert!(told.contains("the sink accepted as many"), "{told}");
}

/// The output of a run whose sink was sent one mail more; `None` where it ended too early for that.
#[cfg(target_os = "linux")]
fn disturbed_run(folder: &Path, window: &str) -> Option<Output> {
    let words = ["run", "mail-lockstep/poll", "-n", "10", "-t", "1", "--set", "domains=50"];
    let words = [&words[..], &["--window", window, "--out", "a.osdyno"]].concat();
    for of_the_run_before in ["a.osdyno", "a.html"] {
        let _ = std::fs::remove_file(folder.join(of_the_run_before));
    }
    let mut command = osdyno(folder, &words);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("osdyno starts");
    let mut port = None;
    until("the sink listens, or the run has ended", || {
        port = processes_below(folder, " serve ").into_iter().find_map(listening_port);
        port.is_some() || child.try_wait().expect("a child of ours").is_some()
    });
    if let Some(port) = port {
        send_one_mail(port);
    }
    let output = child.wait_with_output().expect("an end");
    if port.is_none() {
        println!("no sink was seen in a window of {window}: {}", text(&output.stderr));
    }
    port.map(|_| output)
}

/// The port at which a process listens, as the kernel lists its sockets.
#[cfg(target_os = "linux")]
fn listening_port(process: u32) -> Option<u16> {
    let sockets = std::fs::read_dir(format!("/proc/{process}/fd")).ok()?;
    let names = sockets.filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok());
    let names: Vec<String> = names.map(|name| name.to_string_lossy().into_owned()).collect();
    // Those that listen come first. Behind them may be tens of thousands of closed ones, which take a second.
    let table = BufReader::new(std::fs::File::open("/proc/net/tcp").ok()?).lines().skip(1);
    let fields = |line: String| line.split_whitespace().map(str::to_owned).collect::<Vec<String>>();
    // 0A is LISTEN.
    let listening = table.map_while(Result::ok).map(fields).take_while(|fields| fields[3] == "0A");
    listening
        .filter(|fields| fields.get(9).is_some_and(|inode| names.contains(&format!("socket:[{inode}]"))))
        .find_map(|fields| u16::from_str_radix(fields[1].split(':').nth(1)?, 16).ok())
}

/// The test of one address.
#[cfg(target_os = "linux")]
fn send_one_mail(port: u16) {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).expect("a connection");
    let mut replies = BufReader::new(stream.try_clone().expect("its other half")).lines();
    let mut until_last = || {
        for line in replies.by_ref() {
            if line.expect("a reply").as_bytes().get(3) == Some(&b' ') {
                return;
            }
        }
    };
    until_last();
    for command in ["EHLO x.test", "MAIL FROM:<>", "RCPT TO:<a@b.test>", "RSET", "QUIT"] {
        stream.write_all(format!("{command}\r\n").as_bytes()).expect("room for a command");
        until_last();
    }
}
