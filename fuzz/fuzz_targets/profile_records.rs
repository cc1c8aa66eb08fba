//! Reading the records of the ring of an event ends without a panic for any bytes, and a sample has no more
//! addresses and counters than the bytes have words.
//!
//! The first byte chooses: the bytes as they are, or as the body of a record of samples, of forks, of
//! programs, or of losses.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sys::profile::{Record, parse_records};

const LOST: u8 = 2;
const COMMAND: u8 = 3;
const FORK: u8 = 7;
const SAMPLE: u8 = 9;

fuzz_target!(|data: &[u8]| {
    let [choice, data @ ..] = data else { return };
    let words = data.len() / 8;
    let stream = match choice % 5 {
        0 => data.to_vec(),
        1 => record(SAMPLE, data),
        2 => record(FORK, data),
        3 => record(COMMAND, data),
        _ => [record(LOST, data), record(SAMPLE, data)].concat(),
    };
    let _ = parse_records(&stream, &mut |record| {
        let Record::Sampled { sample, .. } = record else { return };
        assert!(sample.kernel.len() + sample.user.len() + sample.counters.len() <= words);
    });
});

/// A record of that kind, with its length: `struct perf_event_header`.
fn record(kind: u8, body: &[u8]) -> Vec<u8> {
    let size = u16::try_from(8 + body.len()).unwrap_or(u16::MAX);
    [&[kind, 0, 0, 0, 0, 0][..], &size.to_ne_bytes(), body].concat()
}
