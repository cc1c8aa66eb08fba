//! A folder of runs: its history, its nightly check, and its pages in a browser.
#![cfg(target_os = "linux")]

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::common::{osdyno, run, run_well, signal, text};
use crate::nights::{Simulated, of_night};

const TINY: [&str; 9] = ["run", "noop", "socket/v4", "-n", "200", "--trials", "3", "--history", "nights"];

/// Forty nights in a folder; from the 30th on one series costs more.
fn changed(folder: &Path) {
    fs::create_dir(folder.join("nights")).expect("a folder");
    for night in 0..40 {
        let factors = if night < 30 { Vec::new() } else { vec![(2, 1.12)] };
        Simulated { factors, ..of_night(night) }.write(&folder.join("nights"));
    }
}

#[test]
fn real_runs_are_kept_compared_and_shown() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    for _ in 0..3 {
        run_well(folder, &TINY);
    }
    let kept: Vec<_> = fs::read_dir(folder.join("nights")).expect("a folder").flatten().collect();
    assert!(kept.iter().all(|entry| !entry.file_name().to_string_lossy().ends_with(".html")), "{kept:?}");
    let runs = kept.iter().filter(|entry| entry.path().extension().is_some_and(|end| end == "osdyno"));
    for run in runs {
        let (recording, _) = record::read(run.path()).expect("a run");
        assert!(recording.series().any(|(_, trials)| trials[0].is_reduced()), "{run:?} is kept compact");
    }
    let printed = run_well(folder, &["history", "nights"]);
    assert!(printed.starts_with("3 runs on 1 machine: no cost changed"), "{printed}");
    assert!(printed.contains("socket/v4") && printed.contains("noop"), "{printed}");
    let json = run_well(folder, &["history", "nights", "--format", "json"]);
    let answer: Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(answer["machines"][0]["nights"].as_array().map(Vec::len), Some(3));
    assert_eq!(answer["machines"][0]["series"][0]["values"].as_array().map(Vec::len), Some(3));
    let csv = run_well(folder, &["history", "nights", "--format", "csv"]);
    assert!(csv.starts_with("machine,series,unit,run,") && csv.lines().count() >= 3 * 2, "{csv}");
    let gauges = run_well(folder, &["history", "nights", "--format", "openmetrics"]);
    assert!(
        gauges.contains("osdyno_history_cost_seconds{series=\"socket/v4\"") && gauges.ends_with("# EOF\n")
    );
    run_well(folder, &["history", "tag", "nights", "first"]);
    let listed = run_well(folder, &["history", "list", "nights"]);
    // Columns that do not fit are named below.
    let runs = |listed: &str| listed.lines().filter(|line| line.contains(" UTC ")).count();
    assert!(listed.contains("first") && runs(&listed) == 3, "{listed}");
    let chosen = run_well(folder, &["history", "list", "nights", "FIRST", "socket"]);
    assert!(chosen.contains("first") && runs(&chosen) == 1, "{chosen}");
    assert_eq!(run_well(folder, &["history", "list", "nights", "first", "fork"]), "no run\n");
    // A further run against one of the folder.
    let gated = run(
        folder,
        &[&TINY[..], &["--baseline", "tag:first", "--fail-on", "slower:900%", "--undecided", "pass"]]
            .concat(),
    );
    assert!(gated.status.success(), "{}", text(&gated.stderr));
    let newest = run_well(folder, &["history", "list", "nights", "--format", "json"]);
    let newest: Value = serde_json::from_str(&newest).expect("JSON");
    let file = format!("nights/{}", newest["runs"][0]["file"].as_str().expect("a file"));
    let compared = run(folder, &["compare", "--history", "nights", "--baseline", "last", &file]);
    assert!(text(&compared.stdout).contains("socket"), "{}", text(&compared.stderr));
    let by_name = run(folder, &["compare", "--history", "nights", "--baseline", "last"]);
    assert_eq!(text(&by_name.stdout), text(&compared.stdout), "{}", text(&by_name.stderr));
    let tagged = run(folder, &["compare", "--history", "nights", "tag:first", "last"]);
    assert!(text(&tagged.stdout).contains("socket"), "{}", text(&tagged.stderr));
    let refused = run(folder, &["compare", "--history", "nights", "--baseline", "tag:none", &file]);
    assert!(text(&refused.stderr).contains("its tags: first"), "{}", text(&refused.stderr));
    let pruned = run_well(folder, &["history", "prune", "nights", "--older-than", "1s", "--yes"]);
    let left = run_well(folder, &["history", "list", "nights"]);
    assert_eq!(runs(&left) + pruned.lines().count(), 4, "{left}{pruned}");
}

