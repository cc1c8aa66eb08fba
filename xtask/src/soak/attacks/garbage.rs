//! Bytes that are no request, or not the whole of one.

use std::time::{Duration, Instant};

use fastrand::Rng;

use super::field::Battlefield;
use crate::soak::wire::{Wire, get, is_timeout};

/// Most bytes of garbage on one connection.
const BYTES_MAX: usize = 60_000;

/// Anything, text with the letters of HTTP, and requests with a bit flipped here and there.
pub(super) fn garbage(field: &Battlefield, rng: &mut Rng) -> u64 {
    let size = rng.usize(1..BYTES_MAX);
    let bytes: Vec<u8> = match rng.u8(..3) {
        0 => (0..size).map(|_| rng.u8(..)).collect(),
        1 => (0..size).map(|_| b"GET / HTP1.0:\r\n\r\n-x%"[rng.usize(..20)]).collect(),
        _ => {
            let mut bytes = get("/index.html").repeat(100).into_bytes();
            for _ in 0..rng.usize(1..10) {
                let at = rng.usize(..bytes.len());
                bytes[at] ^= 1 << rng.u8(..8);
            }
            bytes
        }
    };
    let Ok(mut wire) = Wire::connect(field.address) else { return 0 };
    let _ = wire.send(bytes);
    wire.finish();
    let end = Instant::now() + Duration::from_secs(1);
    while field.is_wanted(end) {
        match wire.receive(64 << 10) {
            Ok(count) if count > 0 => drop(wire.take()),
            Err(error) if is_timeout(&error) => {}
            _ => break,
        }
    }
    1
}

/// A request that ends in the middle, and a client that then closes, in order or not.
pub(super) fn truncated(field: &Battlefield, rng: &mut Rng) -> u64 {
    const WHOLE: &str =
        "GET /medium.bin HTTP/1.1\r\nHost: a\r\nRange: bytes=0-9\r\nContent-Length: 5\r\n\r\nabcde";
    let mut connections = 0;
    for _ in 0..5 {
        let Ok(mut wire) = Wire::connect(field.address) else { continue };
        connections += 1;
        let _ = wire.send(&WHOLE[..rng.usize(..WHOLE.len())]);
        match rng.u8(..3) {
            0 => wire.finish(),
            1 => {
                wire.reset();
                continue;
            }
            _ => {}
        }
        let _ = wire.receive(4096);
    }
    connections
}
