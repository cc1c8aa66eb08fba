//! Every architecture with every service: one table, through the program, from outside.
//!
//! A server is started for each pair; the checks follow one another on it, and at its end its counters are
//! held against what the clients did.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a panic is the failure of a test")]

mod common;

use std::io::Write;
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

use common::served::{Ended, Served};
use common::until;
use common::wire::{Wire, get, get_and_close};
use net::arch::{ALL, Architecture};

/// Clients that come at the same time.
const CROWD: usize = 200;

/// Processes of prefork and threads of pool: fewer than the crowd.
const POOL: usize = 8;

/// A file that is sent as a file, and fits in no buffer of a connection.
const LARGE: usize = 24 << 20;
const MEDIUM: usize = 150_000;
const SMALL: &[u8] = b"<p>small</p>\n";

/// Pairs that are at work at the same time.
const AT_ONCE: usize = 4;

/// What the clients of one server did.
#[derive(Default)]
struct Book {
    connections: u64,
    /// That may have been accepted, or not any more.
    late: u64,
    answers: u64,
    sent_bytes: u64,
    received_bytes: u64,
}

impl Book {
    /// A connection is over; it had so many answers.
    fn enter(&mut self, wire: Wire, answers: u64) {
        self.connections += 1;
        self.answers += answers;
        self.sent_bytes += wire.sent_bytes;
        self.received_bytes += wire.received_bytes;
    }
}

/// A pair at work.
struct Case<'a> {
    architecture: &'static Architecture,
    served: &'a Served,
    book: Book,
}

impl Case<'_> {
    fn connect(&self) -> Wire {
        Wire::connect(self.served.address)
    }

    /// Whether each connection that is open takes one of few processes or threads.
    fn has_pool(&self) -> bool {
        matches!(self.architecture.name, "prefork" | "pool")
    }
}

type Check = fn(&mut Case<'_>);

/// What is checked of each service, in this order.
const TABLE: &[(&str, &[(&str, Check)])] = &[
    (
        "busy",
        &[
            ("plain exchange", busy_plain),
            ("half-close", busy_half_close),
            ("a client that talks first", busy_talks),
            ("200 at once", busy_crowd),
        ],
    ),
    (
        "echo",
        &[
            ("plain exchange", echo_plain),
            ("split writes", echo_split),
            ("pipelining", echo_pipelined),
            ("half-close", echo_half_close),
            ("a large message", echo_large),
            ("200 at once", echo_crowd),
            ("200 kept open", echo_kept),
        ],
    ),
    (
        "http",
        &[
            ("plain exchange", http_plain),
            ("split writes", http_split),
            ("pipelining", http_pipelined),
            ("half-close", http_half_close),
            ("keep-alive and close", http_keep),
            ("large files", http_large),
            ("200 at once", http_crowd),
            ("200 kept open", http_kept),
        ],
    ),
];

#[test]
fn every_architecture_serves_every_service() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("root");
    make_site(&root);
    let supported: Vec<_> = ALL.iter().copied().filter(|one| one.unavailable_reason().is_none()).collect();
    let mut pairs: Vec<_> = supported
        .iter()
        .flat_map(|architecture| {
            TABLE.iter().map(move |(service, checks)| (*architecture, *service, *checks))
        })
        .collect();
    pairs.reverse();
    let total = pairs.len();
    let (pairs, failed) = (Mutex::new(pairs), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some((architecture, service, checks)) = next(&pairs) {
                    let name = format!("{} × {service}", architecture.name);
                    // A thread of its own, so that a failed assertion names the pair and ends nothing else.
                    let work = std::thread::Builder::new().name(name.clone());
                    let work = work.spawn_scoped(scope, || conform(architecture, service, checks, &root));
                    if work.unwrap().join().is_err() {
                        failed.lock().unwrap().push(name);
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap();
    println!("{} of {total} pairs conform", total - failed.len());
    assert!(failed.is_empty(), "{} of {total} pairs do not conform: {failed:#?}", failed.len());
}

fn next<T>(list: &Mutex<Vec<T>>) -> Option<T> {
    list.lock().unwrap().pop()
}

/// What cannot run here says why; and here that is what other systems have, or what this kernel was built
/// without.
#[test]
fn what_is_unsupported_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let mut unsupported = Vec::new();
    for architecture in ALL {
        let Some(reason) = architecture.unavailable_reason() else { continue };
        println!("unsupported: {}: {reason}", architecture.name);
        unsupported.push(architecture.name);
        let words = ["serve", "--arch", architecture.name, "--listen", "127.0.0.1:0"];
        let output = common::run(folder.path(), &words);
        let errors = common::text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{}: {errors}", architecture.name);
        assert!(errors.contains(&format!("{} is unsupported here: {reason}", architecture.name)), "{errors}");
    }
    let elsewhere = ["kqueue", "event-ports", "iocp"];
    let by_kernel: Vec<_> = unsupported.iter().filter(|name| !elsewhere.contains(name)).collect();
    assert!(elsewhere.iter().all(|name| unsupported.contains(name)), "{unsupported:?}");
    assert!(by_kernel.iter().all(|name| **name == "uring"), "{unsupported:?}");
}

fn make_site(root: &Path) {
    std::fs::create_dir(root).unwrap();
    std::fs::write(root.join("index.html"), SMALL).unwrap();
    std::fs::write(root.join("medium.bin"), pattern(MEDIUM)).unwrap();
    std::fs::write(root.join("large.bin"), pattern(LARGE)).unwrap();
}

fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at % 251) as u8).collect()
}