#[test]
fn the_nightly_check_measures_again_before_it_cries() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    fs::create_dir(folder.join("nights")).expect("a folder");
    (0..20).for_each(|night| drop(of_night(night).write(&folder.join("nights"))));
    let quiet = run(folder, &["history", "nights", "--check"]);
    assert_eq!(quiet.status.code(), Some(0), "{}", text(&quiet.stdout));
    assert!(text(&quiet.stdout).starts_with("osdyno: no new change"));
    // A night without a run is said, too.
    let missing = run(folder, &["history", "nights", "--check", "--max-age", "36h"]);
    assert_eq!(missing.status.code(), Some(3), "{}", text(&missing.stdout));
    assert!(text(&missing.stdout).starts_with("osdyno: a night is missing"), "{}", text(&missing.stdout));
    Simulated { factors: vec![(1, 1.08)], ..of_night(20) }.write(&folder.join("nights"));
    // One night alone raises nothing.
    let alone = run(folder, &["history", "nights", "--check"]);
    assert_eq!(alone.status.code(), Some(0), "{}", text(&alone.stdout));
    // A command that measures nothing is said to do so, and raises and hides nothing.
    let failed = run(folder, &["history", "nights", "--check", "--confirm", "true {out}"]);
    assert_eq!(failed.status.code(), Some(3), "{}", text(&failed.stdout));
    assert!(text(&failed.stderr).contains("did not write"), "{}", text(&failed.stderr));

    // The measurement that is made again: first one that finds nothing, then one that finds it too.
    let again = |factor: f64| {
        let apart = folder.join("apart");
        fs::create_dir_all(&apart).expect("a folder");
        let head = Simulated { others: vec![("head", (1, factor))], ..of_night(77) };
        let file = head.write(&apart);
        let command = format!(
            "sh -c 'case \"{{workloads}}\" in *w1*) mv {} {{out}};; *) exit 1;; esac'",
            file.display()
        );
        run(folder, &["history", "nights", "--check", "--confirm", &command])
    };
    let dismissed = again(1.0);
    assert_eq!(dismissed.status.code(), Some(0), "{} {}", text(&dismissed.stdout), text(&dismissed.stderr));
    fs::remove_dir_all(folder.join("nights/checks")).expect("a folder");
    let raised = again(1.08);
    let message = text(&raised.stdout);
    assert_eq!(raised.status.code(), Some(4), "{message} {}", text(&raised.stderr));
    assert!(message.starts_with("osdyno: 1 cost changed") && message.contains("w1 +8"), "{message}");
    assert!(
        message.lines().count() <= 40 && message.lines().all(|line| line.chars().count() <= 72),
        "{message}"
    );
    // What was found stays found.
    let later = run(folder, &["history", "nights", "--check", "--format", "json"]);
    let answer: Value = serde_json::from_str(&text(&later.stdout)).expect("JSON");
    assert_eq!(answer["alarms"][0]["series"][0], "w1");
}

/// A browser's pages under an address with a secret.
struct Viewer {
    child: Child,
    address: SocketAddr,
    base: String,
}

