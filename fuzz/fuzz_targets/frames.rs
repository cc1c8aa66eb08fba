//! Reading frames ends without a panic for any bytes in pieces of any size, and sound frames arrive.
//!
//! The first byte chooses: the stream as it is, or behind a sound frame; the second where it is cut.
#![no_main]

use host::{Frames, encode};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let [mode, cut, data @ ..] = data else { return };
    let stream = match mode % 2 {
        0 => data.to_vec(),
        _ => [encode(data), data.to_vec()].concat(),
    };
    let mut frames = Frames::default();
    let mut found = Vec::new();
    for piece in stream.chunks(usize::from(*cut) + 1) {
        frames.push(piece);
        while let Ok(Some(frame)) = frames.next_frame() {
            found.push(frame);
        }
    }
    if mode % 2 == 1 {
        assert_eq!(found.first().map(Vec::as_slice), Some(data));
    }
    for frame in found {
        assert!(stream.windows(frame.len().max(1)).any(|part| frame.is_empty() || part == frame));
    }
    let _ = frames.banner();
});