fn conform(architecture: &'static Architecture, service: &str, checks: &[(&str, Check)], root: &Path) {
    let pool = POOL.to_string();
    let words = ["--arch", architecture.name, "--service", service, "--pool", &pool];
    let served = Served::start(root, &words);
    let mut case = Case { architecture, served: &served, book: Book::default() };
    // Whatever is opened once for good is open now.
    first_use(&mut case, service);
    let settled = || (served.processes().len(), served.descriptors());
    until("the first connections have ended", || served.counter("ended") == served.counter("accepted"));
    let before = settled();
    for (name, check) in checks {
        println!("{} × {service}: {name}", architecture.name);
        check(&mut case);
    }
    let book = case.book;
    until("all connections have ended", || served.counter("ended") == book.connections);
    // Each process of prefork keeps files open that it was asked for; three are there.
    let kept = if architecture.name == "prefork" { 2 * 3 * POOL } else { 0 };
    until(&format!("no descriptor and no process is left over: {before:?}, {:?}", settled()), || {
        let (processes, descriptors) = settled();
        processes == before.0 && (before.1..=before.1 + kept).contains(&descriptors)
    });
    println!("{} × {service}: stop", architecture.name);
    let (ended, book) = stop_under_way(served, service, book);
    agree(&ended, &book);
}

fn first_use(case: &mut Case<'_>, service: &str) {
    let mut wire = case.connect();
    let answers = match service {
        "http" => {
            for path in ["/", "/medium.bin"] {
                wire.send(get(path));
                assert_eq!(wire.answer().status, 200, "{path}");
            }
            wire.send(get_and_close("/large.bin"));
            assert_eq!(wire.answer().status, 200);
            3
        }
        "echo" => {
            wire.finish();
            0
        }
        _ => 1,
    };
    wire.rest();
    case.book.enter(wire, answers);
}

/// Counters of server and clients agree. What an echo counts as an answer depends on how its input was cut.
fn agree(ended: &Ended, book: &Book) {
    let accepted = ended.count("accepted");
    assert_eq!(ended.count("ended"), accepted, "{ended:?}");
    assert!((book.connections..=book.connections + book.late).contains(&accepted), "{ended:?}");
    let bytes = ["received_bytes", "sent_bytes"].map(|name| ended.count(name));
    assert_eq!(bytes, [book.sent_bytes, book.received_bytes], "received, sent: {ended:?}");
    if book.answers > 0 {
        assert_eq!(ended.count("answers"), book.answers, "{ended:?}");
    }
    for name in ["refused", "broken", "slow", "exhausted", "restarts"] {
        assert_eq!(ended.count(name), 0, "{name}: {ended:?}");
    }
    assert_eq!(ended.open, 0, "{ended:?}");
    assert!(ended.peak > 0 && ended.peak <= ended.count("accepted"), "{ended:?}");
}

