//! The service `echo`: bytes come back, however they are cut.

use std::io::Write;

use super::case::{CROWD, Case, LARGE, Row, pattern, until_received};
use crate::common;
use crate::common::wire::Wire;

pub(crate) const ROW: Row = Row {
    service: "echo",
    prepare: |_| (),
    first_use,
    checks: &[
        ("plain exchange", plain),
        ("split writes", split),
        ("pipelining", pipelined),
        ("half-close", half_close),
        ("a large message", large),
        ("200 at once", crowd),
        ("200 kept open", kept),
    ],
    stop,
    counts_requests: false,
};

fn first_use(case: &mut Case<'_>) {
    let mut wire = case.connect();
    wire.finish();
    wire.rest();
    case.book.enter(wire, 0);
}

fn stop(case: &mut Case<'_>) {
    let (mut wire, mut idle) = (case.connect(), case.connect());
    idle.send("x");
    assert_eq!(idle.take(1), b"x");
    let message = pattern(64 << 10);
    wire.send(&message);
    until_received(case.served, case.book.sent_bytes + 1 + message.len() as u64);
    case.served.signal("TERM");
    assert_eq!(wire.rest(), message);
    idle.expect_end();
    case.book.enter(idle, 0);
    case.book.enter(wire, 0);
}

fn plain(case: &mut Case<'_>) {
    let mut wire = case.connect();
    for message in ["one", "another", "\r\n\0\u{ff}"] {
        wire.send(message);
        assert_eq!(wire.take(message.len()), message.as_bytes());
    }
    wire.finish();
    wire.expect_end();
    case.book.enter(wire, 0);
}

fn split(case: &mut Case<'_>) {
    let mut wire = case.connect();
    let message = pattern(300);
    wire.send_split(&message);
    assert_eq!(wire.take(message.len()), message);
    wire.finish();
    wire.expect_end();
    case.book.enter(wire, 0);
}

fn pipelined(case: &mut Case<'_>) {
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

fn half_close(case: &mut Case<'_>) {
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
fn large(case: &mut Case<'_>) {
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

fn crowd(case: &mut Case<'_>) {
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
fn kept(case: &mut Case<'_>) {
    let mut crowd: Vec<Wire> = (0..case.crowd()).map(|_| case.connect()).collect();
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
