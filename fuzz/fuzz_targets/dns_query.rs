//! Our DNS server answers or ignores any bytes, without a panic: it sends a response with the id of the
//! query, no longer than the transport takes.
//!
//! The first byte chooses the transport, and whether the rest is a whole message; else it is the number of a
//! domain, a type, and what comes behind a sound question about these.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mail::dns::{AuthorityCounts, Transport, ZonePlan, respond};

/// A standard query with one question (RFC 1035, section 4.1.1).
const HEADER: [u8; 12] = [7, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
/// Without EDNS (RFC 6891), which the server does not speak.
const DATAGRAM_MAX: usize = 512;

fuzz_target!(|data: &[u8]| {
    let [mode, data @ ..] = data else { return };
    let (transport, most) = match mode % 2 {
        0 => (Transport::Udp, DATAGRAM_MAX),
        _ => (Transport::Tcp, usize::from(u16::MAX)),
    };
    let query = match (mode & 2, data) {
        (0, [number, rtype, rest @ ..]) => {
            let name = format!("d{number}");
            let length = [name.len() as u8];
            let question: [&[u8]; 7] =
                [&HEADER, &length, name.as_bytes(), b"\x04test\0\0", &[*rtype], &[0, 1], rest];
            question.concat()
        }
        _ => data.to_vec(),
    };
    let share = 0.15;
    let plan = ZonePlan {
        domains: 200,
        dead: share,
        no_such_domain: share,
        server_failure: share,
        null_mx: share,
        no_mx: share,
        alias_loop: share,
        truncated: share,
        ..ZonePlan::default()
    };
    let Some(response) = respond(&plan, &query, transport, &mut AuthorityCounts::default()) else { return };
    assert!(response.len() <= most, "{} bytes", response.len());
    assert_eq!(response[..2], query[..2]);
    assert!(response[2] & 0x80 != 0, "a response");
});
