//! `osdyno snoop`: the architectures of real servers, each as Debian's package starts it, and of ours; and
//! the answers about processes that are no servers, end, or may not be read.
//!
//! `servers/` has a script for each server, which says what is expected of it. A server that is not installed
//! is skipped with that reason.
#![cfg(target_os = "linux")]

mod refused;
mod started;

use std::fs;
use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use crate::common::everywhere::architectures;
use crate::common::{osdyno, text};
use started::{Script, Started};

/// So many of the real servers are answered rightly, where all are there; where some are not, at most so few are
/// answered wrongly as of all.
const WRONG_AT_MOST: usize = 2;
/// So many servers are looked at beside each other: most of the time they wait.
const GROUPS: usize = 9;

/// The answer about the server of that name, with so many connections held.
fn answer(folder: &Path, name: &str, server: &Started) -> Value {
    let pid = server.pid().to_string();
    let arguments = ["snoop", "-p", &pid, "--load", "40", "--duration", "300ms", "--format", "json"];
    let output = osdyno(folder, &arguments).output().expect("osdyno starts");
    let printed = text(&output.stdout);
    let told = text(&output.stderr);
    let parsed: Value = serde_json::from_str(&printed).unwrap_or_else(|_| panic!("{name}: {printed}{told}"));
    parsed["servers"][0].clone()
}

/// Looks at each of them, some beside each other. Returns the name and what is wrong, or why it was skipped.
fn look_at_all(scripts: &[Script]) -> (Vec<String>, Vec<String>, Vec<String>) {
    let groups: Vec<Vec<&Script>> =
        (0..GROUPS).map(|group| scripts.iter().skip(group).step_by(GROUPS).collect()).collect();
    let (mut right, mut wrong, mut skipped) = (Vec::new(), Vec::new(), Vec::new());
    std::thread::scope(|scope| {
        let look = |group: Vec<&Script>| {
            let one = |script: &Script| {
                let folder = tempfile::tempdir().expect("a folder");
                let outcome =
                    script.start(folder.path()).map(|server| answer(folder.path(), &script.name, &server));
                (script.name.clone(), script.expected.clone(), outcome)
            };
            group.into_iter().map(one).collect::<Vec<_>>()
        };
        let threads: Vec<_> = groups.into_iter().map(|group| scope.spawn(move || look(group))).collect();
        for (name, expected, outcome) in
            threads.into_iter().flat_map(|thread| thread.join().expect("no panic"))
        {
            match outcome {
                Err(reason) => skipped.push(format!("{name}: {reason}")),
                Ok(seen) if seen["answer"]["architecture"] == expected.as_str() => {
                    right.push(format!("{name}: {}", seen["answer"]["phrase"]));
                }
                Ok(seen) => wrong.push(format!("{name} is {expected}, and not {seen:#}")),
            }
        }
    });
    (right, wrong, skipped)
}

#[test]
fn real_servers_are_what_they_are() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/verify/snoop/servers");
    let mut scripts: Vec<Script> = fs::read_dir(folder)
        .expect("the scripts")
        .flatten()
        .map(|entry| Script::read(&entry.path()))
        .collect();
    scripts.sort_by(|one, other| one.name.cmp(&other.name));
    assert!(scripts.len() >= 20, "{} servers", scripts.len());
    let (right, wrong, skipped) = look_at_all(&scripts);
    println!("right: {} of {}", right.len(), scripts.len());
    for line in right.iter().chain(&skipped).chain(&wrong) {
        println!("  {line}");
    }
    assert!(wrong.len() <= WRONG_AT_MOST, "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    if right.len() + wrong.len() >= 20 {
        assert!(right.len() >= 18, "only {} right", right.len());
    }
    if !skipped.is_empty() {
        skipped!("{} of {} servers: {}", skipped.len(), scripts.len(), skipped.join("; "));
    }
}

/// Nothing is sent to it: what its own clients do shows what it is, and without clients nothing follows.
#[test]
fn a_server_that_leaves_its_clients_waiting_is_recognized_without_a_load() {
    let script =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/verify/snoop/servers/python-iterative-echo.sh");
    let folder = tempfile::tempdir().expect("a folder");
    let server = match Script::read(&script).start(folder.path()) {
        Ok(server) => server,
        Err(reason) => return skipped!("{reason}"),
    };
    let pid = server.pid().to_string();
    let look = |format: &str| {
        let arguments = ["snoop", "-p", &pid, "--duration", "300ms", "--format", format];
        text(&osdyno(folder.path(), &arguments).output().expect("osdyno starts").stdout)
    };
    let parsed = |printed: String| -> Value { serde_json::from_str(&printed).expect("JSON") };
    let idle = parsed(look("json"))["servers"][0].clone();
    assert_eq!(idle["answer"]["confidence"], "a guess", "{idle:#}");
    // Where a shell executed it, the children of that shell are its own.
    let others = idle["answer"]["alternatives"].as_array().expect("alternatives");
    let may_be = others.iter().chain([&idle["answer"]["architecture"]]).any(|one| one == "iterative");
    assert!(may_be, "{idle:#}");
    assert!(idle["answer"]["prediction"].is_null(), "{idle:#}");
    let printed = look("text");
    assert!(printed.contains("- nothing, because the architecture is a guess: --load shows it"), "{printed}");
    assert!(!printed.contains("10000 connections") && !printed.contains("bytes"), "{printed}");
    let port = idle["listens"][0]["port"].as_u64().and_then(|port| u16::try_from(port).ok()).expect("a port");
    let clients: Vec<TcpStream> =
        (0..4).map(|_| TcpStream::connect(("127.0.0.1", port)).expect("a connection")).collect();
    // The first one is accepted within a moment.
    std::thread::sleep(Duration::from_millis(300));
    let used = parsed(look("json"))["servers"][0].clone();
    drop(clients);
    assert_eq!(used["answer"]["architecture"], "iterative", "{used:#}");
    assert_eq!(used["answer"]["confidence"], "likely", "{used:#}");
    assert_eq!(used["answer"]["prediction"]["connections_at_most"], 1, "{used:#}");
}

#[test]
fn our_architectures_are_what_they_are_called() {
    let ours: Vec<Script> = architectures().map(|architecture| Script::ours(architecture.name)).collect();
    assert!(ours.len() >= 12, "{} architectures", ours.len());
    let (right, wrong, skipped) = look_at_all(&ours);
    assert!(
        wrong.is_empty() && skipped.is_empty(),
        "{} right, {}\n{}",
        right.len(),
        wrong.join("\n"),
        skipped.join("\n")
    );
}
