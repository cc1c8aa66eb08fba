//! `osdyno impact` as a user types it: typed costs, measured ones, its page, and refusals.

use std::fs;

use serde_json::Value;

use crate::common::{run, run_well, text};

const PATH: [&str; 2] = ["--path", "server 2ms, lan 1gbit 0.3ms, isp 15ms, dsl 16mbit"];

fn json(arguments: &[&str]) -> Value {
    let folder = tempfile::tempdir().expect("a folder");
    let printed = run_well(folder.path(), &[arguments, &["--format", "json"]].concat());
    serde_json::from_str(&printed).expect("JSON")
}

#[test]
fn typed_costs_are_shares_of_what_a_user_waits_for() {
    let costs = ["--cost", "accept=10us+-1us", "--cost", "read=20x5us", "--together"];
    let answer = json(&[&["impact"][..], &costs, &PATH, &["--rate", "20000", "--core-price", "25"]].concat());
    let share = &answer["together"]["response"]["share"];
    let expected = 110e-6 / (0.0173 + 110e-6);
    assert!((share["value"].as_f64().expect("a share") - expected).abs() < 1e-9, "{answer:#}");
    assert!(share["low"].as_f64() < share["value"].as_f64(), "{answer:#}");
    let at_rate = &answer["together"]["capacity"]["at_rate"];
    assert!((at_rate["cores"]["value"].as_f64().expect("cores") - 2.2).abs() < 1e-9);
    assert!((at_rate["money_saved"]["value"].as_f64().expect("money") - 27.5).abs() < 1e-9);
    assert_eq!(answer["path"]["bottleneck"], "dsl");
    assert!(answer["other_paths"].as_array().is_some_and(|paths| paths.len() > 5));
}

#[test]
fn the_conclusion_of_1996_is_the_first_sentence() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = ["--path", "router 2ms, lan 1ms 10mbit, modem 150ms 28.8kbit"];
    let printed = run_well(folder.path(), &[&["impact", "--cost", "copy=112.75s/50MB"][..], &path].concat());
    let first =
        "copy: a system twice as fast gains a user on this path at most 0.40 % of a transfer of 50 MB.";
    assert!(printed.starts_with(first), "{printed}");
    assert!(printed.contains("3 h 51 min for 50 MB through modem"), "{printed}");
}

#[test]
fn a_run_of_two_systems_says_what_each_cost_means_and_what_going_over_gains() {
    let folder = tempfile::tempdir().expect("a folder");
    let both = ["--system", "this=env", "--system", "nice=nice -n 1"];
    let arguments = ["run", "socket/v4", "syscall", "-n", "300", "--trials", "4", "--out", "a.osdyno"];
    run_well(folder.path(), &[&arguments[..], &both].concat());
    let page = ["impact", "a.osdyno", "--out", "impact.html"];
    let printed = run_well(folder.path(), &[&page[..], &PATH].concat());
    for expected in ["socket/v4 at n = 299 on nice", "this → nice", "saves a core from", "local network"] {
        assert!(printed.contains(expected), "{expected} in\n{printed}");
    }
    let page = fs::read_to_string(folder.path().join("impact.html")).expect("the page");
    assert!(page.contains("this path</text>") && page.contains("<circle class=\"knot\""), "a picture");
    assert!(!page.contains("NaN") && !page.contains("http://"), "it works offline");
    // What is there is kept, and measurements are never written over.
    for out in ["impact.html", "a.osdyno"] {
        let output = run(folder.path(), &["impact", "a.osdyno", "--out", out]);
        assert!(!output.status.success(), "{}", text(&output.stdout));
    }
    let used = run_well(folder.path(), &["impact", "a.osdyno", "--use", "20x socket/v4", "--format", "json"]);
    let used: Value = serde_json::from_str(&used).expect("JSON");
    let costs = used["costs"].as_array().expect("costs");
    assert!(costs.iter().all(|cost| cost["name"] == "socket/v4" && cost["times"] == 20.0), "{used:#}");
}

#[test]
fn nonsense_is_wrong_usage_with_what_to_write_instead() {
    let folder = tempfile::tempdir().expect("a folder");
    run_well(folder.path(), &["run", "syscall", "-n", "100", "--trials", "2", "--out", "a.osdyno"]);
    for (arguments, says) in [
        (&["impact"][..], "type one with --cost"),
        (&["impact", "--cost", "a=2us", "--path", "lan 16mbps"], "write mbit or mB/s"),
        (&["impact", "--cost", "a=2us", "--path", "lan 3parsec"], "\"parsec\" is no unit of time"),
        (&["impact", "--cost", "a=2us", "--path", ""], "a part is a name and a time or a rate"),
        (&["impact", "--cost", "a=-2us"], "a time is a number and its unit; write"),
        (&["impact", "--cost", "a=2us", "--rate", "nan"], "such as 200/s or 1M/s"),
        (&["impact", "--cost", "a=2us", "--core-price", "25"], "--rate <PER_SECOND>"),
        (&["impact", "--cost", "a=2us", "--size", "50mb"], "a B is a byte"),
        (&["impact", "a.osdyno", "--use", "syscall getpid"], "did you mean \"syscall getppid\"?"),
        (&["impact", "a.osdyno", "--use", "mmap"], "osdyno report a.osdyno -v shows all"),
    ] {
        let output = run(folder.path(), arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(text(&output.stderr).contains(says), "{arguments:?}: {}", text(&output.stderr));
    }
    let output = run(folder.path(), &["impact", "missing.osdyno"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
}
