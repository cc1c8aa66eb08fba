//! The load generator: every failure is counted by its kind, and the load ends in time.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::loaded::{Loaded, load};
use super::{interrupt, site};
use crate::common::foreign::Group;
use crate::common::served::Served;
use crate::common::{osdyno, signal, until};

/// A server of the test, which does this to every connection and closes it. It lives as long as the test.
fn odd_server(act: impl Fn(&mut TcpStream, usize) + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let act = Arc::new(act);
    std::thread::spawn(move || {
        for (number, stream) in listener.incoming().flatten().enumerate() {
            let act = Arc::clone(&act);
            std::thread::spawn(move || {
                let mut stream = stream;
                act(&mut stream, number);
            });
        }
    });
    format!("http://{address}/")
}

/// Reads to the end of a request; whether there was one.
fn request(stream: &mut TcpStream) -> bool {
    let (mut held, mut chunk) = (Vec::new(), [0; 4096]);
    while !held.ends_with(b"\r\n\r\n") {
        match stream.read(&mut chunk) {
            Ok(count) if count > 0 => held.extend_from_slice(&chunk[..count]),
            _ => return false,
        }
    }
    true
}

/// Answers every request of the connection with these bytes.
fn responses(stream: &mut TcpStream, response: &[u8]) {
    while request(stream) && stream.write_all(response).is_ok() {}
}

type Act = fn(&mut TcpStream, usize);

