//! Any bytes from a server of HTTP/2 are understood or refused, without a panic, with the same result for
//! pieces of any size.
//!
//! The first byte chooses how the bytes are cut, the second the bytes that the server has sent before them.
#![no_main]

use std::rc::Rc;

use libfuzzer_sys::fuzz_target;
use net::http2::{Http2Connection, Http2Fault, Request, Requests, ResponsePart};

const SETTINGS: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 0, 0];
const HEAD: &[u8] = &[0, 0, 1, 1, 4, 0, 0, 0, 1, 0x88];
const BEFORE: [&[&[u8]]; 3] = [&[], &[SETTINGS], &[SETTINGS, HEAD]];

fuzz_target!(|data: &[u8]| {
    let [choice, before, rest @ ..] = data else { return };
    let stream = [&BEFORE[usize::from(before % 3)].concat()[..], rest].concat();
    let whole = told(&stream, stream.len());
    assert_eq!(whole, told(&stream, 1));
    assert_eq!(whole, told(&stream, usize::from(*choice)));
});

/// The outcome of each request, and the reason for the end of the connection.
fn told(stream: &[u8], cut: usize) -> (Vec<(u32, String)>, Result<(), Http2Fault>) {
    let request = |method: &str, body: usize| Request {
        fields: vec![(":method".to_owned(), method.to_owned()), (":path".to_owned(), "/a".to_owned())],
        body: vec![b'x'; body],
    };
    let requests = Requests::new(vec![request("GET", 0), request("HEAD", 0), request("POST", 100_000)]);
    let mut connection = Http2Connection::new(Rc::new(requests));
    (0..6).for_each(|token| connection.start(token, token as usize % 3));
    let mut responses = vec![String::new(); 6];
    for piece in stream.chunks(cut.max(1)) {
        let result = connection.on_input(piece, &mut |token, part| {
            let response = &mut responses[token as usize];
            match part {
                ResponsePart::Bytes(bytes) => response.push_str(&String::from_utf8_lossy(bytes)),
                other => response.push_str(&format!("{other:?}")),
            }
        });
        if result.is_err() {
            return (responses.into_iter().zip(0..).map(|(text, token)| (token, text)).collect(), result);
        }
    }
    // Not between the pieces: what is sent makes room in windows, and an update that is too large for one
    // without that is not too large for one with it.
    assert!(connection.output().len() < 4 << 20);
    (responses.into_iter().zip(0..).map(|(text, token)| (token, text)).collect(), Ok(()))
}
