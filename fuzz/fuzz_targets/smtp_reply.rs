//! Any bytes from a server of SMTP are read or refused, without a panic, with the same result for pieces of
//! any size. A text that came in a reply can be written in one.
//!
//! The first byte chooses how the bytes are cut.
#![no_main]

use libfuzzer_sys::fuzz_target;
use net::smtp::{Extensions, ReplyError, ReplyParser, write_reply};

fuzz_target!(|data: &[u8]| {
    let [choice, stream @ ..] = data else { return };
    let whole = replies(stream, stream.len());
    assert_eq!(whole, replies(stream, 1));
    assert_eq!(whole, replies(stream, usize::from(*choice)));
    for (code, text, _) in whole.0 {
        let mut written = Vec::new();
        write_reply(&mut written, code, None, &text);
        assert_eq!(replies(&written, 1).0.len(), 1);
    }
});

type Replies = Vec<(u16, String, Extensions)>;

fn replies(stream: &[u8], cut: usize) -> (Replies, Option<ReplyError>) {
    let (mut parser, mut replies) = (ReplyParser::default(), Vec::new());
    for mut input in stream.chunks(cut.max(1)) {
        loop {
            match parser.parse(&mut input) {
                Ok(Some(reply)) => replies.push((reply.code(), reply.text(), Extensions::parse(&reply))),
                Ok(None) => break,
                Err(error) => return (replies, Some(error)),
            }
        }
        assert!(input.is_empty());
    }
    (replies, None)
}