impl Viewer {
    fn start(folder: &Path) -> Viewer {
        let mut child = osdyno(folder, &["view", "nights"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("osdyno starts");
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().expect("a pipe")).read_line(&mut line).expect("an address");
        let rest = line.trim().strip_prefix("http://").expect("an address");
        let (address, path) = rest.split_once('/').expect("a path");
        Viewer { child, address: address.parse().expect("an address"), base: format!("/{path}") }
    }

    fn get_of(&self, host: &str, path: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(self.address).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a limit");
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n")
            .expect("it takes it");
        let mut all = Vec::new();
        stream.read_to_end(&mut all).expect("a response");
        let all = String::from_utf8_lossy(&all).into_owned();
        let status = all.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
        (status, all)
    }

    fn get(&self, path: &str) -> (u16, String) {
        self.get_of(&self.address.to_string(), &format!("{}{path}", self.base))
    }
}

impl Drop for Viewer {
    fn drop(&mut self) {
        signal(self.child.id(), "TERM");
        let _ = self.child.wait();
    }
}

/// The addresses in a page that lead to pages of the site.
fn links(page: &str) -> Vec<String> {
    page.split("href=\"")
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
        .filter(|link| link.ends_with(".html"))
        .map(str::to_owned)
        .collect()
}

#[test]
fn pages_are_found_by_their_links_and_by_nobody_else() {
    let folder = tempfile::tempdir().expect("a folder");
    changed(folder.path());
    let hostile = Simulated { kernel: "<script>alert(1)</script>", ..of_night(41) };
    let name = hostile.write(&folder.path().join("nights"));
    fs::rename(&name, name.with_file_name("<img src=x onerror=alert(2)>.osdyno")).expect("a name");
    let viewer = Viewer::start(folder.path());
    let (status, list) = viewer.get("");
    assert_eq!(status, 200);
    assert!(list.contains("41 runs; 1 change of cost"), "{list}");
    assert!(!list.contains("<script>alert") && list.contains("&lt;script&gt;alert"), "{list}");
    assert!(list.contains("Content-Security-Policy: default-src 'none'") && list.len() < 150_000);
    for link in links(&list).iter().take(8).chain(&["history.html".to_owned()]) {
        let (status, page) = viewer.get(link);
        assert_eq!(status, 200, "{link}");
        assert!(!page.contains("<script>alert") && !page.contains("<img src=x"), "{link}");
    }
    let (status, series) = viewer.get("series/0/w2.html");
    assert_eq!(status, 200);
    assert!(series.contains("+12") && series.contains("compare/"), "{series}");
    let (status, chosen) = viewer.get("compare?base=night-0003.osdyno&head=night-0033.osdyno");
    assert!(status == 303 && chosen.contains("\r\nLocation: compare/"), "{chosen}");
    let location =
        chosen.split("\r\nLocation: ").nth(1).and_then(|rest| rest.split("\r\n").next()).expect("a place");
    assert!(viewer.get(location).1.contains("w2"));
    let (_, filtered) = viewer.get("?kernel=Linux+6.18.44&words=night-000");
    assert!(filtered.contains("10 of 41 runs"), "{filtered}");
    for path in [
        "../",
        "run/..%2f..%2f..%2fetc%2fpasswd.html",
        "run/none.html",
        "series/9/w2.html",
        "compare",
        ".osdyno-index",
        "index-0.html",
    ] {
        let (status, page) = viewer.get(path);
        assert!((400..500).contains(&status) && !page.contains("root:"), "{path}: {status}");
    }
    let base = viewer.base.clone();
    assert_eq!(viewer.get_of("evil.example", &base).0, 421);
    assert_eq!(viewer.get_of(&viewer.address.to_string(), "/").0, 404);
    assert_eq!(viewer.get_of(&viewer.address.to_string(), "/0000000000000000/").0, 404);
    // A file that is replaced while it is shown.
    let first = folder.path().join("nights/night-0000.osdyno");
    fs::write(&first, "no run any more").expect("a file");
    std::thread::sleep(Duration::from_millis(2100));
    assert!(viewer.get("").1.contains("40 runs"));
}

#[test]
fn two_thousand_slow_clients_hold_up_nobody() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::create_dir(folder.path().join("nights")).expect("a folder");
    (0..3).for_each(|night| drop(of_night(night).write(&folder.path().join("nights"))));
    let viewer = Viewer::start(folder.path());
    let slow: Vec<TcpStream> = (0..2000)
        .map(|_| {
            let mut stream = TcpStream::connect(viewer.address).expect("it listens");
            stream.write_all(b"GET / HT").expect("it takes it");
            stream
        })
        .collect();
    let (status, page) = viewer.get("");
    assert_eq!(status, 200);
    assert!(page.contains("3 runs"), "{page}");
    drop(slow);
}

#[test]
fn the_same_pages_are_written_as_files_and_every_link_leads_to_one() {
    let folder = tempfile::tempdir().expect("a folder");
    changed(folder.path());
    let output = run(folder.path(), &["view", "nights", "--export", "site"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let site = folder.path().join("site").canonicalize().expect("a folder");
    let (mut todo, mut seen) = (vec![site.join("index.html")], BTreeSet::new());
    while let Some(page) = todo.pop() {
        if !seen.insert(page.clone()) {
            continue;
        }
        let content = fs::read_to_string(&page).unwrap_or_else(|error| panic!("{}: {error}", page.display()));
        assert!(!content.contains("<form"), "files have no forms");
        for link in links(&content) {
            todo.push(
                page.parent()
                    .expect("a folder")
                    .join(&link)
                    .canonicalize()
                    .unwrap_or_else(|_| panic!("{} leads to {link}, which is not there", page.display())),
            );
        }
    }
    // Runs, neighbours, series, the list and the history.
    assert_eq!(seen.len(), 40 + 39 + 8 + 2, "{seen:?}");
    assert!(!run(folder.path(), &["view", "absent"]).status.success());
    let open = run(folder.path(), &["view", "nights", "--listen", "0.0.0.0:0"]);
    assert_eq!(open.status.code(), Some(2));
    assert!(text(&open.stderr).contains("--token"), "{}", text(&open.stderr));
}
