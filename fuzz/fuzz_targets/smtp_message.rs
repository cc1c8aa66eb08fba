//! Any bytes after DATA are read without a panic, with the same result for pieces of any size. A message that
//! was read is read again as it is written.
//!
//! The first byte chooses how the bytes are cut.
#![no_main]

use libfuzzer_sys::fuzz_target;
use net::smtp::{DotDecoder, dot_stuffed};

fuzz_target!(|data: &[u8]| {
    let [choice, stream @ ..] = data else { return };
    let whole = decoded(stream, stream.len());
    assert_eq!(whole, decoded(stream, 1));
    assert_eq!(whole, decoded(stream, usize::from(*choice)));
    let (mut written, mut twice) = (Vec::new(), Vec::new());
    dot_stuffed(stream, &mut written);
    let (message, left) = decoded(&written, written.len());
    assert_eq!(left, Some(Vec::new()));
    dot_stuffed(&message, &mut twice);
    assert_eq!(written, twice);
});

/// The message, and what follows it if it has ended.
fn decoded(stream: &[u8], cut: usize) -> (Vec<u8>, Option<Vec<u8>>) {
    let (mut decoder, mut message, mut left) = (DotDecoder::default(), Vec::new(), None);
    for mut input in stream.chunks(cut.max(1)) {
        if decoder.decode(&mut input, &mut |piece| message.extend_from_slice(piece)) {
            left.get_or_insert_with(Vec::new).extend_from_slice(input);
        }
        assert!(left.is_some() || input.is_empty());
    }
    (message, left)
}