/// Ways to fail: a name, what the server does with each connection, and what the generator must count.
const FAULTS: &[(&str, Act, &str)] = &[
    (
        "reset",
        |stream, _| {
            request(stream);
            rustix::net::sockopt::set_socket_linger(&*stream, Some(Duration::ZERO)).unwrap();
        },
        "first_byte: ECONNRESET",
    ),
    ("closed", |stream, _| _ = request(stream), "first_byte: closed early"),
    ("garbage", |stream, _| responses(stream, b"what?\r\n\r\n"), "malformed"),
    (
        "torn",
        |stream, _| {
            request(stream);
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc");
        },
        "body: closed early",
    ),
    (
        "silent",
        |stream, _| {
            request(stream);
            std::thread::sleep(Duration::from_secs(20));
        },
        "first_byte: timeout",
    ),
    (
        "a body that changes",
        |stream, number| {
            let response = format!("HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n{number:08}");
            responses(stream, response.as_bytes());
        },
        "wrong content",
    ),
    (
        "not today",
        |stream, _| responses(stream, b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n"),
        "status 503",
    ),
    (
        "more than was asked for",
        |stream, _| responses(stream, b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nab"),
        "unasked bytes",
    ),
    (
        "a head that never ends",
        |stream, _| {
            request(stream);
            while stream.write_all(&[b'x'; 1000]).is_ok() {}
        },
        "malformed",
    ),
    (
        "a line that never ends",
        |stream, _| {
            request(stream);
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nX: ");
            while stream.write_all(&[b'x'; 1000]).is_ok() {}
        },
        "malformed",
    ),
    (
        "a length without measure",
        |stream, _| {
            responses(stream, b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999999\r\n\r\nx");
        },
        "malformed",
    ),
];

#[test]
fn the_generator_counts_what_fails_and_ends_in_time() {
    let folder = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        for (name, act, expected) in FAULTS {
            let folder = folder.path();
            scope.spawn(move || {
                let url = odd_server(act);
                for rate in [&[][..], &["-r", "40"]] {
                    counts(folder, name, &url, rate, expected);
                }
            });
        }
    });
}

fn counts(folder: &Path, name: &str, url: &str, rate: &[&str], expected: &str) {
    let began = Instant::now();
    let words = [&["-c", "4", "-d", "700ms", "--timeout", "250ms", url], rate].concat();
    let loaded = load(folder, &words);
    let failures = loaded.failures();
    let stages = failures.iter().map(|((stage, cause), count)| {
        assert!(*count > 0);
        format!("{stage}: {cause}")
    });
    let stages: Vec<String> = stages.collect();
    let is_there = stages.iter().any(|one| one.contains(expected));
    assert!(is_there, "{name} {rate:?}: {expected:?} is not among {stages:?}");
    let failed = loaded.number("failed");
    assert!(failed > 0.0, "{name} {rate:?}: {}", loaded.level);
    let sum: u64 = failures.values().sum();
    assert!(sum as f64 >= failed, "{name} {rate:?}: {failed} failed, {failures:?}");
    let is_mostly_failing = failed - loaded.number("timed_out") > loaded.number("started") / 2.0;
    let is_failed = is_mostly_failing || loaded.number("completed") == 0.0;
    let expected = if is_failed { Some(1) } else { Some(0) };
    assert_eq!(loaded.code, expected, "{name} {rate:?}: {}", loaded.errors);
    let took = began.elapsed();
    assert!(took < Duration::from_secs(8), "{name} {rate:?}: it took {took:?}");
}

#[test]
fn the_generator_finds_nobody() {
    let folder = tempfile::tempdir().unwrap();
    // A port that was free a moment ago.
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let refused = load(folder.path(), &["-c", "4", "-d", "500ms", &format!("http://{free}/")]);
    let expected = ("connect".to_owned(), "ECONNREFUSED".to_owned());
    assert!(refused.failures().keys().all(|failure| *failure == expected), "{}", refused.level);
    assert_eq!((refused.code, refused.number("completed")), (Some(1), 0.0), "{}", refused.errors);

    let nameless = load(folder.path(), &["-d", "500ms", "http://no-such-host.invalid/"]);
    assert!(nameless.errors.contains("no-such-host.invalid"), "{}", nameless.errors);
    assert_eq!(nameless.code, Some(1), "{}", nameless.errors);

    for (target, codes) in [
        ("http://127.0.0.1:99999/", 1..=2),
        ("http://", 1..=2),
        ("ftp://127.0.0.1/", 2..=2),
        ("http://127.0.0.1:http/", 1..=2),
    ] {
        let wrong = load(folder.path(), &["-d", "500ms", target]);
        assert!(codes.contains(&wrong.code.unwrap_or(-1)), "{target}: {:?} {}", wrong.code, wrong.errors);
        assert!(wrong.errors.starts_with("error: "), "{target}: {}", wrong.errors);
    }
}

/// Killed in the middle, and started again at the same port: the generator goes on through both.
#[test]
fn the_server_vanishes_and_comes_back() {
    let folder = site();
    for rate in [&[][..], &["-r", "500"]] {
        let began = Instant::now();
        let served = Served::start(folder.path(), &["--arch", "epoll", "--listen", "127.0.0.1:0"]);
        // The server is away for a part of the level, however long this machine takes to start it again.
        let level = format!("{}ms", 1500 + 8 * began.elapsed().as_millis());
        let address = served.address.to_string();
        let url = format!("http://{address}/");
        let mut command = osdyno(folder.path(), &["load", "--format", "json", "-d", &level, &url]);
        let generator = command.args(rate).stdout(Stdio::piped()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(500));
        drop(served);
        std::thread::sleep(Duration::from_millis(300));
        let again = Served::start(folder.path(), &["--arch", "epoll", "--listen", &address]);
        let loaded = Loaded::of(&generator.wait_with_output().unwrap());
        assert_eq!(loaded.code, Some(0), "{}", loaded.level);
        assert!(loaded.number("failed") > 0.0 && loaded.number("completed") > 0.0, "{}", loaded.level);
        let is_refused = loaded.failures().keys().any(|(_, cause)| cause == "ECONNREFUSED");
        assert!(is_refused, "{:?}", loaded.failures());
        assert!(again.counter("responses") > 0, "nobody asked the server that came back");
        again.stop();
    }
}

/// Stopped and continued again and again, and interrupted at the end: what was measured is reported.
#[test]
fn a_generator_is_interrupted() {
    let folder = site();
    let served = Served::start(folder.path(), &["--arch", "epoll"]);
    let url = format!("http://{}/", served.address);
    let words = ["load", "--format", "json", "-c", "8", "-d", "20s", &url];
    let generator = osdyno(folder.path(), &words).stdout(Stdio::piped()).spawn().unwrap();
    until("it asks", || served.counter("responses") > 0);
    for _ in 0..50 {
        for signal in ["STOP", "CONT", "WINCH", "CHLD", "URG"] {
            signal_quietly(generator.id(), signal);
        }
        std::thread::sleep(Duration::from_millis(4));
    }
    signal(generator.id(), "INT");
    let loaded = Loaded::of(&generator.wait_with_output().unwrap());
    assert_eq!(loaded.code, Some(130), "{}", loaded.errors);
    assert!(loaded.number("completed") > 0.0, "{}", loaded.level);
    assert_eq!(loaded.number("failed"), 0.0, "{}", loaded.level);
    until("its connections have ended", || served.counter("open now") == 0);
    let ended = served.stop();
    assert!(ended.count("responses") as f64 >= loaded.number("completed"), "{ended:?}");
}

/// At the ends of the range of rates: requests that are never all started, and none for hours.
#[test]
fn a_signal_is_heard_at_every_rate() {
    let folder = site();
    let served = Served::start(folder.path(), &["--arch", "epoll"]);
    let url = format!("http://{}/", served.address);
    let beyond = load(folder.path(), &["-r", "1e300", &url]).errors;
    let (_, range) = beyond.split_once("a rate is from ").expect("the range of rates");
    let (lowest, rest) = range.split_once(" to ").expect("two ends");
    let highest = rest.split(' ').next().expect("the upper end");
    for (rate, name) in [(lowest, "INT"), (lowest, "TERM"), (highest, "INT"), (highest, "TERM")] {
        let accepted = served.counter("accepted");
        let words = ["load", "--format", "json", "-r", rate, "-d", "1h", &url];
        let mut command = osdyno(folder.path(), &words);
        let mut generator = Group(command.stdout(Stdio::piped()).process_group(0).spawn().unwrap());
        until("it has connected", || served.counter("accepted") > accepted);
        signal(generator.0.id(), name);
        let mut status = None;
        until(&format!("SIG{name} ends a load of {rate} per second"), || {
            status = generator.0.try_wait().unwrap();
            status.is_some()
        });
        assert_eq!(status.unwrap().code(), Some(130), "{rate}, SIG{name}");
    }
    served.stop();
}

fn signal_quietly(process: u32, name: &str) {
    use rustix::process::Signal;
    let signal = match name {
        "STOP" => Signal::STOP,
        "CONT" => Signal::CONT,
        "WINCH" => Signal::WINCH,
        "CHLD" => Signal::CHILD,
        _ => Signal::URG,
    };
    interrupt(process, signal);
}
