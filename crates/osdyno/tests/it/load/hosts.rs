//! Load from several hosts, which are commands and networks of this machine, against one server that counts.

use std::path::Path;
use std::process::{Child, Output, Stdio};
use std::time::Duration;

use serde_json::Value;

use super::json;
use crate::common::far::Far;
use crate::common::network::Network;
use crate::common::served::Served;
use crate::common::{
    expect_nothing_left, osdyno, processes_below, run, scratch_folders, signal, text, until,
};

/// A host whose command hands on its words, as a shell does.
const SHELL: &str = "b=sh -c 'exec \"$@\"' --";

/// A server of one file of 590 bytes, and the URL of that.
fn served(folder: &Path, address: &str) -> (Served, String) {
    let root = folder.join("root");
    std::fs::create_dir(&root).expect("a folder");
    std::fs::write(root.join("page"), [b'x'; 590]).expect("a file");
    let listen = format!("{address}:0");
    let server = Served::start(&root, &["--listen", &listen]);
    let url = format!("http://{}/page", server.address);
    (server, url)
}

fn count(value: &Value, name: &str) -> u64 {
    value[name].as_u64().unwrap_or_else(|| panic!("no count {name} in {value}"))
}

/// The responses that the clients have counted, and those of each worker.
fn responses(level: &Value) -> u64 {
    let workers = level["joint"]["workers"].as_array().expect("workers");
    for name in ["started", "completed", "late", "failed"] {
        let each: u64 = workers.iter().map(|worker| count(worker, name)).sum();
        assert_eq!(each, count(level, name), "{name}");
    }
    count(level, "completed") + count(level, "late")
}

/// How often a load is offered again that does not count, because other tests had the processors.
const ATTEMPTS: usize = 6;

/// The first level that counts, if there is one, and the responses of all levels until then: those of a level
/// that does not count are counted all the same.
fn level_that_counts(folder: &Path, arguments: &[&str]) -> (Option<Value>, u64) {
    let mut all = 0;
    for _ in 0..ATTEMPTS {
        let output = run(folder, arguments);
        let told = text(&output.stderr);
        assert!(matches!(output.status.code(), Some(0 | 3)), "{arguments:?}: {told}");
        let level = json(&text(&output.stdout))["levels"][0].clone();
        all += responses(&level);
        let Some(void) = level["joint"].get("void") else {
            let joint = &level["joint"];
            assert!(joint["overlap_share"].as_f64().is_some_and(|share| share >= 0.99), "{joint}");
            return (Some(level), all);
        };
        let is_of_processors =
            |reason: &Value| ["absent", "apart", "began_late"].iter().any(|kind| reason["kind"] == *kind);
        let reasons = void.as_array().expect("reasons");
        assert!(output.status.code() == Some(3) && reasons.iter().all(is_of_processors), "{void}");
    }
    skipped!("this machine is too busy: no level of {ATTEMPTS} counts");
    (None, all)
}

#[test]
fn hosts_load_a_server_together_and_all_counts_agree() {
    let folder = tempfile::tempdir().expect("a folder");
    let (server, url) = served(folder.path(), "127.0.0.1");
    let hosts = ["load", "--from", "a=env", "--from", SHELL, "--format", "json", "-d", "700ms", &url];
    let (closed, of_closed) = level_that_counts(folder.path(), &[&hosts[..], &["-c", "4"]].concat());
    let observed = ["-c", "4", "-r", "2000", "--observer", "c=env"];
    let (open, of_open) = level_that_counts(folder.path(), &[&hosts[..], &observed].concat());
    assert_eq!(server.stop().count("responses"), of_closed + of_open);
    expect_only_the_root(folder.path());
    let (Some(closed), Some(open)) = (&closed, &open) else { return };
    let names = |level: &Value| -> Vec<String> {
        let workers = level["joint"]["workers"].as_array().expect("workers");
        workers.iter().map(|worker| worker["name"].as_str().expect("a name").to_owned()).collect()
    };
    assert_eq!(
        (names(closed), names(open)),
        (vec!["a".into(), "b".into()], vec!["a".into(), "b".into(), "c".into()])
    );
    let observer = &open["joint"]["observer"];
    assert_eq!(
        (&observer["name"], count(&observer["latency"], "count")),
        (&"c".into(), {
            let worker = &open["joint"]["workers"][2];
            count(worker, "completed") + count(worker, "late")
        })
    );
    // A hundredth of 1400, give or take five standard deviations.
    assert!(count(&observer["latency"], "count").abs_diff(14) <= 19, "{observer}");
}

/// Nothing is left of the hosts but the folder that the server serves.
fn expect_only_the_root(folder: &Path) {
    until("no process is left", || processes_below(folder, "").is_empty());
    until("no folder of an agent is left", || scratch_folders(folder).len() == 1);
}

/// A load from this machine and from one host.
fn start(folder: &Path, url: &str, seconds: &str) -> Child {
    let arguments = ["load", "--from", "here=,b=env", "-c", "2", "-d", seconds, "--format", "json", url];
    let mut command = osdyno(folder, &arguments);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("osdyno starts")
}

