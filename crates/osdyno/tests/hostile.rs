//! A web server among clients who mean it harm: each is answered with the right status or closed in time,
//! while an ordinary client goes on being served, memory stays bounded, and no descriptor is left behind.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a panic is the failure of a test")]

mod common;

use std::io::{Read, Write};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::{Duration, Instant};

use common::served::Served;
use common::wire::{Answer, Wire, get, get_and_close};
use common::witness::Witness;
use common::{text, until};

const SMALL: &[u8] = b"<p>small</p>\n";
const SECRET: &[u8] = b"this is nobody's business";
const LARGE: usize = 50 << 20;

/// Processes of prefork: more than there are hostile clients at a time, for each of these keeps one.
const POOL: &str = "24";

/// Hostile clients at a time, where each keeps a connection.
const CROWD: usize = 16;

/// What an ordinary client may have to wait at most, on a machine that has other things to do as well.
const PATIENCE: Duration = Duration::from_millis(1500);

/// And usually.
const USUAL: Duration = Duration::from_millis(100);

/// What hostile clients may add to the server's memory, over all its processes.
const MEMORY_BYTES: u64 = 48 << 20;

macro_rules! each_architecture {
    ($($name:ident)*) => { $(
        mod $name {
            use super::*;
            #[test] fn paths() { at(stringify!($name), &[], super::paths) }
            #[test] fn requests() { at(stringify!($name), &[], super::requests) }
            #[test] fn sizes() { at(stringify!($name), &[], super::sizes) }
            #[test] fn slow_writers() { at(stringify!($name), SHORT, super::slow_writers) }
            #[test] fn slow_readers() { at(stringify!($name), SHORT, super::slow_readers) }
            #[test] fn floods() { at(stringify!($name), &[], super::floods) }
            #[test] fn vanishing_peers() { at(stringify!($name), SHORT, super::vanishing_peers) }
            #[test] fn noise() { at(stringify!($name), SHORT, super::noise) }
        }
    )* };
}

each_architecture!(epoll uring thread prefork);

/// Limits that a test can wait for.
const SHORT: &[&str] = &["--idle-timeout", "1s", "--request-timeout", "1s", "--send-timeout", "1s"];

