//! With any bytes from DNS servers, every domain that the resolver was asked for gets one answer, without a
//! panic, in bounded time and memory. Responses repeat id and question of their query, or nothing behind them
//! would be read.
//!
//! Each response is a byte with its length, the rest of a header, and the bytes after the question; a length
//! of 0 stands for a query that is lost.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mail::dns::{Resolver, ResolverSettings};

const DOMAINS: usize = 3;

/// Id and flags, the four counts: RFC 1035, section 4.1.1.
const HEADER_BYTES: usize = 12;

/// More steps than an honest resolver needs for so few domains.
const STEPS_MAX: usize = 100_000;

fuzz_target!(|data: &[u8]| {
    let settings = ResolverSettings { servers: 2, attempts: 2, cache_entries: 50, ..Default::default() };
    let (mut resolver, mut now_ns) = (Resolver::new(settings), 0);
    for domain in 0..DOMAINS {
        resolver.ask(domain as u32, &format!("d{domain}.test"), now_ns);
    }
    let (mut left, mut answered) = (data, [0; DOMAINS]);
    for _ in 0..STEPS_MAX {
        while let Some((domain, _)) = resolver.next_answer() {
            answered[domain as usize] += 1;
        }
        if let Some(query) = resolver.next_transmit() {
            if let Some(response) = response(&query.message, &mut left) {
                resolver.on_message(query.server, query.transport, &response, now_ns);
            }
        } else if let Some(deadline_ns) = resolver.next_deadline_ns() {
            now_ns = now_ns.max(deadline_ns);
            resolver.on_time(now_ns);
        } else {
            break;
        }
    }
    assert_eq!(answered, [1; DOMAINS]);
    assert_eq!(resolver.unresolved(), 0);
    assert!(resolver.cached() <= settings.cache_entries);
});

/// The next response, to this query.
fn response(query: &[u8], left: &mut &[u8]) -> Option<Vec<u8>> {
    let (&length, rest) = left.split_first()?;
    let (own, rest) = rest.split_at(usize::from(length).min(rest.len()));
    *left = rest;
    let (header, records) = own.split_at_checked(HEADER_BYTES - 2)?;
    let mut response = query[..2].to_vec();
    response.extend_from_slice(header);
    response.extend_from_slice(&query[HEADER_BYTES..]);
    response.extend_from_slice(records);
    Some(response)
}
