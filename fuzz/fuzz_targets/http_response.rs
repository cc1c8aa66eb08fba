//! Any bytes from a web server are judged without a panic, with the same result for pieces of any size.
//!
//! The first byte chooses the method and how the bytes are cut; the second, a first response that stands
//! before them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use net::client::http::HttpClientSettings;
use net::client::{Client, ClientSettings, ResponseError, ResponseState};

const ASKED: usize = 20;
const FIRST: [&[u8]; 4] = [
    b"",
    b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n",
    b"HTTP/1.0 200 OK\r\n\r\n",
];

fuzz_target!(|data: &[u8]| {
    let [choice, first, rest @ ..] = data else { return };
    let stream = [FIRST[usize::from(first % 4)], rest].concat();
    let head = choice & 1 != 0;
    let whole = told(&stream, stream.len().max(1), head);
    assert_eq!(whole, told(&stream, 1, head));
    assert_eq!(whole, told(&stream, usize::from(choice >> 1).max(1), head));
});

type Reported = (Vec<(ResponseState, Option<ResponseError>)>, Option<ResponseError>);

/// Every response in the stream, and how it ended.
fn told(stream: &[u8], cut: usize, head: bool) -> Reported {
    let mut client =
        HttpClientSettings { head, ..HttpClientSettings::default() }.open().expect("sound settings");
    let mut session = client.session();
    for _ in 0..ASKED {
        client.request(&mut session);
    }
    let mut responses = Vec::new();
    for mut piece in stream.chunks(cut) {
        while !piece.is_empty() {
            match client.on_input(&mut session, piece) {
                Ok(parsed) => {
                    let is_partial = parsed.state == ResponseState::Partial;
                    assert!(parsed.taken <= piece.len() && (parsed.taken > 0 || !is_partial));
                    piece = &piece[parsed.taken..];
                    match parsed.state {
                        ResponseState::Partial => assert!(piece.is_empty()),
                        response => responses.push((response, parsed.error)),
                    }
                }
                Err(wrong) => return (responses, Some(wrong)),
            }
        }
    }
    match client.end(&mut session) {
        Ok(parsed) => {
            responses.push((parsed.state, parsed.error));
            (responses, None)
        }
        Err(wrong) => (responses, Some(wrong)),
    }
}
