//! Servers and generators when something runs out, is interrupted, killed, or asked for more than it can.
//!
//! Descriptors run out for one process here. For the whole system (`ENFILE`) they cannot be made to without
//! touching the machine's settings, which no test does; both come back from the same calls, and are handled
//! by the same lines.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a panic is the failure of a test")]

mod common;

use std::collections::BTreeMap;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use common::served::{Served, group};
use common::wire::{Wire, get, get_and_close};
use common::witness::Witness;
use common::{osdyno, signal, text, until};

const SMALL: &[u8] = b"<p>small</p>\n";
const MEDIUM: usize = 150_000;

/// The architectures under test, with what they need to be several processes where they can.
const SERVERS: &[&[&str]] = &[
    &["--arch", "epoll"],
    &["--arch", "epoll", "--workers", "2"],
    &["--arch", "uring"],
    &["--arch", "uring", "--workers", "2"],
    &["--arch", "thread"],
    &["--arch", "prefork", "--pool", "12"],
];

/// Those that this system has.
fn servers() -> impl Iterator<Item = &'static [&'static str]> {
    SERVERS.iter().copied().filter(|words| {
        let obstacle = net::arch::find(words[1]).unwrap().unavailable_reason();
        if let Some(reason) = &obstacle {
            println!("skipped: {} is unsupported here: {reason}", words[1]);
        }
        obstacle.is_none()
    })
}

fn site() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("index.html"), SMALL).unwrap();
    std::fs::write(folder.path().join("medium.bin"), vec![b'm'; MEDIUM]).unwrap();
    folder
}

// ── servers ────────────────────────────────────────────────────────────────────────────────────────────────

/// Of a hundred clients that stay, some wait without being accepted; meanwhile the server rests, and serves
/// those it has. Once others go, they are served.
#[test]
fn descriptors_run_out() {
    let folder = site();
    for words in [&["--arch", "epoll"], &["--arch", "uring"], &["--arch", "thread"], &["--arch", "epoll-et"]]
    {
        if net::arch::find(words[1]).unwrap().unavailable_reason().is_some() {
            continue;
        }
        let mut command = Command::new("sh");
        let program = env!("CARGO_BIN_EXE_osdyno");
        command.args(["-c", "ulimit -n 64; exec \"$0\" \"$@\"", program]).current_dir(folder.path());
        let served = Served::start_by(command, words);
        let mut early = Wire::connect(served.address);
        early.send(get("/"));
        assert_eq!(early.answer().body, SMALL);

        let mut crowd: Vec<Wire> = (0..100).map(|_| Wire::connect(served.address)).collect();
        until("descriptors have run out", || served.counter("exhausted") > 0);
        let before = cpu_seconds(served.process());
        std::thread::sleep(Duration::from_millis(600));
        let used = cpu_seconds(served.process()) - before;
        assert!(used < 0.3, "{words:?} used {used} s of processor in 0.6 s for want of descriptors");
        // What it has looked at before it serves yet, though it would look again by now.
        std::thread::sleep(Duration::from_millis(600));
        early.send(get("/"));
        let answer = early.answer();
        assert_eq!((answer.status, &answer.body[..]), (200, SMALL), "{words:?}");

        let mut last = crowd.split_off(80);
        drop(crowd);
        for wire in &mut last {
            wire.send(get_and_close("/"));
        }
        for wire in &mut last {
            assert_eq!(wire.answer().body, SMALL, "{words:?}");
        }
        early.finish();
        early.expect_end();
        until("all have ended", || served.counter("open now") == 0);
        let ended = served.stop();
        assert_eq!((ended.count("accepted"), ended.count("ended")), (101, 101), "{words:?}: {ended:?}");
    }
}

/// Processor time that the process has used, in seconds; clock ticks are hundredths on every Linux.
fn cpu_seconds(process: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    let (_, rest) = stat.rsplit_once(')').unwrap();
    let fields: Vec<f64> = rest.split_ascii_whitespace().map(|field| field.parse().unwrap_or(0.0)).collect();
    (fields[11] + fields[12]) / 100.0
}

