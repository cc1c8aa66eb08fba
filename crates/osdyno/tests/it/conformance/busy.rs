//! The service `busy`: a line and a close, for any client.

use super::case::{CROWD, Case, Row};
use crate::common::until;
use crate::common::wire::Wire;

pub(crate) const ROW: Row = Row {
    service: "busy",
    prepare: |_| (),
    first_use,
    checks: &[
        ("plain exchange", plain),
        ("half-close", half_close),
        ("a client that talks first", talks),
        ("200 at once", crowd),
    ],
    stop,
    counts_requests: true,
};

fn first_use(case: &mut Case<'_>) {
    let mut wire = case.connect();
    wire.rest();
    case.book.enter(wire, 1);
}

fn stop(case: &mut Case<'_>) {
    let mut wire = case.connect();
    let accepted = case.book.connections + 1;
    until("it is accepted", || case.served.counter("accepted") == accepted);
    case.served.signal("TERM");
    assert_eq!(wire.rest(), BUSY);
    case.book.enter(wire, 1);
}

const BUSY: &[u8] = b"450 too busy\r\n";

fn plain(case: &mut Case<'_>) {
    for _ in 0..5 {
        let mut wire = case.connect();
        assert_eq!(wire.rest(), BUSY);
        case.book.enter(wire, 1);
    }
}

fn half_close(case: &mut Case<'_>) {
    let mut wire = case.connect();
    wire.finish();
    assert_eq!(wire.rest(), BUSY);
    case.book.enter(wire, 1);
}

/// Its words may arrive before the close or after: neither may cost it the response, and nothing of it is
/// counted.
fn talks(case: &mut Case<'_>) {
    for _ in 0..5 {
        let mut wire = case.connect();
        let _ = wire.try_send(b"EHLO test\r\n");
        wire.until_closed();
        assert_eq!(wire.held(), BUSY);
        wire.sent_bytes = 0;
        case.book.enter(wire, 1);
    }
}

fn crowd(case: &mut Case<'_>) {
    let crowd: Vec<Wire> = (0..CROWD).map(|_| case.connect()).collect();
    for mut wire in crowd {
        assert_eq!(wire.rest(), BUSY);
        case.book.enter(wire, 1);
    }
}