/// SIGTERM while answers leave, and while a request arrives: both are finished; who is idle is told so by the
/// end.
fn stop_under_way(served: Served, service: &str, mut book: Book) -> (Ended, Book) {
    let mut wire = Wire::connect(served.address);
    match service {
        "busy" => {
            until("it is accepted", || served.counter("accepted") == book.connections + 1);
            served.signal("TERM");
            assert_eq!(wire.rest(), BUSY);
            book.enter(wire, 1);
        }
        "echo" => {
            let mut idle = Wire::connect(served.address);
            idle.send("x");
            assert_eq!(idle.take(1), b"x");
            let message = pattern(64 << 10);
            wire.send(&message);
            let received = book.sent_bytes + 1 + message.len() as u64;
            until("all has arrived", || served.counter("received bytes") == received);
            served.signal("TERM");
            assert_eq!(wire.rest(), message);
            idle.expect_end();
            book.enter(idle, 0);
            book.enter(wire, 0);
        }
        _ => {
            let (mut idle, mut half) = (Wire::connect(served.address), Wire::connect(served.address));
            idle.send(get("/"));
            assert_eq!(idle.answer().body, SMALL);
            let request = get("/");
            let (first, second) = request.split_at(10);
            half.send(first);
            wire.send(get("/large.bin"));
            // It is under way: the head is here, and the rest does not fit in between.
            let head = wire.head();
            let received = book.sent_bytes + (idle.sent_bytes + half.sent_bytes + wire.sent_bytes);
            until("all has arrived", || served.counter("received bytes") == received);
            served.signal("TERM");
            idle.expect_end();
            book.late = refused_soon(&served);
            half.send(second);
            let answer = half.answer();
            assert_eq!((answer.status, &answer.body[..]), (200, SMALL));
            half.expect_end();
            let length: usize = head.field("content-length").unwrap().parse().unwrap();
            assert_eq!(wire.take(length), pattern(LARGE));
            wire.expect_end();
            for wire in [idle, half, wire] {
                book.enter(wire, 1);
            }
        }
    }
    (served.end(), book)
}

/// A server that stops takes no new connections: who comes now is to ask elsewhere at once, not to wait. How
/// many came before that.
fn refused_soon(served: &Served) -> u64 {
    let mut late = 0;
    until("new connections are refused", || match std::net::TcpStream::connect(served.address) {
        Err(error) => error.kind() == std::io::ErrorKind::ConnectionRefused,
        Ok(_) => {
            late += 1;
            false
        }
    });
    late
}

// ── busy ───────────────────────────────────────────────────────────────────────────────────────────────────

const BUSY: &[u8] = b"450 too busy\r\n";

fn busy_plain(case: &mut Case<'_>) {
    for _ in 0..5 {
        let mut wire = case.connect();
        assert_eq!(wire.rest(), BUSY);
        case.book.enter(wire, 1);
    }
}

fn busy_half_close(case: &mut Case<'_>) {
    let mut wire = case.connect();
    wire.finish();
    assert_eq!(wire.rest(), BUSY);
    case.book.enter(wire, 1);
}

/// Its words may arrive before the close or after: neither may cost it the answer, and nothing of it is
/// counted.
fn busy_talks(case: &mut Case<'_>) {
    for _ in 0..5 {
        let mut wire = case.connect();
        let _ = wire.try_send(b"EHLO test\r\n");
        wire.until_closed();
        assert_eq!(wire.held(), BUSY);
        wire.sent_bytes = 0;
        case.book.enter(wire, 1);
    }
}

fn busy_crowd(case: &mut Case<'_>) {
    let crowd: Vec<Wire> = (0..CROWD).map(|_| case.connect()).collect();
    for mut wire in crowd {
        assert_eq!(wire.rest(), BUSY);
        case.book.enter(wire, 1);
    }
}

// ── echo ───────────────────────────────────────────────────────────────────────────────────────────────────

