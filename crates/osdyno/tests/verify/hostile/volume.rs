//! Too much of everything: sizes, requests without end, uploads that nobody wants, and noise.

use std::io::Write;
use std::time::{Duration, Instant};

use super::{CROWD, MEMORY_BYTES, SMALL};
use crate::common::served::Served;
use crate::common::text;
use crate::common::wire::{Wire, get};

pub(crate) fn sizes(served: &Served) {
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

/// The server answers before the upload has come, and reads on: a close would be a reset, which can destroy
/// the response (RFC 9112, section 9.6).
pub(crate) fn uploads(served: &Served) {
    const PIECE: usize = 1 << 20;
    const PIECES: usize = 20;
    let mut wire = Wire::connect(served.address);
    wire.send(format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n", PIECE * PIECES));
    let piece = vec![b'u'; PIECE];
    for _ in 0..PIECES {
        wire.send(&piece);
    }
    assert_eq!(wire.response().status, 405);
    wire.expect_end();
}

const FLOOD: usize = 100_000;

/// Requests without end on one connection: while nobody reads the responses no more is taken than fits
/// somewhere; when they are read, there is one for each.
pub(crate) fn floods(served: &Served) {
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
        assert!(grown < MEMORY_BYTES, "{grown} bytes for responses that nobody reads");
        let mut responses = 0;
        while responses < FLOOD {
            let response = wire.response();
            assert_eq!((response.status, &response.body[..]), (200, SMALL), "response {responses}");
            responses += 1;
        }
        writer.join().unwrap();
    });
    wire.finish();
    wire.expect_end();
    // The same with large files, and clients that go away in the middle.
    let mut crowd: Vec<Wire> = (0..CROWD).map(|_| Wire::connect(served.address)).collect();
    for wire in &mut crowd {
        wire.send(get("/large.bin").repeat(300));
    }
    std::thread::sleep(Duration::from_millis(300));
    let grown = served.resident_bytes().saturating_sub(memory);
    assert!(grown < MEMORY_BYTES, "{grown} bytes for files that nobody reads");
    crowd.into_iter().for_each(Wire::reset);
}

/// A million bytes of anything, of text with the letters of HTTP, and of requests with a bit flipped here and
/// there.
pub(crate) fn noise(served: &Served) {
    let seed = std::env::var("OSDYNO_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1_u64);
    let mut random = fastrand::Rng::with_seed(seed);
    for round in 0..12 {
        let bytes: Vec<u8> = match round % 3 {
            0 => {
                let mut bytes = vec![0; 1_000_000];
                random.fill(&mut bytes);
                bytes
            }
            1 => (0..1_000_000).map(|_| b"GET / HTP1.0:\r\n\r\n-x%"[random.usize(..20)]).collect(),
            _ => {
                let mut bytes = get("/index.html").repeat(2000).into_bytes();
                for _ in 0..1 + round / 3 {
                    let at = random.usize(..bytes.len());
                    bytes[at] ^= 1 << random.u8(..8);
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