/// Signals by the thousand interrupt system calls, and no answer.
#[test]
fn a_storm_of_signals() {
    let folder = site();
    for words in servers() {
        let served = Served::start(folder.path(), words);
        let leader = served.process();
        // A report is for the process that people know; its workers have no use for the signal, and must bear
        // it.
        let processes = served.processes();
        let witness = Witness::start(served.address, "/", SMALL);
        let ended = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !ended.load(Ordering::Relaxed) {
                    for process in &processes {
                        interrupt(*process, rustix::process::Signal::USR1);
                        interrupt(*process, rustix::process::Signal::CONT);
                    }
                    std::thread::sleep(Duration::from_micros(200));
                }
            });
            for _ in 0..20 {
                let mut wire = Wire::connect(served.address);
                wire.send_split(get_and_close("/medium.bin"));
                assert_eq!(wire.answer().body.len(), MEDIUM, "{words:?}");
                wire.expect_end();
            }
            ended.store(true, Ordering::Relaxed);
        });
        witness.end();
        assert_eq!(leader, served.process());
        let ended = served.stop();
        assert_eq!((ended.count("broken"), ended.count("restarts")), (0, 0), "{words:?}: {ended:?}");
        assert_eq!(ended.count("accepted"), ended.count("ended"), "{words:?}: {ended:?}");
    }
}

fn interrupt(process: u32, signal: rustix::process::Signal) {
    let process = rustix::process::Pid::from_raw(process.cast_signed()).unwrap();
    rustix::process::kill_process(process, signal).unwrap();
}

/// What the last request of a client came to.
#[derive(Debug, PartialEq, Eq)]
enum Last {
    /// No byte of an answer came: the client may ask again elsewhere.
    Nothing,
    /// Only a part of the answer came.
    Torn(usize),
}

/// SIGTERM while answers leave as fast as they can: each that was begun is finished.
#[test]
fn a_stop_under_load_tears_no_answer() {
    let folder = site();
    for words in servers() {
        let served = Served::start(folder.path(), words);
        let address = served.address;
        std::thread::scope(|scope| {
            let clients: Vec<_> = (0..8).map(|_| scope.spawn(move || ask_until_end(address))).collect();
            std::thread::sleep(Duration::from_millis(250));
            served.signal("TERM");
            for client in clients {
                let (answers, last) = client.join().unwrap();
                assert!(answers > 0 && last == Last::Nothing, "{words:?}: after {answers} answers {last:?}");
            }
        });
        let ended = served.end();
        assert_eq!(ended.count("accepted"), ended.count("ended"), "{words:?}: {ended:?}");
    }
}

/// Asks for the same file until the server wants no more; how many answers came, and how it ended.
fn ask_until_end(address: SocketAddr) -> (usize, Last) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let (mut length, mut chunk) = (0, vec![0; 64 << 10]);
    for answers in 0.. {
        if stream.write_all(get("/medium.bin").as_bytes()).is_err() {
            return (answers, Last::Nothing);
        }
        let mut received = 0;
        while received == 0 || received < length {
            match stream.read(&mut chunk) {
                Ok(count) if count > 0 => received += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                _ if received == 0 => return (answers, Last::Nothing),
                _ => return (answers, Last::Torn(received)),
            }
            if length == 0 {
                // All answers are equally long, but for those that say that they are the last.
                let head = chunk.windows(4).position(|four| four == b"\r\n\r\n").unwrap() + 4;
                length = head + MEDIUM;
            }
        }
    }
    unreachable!("the server does not end")
}