fn echo_plain(case: &mut Case<'_>) {
    let mut wire = case.connect();
    for message in ["one", "another", "\r\n\0\u{ff}"] {
        wire.send(message);
        assert_eq!(wire.take(message.len()), message.as_bytes());
    }
    wire.finish();
    wire.expect_end();
    case.book.enter(wire, 0);
}

fn echo_split(case: &mut Case<'_>) {
    let mut wire = case.connect();
    let message = pattern(300);
    wire.send_split(&message);
    assert_eq!(wire.take(message.len()), message);
    wire.finish();
    wire.expect_end();
    case.book.enter(wire, 0);
}

fn echo_pipelined(case: &mut Case<'_>) {
    let mut wire = case.connect();
    let mut all = Vec::new();
    for number in 0..100 {
        let line = format!("line {number}\n");
        wire.send(&line);
        all.extend_from_slice(line.as_bytes());
    }
    assert_eq!(wire.take(all.len()), all);
    wire.finish();
    wire.expect_end();
    case.book.enter(wire, 0);
}

fn echo_half_close(case: &mut Case<'_>) {
    for length in [1, 2048, 65_536, 300_000] {
        let message = pattern(length);
        let mut wire = case.connect();
        wire.send(&message);
        wire.finish();
        assert_eq!(wire.rest(), message, "{length} bytes");
        case.book.enter(wire, 0);
    }
}

/// More than the buffers between take: it is read while it is written.
fn echo_large(case: &mut Case<'_>) {
    let message = pattern(LARGE);
    let mut wire = case.connect();
    let mut writing = wire.stream().try_clone().unwrap();
    let received = std::thread::scope(|scope| {
        scope.spawn(|| {
            writing.write_all(&message).unwrap();
            writing.shutdown(std::net::Shutdown::Write).unwrap();
        });
        wire.rest()
    });
    assert!(received == message, "{} of {} bytes came back", received.len(), message.len());
    wire.sent_bytes += message.len() as u64;
    case.book.enter(wire, 0);
}

fn echo_crowd(case: &mut Case<'_>) {
    let mut crowd: Vec<Wire> = (0..CROWD).map(|_| case.connect()).collect();
    for (number, wire) in crowd.iter_mut().enumerate() {
        wire.send(format!("number {number}"));
        wire.finish();
    }
    for (number, mut wire) in crowd.into_iter().enumerate() {
        assert_eq!(common::text(&wire.rest()), format!("number {number}"));
        case.book.enter(wire, 0);
    }
}

/// All are open at the same time, or as many as a pool has room for, and each is served again and again.
fn echo_kept(case: &mut Case<'_>) {
    let count = if case.has_pool() { POOL } else { CROWD };
    let mut crowd: Vec<Wire> = (0..count).map(|_| case.connect()).collect();
    for round in 0..3 {
        for wire in &mut crowd {
            wire.send([round; 7]);
        }
        for wire in &mut crowd {
            assert_eq!(wire.take(7), [round; 7]);
        }
    }
    for mut wire in crowd {
        wire.finish();
        wire.expect_end();
        case.book.enter(wire, 0);
    }
}

// ── http ───────────────────────────────────────────────────────────────────────────────────────────────────

fn http_plain(case: &mut Case<'_>) {
    let mut wire = case.connect();
    wire.send(get("/"));
    let answer = wire.answer();
    assert_eq!((answer.status, &answer.body[..]), (200, SMALL), "{}", answer.head);
    wire.send(get("/missing"));
    assert_eq!(wire.answer().status, 404);
    wire.send("HEAD / HTTP/1.1\r\nHost: test\r\n\r\n");
    assert_eq!(wire.head().field("content-length"), Some(&*SMALL.len().to_string()));
    wire.send(get_and_close("/medium.bin"));
    assert_eq!(wire.answer().body, pattern(MEDIUM));
    wire.expect_end();
    case.book.enter(wire, 4);
}

fn http_split(case: &mut Case<'_>) {
    let mut wire = case.connect();
    wire.send_split(get("/"));
    assert_eq!(wire.answer().body, SMALL);
    wire.send_split(get_and_close("/medium.bin"));
    assert_eq!(wire.answer().body, pattern(MEDIUM));
    wire.expect_end();
    case.book.enter(wire, 2);
}

