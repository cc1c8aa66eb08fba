//! The service `smtp`: a sink for mail.

use std::io::Write;

use super::case::{CROWD, Case, Row, until_received};
use crate::common;
use crate::common::wire::Wire;

pub(crate) const ROW: Row = Row {
    service: "smtp",
    prepare: |_| (),
    first_use,
    checks: &[
        ("plain exchange", plain),
        ("split writes", split),
        ("pipelining", pipelined),
        ("half-close", half_close),
        ("chunks", chunks),
        ("a close that is asked for", asked_for),
        ("a large message", large),
        ("200 at once", crowd),
        ("200 kept open", kept),
    ],
    stop,
    counts_requests: true,
};

/// A line of a reply, or all lines of one.
fn expect(wire: &mut Wire, code: &str) {
    loop {
        let mut line = Vec::new();
        while line.last() != Some(&b'\n') {
            line.extend(wire.take(1));
        }
        let line = common::text(&line);
        assert!(line.starts_with(code), "{line:?} and not {code}");
        if line.as_bytes()[3] == b' ' {
            return;
        }
    }
}

/// Sends a line, and waits for its reply.
fn ask(wire: &mut Wire, line: &str, code: &str) {
    wire.send(line);
    expect(wire, code);
}

/// A connection after its EHLO, which has one response.
fn greeted(case: &Case<'_>) -> Wire {
    let mut wire = case.connect();
    expect(&mut wire, "220");
    ask(&mut wire, "EHLO client.test\r\n", "250");
    wire
}

/// QUIT and the end.
fn leave(case: &mut Case<'_>, mut wire: Wire, responses: u64) {
    ask(&mut wire, "QUIT\r\n", "221");
    wire.expect_end();
    case.book.enter(wire, responses + 1);
}

fn first_use(case: &mut Case<'_>) {
    let wire = greeted(case);
    leave(case, wire, 1);
}

fn stop(case: &mut Case<'_>) {
    let (mut wire, mut idle) = (greeted(case), greeted(case));
    ask(&mut idle, "NOOP\r\n", "250");
    wire.send("MAIL FROM:<>\r\nRCPT TO:<a@b.test>\r\nNOOP\r\n");
    let sent = case.book.sent_bytes + idle.sent_bytes + wire.sent_bytes;
    until_received(case.served, sent);
    case.served.signal("TERM");
    (0..3).for_each(|_| expect(&mut wire, "250"));
    idle.expect_end();
    wire.expect_end();
    case.book.enter(idle, 2);
    case.book.enter(wire, 4);
}

fn plain(case: &mut Case<'_>) {
    let mut wire = greeted(case);
    for _ in 0..3 {
        ask(&mut wire, "MAIL FROM:<sender@client.test> SIZE=3\r\n", "250");
        ask(&mut wire, "RCPT TO:<a@b.test>\r\n", "250");
        ask(&mut wire, "DATA\r\n", "354");
        ask(&mut wire, "a\r\n.\r\n", "250");
    }
    leave(case, wire, 1 + 3 * 4);
}

const TRANSACTION: &str = "MAIL FROM:<>\r\nRCPT TO:<a@b.test>\r\nRCPT TO:<550@b.test>\r\nDATA\r\n";

fn split(case: &mut Case<'_>) {
    let mut wire = greeted(case);
    wire.send_split(TRANSACTION);
    ["250", "250", "550", "354"].iter().for_each(|code| expect(&mut wire, code));
    wire.send_split("..\r\n.\n.\r\n\r\n.\r\n");
    expect(&mut wire, "250");
    leave(case, wire, 1 + 5);
}

fn pipelined(case: &mut Case<'_>) {
    let mut wire = greeted(case);
    for _ in 0..100 {
        wire.send("MAIL FROM:<>\r\nRCPT TO:<a@b.test>\r\nRSET\r\n");
    }
    (0..300).for_each(|_| expect(&mut wire, "250"));
    leave(case, wire, 1 + 300);
}

fn half_close(case: &mut Case<'_>) {
    let mut wire = greeted(case);
    wire.send("MAIL FROM:<>\r\nNOOP\r\n");
    wire.finish();
    expect(&mut wire, "250");
    expect(&mut wire, "250");
    wire.expect_end();
    case.book.enter(wire, 3);
}

fn chunks(case: &mut Case<'_>) {
    let mut wire = greeted(case);
    wire.send("MAIL FROM:<>\r\nRCPT TO:<a@b.test>\r\nBDAT 5\r\nQUIT\nBDAT 0 LAST\r\n");
    (0..4).for_each(|_| expect(&mut wire, "250"));
    leave(case, wire, 1 + 4);
}

fn asked_for(case: &mut Case<'_>) {
    let mut wire = greeted(case);
    ask(&mut wire, "MAIL FROM:<>\r\n", "250");
    ask(&mut wire, "RCPT TO:<busy@b.test>\r\n", "421");
    wire.expect_end();
    case.book.enter(wire, 3);
    let mut wire = greeted(case);
    ask(&mut wire, "MAIL FROM:<>\r\n", "250");
    wire.send("RCPT TO:<drop@b.test>\r\n");
    wire.expect_end();
    case.book.enter(wire, 2);
}

fn large(case: &mut Case<'_>) {
    let mut wire = greeted(case);
    wire.send(TRANSACTION);
    ["250", "250", "550", "354"].iter().for_each(|code| expect(&mut wire, code));
    let message = b"A line of a message, which is neither short nor long, and ends here.\r\n".repeat(100_000);
    wire.stream().write_all(&message).expect("a message");
    wire.sent_bytes += message.len() as u64;
    ask(&mut wire, ".\r\n", "250");
    leave(case, wire, 1 + 5);
}

fn crowd(case: &mut Case<'_>) {
    let crowd: Vec<Wire> = (0..CROWD).map(|_| case.connect()).collect();
    for mut wire in crowd {
        expect(&mut wire, "220");
        leave(case, wire, 0);
    }
}

/// All are open at the same time, or as many as a pool has room for, and each is served again and again.
fn kept(case: &mut Case<'_>) {
    let mut crowd: Vec<Wire> = (0..case.crowd()).map(|_| greeted(case)).collect();
    for _ in 0..2 {
        crowd.iter_mut().for_each(|wire| wire.send("RSET\r\n"));
        crowd.iter_mut().for_each(|wire| expect(wire, "250"));
    }
    crowd.into_iter().for_each(|wire| leave(case, wire, 3));
}
