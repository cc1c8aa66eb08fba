//! `osdyno snoop`: which architecture real servers have, each as Debian's package starts it, and ours; and what
//! it says of processes that are no servers, end, or are kept from it.
//!
//! `servers/` has a script for each server, which says what is expected of it. A server that is not installed
//! is skipped with that reason.
#![cfg(target_os = "linux")]

#[path = "../common/mod.rs"]
mod common;
mod refused;
mod started;

use std::fs;
use std::path::Path;

use serde_json::Value;

use common::everywhere::architectures;
use common::{osdyno, text};
use started::{Script, Started};

/// So many of the real servers are answered rightly, where all are there; where some are not, at most so few are
/// answered wrongly as of all.
const WRONG_AT_MOST: usize = 2;
/// So many servers are looked at beside each other: most of the time they wait.
const GROUPS: usize = 9;

/// The answer with so many connections held.
fn answer(folder: &Path, server: &Started) -> Value {
    let pid = server.pid().to_string();
    let arguments = ["snoop", "-p", &pid, "--load", "40", "--duration", "300ms", "--format", "json"];
    let output = osdyno(folder, &arguments).output().expect("osdyno starts");
    let printed = text(&output.stdout);
    let told = text(&output.stderr);
    let parsed: Value = serde_json::from_str(&printed).unwrap_or_else(|_| panic!("{printed}{told}"));
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
                let outcome = script.start(folder.path()).map(|server| answer(folder.path(), &server));
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
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snoop/servers");
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
        eprintln!("skipped {} of {} servers: {}", skipped.len(), scripts.len(), skipped.join("; "));
    }
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
