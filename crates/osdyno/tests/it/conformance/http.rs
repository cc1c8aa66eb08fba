//! The service `http`: a page, a file and a large file.

use std::path::Path;
use std::time::{Duration, Instant};

use super::case::{CROWD, Case, LARGE, Row, pattern, until_received};
use crate::common::served::Served;
use crate::common::until;
use crate::common::wire::{Wire, get, get_and_close};

pub(crate) const ROW: Row = Row {
    service: "http",
    prepare: make_site,
    first_use,
    checks: &[
        ("plain exchange", plain),
        ("split writes", split),
        ("pipelining", pipelined),
        ("half-close", half_close),
        ("keep-alive and close", keep),
        ("large files", large),
        ("200 at once", crowd),
        ("200 kept open", kept),
    ],
    stop,
    counts_requests: true,
};

const MEDIUM: usize = 150_000;
const SMALL: &[u8] = b"<p>small</p>\n";

/// Makes the folder that is served.
fn make_site(root: &Path) {
    std::fs::write(root.join("index.html"), SMALL).unwrap();
    std::fs::write(root.join("medium.bin"), pattern(MEDIUM)).unwrap();
    std::fs::write(root.join("large.bin"), pattern(LARGE)).unwrap();
}

fn first_use(case: &mut Case<'_>) {
    let mut wire = case.connect();
    for path in ["/", "/medium.bin"] {
        wire.send(get(path));
        assert_eq!(wire.response().status, 200, "{path}");
    }
    wire.send(get_and_close("/large.bin"));
    assert_eq!(wire.response().status, 200);
    wire.rest();
    case.book.enter(wire, 3);
}

fn stop(case: &mut Case<'_>) {
    let [mut wire, mut idle, mut half, mut silent] = std::array::from_fn(|_| case.connect());
    idle.send(get("/"));
    assert_eq!(idle.response().body, SMALL);
    let request = get("/");
    let (first, second) = request.split_at(10);
    half.send(first);
    wire.send(get("/large.bin"));
    // It is under way: the head is here, and the rest does not fit in between.
    let head = wire.head();
    let sent_bytes = idle.sent_bytes + half.sent_bytes + wire.sent_bytes;
    until_received(case.served, case.book.sent_bytes + sent_bytes);
    let accepted = case.book.connections + 4;
    until("all are accepted", || case.served.counter("accepted") == accepted);
    case.served.signal("TERM");
    let ordered = Instant::now();
    idle.expect_end();
    silent.expect_end();
    assert!(ordered.elapsed() < Duration::from_secs(2), "{:?}", ordered.elapsed());
    case.book.late = refused_soon(case.served);
    half.send(second);
    let response = half.response();
    assert_eq!((response.status, &response.body[..]), (200, SMALL));
    half.expect_end();
    let length: usize = head.field("content-length").unwrap().parse().unwrap();
    assert_eq!(wire.take(length), pattern(LARGE));
    wire.expect_end();
    for wire in [idle, half, wire] {
        case.book.enter(wire, 1);
    }
    case.book.enter(silent, 0);
}

/// A server that stops takes no new connections: a client that comes now must fail at once, not wait. How
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

fn plain(case: &mut Case<'_>) {
    let mut wire = case.connect();
    wire.send(get("/"));
    let response = wire.response();
    assert_eq!((response.status, &response.body[..]), (200, SMALL), "{}", response.head);
    wire.send(get("/missing"));
    assert_eq!(wire.response().status, 404);
    wire.send("HEAD / HTTP/1.1\r\nHost: test\r\n\r\n");
    assert_eq!(wire.head().field("content-length"), Some(&*SMALL.len().to_string()));
    wire.send(get_and_close("/medium.bin"));
    assert_eq!(wire.response().body, pattern(MEDIUM));
    wire.expect_end();
    case.book.enter(wire, 4);
}