/// Workers, and processes of prefork, that are killed or told to end: the others go on, and each is replaced
/// by one that serves.
#[test]
fn a_worker_that_ends_is_replaced() {
    let folder = site();
    let several = servers().filter(|words| words.contains(&"--workers") || words[1] == "prefork");
    for words in several {
        let served = Served::start(folder.path(), words);
        let workers = || -> Vec<u32> {
            let mut processes = group(served.process());
            processes.retain(|process| *process != served.process());
            processes
        };
        serves(&served, words);
        let count: usize = words[3].parse().unwrap();
        until("all workers are there", || workers().len() == count);
        let mut restarts = 0;
        for name in ["KILL", "TERM", "ABRT"] {
            let before = workers();
            for process in &before {
                signal(*process, name);
                restarts += 1;
                until(&format!("{words:?}: a worker ended by SIG{name} is replaced"), || {
                    served.counter("restarts") == restarts && workers().len() == count
                });
                if words[1] == "prefork" {
                    break;
                }
            }
            // By now every one is another, or the one of a pool is.
            serves(&served, &[words, &["after", name]].concat());
        }
        assert_eq!(served.counter("exhausted"), 0, "{words:?}");
        let ended = served.stop();
        assert_eq!((ended.count("accepted"), ended.open), (ended.count("ended"), 0), "{words:?}: {ended:?}");
    }
}

/// New connections, so many that every worker has some, are served in time.
fn serves(served: &Served, words: &[&str]) {
    let began = Instant::now();
    for _ in 0..40 {
        let connected =
            TcpStream::connect(served.address).unwrap_or_else(|error| panic!("{words:?}: {error}"));
        drop(connected);
        let mut wire = Wire::connect(served.address);
        wire.send(get_and_close("/"));
        assert_eq!(wire.answer().body, SMALL, "{words:?}");
    }
    assert!(began.elapsed() < Duration::from_secs(5), "{words:?}: {:?}", began.elapsed());
}

/// Ten times what it can: it goes on, and afterwards answers as it did before.
#[test]
fn ten_times_too_much() {
    let folder = site();
    for words in [&["--arch", "epoll"], &["--arch", "uring"], &["--arch", "thread"]] {
        if net::arch::find(words[1]).unwrap().unavailable_reason().is_some() {
            continue;
        }
        let served = Served::start(folder.path(), words);
        let url = format!("http://{}/", served.address);
        let watch = || {
            let witness = Witness::start(served.address, "/", SMALL);
            std::thread::sleep(Duration::from_millis(300));
            witness.end().0
        };
        let capacity = load(folder.path(), &["-c", "8", "-d", "300ms", &url]).number("completed_per_second");
        let before = watch();
        let rate = (capacity * 10.0).to_string();
        let over = load(
            folder.path(),
            &["-r", &rate, "-d", "1s", "--connections-max", "400", "--timeout", "2s", &url],
        );
        assert!(over.number("completed") > 0.0, "{}", over.errors);
        let after = watch();
        println!("{words:?}: {capacity} requests/s, then {rate}; median {before:?} before, {after:?} after");
        assert!(
            after < before * 5 + Duration::from_millis(5),
            "{words:?}: {before:?} before, {after:?} after"
        );
        until("all have ended", || served.counter("open now") == 0);
        served.stop();
    }
}

// ── generators ─────────────────────────────────────────────────────────────────────────────────────────────

/// What a generator said of its only level.
struct Loaded {
    code: Option<i32>,
    errors: String,
    level: serde_json::Value,
}

impl Loaded {
    fn of(output: &Output) -> Loaded {
        let errors = text(&output.stderr);
        let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        Loaded { code: output.status.code(), errors, level: document["levels"][0].clone() }
    }

    fn number(&self, name: &str) -> f64 {
        self.level[name].as_f64().unwrap_or_else(|| panic!("no {name}: {} {}", self.errors, self.level))
    }

    /// Failures by stage and cause.
    fn failures(&self) -> BTreeMap<(String, String), u64> {
        let list = self.level["failures"].as_array().expect("failures").iter();
        let word = |value: &serde_json::Value| value.as_str().expect("a word").to_owned();
        list.map(|one| ((word(&one["stage"]), word(&one["cause"])), one["count"].as_u64().unwrap())).collect()
    }
}

