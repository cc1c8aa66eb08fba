//! Clients that are slow, and clients that vanish.

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use super::{CROWD, LET_GO, LIMIT, MEMORY_BYTES, SMALL};
use crate::common::served::Served;
use crate::common::wire::{Wire, get, get_and_close};
use crate::common::{text, until};

/// Heads of which a byte comes now and then, and never the last; content that does the same; and
/// clients that send nothing.
pub(crate) fn slow_writers(served: &Served) {
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
            let in_time = LIMIT.mul_f64(0.9)..LET_GO;
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
        while began.elapsed() < LET_GO {
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
pub(crate) fn slow_readers(served: &Served) {
    let (slow, accepted) = (served.counter("slow"), served.counter("accepted"));
    let mut crowd: Vec<Wire> = (0..CROWD).map(|_| Wire::connect(served.address)).collect();
    for wire in &mut crowd {
        wire.send(get("/large.bin"));
    }
    let memory = served.resident_bytes();
    let began = Instant::now();
    while began.elapsed() < LIMIT * 2 {
        for wire in &mut crowd {
            wire.take(40_000);
        }
        std::thread::sleep(Duration::from_millis(80));
    }
    let grown = served.resident_bytes().saturating_sub(memory);
    assert!(grown < MEMORY_BYTES, "{grown} bytes for {CROWD} slow readers");
    assert_eq!(served.counter("slow"), slow, "a client that reads slowly was given up");
    assert!(served.counter("accepted") >= accepted + CROWD as u64);
    until("clients that do not read were given up", || served.counter("slow") == slow + CROWD as u64);
}

pub(crate) fn vanishing_peers(served: &Served) {
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
                // Responses that have come and were not read: this resets too.
                1 => drop(wire),
                _ => {
                    wire.finish();
                    drop(wire);
                }
            }
        }
    }
    // Silent from the beginning, after a response, and in the middle of one: closed when their time is over.
    let mut silent: Vec<Wire> = (0..CROWD / 2).map(|_| Wire::connect(served.address)).collect();
    for wire in silent.iter_mut().step_by(2) {
        wire.send(get("/"));
        assert_eq!(wire.response().body, SMALL);
    }
    let began = Instant::now();
    for wire in &mut silent {
        wire.expect_end();
    }
    let took = began.elapsed();
    assert!((LIMIT.mul_f64(0.7)..LET_GO).contains(&took), "silent clients were let go after {took:?}");
}
