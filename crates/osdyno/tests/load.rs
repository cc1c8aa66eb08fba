//! `osdyno load`, as a user would call it, against a server that counts.

mod common;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use common::{run, run_well, text};

/// A web server that answers every request with five bytes.
fn server() -> (SocketAddr, Arc<AtomicU64>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let requests = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&requests);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, counter) = (stream.expect("a connection"), Arc::clone(&counter));
            std::thread::spawn(move || {
                let mut piece = [0; 4096];
                while let Ok(read @ 1..) = stream.read(&mut piece) {
                    assert!(piece[..read].ends_with(b"\r\n\r\n"), "a request comes in one piece");
                    counter.fetch_add(1, Ordering::SeqCst);
                    if stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello").is_err() {
                        return;
                    }
                }
            });
        }
    });
    (address, requests)
}

fn json(output: &str) -> serde_json::Value {
    serde_json::from_str(output).expect("JSON")
}

#[test]
fn the_rate_and_the_latency_come_first() {
    let folder = tempfile::tempdir().expect("a folder");
    let (address, requests) = server();
    let url = format!("http://{address}/x");
    let out = run_well(folder.path(), &["load", "-c", "3", "-n", "500", "-d", "1m", &url]);
    let first = out.lines().next().expect("a line");
    for word in ["requests/s", "p50", "p99", "p99.9", "none failed"] {
        assert!(first.contains(word), "{word}: {first}");
    }
    assert!(out.contains("500 correct in"), "{out}");
    assert_eq!(requests.load(Ordering::SeqCst), 500);
}

#[test]
fn several_processes_share_a_load() {
    let folder = tempfile::tempdir().expect("a folder");
    if sys::cpu::count() < 2 {
        return;
    }
    let (address, requests) = server();
    let url = format!("http://{address}/");
    let arguments = ["load", "-w", "2", "-r", "500,1000", "--schedule", "constant", "-d", "300ms", "-c", "4"];
    let out = json(&run_well(folder.path(), &[&arguments[..], &["--format", "json", &url]].concat()));
    let levels = out["levels"].as_array().expect("levels");
    let intended: Vec<u64> = levels.iter().filter_map(|level| level["intended"].as_u64()).collect();
    assert_eq!(intended, [150, 300]);
    let answered = |level: &serde_json::Value| {
        level["completed"].as_u64().expect("a count") + level["late"].as_u64().expect("a count")
    };
    assert_eq!(levels.iter().map(answered).sum::<u64>(), 450);
    assert_eq!(levels[0]["workers"], 2);
    assert_eq!(requests.load(Ordering::SeqCst), 450);
    common::until("no worker is left", || common::processes_below(folder.path(), "load-worker").is_empty());
}

#[test]
fn levels_are_lines_of_csv_and_slices_of_a_log() {
    let folder = tempfile::tempdir().expect("a folder");
    let (address, _) = server();
    let url = format!("http://{address}/");
    let arguments = ["load", "--levels", "1,2,4", "-d", "100ms", "--format", "csv", "--hdr", "a.hlog", &url];
    let out = run_well(folder.path(), &arguments);
    let rows: Vec<Vec<&str>> = out.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(rows.len(), 4);
    assert!(rows.iter().all(|row| row.len() == rows[0].len()), "{out}");
    assert_eq!(rows[3][0], "4");
    let log = std::fs::read_to_string(folder.path().join("a.hlog")).expect("a log");
    assert!(log.starts_with("#[Histogram log format version 1.3]"));
    assert!(log.contains("Tag=connections-4,") && log.contains(",HISTFAAAA"));
    let again = run(folder.path(), &arguments);
    assert_eq!(again.status.code(), Some(1), "a log is not written over");
}

#[test]
fn who_does_not_response_is_said_so() {
    let folder = tempfile::tempdir().expect("a folder");
    let closed = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port");
    let output = run(folder.path(), &["load", "-d", "200ms", &format!("http://{closed}/")]);
    assert_eq!(output.status.code(), Some(1));
    let out = text(&output.stdout);
    assert!(out.starts_with("no correct response") && out.contains("ECONNREFUSED"), "{out}");
}

#[test]
fn wrong_usage_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    for (arguments, word) in [
        (&["http://192.0.2.1/"][..], "--allow-public"),
        (&["https://127.0.0.1/"], "TLS"),
        (&["127.0.0.1:80"], "http://127.0.0.1:80/"),
        (&["-w", "100000", "http://127.0.0.1/"], "workers"),
        (&["--pipeline", "2", "-r", "10", "http://127.0.0.1:9/"], "several"),
        (&["--find-rate", "p99<5ms", "http://127.0.0.1/"], "p99<=5ms"),
        (&["--source", "nowhere", "http://127.0.0.1/"], "source addresses"),
        (&["--client", "echo", "--bytes", "0", "127.0.0.1:9"], "65536"),
        (&["-r", "1e10", "http://127.0.0.1:9/"], "per second"),
        (&["-r", "1e-20", "http://127.0.0.1:9/"], "per second"),
        (&["--ramp", "1e300", "http://127.0.0.1:9/"], "per second"),
        (&["--idle", "18446744073709551615", "http://127.0.0.1:9/"], "10000000"),
        (&["-c", "10000001", "http://127.0.0.1:9/"], "10000000"),
        (&["--timeout", "999999999y", "http://127.0.0.1:9/"], "at most"),
    ] {
        let output = run(folder.path(), &[&["load", "-d", "100ms"], arguments].concat());
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(text(&output.stderr).contains(word), "{arguments:?}: {}", text(&output.stderr));
    }
}
