//! Input and output of `osdyno mail`: lists, messages, spools, exit codes and rates.

#![cfg(unix)]

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Output, Stdio};

use serde_json::Value;

use crate::common::accounts::{ledger, lines};
use crate::common::osdyno;
use crate::common::served::Served;

fn mail(folder: &Path, words: &[&str]) -> Output {
    osdyno(folder, &["mail"]).args(words).output().expect("it runs")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn sink(folder: &Path) -> (Served, String) {
    let server = Served::start(folder, &["--service", "smtp", "--access-log", "ledger"]);
    let relay = server.address.to_string();
    (server, relay)
}

fn taken(folder: &Path) -> BTreeSet<String> {
    ledger(&folder.join("ledger"), "message", 250).into_keys().collect()
}

#[test]
fn a_spool_that_two_begin_at_once_loses_no_list() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let (server, relay) = sink(folder);
    let list = |round: usize, user: &str| -> BTreeSet<String> {
        (0..50).map(|number| format!("{user}{number}@r{round}.test")).collect()
    };
    let mut expected = BTreeSet::new();
    for round in 0..20 {
        let spool = format!("spool{round}");
        let begun = ["left", "right"].map(|user| {
            let addresses: Vec<String> = list(round, user).into_iter().collect();
            std::fs::write(folder.join(user), addresses.join("\n")).expect("a list");
            let words = ["mail", user, "--deliver", "--relay", &relay, "--spool", &spool];
            let mut command = osdyno(folder, &words);
            (user, command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts"))
        });
        let ended = begun.map(|(user, child)| (user, child.wait_with_output().expect("it ends")));
        let mut accepted = 0;
        for (user, output) in &ended {
            if output.status.success() {
                accepted += 1;
                expected.extend(list(round, user));
                // The other one has put its list in the place of none.
                let kept = std::fs::read_to_string(folder.join(&spool).join("list")).expect("a list");
                let kept: BTreeSet<String> = kept.lines().map(str::to_owned).collect();
                assert_eq!(kept, list(round, user), "round {round}");
            } else {
                let said = said(output);
                let is_told = said.contains("another osdyno delivers") || said.contains("has a list already");
                assert!(is_told, "round {round}, {user}: {said}");
            }
        }
        assert_eq!(accepted, 1, "round {round}: {ended:?}");
    }
    server.stop();
    assert_eq!(taken(folder), expected);
}

#[test]
fn a_spool_of_tests_does_not_swallow_a_delivery() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    std::fs::write(folder.join("list"), "kim@alpha.test\nlee@beta.test\n").expect("a list");
    let (server, relay) = sink(folder);
    let tested = mail(folder, &["list", "--relay", &relay, "--spool", "tested"]);
    assert!(tested.status.success(), "{tested:?}");
    let endings = lines(&folder.join("tested/results"));
    assert!(endings.len() == 2 && endings.iter().all(|line| line["ending"] == "tested"), "{endings:?}");
    let swallowed = mail(folder, &["--deliver", "--relay", &relay, "--spool", "tested"]);
    assert_eq!(swallowed.status.code(), Some(2), "{swallowed:?}");
    assert!(said(&swallowed).contains("was begun with test deliveries"), "{}", said(&swallowed));
    let delivered = mail(folder, &["list", "--deliver", "--relay", &relay, "--spool", "delivered"]);
    assert!(delivered.status.success(), "{delivered:?}");
    for other in [&["--from", "kim@alpha.test"][..], &["--message-bytes", "2000"]] {
        let words = [&["--deliver", "--relay", &relay, "--spool", "delivered"], other].concat();
        assert_eq!(mail(folder, &words).status.code(), Some(2), "{other:?}");
    }
    let again = mail(folder, &["--deliver", "--relay", &relay, "--spool", "delivered"]);
    assert!(again.status.success() && said(&again).contains("0 of 2 recipients are left"), "{again:?}");
    server.stop();
    assert_eq!(taken(folder).len(), 2);
}