fn load(folder: &Path, words: &[&str]) -> Loaded {
    Loaded::of(&common::run(folder, &[&["load", "--format", "json"], words].concat()))
}

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
fn answers(stream: &mut TcpStream, answer: &[u8]) {
    while request(stream) && stream.write_all(answer).is_ok() {}
}

#[test]
fn the_generator_counts_what_fails_and_ends_in_time() {
    type Act = fn(&mut TcpStream, usize);
    let cases: &[(&str, Act, &str)] = &[
        (
            "reset",
            |stream, _| {
                request(stream);
                rustix::net::sockopt::set_socket_linger(&*stream, Some(Duration::ZERO)).unwrap();
            },
            "first_byte: ECONNRESET",
        ),
        ("closed", |stream, _| _ = request(stream), "first_byte: closed early"),
        ("garbage", |stream, _| answers(stream, b"what?\r\n\r\n"), "malformed"),
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
                let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n{number:08}");
                answers(stream, answer.as_bytes());
            },
            "wrong content",
        ),
        (
            "not today",
            |stream, _| answers(stream, b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n"),
            "status 503",
        ),
        (
            "more than was asked for",
            |stream, _| answers(stream, b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nab"),
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
                answers(stream, b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999999\r\n\r\nx");
            },
            "malformed",
        ),
    ];
    let folder = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        for (name, act, expected) in cases {
            let folder = folder.path();
            scope.spawn(move || {
                let url = odd_server(act);
                for rate in [&[][..], &["-r", "40"]] {
                    let began = Instant::now();
                    let words = [&["-c", "4", "-d", "700ms", "--timeout", "250ms", &*url], rate].concat();
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
                    let is_nothing_right = loaded.number("completed") == 0.0;
                    let right = if is_nothing_right { Some(1) } else { Some(0) };
                    assert_eq!(loaded.code, right, "{name} {rate:?}: {}", loaded.errors);
                    let took = began.elapsed();
                    assert!(took < Duration::from_secs(8), "{name} {rate:?}: it took {took:?}");
                }
            });
        }
    });
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
        let served = Served::start(folder.path(), &["--arch", "epoll", "--listen", "127.0.0.1:0"]);
        let address = served.address.to_string();
        let url = format!("http://{address}/");
        let mut command = osdyno(folder.path(), &["load", "--format", "json", "-d", "1500ms", &url]);
        let generator = command.args(rate).stdout(std::process::Stdio::piped()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(500));
        drop(served);
        std::thread::sleep(Duration::from_millis(300));
        let again = Served::start(folder.path(), &["--arch", "epoll", "--listen", &address]);
        let loaded = Loaded::of(&generator.wait_with_output().unwrap());
        assert_eq!(loaded.code, Some(0), "{}", loaded.level);
        assert!(loaded.number("failed") > 0.0 && loaded.number("completed") > 0.0, "{}", loaded.level);
        let is_refused = loaded.failures().keys().any(|(_, cause)| cause == "ECONNREFUSED");
        assert!(is_refused, "{:?}", loaded.failures());
        assert!(again.counter("answers") > 0, "nobody asked the server that came back");
        again.stop();
    }
}

/// Stopped and continued again and again, and interrupted at the end: what was measured is told.
#[test]
fn a_generator_is_interrupted() {
    let folder = site();
    let served = Served::start(folder.path(), &["--arch", "epoll"]);
    let url = format!("http://{}/", served.address);
    let words = ["load", "--format", "json", "-c", "8", "-d", "20s", &url];
    let generator = osdyno(folder.path(), &words).stdout(std::process::Stdio::piped()).spawn().unwrap();
    until("it asks", || served.counter("answers") > 0);
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
    assert!(ended.count("answers") as f64 >= loaded.number("completed"), "{ended:?}");
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