/// Has a server of that architecture under the attack, with an ordinary client beside.
fn at(architecture: &str, limits: &[&str], attack: fn(&Served)) {
    if let Some(reason) = net::arch::find(architecture).unwrap().unavailable_reason() {
        println!("skipped: {architecture} is unsupported here: {reason}");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("root");
    make_site(folder.path(), &root);
    let served = Served::start(&root, &[&["--arch", architecture, "--pool", POOL], limits].concat());
    let mut first = Wire::connect(served.address);
    for path in ["/", "/large.bin"] {
        first.send(get(path));
        assert_eq!(first.answer().status, 200, "{path}");
    }
    drop(first);
    let open = || served.counter("open now");
    until("the first connection has ended", || open() == 0);
    let (descriptors, memory) = (served.descriptors(), served.resident_bytes());

    let witness = Witness::start(served.address, "/", SMALL);
    let before = Instant::now();
    attack(&served);
    let took = before.elapsed();
    // It wants to see some time without attack too, so that the median is that of several answers.
    std::thread::sleep(Duration::from_millis(50));
    let (usual, longest) = witness.end();
    let grown = served.resident_bytes().saturating_sub(memory);
    println!("{architecture}: {took:.1?}, witness {usual:?} at most {longest:?}, {} KiB more", grown >> 10);
    assert!(usual < USUAL && longest < PATIENCE, "an ordinary client waited {usual:?}, at most {longest:?}");
    assert!(grown < MEMORY_BYTES, "{grown} bytes more than before");
    until("all connections have ended", || open() == 0);
    // What a process of prefork has been asked for it keeps open: two files here, of two forms.
    let kept = if architecture == "prefork" { 4 * POOL.parse::<usize>().unwrap() } else { 0 };
    until("the descriptors are those of before", || served.descriptors() <= descriptors + kept);
    let mut last = Wire::connect(served.address);
    last.send(get_and_close("/"));
    assert_eq!(last.answer().body, SMALL);
    let ended = served.stop();
    assert_eq!((ended.open, ended.count("restarts")), (0, 0), "{ended:?}");
}

fn make_site(folder: &Path, root: &Path) {
    std::fs::create_dir_all(root.join("folder")).unwrap();
    std::fs::write(folder.join("secret"), SECRET).unwrap();
    std::fs::write(root.join("index.html"), SMALL).unwrap();
    std::fs::write(root.join(".htpasswd"), SECRET).unwrap();
    let large = std::fs::File::create(root.join("large.bin")).unwrap();
    // A hole: it takes no disk.
    large.set_len(LARGE as u64).unwrap();
    symlink(folder.join("secret"), root.join("absolute")).unwrap();
    symlink("../secret", root.join("relative")).unwrap();
    symlink(folder, root.join("folder/out")).unwrap();
    symlink("/proc/self/root/etc/passwd", root.join("magic")).unwrap();
    symlink("/dev/zero", root.join("endless")).unwrap();
    symlink("loop", root.join("loop")).unwrap();
    symlink("b", root.join("a")).unwrap();
    symlink("a", root.join("b")).unwrap();
    let made = std::process::Command::new("mkfifo").arg(root.join("pipe")).status().unwrap();
    assert!(made.success());
    std::os::unix::net::UnixListener::bind(root.join("socket")).unwrap();
    // Only root may; elsewhere it is missing, which has the same answer.
    let _ = std::process::Command::new("mknod").arg(root.join("zero")).args(["c", "1", "5"]).output();
}

/// Sends it on a connection of its own; the first answer, after which the connection must end.
fn refused(served: &Served, request: impl AsRef<[u8]>) -> Answer {
    let mut wire = Wire::connect(served.address);
    wire.send(request);
    let answer = wire.answer();
    wire.expect_end();
    answer
}

// ── paths ──────────────────────────────────────────────────────────────────────────────────────────────────

/// Paths to what is not to be read, and the answers that are right.
const PATHS: &[(&str, &[u16])] = &[
    ("/../secret", &[400]),
    ("/folder/../../secret", &[400]),
    ("/%2e%2e/secret", &[400]),
    ("/%2E%2e/%2e./secret", &[400]),
    ("/folder/..%2f..%2fsecret", &[400]),
    ("/..%5csecret", &[400]),
    ("/..\\secret", &[400]),
    ("/folder/%2e%2e%2f%2e%2e%2fsecret", &[400]),
    ("http://test/../secret", &[400]),
    ("/index.html%00.png", &[400]),
    ("/%00", &[400]),
    ("/%", &[400]),
    ("/%2", &[400]),
    ("/%zz", &[400]),
    ("../secret", &[400]),
    ("secret", &[400]),
    ("file:///etc/passwd", &[400]),
    // Decoded once and not twice.
    ("/%252e%252e/secret", &[404]),
    ("/%25%32%65%25%32%65/secret", &[404]),
    // Not the shortest form of a dot, hence none.
    ("/%c0%ae%c0%ae/secret", &[404]),
    ("//etc/passwd", &[404]),
    ("///../secret", &[400]),
    ("/absolute", &[403, 404]),
    ("/relative", &[403, 404]),
    ("/folder/out/secret", &[403, 404]),
    ("/folder/out/", &[403, 404]),
    ("/magic", &[403, 404]),
    ("/endless", &[403, 404]),
    ("/loop", &[403, 404]),
    ("/a", &[403, 404]),
    ("/pipe", &[403, 404]),
    ("/socket", &[403, 404]),
    ("/zero", &[403, 404]),
    ("/.htpasswd", &[403, 404]),
    ("/%2ehtpasswd", &[403, 404]),
    ("/./.htpasswd", &[403, 404]),
    ("/folder/", &[403]),
    ("/index.html/", &[404]),
    ("/index.html/more", &[404]),
];

fn paths(served: &Served) {
    for (path, right) in PATHS {
        for request in [get_and_close(path), format!("GET {path} HTTP/1.0\r\n\r\n")] {
            expect_status(&refused(served, &request), right, path);
        }
    }
    // A name, and a path, longer than the system has them.
    for path in [format!("/{}", "n".repeat(300)), "/n".repeat(3000), format!("/{}", "folder/".repeat(1200))] {
        expect_status(&refused(served, get_and_close(&path)), &[404, 414], &path[..20]);
    }
    // Where the path ends, nothing else begins.
    for path in ["/?../secret", "/index.html?%00", "/index.html?a=/../.."] {
        assert_eq!(refused(served, get_and_close(path)).body, SMALL, "{path}");
    }
}

fn expect_status(answer: &Answer, right: &[u16], what: &str) {
    assert!(right.contains(&answer.status), "{what:?}: {}", answer.head);
    let tells = answer.body.windows(SECRET.len()).any(|window| window == SECRET);
    assert!(!tells && !text(&answer.body).contains("root:"), "{what:?} tells what is outside");
}

// ── requests that two readers could understand differently ─────────────────────────────────────────────────

/// Heads, and the answers that are right. After each comes another request, which must not be answered.
const REQUESTS: &[(&str, u16)] = &[
    ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n", 405),
    ("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nContent-Length: 4\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 4, 4\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: +4\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: -4\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 0x4\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 4 4\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\nContent-Length:\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 501),
    ("GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", 501),
    ("GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding : chunked\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding\t: chunked\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\nX: a\r\n Transfer-Encoding: chunked\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding:\r\n chunked\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\n Host: a\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost : a\r\n\r\n", 400),
    ("GET / HTTP/1.1\nHost: a\n\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\nX: a\rTransfer-Encoding: chunked\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\nX: a\r\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\nX: \0\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\nX\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\n: x\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\nX(: x\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a b\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a@b\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\n\r\n", 400),
    ("GET  / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("GET /  HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("GET / HTTP/1.1 \r\nHost: a\r\n\r\n", 400),
    ("GET\t/\tHTTP/1.1\r\nHost: a\r\n\r\n", 400),
    (" GET / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("GET / http/1.1\r\nHost: a\r\n\r\n", 400),
    ("GET / HTTP/1.11\r\nHost: a\r\n\r\n", 400),
    ("GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505),
    ("GET / HTTP/0.9\r\nHost: a\r\n\r\n", 505),
    ("GET /\r\n\r\n", 400),
    ("GET /\u{e4} HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("GET /#a HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("get / HTTP/1.1\r\nHost: a\r\n\r\n", 501),
    ("PUT / HTTP/1.1\r\nHost: a\r\n\r\n", 405),
    ("CONNECT test:80 HTTP/1.1\r\nHost: a\r\n\r\n", 405),
    ("GET / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n", 417),
    ("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999999\r\n\r\n", 413),
    ("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 18446744073709551616\r\n\r\n", 413),
    ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
];

fn requests(served: &Served) {
    for (request, right) in REQUESTS {
        let answer = refused(served, [request, &*get("/smuggled")].concat());
        assert_eq!(answer.status, *right, "{request:?}: {}", answer.head);
        assert_eq!(answer.field("connection"), Some("close"), "{request:?}: {}", answer.head);
    }
    // Content that is announced is dropped, and never read as a request.
    let mut wire = Wire::connect(served.address);
    let smuggled = get("/smuggled");
    let length = smuggled.len();
    wire.send(format!("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n{smuggled}"));
    wire.send(get_and_close("/folder"));
    assert_eq!((wire.answer().status, wire.answer().status), (200, 301));
    wire.expect_end();
}

// ── sizes ──────────────────────────────────────────────────────────────────────────────────────────────────

fn sizes(served: &Served) {
    let long = "x".repeat(1 << 20);
    let too_large: &[(String, u16)] = &[
        (format!("GET /{long} HTTP/1.1\r\nHost: a\r\n\r\n"), 414),
        (format!("GET / HTTP/1.1\r\nHost: a\r\nX: {long}\r\n\r\n"), 431),
        (format!("GET / HTTP/1.1\r\nHost: a\r\n{}\r\n", "X: y\r\n".repeat(100_000)), 431),
        (format!("GET / HTTP/1.1\r\nHost: a\r\n{long}: x\r\n\r\n"), 431),
        (format!("{long} / HTTP/1.1\r\nHost: a\r\n\r\n"), 414),
        (format!("GET / HTTP/1.1\r\nHost: {long}\r\n\r\n"), 431),
        ("\r\n".repeat(1 << 19) + "GET /missing HTTP/1.0\r\n\r\n", 404),
    ];
    for (request, right) in too_large {
        let mut wire = Wire::connect(served.address);
        // It may be told before it has sent all, and need not listen to the rest.
        let _ = wire.try_send(request.as_bytes());
        wire.finish();
        wire.until_closed();
        let said = text(&wire.held());
        assert!(said.starts_with(&format!("HTTP/1.1 {right} ")), "{:?}: {said:?}", &request[..30]);
    }
}

// ── clients that are slow ──────────────────────────────────────────────────────────────────────────────────

/// Heads of which a byte comes now and then, and never the last; content that does the same; and who says
/// nothing.
fn slow_writers(served: &Served) {
    let openings =
        ["GET / HTTP/1.1\r\nX: ", "GET /", "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n", ""];
    std::thread::scope(|scope| {
        let works: Vec<_> = (0..CROWD)
            .map(|number| {
                let opening = openings[number % openings.len()];
                scope.spawn(move || (opening, drip(served, opening)))
            })
            .collect();
        for work in works {
            let (opening, (said, took)) = work.join().unwrap();
            let right: &[&str] = match opening {
                "" => &[""],
                _ if opening.ends_with("\r\n\r\n") => &["HTTP/1.1 200 "],
                _ => &["HTTP/1.1 408 "],
            };
            assert!(right.iter().any(|right| said.starts_with(right)), "{opening:?}: {said:?}");
            assert!(opening.is_empty() == said.is_empty(), "{opening:?}: {said:?}");
            let in_time = Duration::from_millis(900)..Duration::from_millis(4500);
            assert!(in_time.contains(&took), "{opening:?} was let go after {took:?}");
        }
    });
}

/// Sends the opening and then a byte every fifth of a second, or nothing where there is no opening; what was
/// said, and after which time it was over.
fn drip(served: &Served, opening: &str) -> (String, Duration) {
    let mut wire = Wire::connect(served.address);
    let began = Instant::now();
    wire.send(opening);
    if !opening.is_empty() {
        let mut chunk = [0; 4096];
        let mut said = Vec::new();
        wire.stream().set_read_timeout(Some(Duration::from_millis(200))).unwrap();
        while began.elapsed() < Duration::from_secs(10) {
            match wire.stream().read(&mut chunk) {
                Ok(0) => break,
                Ok(count) => said.extend_from_slice(&chunk[..count]),
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                Err(_) => break,
            }
            if wire.stream().write_all(b"x").is_err() {
                break;
            }
        }
        return (text(&said), began.elapsed());
    }
    wire.until_closed();
    (text(&wire.held()), began.elapsed())
}

/// A large file is read slowly, but read: it goes on. Then it is not read any more: it is given up.
fn slow_readers(served: &Served) {
    let (slow, accepted) = (served.counter("slow"), served.counter("accepted"));
    let mut crowd: Vec<Wire> = (0..CROWD).map(|_| Wire::connect(served.address)).collect();
    for wire in &mut crowd {
        wire.send(get("/large.bin"));
    }
    let memory = served.resident_bytes();
    for _ in 0..25 {
        for wire in &mut crowd {
            wire.take(40_000);
        }
        std::thread::sleep(Duration::from_millis(80));
    }
    let grown = served.resident_bytes().saturating_sub(memory);
    assert!(grown < MEMORY_BYTES, "{grown} bytes for {CROWD} slow readers");
    assert_eq!(served.counter("slow"), slow, "who reads slowly was given up");
    assert!(served.counter("accepted") >= accepted + CROWD as u64);
    until("who does not read was given up", || served.counter("slow") == slow + CROWD as u64);
}

// ── floods ─────────────────────────────────────────────────────────────────────────────────────────────────

const FLOOD: usize = 100_000;

/// Requests without end on one connection: while nobody reads the answers no more is taken than fits
/// somewhere; when they are read, there is one for each.
fn floods(served: &Served) {
    let memory = served.resident_bytes();
    let mut wire = Wire::connect(served.address);
    let mut writing = wire.stream().try_clone().unwrap();
    std::thread::scope(|scope| {
        let writer = scope.spawn(move || {
            let thousand = get("/").repeat(1000);
            for _ in 0..FLOOD / 1000 {
                writing.write_all(thousand.as_bytes()).unwrap();
            }
        });
        let began = Instant::now();
        let mut most = 0;
        while began.elapsed() < Duration::from_secs(1) {
            most = served.resident_bytes().max(most);
            std::thread::sleep(Duration::from_millis(10));
        }
        let grown = most.saturating_sub(memory);
        assert!(grown < MEMORY_BYTES, "{grown} bytes for answers that nobody reads");
        let mut answers = 0;
        while answers < FLOOD {
            let answer = wire.answer();
            assert_eq!((answer.status, &answer.body[..]), (200, SMALL), "answer {answers}");
            answers += 1;
        }
        writer.join().unwrap();
    });
    wire.finish();
    wire.expect_end();
    // The same of large files, and by who goes away in the middle.
    let mut crowd: Vec<Wire> = (0..CROWD).map(|_| Wire::connect(served.address)).collect();
    for wire in &mut crowd {
        wire.send(get("/large.bin").repeat(300));
    }
    std::thread::sleep(Duration::from_millis(300));
    let grown = served.resident_bytes().saturating_sub(memory);
    assert!(grown < MEMORY_BYTES, "{grown} bytes for files that nobody reads");
    crowd.into_iter().for_each(Wire::reset);
}

// ── peers that vanish ──────────────────────────────────────────────────────────────────────────────────────

fn vanishing_peers(served: &Served) {
    let requests =
        ["", "G", "GET / HTTP/1.1\r\n", &get("/"), &get("/large.bin"), &get_and_close("/large.bin")];
    for round in 0..20 {
        for request in requests {
            let mut wire = Wire::connect(served.address);
            wire.send(request);
            if round % 2 == 0 {
                std::thread::sleep(Duration::from_millis(2));
            }
            match round % 3 {
                0 => wire.reset(),
                // Answers that have come and were not read: this resets too.
                1 => drop(wire),
                _ => {
                    wire.finish();
                    drop(wire);
                }
            }
        }
    }
    // Silent from the beginning, after an answer, and in the middle of one: closed when their time is over.
    let mut silent: Vec<Wire> = (0..CROWD / 2).map(|_| Wire::connect(served.address)).collect();
    for wire in silent.iter_mut().step_by(2) {
        wire.send(get("/"));
        assert_eq!(wire.answer().body, SMALL);
    }
    let began = Instant::now();
    for wire in &mut silent {
        wire.expect_end();
    }
    let took = began.elapsed();
    assert!(took < Duration::from_secs(4), "silent clients were let go after {took:?}");
    assert!(took > Duration::from_millis(700), "silent clients were let go after {took:?}");
}

// ── noise ──────────────────────────────────────────────────────────────────────────────────────────────────

/// A million bytes of anything, of text with the letters of HTTP, and of requests with a bit flipped here and
/// there.
fn noise(served: &Served) {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    for round in 0..24 {
        let bytes: Vec<u8> = match round % 3 {
            0 => (0..1_000_000).map(|_| random() as u8).collect(),
            1 => (0..1_000_000).map(|_| b"GET / HTP1.0:\r\n\r\n-x%"[random() as usize % 20]).collect(),
            _ => {
                let mut bytes = get("/index.html").repeat(2000).into_bytes();
                for _ in 0..1 + round / 3 {
                    let at = random() as usize % bytes.len();
                    bytes[at] ^= 1 << (random() % 8);
                }
                bytes
            }
        };
        let mut wire = Wire::connect(served.address);
        let reading = wire.stream().try_clone().unwrap();
        std::thread::scope(|scope| {
            scope.spawn(move || std::io::copy(&mut &reading, &mut std::io::sink()));
            let _ = wire.try_send(&bytes);
            wire.finish();
        });
    }
}