fn split(case: &mut Case<'_>) {
    let mut wire = case.connect();
    wire.send_split(get("/"));
    assert_eq!(wire.response().body, SMALL);
    wire.send_split(get_and_close("/medium.bin"));
    assert_eq!(wire.response().body, pattern(MEDIUM));
    wire.expect_end();
    case.book.enter(wire, 2);
}

fn pipelined(case: &mut Case<'_>) {
    let mut wire = case.connect();
    let paths: Vec<&str> =
        (0..60).map(|number| ["/", "/medium.bin", "/missing", "/index.html"][number % 4]).collect();
    let requests: String = paths.iter().map(|path| get(path)).collect();
    wire.send(requests);
    for path in &paths {
        let response = wire.response();
        let expected = if *path == "/missing" { 404 } else { 200 };
        assert_eq!(response.status, expected, "{path}");
        match *path {
            "/medium.bin" => assert!(response.body == pattern(MEDIUM), "{path}"),
            "/missing" => {}
            _ => assert_eq!(response.body, SMALL, "{path}"),
        }
    }
    wire.send(get_and_close("/"));
    assert_eq!(wire.response().body, SMALL);
    wire.expect_end();
    case.book.enter(wire, paths.len() as u64 + 1);
}

fn half_close(case: &mut Case<'_>) {
    for path in ["/", "/medium.bin", "/large.bin"] {
        let mut wire = case.connect();
        wire.send([get(path), get("/")].concat());
        wire.finish();
        assert_eq!(wire.response().status, 200, "{path}");
        assert_eq!(wire.response().body, SMALL, "{path}");
        wire.expect_end();
        case.book.enter(wire, 2);
    }
}

fn keep(case: &mut Case<'_>) {
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
        assert_eq!(wire.response().body, SMALL, "{request:?}");
        let mut responses = 1;
        if is_kept {
            std::thread::sleep(Duration::from_millis(5));
            wire.expect_open();
            wire.send(get_and_close("/"));
            assert_eq!(wire.response().body, SMALL, "{request:?}");
            responses += 1;
        }
        wire.expect_end();
        case.book.enter(wire, responses);
    }
}

fn large(case: &mut Case<'_>) {
    let mut wire = case.connect();
    wire.send(get("/large.bin"));
    assert!(wire.response().body == pattern(LARGE));
    wire.send(
        "GET /large.bin HTTP/1.1\r\nHost: a\r\nRange: bytes=1000000-20999999\r\nConnection: close\r\n\r\n",
    );
    let part = wire.response();
    assert_eq!(part.status, 206);
    assert!(part.body == pattern(LARGE)[1_000_000..21_000_000]);
    wire.expect_end();
    case.book.enter(wire, 2);
}

fn crowd(case: &mut Case<'_>) {
    let mut crowd: Vec<Wire> = (0..CROWD).map(|_| case.connect()).collect();
    for (number, wire) in crowd.iter_mut().enumerate() {
        wire.send(get_and_close(if number % 10 == 0 { "/medium.bin" } else { "/" }));
    }
    for (number, mut wire) in crowd.into_iter().enumerate() {
        let response = wire.response();
        assert_eq!(response.status, 200);
        assert!(if number % 10 == 0 { response.body == pattern(MEDIUM) } else { response.body == SMALL });
        wire.expect_end();
        case.book.enter(wire, 1);
    }
}

/// All are open at the same time, or as many as a pool has room for, and each is served again and again.
fn kept(case: &mut Case<'_>) {
    let mut crowd: Vec<Wire> = (0..case.crowd()).map(|_| case.connect()).collect();
    for _ in 0..3 {
        for wire in &mut crowd {
            wire.send(get("/"));
        }
        for wire in &mut crowd {
            assert_eq!(wire.response().body, SMALL);
        }
    }
    for mut wire in crowd {
        wire.finish();
        wire.expect_end();
        case.book.enter(wire, 3);
    }
}
