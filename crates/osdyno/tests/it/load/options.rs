//! Options as people type them, and files in the formats that their names say.

use std::sync::atomic::Ordering;

use super::{json, secure_server, server, server_of};
use crate::common;
use crate::common::{run, run_well, text};

#[test]
fn options_of_other_load_generators_are_taken() {
    let folder = tempfile::tempdir().expect("a folder");
    let answer = |request: &str, _: u64| {
        let is_right = request.starts_with("PUT / ") && request.ends_with("\r\n\r\n{\"a\": 1}");
        let status = if is_right { "200 OK" } else { "400 Bad Request" };
        format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n")
    };
    std::fs::write(folder.path().join("body.json"), "{\"a\": 1}").expect("a file");
    let (address, requests) = server_of(answer);
    let with =
        ["load", "-m", "PUT", "--body-file", "body.json", "-d", "10", "-n", "1k", &address.to_string()];
    assert!(run_well(folder.path(), &with).contains("none failed"));
    assert_eq!(requests.load(Ordering::SeqCst), 1000);
    let twice = run(folder.path(), &[&with[..], &["--body", "a"]].concat());
    assert_eq!(twice.status.code(), Some(2));
    assert!(text(&twice.stderr).contains("--body and --body-file"), "{}", text(&twice.stderr));
    let (address, _) = secure_server(folder.path());
    let out = run_well(folder.path(), &["load", "-k", "-c", "2", "-n", "20", &format!("https://{address}/")]);
    assert!(out.contains("20 correct"), "{out}");
}

/// Values from a file are sent and are in no result; values on the command line are in the result, which says
/// so.
#[test]
fn credentials_from_a_file_are_in_no_result() {
    let folder = tempfile::tempdir().expect("a folder");
    let answer = |request: &str, _: u64| {
        let is_right = request.contains("\r\nAuthorization: Bearer s3cret\r\n");
        let status = if is_right { "200 OK" } else { "401 Unauthorized" };
        format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n")
    };
    let url = format!("http://{}/", server_of(answer).0);
    std::fs::write(folder.path().join("token"), "Authorization: Bearer s3cret\nAccept: text/plain\n\n")
        .expect("a file");
    let load =
        |header: &str, file: &str| run(folder.path(), &["load", "-n", "5", "-H", header, "-o", file, &url]);
    let read = |file: &str| std::fs::read_to_string(folder.path().join(file)).expect("a file");

    let output = load("@token", "kept.json");
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    assert_eq!(text(&output.stderr), "");
    assert!(read("kept.json").contains("@token") && !read("kept.json").contains("s3cret"));

    let output = load("Authorization: Bearer s3cret", "told.json");
    let told = text(&output.stderr);
    assert!(
        told.contains("told.json holds the value of Authorization") && told.contains("-H @FILE"),
        "{told}"
    );
    assert!(!told.contains("s3cret"), "{told}");
    std::fs::write(folder.path().join("wrong"), "s3cret\n").expect("a file");
    load("Authorization: Bearer s3cret", "page.html");
    assert!(read("page.html").contains("Authorization: …") && !read("page.html").contains("s3cret"));
    let told = text(&load("@wrong", "none.json").stderr);
    assert!(told.contains("line 1 is not written as Name: value") && !told.contains("s3cret"), "{told}");
}

#[test]
fn a_file_has_the_format_of_its_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let (address, _) = server();
    let files = ["a.html", "a.json", "a.csv", "a.txt", "a.hlog"];
    let named: Vec<&str> = files.iter().flat_map(|file| ["--out", file]).collect();
    let url = format!("http://{address}/");
    let words = [&["load", "-n", "50", &url][..], &named].concat();
    let out = run_well(folder.path(), &words);
    assert!(out.contains("50 correct") && files.iter().all(|file| out.contains(file)), "{out}");
    let read = |file: &str| std::fs::read_to_string(folder.path().join(file)).expect("a file");
    assert_eq!(json(&read("a.json"))["levels"][0]["completed"], 50);
    assert!(read("a.csv").starts_with("connections,"));
    assert!(read("a.txt").contains("50 correct"));
    assert!(read("a.hlog").starts_with("#[Histogram log"));
    for part in ["Latency over time", "Latency by percentile", "<svg", "50 correct", "p99.9"] {
        assert!(read("a.html").contains(part), "{part}");
    }
    let again = run(folder.path(), &words);
    assert_eq!(again.status.code(), Some(1));
    assert!(text(&again.stderr).contains("a.html exists already"), "{}", text(&again.stderr));
    run_well(folder.path(), &[&words[..], &["--force"]].concat());
}

#[cfg(target_os = "linux")]
#[test]
fn text_is_as_wide_as_the_terminal() {
    let folder = tempfile::tempdir().expect("a folder");
    let (address, _) = server();
    let url = format!("http://{address}/");
    for way in [
        &["-n", "500"][..],
        &["-n", "500", "--new-connections"],
        &["-r", "500", "-n", "200"],
        &["--levels", "1,2", "-n", "100"],
    ] {
        let words = [&["load", "--color", "never", "-d", "5s", &url][..], way].concat();
        let mut command = common::osdyno(folder.path(), &words);
        command.env("TERM", "xterm").stderr(std::process::Stdio::null());
        let seen = super::with_a_terminal(48, move |end| command.stdout(end).spawn().expect("osdyno starts"));
        let widest = seen.lines().map(|line| line.trim_end().chars().count()).max().unwrap_or(0);
        assert!(widest <= 48, "{way:?}: {widest} columns: {seen}");
        assert!(seen.contains("requests/s"), "{seen}");
    }
}