fn http_pipelined(case: &mut Case<'_>) {
    let mut wire = case.connect();
    let paths: Vec<&str> =
        (0..60).map(|number| ["/", "/medium.bin", "/missing", "/index.html"][number % 4]).collect();
    let requests: String = paths.iter().map(|path| get(path)).collect();
    wire.send(requests);
    for path in &paths {
        let answer = wire.answer();
        let expected = if *path == "/missing" { 404 } else { 200 };
        assert_eq!(answer.status, expected, "{path}");
        match *path {
            "/medium.bin" => assert!(answer.body == pattern(MEDIUM), "{path}"),
            "/missing" => {}
            _ => assert_eq!(answer.body, SMALL, "{path}"),
        }
    }
    wire.send(get_and_close("/"));
    assert_eq!(wire.answer().body, SMALL);
    wire.expect_end();
    case.book.enter(wire, paths.len() as u64 + 1);
}

fn http_half_close(case: &mut Case<'_>) {
    for path in ["/", "/medium.bin", "/large.bin"] {
        let mut wire = case.connect();
        wire.send([get(path), get("/")].concat());
        wire.finish();
        assert_eq!(wire.answer().status, 200, "{path}");
        assert_eq!(wire.answer().body, SMALL, "{path}");
        wire.expect_end();
        case.book.enter(wire, 2);
    }
}

fn http_keep(case: &mut Case<'_>) {
    let ways = [
        ("GET / HTTP/1.1\r\nHost: a\r\n\r\n", true),
        ("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", false),
        ("GET / HTTP/1.1\r\nHost: a\r\nConnection: Keep-Alive, CLOSE\r\n\r\n", false),
        ("GET / HTTP/1.0\r\n\r\n", false),
        ("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", true),
    ];
    for (request, is_kept) in ways {
        let mut wire = case.connect();
        wire.send(request);
        assert_eq!(wire.answer().body, SMALL, "{request:?}");
        let mut answers = 1;
        if is_kept {
            std::thread::sleep(Duration::from_millis(5));
            wire.expect_open();
            wire.send(get_and_close("/"));
            assert_eq!(wire.answer().body, SMALL, "{request:?}");
            answers += 1;
        }
        wire.expect_end();
        case.book.enter(wire, answers);
    }
}

fn http_large(case: &mut Case<'_>) {
    let mut wire = case.connect();
    wire.send(get("/large.bin"));
    assert!(wire.answer().body == pattern(LARGE));
    wire.send(
        "GET /large.bin HTTP/1.1\r\nHost: a\r\nRange: bytes=1000000-20999999\r\nConnection: close\r\n\r\n",
    );
    let part = wire.answer();
    assert_eq!(part.status, 206);
    assert!(part.body == pattern(LARGE)[1_000_000..21_000_000]);
    wire.expect_end();
    case.book.enter(wire, 2);
}

fn http_crowd(case: &mut Case<'_>) {
    let mut crowd: Vec<Wire> = (0..CROWD).map(|_| case.connect()).collect();
    for (number, wire) in crowd.iter_mut().enumerate() {
        wire.send(get_and_close(if number % 10 == 0 { "/medium.bin" } else { "/" }));
    }
    for (number, mut wire) in crowd.into_iter().enumerate() {
        let answer = wire.answer();
        assert_eq!(answer.status, 200);
        assert!(if number % 10 == 0 { answer.body == pattern(MEDIUM) } else { answer.body == SMALL });
        wire.expect_end();
        case.book.enter(wire, 1);
    }
}

/// All are open at the same time, or as many as a pool has room for, and each is served again and again.
fn http_kept(case: &mut Case<'_>) {
    let count = if case.has_pool() { POOL } else { CROWD };
    let mut crowd: Vec<Wire> = (0..count).map(|_| case.connect()).collect();
    for _ in 0..3 {
        for wire in &mut crowd {
            wire.send(get("/"));
        }
        for wire in &mut crowd {
            assert_eq!(wire.answer().body, SMALL);
        }
    }
    for mut wire in crowd {
        wire.finish();
        wire.expect_end();
        case.book.enter(wire, 3);
    }
}