/// The worker on the host: the other one is no copy in the folder.
fn worker(folder: &Path) -> u32 {
    until("the host has a worker", || !processes_below(folder, " load-worker ").is_empty());
    processes_below(folder, " load-worker ")[0]
}

/// Why the only level does not count, as far as the host is the reason.
fn void(output: &Output) -> Value {
    let out = text(&output.stdout);
    assert_eq!(output.status.code(), Some(3), "{out}{}", text(&output.stderr));
    let level = json(&out)["levels"][0].clone();
    assert_eq!(level["verdict"]["limit"], "void", "{level}");
    let reasons = level["joint"]["void"].as_array().expect("reasons");
    let of_host = reasons.iter().find(|reason| reason["worker"] == "b");
    of_host.unwrap_or_else(|| panic!("{reasons:?}")).clone()
}

#[test]
fn a_worker_that_is_killed_or_stopped_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let (server, url) = served(folder.path(), "127.0.0.1");
    let child = start(folder.path(), &url, "20s");
    let worker_of_host = worker(folder.path());
    until("it loads", || server.counter("responses") > 0);
    signal(worker_of_host, "KILL");
    let reason = void(&child.wait_with_output().expect("an end"));
    assert_eq!(reason["kind"], "lost", "{reason}");
    assert!(reason["reason"].as_str().is_some_and(|why| why.contains("SIGKILL")), "{reason}");

    let before = server.counter("responses");
    let child = start(folder.path(), &url, "4s");
    let worker_of_host = worker(folder.path());
    until("it loads", || server.counter("responses") > before);
    signal(worker_of_host, "STOP");
    std::thread::sleep(Duration::from_secs(1));
    signal(worker_of_host, "CONT");
    let reason = void(&child.wait_with_output().expect("an end"));
    assert_eq!(reason["kind"], "absent", "{reason}");
    assert!(reason["seconds"].as_f64().is_some_and(|seconds| seconds > 0.9), "{reason}");
    drop(server);
    expect_only_the_root(folder.path());
}

#[test]
fn a_host_that_cannot_be_loaded_from_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let url = "http://127.0.0.1:9/";
    for (words, code, why) in [
        (&["--from", "a=env,b=false"][..], 1, "b: "),
        (&["--from", "a=env,a=true"], 2, "two hosts are called a"),
        (&["--from", "a=env,-x"], 2, "-x: \"-x\" is no name of a host"),
        (&["--from", "a=env", "-n", "10"], 2, "-n"),
        (&["--from", "a=env,b=env", "-c", "1"], 2, "one connection each"),
        (&["--observer", "a=env"], 2, "--from"),
        (&["--hosts", "none"], 2, "none is no file, and no set of hosts"),
    ] {
        let output = run(folder.path(), &[&["load", url], words].concat());
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{words:?}: {told}");
        assert!(told.contains(why), "{words:?}: {told}");
    }
    expect_nothing_left(folder.path());
}

#[test]
fn hosts_in_networks_of_their_own_begin_together() {
    let networks = match (Network::start(1), Network::start(2)) {
        (Ok(one), Ok(other)) => [one, other],
        (Err(reason), _) | (_, Err(reason)) => return skipped!("no networks can be made here: {reason}"),
    };
    let folder = tempfile::tempdir().expect("a folder");
    let (server, url) = served(folder.path(), &networks[0].here());
    let hosts = networks.iter().enumerate();
    let hosts = hosts.map(|(number, network)| format!("n{number}=ip netns exec {}\n", network.name));
    std::fs::write(folder.path().join("hosts"), hosts.collect::<String>()).expect("a file");
    let arguments = ["load", "--hosts", "hosts", "-c", "4", "-d", "1s", "--format", "json", &url];
    let (level, responses) = level_that_counts(folder.path(), &arguments);
    assert_eq!(server.stop().count("responses"), responses);
    if let Some(level) = level {
        let spread = level["joint"]["start_spread_seconds"].as_f64().expect("a spread");
        // A hundredth of the time, which is all that a level that counts can be off.
        assert!(spread < 0.01, "{level}");
    }
}

#[test]
fn a_host_behind_ssh_gets_the_program_and_keeps_nothing() {
    let far = match Far::start() {
        Ok(far) => far,
        Err(reason) => return skipped!("no private sshd: {reason}"),
    };
    let folder = tempfile::tempdir().expect("a folder");
    let (server, url) = served(folder.path(), "127.0.0.1");
    let host = format!("far={}", far.command());
    let hosts = ["load", "--from", "here=", "--from", &host];
    let arguments = [&hosts[..], &["-c", "4", "-r", "1000", "-d", "2s", "--format", "json", &url]].concat();
    let (_, responses) = level_that_counts(folder.path(), &arguments);
    assert_eq!(server.stop().count("responses"), responses);
    until("no folder is left there", || far.folders().is_empty());
    expect_only_the_root(folder.path());
}