#[test]
fn what_could_not_be_delivered_is_told_by_the_exit_code_and_by_the_reply() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    std::fs::write(folder.join("list"), "kim@alpha.test\npermfail@beta.test\n").expect("a list");
    let (server, relay) = sink(folder);
    let output = mail(folder, &["list", "--deliver", "--relay", &relay, "--results", "results"]);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    for line in lines(&folder.join("results")) {
        let (reply, code) = match line["recipient"].as_str() {
            Some("kim@alpha.test") => ("taken", 250),
            _ => ("as it was asked for", 550),
        };
        assert!(line["reply"].as_str().is_some_and(|text| text.contains(reply)), "{line}");
        assert!(line["code"] == code && line["version"] == 2 && line.get("reason").is_none(), "{line}");
    }
    // A spool whose last recipients are delivered still has those that failed.
    let words = ["--deliver", "--relay", &relay, "--spool", "spool"];
    assert_eq!(mail(folder, &[&["list"], &words[..]].concat()).status.code(), Some(3));
    let again = mail(folder, &words);
    assert!(again.status.code() == Some(3) && said(&again).contains("1 have failed"), "{again:?}");
    server.stop();
}

#[test]
fn a_list_is_read_as_people_write_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let text = "\u{feff}# friends\r\nkim@alpha.test\r\n\r\n#lee@beta.test\r\nlee@gamma.test";
    std::fs::write(folder.join("list"), text).expect("a list");
    let (server, relay) = sink(folder);
    let output = mail(folder, &["list", "--deliver", "--relay", &relay]);
    assert!(output.status.success(), "{output:?}");
    server.stop();
    assert_eq!(taken(folder), BTreeSet::from(["kim@alpha.test".to_owned(), "lee@gamma.test".to_owned()]));
    let misplaced = mail(folder, &["--recipients", "list", "--relay", &relay]);
    assert_eq!(misplaced.status.code(), Some(2), "{misplaced:?}");
    assert!(said(&misplaced).contains("without an option"), "{}", said(&misplaced));
}

#[test]
fn what_is_changed_of_a_message_is_told_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let header = "Message-ID: <1@alpha.test>\nFrom: kim@alpha.test\n";
    std::fs::write(folder.join("one.eml"), format!("{header}Subject: a\n\nhi\n")).expect("a message");
    std::fs::write(folder.join("two.eml"), format!("{header}From: lee@beta.test\n\nhi\n"))
        .expect("a message");
    let (server, relay) = sink(folder);
    let words = ["--deliver", "--relay", &relay, "--recipients", "5", "--domains", "2", "--message"];
    let output = mail(folder, &[&words[..], &["one.eml"]].concat());
    assert!(output.status.success(), "{output:?}");
    assert_eq!(said(&output).matches("Message-ID").count(), 1, "{}", said(&output));
    assert_eq!(said(&output).matches("Date is added").count(), 1, "{}", said(&output));
    let refused = mail(folder, &[&words[..], &["two.eml"]].concat());
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    assert!(said(&refused).contains("two.eml: the message has more than one field From"), "{refused:?}");
    server.stop();
}

#[test]
fn waiting_for_another_attempt_is_no_part_of_the_rate() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    std::fs::write(folder.join("list"), "kim@alpha.test\ntempfail@beta.test\n").expect("a list");
    let (server, relay) = sink(folder);
    let words = ["list", "--relay", &relay, "--attempts", "2", "--retry", "3s"];
    let output = mail(folder, &[&words[..], &["--format", "json"]].concat());
    let summary: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let number = |field: &str| summary[field].as_f64().expect("a number");
    let (elapsed, delivering) = (number("elapsed_seconds"), number("delivering_seconds"));
    assert!(elapsed >= 3.0, "{summary}");
    // The three seconds begin with the reply; on a busy machine the connection ends much later.
    assert!(number("waiting_seconds") > 1.0, "{summary}");
    assert!((elapsed - delivering - number("waiting_seconds")).abs() < 1e-6, "{summary}");
    assert!((number("deliveries_per_second") * delivering - 1.0).abs() < 1e-6, "{summary}");
    let text = String::from_utf8(mail(folder, &words).stdout).expect("text");
    assert!(text.contains("of waiting for the next attempts"), "{text}");
    server.stop();
}
