//! Clients that take their time: they read a large response in small pieces or stop to read it, and send a
//! request byte by byte or never to its end.

use std::time::{Duration, Instant};

use fastrand::Rng;

use super::field::Battlefield;
use crate::soak::site::LARGE;
use crate::soak::wire::{Wire, get, is_timeout};

/// Slow clients at a time, of each kind.
const CROWD: usize = 6;

/// How long one of them takes its time; longer than the server lets a client that does nothing.
const LASTS: Duration = Duration::from_secs(5);

/// Some read 20 kB at a time, the others nothing after a while. What they receive is the file's.
pub(super) fn readers(field: &Battlefield, rng: &mut Rng) -> u64 {
    let mut crowd: Vec<(Wire, Vec<u8>, bool)> = Vec::new();
    for _ in 0..CROWD {
        if let Ok(mut wire) = Wire::connect(field.address)
            && wire.send(get(LARGE)).is_ok()
        {
            crowd.push((wire, Vec::new(), rng.bool()));
        }
    }
    let count = crowd.len() as u64;
    let (start, end) = (Instant::now(), Instant::now() + LASTS);
    while field.is_wanted(end) && !crowd.is_empty() {
        crowd.retain_mut(|(wire, received, stops)| {
            if *stops && start.elapsed() > LASTS / 10 {
                return true;
            }
            let is_open = match wire.receive(20_000) {
                Ok(count) => count > 0,
                Err(error) => is_timeout(&error),
            };
            received.extend(wire.take());
            is_open
        });
        for (_, received, _) in &crowd {
            check(field, received);
        }
        field.rest(Duration::from_millis(100));
    }
    count
}

/// What was received so far is a head and the beginning of the file.
fn check(field: &Battlefield, received: &[u8]) {
    let Some(head) = received.windows(4).position(|four| four == b"\r\n\r\n") else { return };
    let (head, body) = received.split_at(head + 4);
    let is_right = head.starts_with(b"HTTP/1.1 200 ") && field.site.content(LARGE).starts_with(body);
    if !is_right && !head.starts_with(b"HTTP/1.1 503 ") {
        field.findings.add("a slow reader received a wrong byte");
    }
}

/// Heads of which a byte comes now and then, and never the last; content that does the same.
pub(super) fn writers(field: &Battlefield, rng: &mut Rng) -> u64 {
    const OPENINGS: &[&str] = &[
        "GET / HTTP/1.1\r\nX: ",
        "GET /",
        "G",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9000\r\n\r\n",
    ];
    let mut crowd: Vec<Wire> = Vec::new();
    for _ in 0..CROWD {
        if let Ok(mut wire) = Wire::connect(field.address)
            && wire.send(OPENINGS[rng.usize(..OPENINGS.len())]).is_ok()
        {
            crowd.push(wire);
        }
    }
    let (count, end) = (crowd.len() as u64, Instant::now() + LASTS);
    while field.is_wanted(end) && !crowd.is_empty() {
        crowd.retain_mut(|wire| wire.send("x").is_ok());
        field.rest(Duration::from_millis(rng.u64(100..300)));
    }
    count
}
