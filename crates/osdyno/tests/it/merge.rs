//! Run files of hosts are joined, and read as a fleet by every verb.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::common::{run, run_well, small_run, text};

/// Two runs of this machine, as if they were fetched from two hosts, and the fleet of both.
fn fleet(folder: &Path) -> String {
    for name in ["n1.osdyno", "n2.osdyno", "n3.osdyno"] {
        small_run(folder, name);
    }
    run_well(folder, &["merge", "fleet.osdyno", "n1.osdyno", "n2.osdyno", "third=n3.osdyno"])
}

#[test]
fn files_of_hosts_become_a_fleet_that_every_verb_reads() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let printed = fleet(folder);
    assert!(printed.contains("24 trials in 3 hosts, from 3 files"), "{printed}");
    assert!(printed.contains("Hosts: n1, n2, third"), "{printed}");

    let report = run_well(folder, &["report", "fleet.osdyno"]);
    assert!(report.contains("Judged 3 of 3 hosts") && report.contains("Costs over 3 hosts"), "{report}");
    let page = fs::read_to_string(folder.join("fleet.html")).expect("a page");
    assert!(page.contains("<section id=\"fleet\">"));
    let all = run_well(folder, &["report", "fleet.osdyno", "--verbose"]);
    assert!(all.contains("third") && all.lines().count() > report.lines().count(), "{all}");

    let compared = run_well(folder, &["compare", "fleet.osdyno", "--format", "json"]);
    let answer: Value = serde_json::from_str(&compared).expect("JSON");
    assert_eq!(
        (&answer["fleet"]["judged"], &answer["fleet"]["hosts"][2]["name"]),
        (&3.into(), &"third".into())
    );

    // A fleet against another one, host by host: the third is in the second only.
    run_well(folder, &["merge", "less.osdyno", "n1.osdyno", "n2.osdyno"]);
    let two = run(folder, &["compare", "less.osdyno", "fleet.osdyno", "--out", "two.html"]);
    let printed = text(&two.stdout);
    assert!(printed.contains("Judged 2 of 3 hosts, fleet against less"), "{printed}");
    assert!(printed.contains("Lost: third (in one of the runs only)"), "{printed}");
    assert_eq!(two.status.code(), Some(3), "a host is lost: {printed}");

    run_well(
        folder,
        &["export", "fleet.osdyno", "--format", "parquet", "--partition", "host,workload", "--out", "tree"],
    );
    assert!(folder.join("tree/host=third/workload=socket/part.parquet").is_file());
    let again = run(
        folder,
        &["export", "fleet.osdyno", "--format", "parquet", "--partition", "host", "--out", "tree"],
    );
    assert!(!again.status.success() && text(&again.stderr).contains("not empty"), "{}", text(&again.stderr));
}

#[test]
fn a_fleet_that_would_count_something_twice_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    fleet(folder);
    let refused = |arguments: &[&str]| {
        let output = run(folder, arguments);
        assert!(!output.status.success() && !folder.join("out.osdyno").exists(), "{arguments:?}");
        text(&output.stderr)
    };
    let twice = refused(&["merge", "out.osdyno", "n1.osdyno", "copy=n1.osdyno"]);
    assert!(twice.contains("hold the same trial"), "{twice}");
    let twice = refused(&["merge", "out.osdyno", "fleet.osdyno", "n2.osdyno"]);
    assert!(twice.contains("hold the same trial"), "{twice}");
    let over = run(folder, &["merge", "n1.osdyno", "n1.osdyno", "n2.osdyno"]);
    assert!(!over.status.success() && folder.join("n1.osdyno").exists(), "{}", text(&over.stderr));
    let gone = refused(&["merge", "out.osdyno", "n1.osdyno", "nowhere.osdyno"]);
    assert!(gone.contains("cannot read nowhere.osdyno"), "{gone}");

    // A damaged file keeps its whole trials, and the exit code says that something is missing.
    let bytes = fs::read(folder.join("n2.osdyno")).expect("a file");
    fs::write(folder.join("n2.osdyno"), &bytes[..bytes.len() * 2 / 3]).expect("written");
    let cut = run(folder, &["merge", "cut.osdyno", "n1.osdyno", "n2.osdyno", "--format", "json"]);
    assert_eq!(cut.status.code(), Some(3), "{}", text(&cut.stderr));
    let answer: Value = serde_json::from_str(&text(&cut.stdout)).expect("JSON");
    assert_eq!(
        (&answer["files"][1]["has_end"], answer["files"][1]["lost"].as_array().map(Vec::len)),
        (&false.into(), Some(1))
    );
    assert!(answer["files"][1]["trials"].as_u64().is_some_and(|trials| trials < 8), "{answer}");
}

#[test]
fn hosts_are_not_set_against_another_system() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    fleet(folder);
    for others in [vec!["n1.osdyno"], vec!["fleet.osdyno", "fleet.osdyno"]] {
        let output = run(folder, &[vec!["compare", "fleet.osdyno"], others].concat());
        assert_eq!(output.status.code(), Some(2), "{}", text(&output.stdout));
        assert!(text(&output.stderr).contains("one other run of these hosts"), "{}", text(&output.stderr));
    }
}
