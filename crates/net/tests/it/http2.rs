//! The client's side of HTTP/2: accepted input, cut anywhere, and refused input.

use std::rc::Rc;

use net::http2::{ErrorCode, Http2Connection, Http2Fault, Request, Requests, ResponsePart};
use proptest::prelude::*;

use crate::peer::{BODY, Peer, busy, frame, go_away, head, reset, response, settings};

/// The result of each request, as text.
type Reported = Vec<(u32, String)>;

fn connection(methods: &[&str]) -> Http2Connection {
    let field = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let request = |method: &&str| Request {
        fields: vec![
            field(":method", method),
            field(":scheme", "http"),
            field(":authority", "localhost"),
            field(":path", "/"),
        ],
        body: if *method == "POST" { vec![b'x'; 200_000] } else { Vec::new() },
    };
    Http2Connection::new(Rc::new(Requests::new(methods.iter().map(request).collect())))
}

/// Hands the stream to the connection in pieces of this length.
fn tell(connection: &mut Http2Connection, stream: &[u8], cut: usize) -> (Reported, Result<(), Http2Fault>) {
    let mut reported: Reported = Vec::new();
    let mut told = |token: u32, part: ResponsePart<'_>| {
        let text = match part {
            ResponsePart::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            ResponsePart::End => "·end".to_owned(),
            ResponsePart::Cut(fault) => fault.map_or("·short".to_owned(), |fault| format!("·{fault}")),
            ResponsePart::Unprocessed => "·unprocessed".to_owned(),
        };
        match reported.iter_mut().find(|(known, _)| *known == token) {
            Some((_, known)) => known.push_str(&text),
            None => reported.push((token, text)),
        }
    };
    let mut result = Ok(());
    for piece in stream.chunks(cut.max(1)) {
        result = connection.on_input(piece, &mut told);
        if result.is_err() {
            break;
        }
    }
    (reported, result)
}

/// Two requests whose responses are these bytes, behind the settings of the server.
fn responses(methods: &[&str], stream: &[u8]) -> (Reported, Result<(), Http2Fault>) {
    let whole = [&frame(4, 0, 0, &[])[..], stream].concat();
    let ask = |cut| {
        let mut connection = connection(methods);
        (0..methods.len()).for_each(|number| connection.start(number as u32, number));
        tell(&mut connection, &whole, cut)
    };
    let reported = ask(usize::MAX);
    for cut in [1, 7, 10] {
        assert_eq!(ask(cut), reported, "cut behind every {cut} bytes");
    }
    reported
}

const TEXT: &str = "HTTP/1.1 200\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n·end";

#[test]
fn responses_come_in_any_order_and_in_pieces() {
    let pieces = [
        head(3, 5),
        head(1, 5),
        frame(0, 0, 3, b"hel"),
        frame(0, 8, 1, b"\x02hello\0\0"),
        frame(0, 1, 3, b"lo"),
        frame(99, 0, 7, b"unknown"),
        frame(1, 5, 1, b"\x00\x01a\x01b"),
    ];
    let (reported, result) = responses(&["GET", "GET"], &pieces.concat());
    assert_eq!(result, Ok(()));
    let in_two = TEXT.replace("5\r\nhello", "3\r\nhel\r\n2\r\nlo");
    assert_eq!(reported, [(1, in_two), (0, TEXT.to_owned())]);
}

#[test]
fn some_responses_have_no_body() {
    let length_only = head(1, 9);
    let with_end = [&length_only[..4], &[5], &length_only[5..]].concat();
    let expected = "HTTP/1.1 200\r\nContent-Length: 9\r\n\r\n·end";
    assert_eq!(responses(&["HEAD"], &with_end).0, [(0, expected.to_owned())]);
    let early = frame(1, 4, 1, b"\x08\x03103");
    let (reported, _) = responses(&["GET"], &[&early[..], &frame(1, 5, 1, b"\x89")].concat());
    assert_eq!(reported, [(0, "HTTP/1.1 204\r\n\r\n·end".to_owned())]);
    let (reported, _) = responses(&["GET"], &busy(1));
    assert_eq!(reported[0].1, "HTTP/1.1 503\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n·end");
}

#[test]
fn a_request_that_fails_leaves_the_others() {
    let second = response(3, BODY);
    for (first, told) in [
        (reset(1, 7), "·RST_STREAM REFUSED_STREAM"),
        (reset(1, 99), "·RST_STREAM error 99"),
        ([head(1, 5), frame(0, 1, 1, b"hel")].concat(), "3\r\nhel\r\n·short"),
        ([head(1, 2), frame(0, 1, 1, b"hel")].concat(), "\r\n\r\n·HTTP/2 violated: PROTOCOL_ERROR"),
        (frame(0, 1, 1, b"hel"), "·HTTP/2 violated: PROTOCOL_ERROR"),
        (frame(1, 5, 1, b"\x00\x01a\x01b"), "·HTTP/2 violated: PROTOCOL_ERROR"),
        (frame(1, 5, 1, b"\x88\x00\x01A\x01b"), "·HTTP/2 violated: PROTOCOL_ERROR"),
        (frame(1, 5, 1, b"\x88\x88"), "·HTTP/2 violated: PROTOCOL_ERROR"),
        // Names and values that RFC 9113 forbids in section 8.2.1, of fields that mean nothing here.
        (frame(1, 5, 1, b"\x88\x00\x01a\x03b\rc"), "·HTTP/2 violated: PROTOCOL_ERROR"),
        (frame(1, 5, 1, b"\x88\x00\x01a\x03b\nc"), "·HTTP/2 violated: PROTOCOL_ERROR"),
        (frame(1, 5, 1, b"\x88\x00\x01a\x03b\0c"), "·HTTP/2 violated: PROTOCOL_ERROR"),
        (frame(1, 5, 1, b"\x88\x00\x01a\x02 b"), "·HTTP/2 violated: PROTOCOL_ERROR"),
        (frame(1, 5, 1, b"\x88\x00\x01a\x02b\t"), "·HTTP/2 violated: PROTOCOL_ERROR"),
        (frame(1, 5, 1, b"\x88\x00\x03a\rb\x01c"), "·HTTP/2 violated: PROTOCOL_ERROR"),
        (frame(1, 5, 1, b"\x88\x00\x03a:b\x01c"), "·HTTP/2 violated: PROTOCOL_ERROR"),
        (frame(1, 5, 1, b"\x88\x00\x02\xc3\xa4\x01c"), "·HTTP/2 violated: PROTOCOL_ERROR"),
        (frame(1, 5, 1, b"\x08\x03101"), "·HTTP/2 violated: PROTOCOL_ERROR"),
        (frame(8, 0, 1, &[0; 4]), "·HTTP/2 violated: PROTOCOL_ERROR"),
        (frame(8, 0, 1, &[0x7f, 0xff, 0xff, 0xff]), "·HTTP/2 violated: FLOW_CONTROL_ERROR"),
    ] {
        let (reported, result) = responses(&["GET", "GET"], &[first, second.clone()].concat());
        assert_eq!(result, Ok(()), "{told}");
        assert!(reported[0].0 == 0 && reported[0].1.ends_with(told), "{told}: {reported:?}");
        assert_eq!(reported[1], (1, TEXT.to_owned()));
    }
}

#[test]
fn a_server_that_breaks_the_protocol_is_left() {
    let violated = |code: u32| Err(Http2Fault::Violated(ErrorCode(code)));
    let endless = |piece: &[u8]| [frame(1, 0, 1, b"\x88"), frame(9, 0, 1, piece).repeat(9)].concat();
    for (stream, result) in [
        (frame(0, 0, 5, b"x"), violated(1)),          // a stream that was not begun
        (frame(0, 0, 0, b"x"), violated(1)),          // the connection has no body
        (frame(0, 8, 1, b"\x05hell"), violated(1)),   // more padding than there is
        (frame(1, 4, 2, b"\x88"), violated(1)),       // a stream of the server's
        (frame(5, 4, 1, &[0, 0, 0, 2]), violated(1)), // a push
        (frame(1, 4, 1, b"\xff"), violated(9)),       // no header block
        (frame(1, 4, 1, b"\xbe"), violated(9)),       // a field that was never sent
        (frame(9, 4, 1, b"\x88"), violated(1)),       // a continuation of nothing
        ([frame(1, 0, 1, b"\x88"), frame(6, 0, 0, &[0; 8])].concat(), violated(1)),
        (endless(&[0; 16_000]), violated(11)),
        (endless(b""), violated(11)),
        (frame(0, 0, 1, &[0; 16_385]), violated(6)),
        (frame(6, 0, 0, b"ping"), violated(6)),
        (frame(6, 0, 1, &[0; 8]), violated(1)),
        (frame(3, 0, 1, b"rst"), violated(6)),
        (frame(3, 0, 9, &[0; 4]), violated(1)),
        (frame(4, 0, 0, b"short"), violated(6)),
        (frame(4, 0, 1, b""), violated(1)),
        (settings(2, 1), violated(1)),
        (settings(4, 1 << 31), violated(3)),
        (settings(5, 100), violated(1)),
        (frame(8, 0, 0, &[0; 4]), violated(1)),
        (frame(8, 0, 0, &[0x7f, 0xff, 0xff, 0xff]), violated(3)),
        (frame(7, 0, 0, b"away"), violated(6)),
        (frame(6, 0, 0, &[0; 8]).repeat(70_000), violated(11)),
    ] {
        let (kind, length) = (stream[3], stream.len());
        assert_eq!(responses(&["GET", "GET"], &stream).1, result, "kind {kind}, {length} bytes");
    }
    let mut connection = connection(&["GET"]);
    let other = tell(&mut connection, b"HTTP/1.1 400 Bad Request\r\n\r\n", 5);
    assert_eq!(other.1, Err(Http2Fault::NotSpoken));
}

#[test]
fn a_server_that_goes_away_responds_to_what_it_has_seen() {
    let stream = [go_away(1, 0), response(1, BODY)].concat();
    let (reported, result) = responses(&["GET", "GET"], &stream);
    assert_eq!(result, Ok(()));
    assert_eq!(reported, [(1, "·unprocessed".to_owned()), (0, TEXT.to_owned())]);
    let (reported, _) = responses(&["GET"], &go_away(0, 11));
    assert_eq!(reported, [(0, "·GOAWAY ENHANCE_YOUR_CALM".to_owned())]);
    let mut connection = connection(&["GET"]);
    assert!(connection.takes_requests());
    let away = [frame(4, 0, 0, &[]), go_away(0, 0)].concat();
    assert_eq!(tell(&mut connection, &away, 100), (Vec::new(), Ok(())));
    assert!(!connection.takes_requests());
}

/// A server and a client that exchange bytes until both are done.
fn converse(connection: &mut Http2Connection, server: &mut Peer) -> (Vec<crate::peer::Asked>, Reported) {
    let (mut asked, mut reported) = (Vec::new(), Vec::new());
    loop {
        let output = connection.output().to_vec();
        connection.sent(output.len());
        let complete = server.take(&output);
        let mut words = std::mem::take(&mut server.output);
        for one in &complete {
            words.extend(response(one.stream, BODY));
        }
        asked.extend(complete);
        if output.is_empty() && words.is_empty() {
            return (asked, reported);
        }
        reported.extend(tell(connection, &words, 1000).0);
    }
}

#[test]
fn streams_windows_and_tables_are_as_large_as_the_server_allows() {
    let greeting = [settings(3, 2), settings(4, 10), settings(1, 0), frame(6, 0, 0, b"12345678")].concat();
    let mut connection = connection(&["POST", "GET"]);
    let mut server = Peer::saying(greeting);
    assert_eq!(tell(&mut connection, &std::mem::take(&mut server.output), 100).1, Ok(()));
    (0..6).for_each(|number| connection.start(number, number as usize % 2));
    let first = connection.output().to_vec();
    connection.sent(first.len());
    assert!(first.windows(8).any(|eight| eight == b"12345678"), "a ping comes back");
    let asked = server.take(&first);
    assert_eq!(asked.len(), 1, "two streams, one with a body that does not fit into its window");
    server.output.extend(response(asked[0].stream, BODY));
    let words = std::mem::take(&mut server.output);
    assert_eq!(tell(&mut connection, &words, 100).0, [(1, TEXT.to_owned())]);
    let (asked, reported) = converse(&mut connection, &mut server);
    assert_eq!((asked.len(), reported.iter().filter(|(_, text)| text == TEXT).count()), (5, 5));
    assert!(asked.iter().filter(|one| one.body_bytes > 0).all(|one| one.body_bytes == 200_000));
    let begins = |stream| asked.iter().find(|one| one.stream == stream).and_then(|one| one.block.first());
    assert_eq!(begins(1), Some(&0x20), "the first block says that no table is used");
    assert!(asked.iter().all(|one| one.block.len() > 8), "fields are written out");
}

#[test]
fn requests_that_nobody_waits_for_are_given_up() {
    let mut connection = connection(&["GET", "POST"]);
    (0..3).for_each(|token| connection.start(token, 0));
    connection.cancel(1);
    let mut server = Peer::saying(Vec::new());
    let output = connection.output().to_vec();
    server.take(&output);
    assert_eq!(server.cancelled, [3]);
    let late = [frame(4, 0, 0, &[]), response(3, BODY), response(5, BODY)].concat();
    assert_eq!(tell(&mut connection, &late, 9).0, [(2, TEXT.to_owned())]);
}

proptest! {
    #[test]
    fn whatever_comes_is_understood_or_refused_however_it_is_cut(
        frames in prop::collection::vec(
            (0_u8..12, any::<u8>(), 0_u32..6, prop::collection::vec(any::<u8>(), 0..40)), 0..12),
        cut in 1_usize..60,
    ) {
        let frames = frames.iter().map(|(kind, flags, stream, payload)| frame(*kind, *flags, *stream, payload));
        let stream = [frame(4, 0, 0, &[]), frames.collect::<Vec<_>>().concat()].concat();
        let ask = |cut| {
            let mut connection = connection(&["GET", "POST"]);
            (0..4).for_each(|token| connection.start(token, token as usize % 2));
            let outcome = tell(&mut connection, &stream, cut);
            prop_assert!(connection.output().len() < 1 << 21);
            Ok(outcome)
        };
        prop_assert_eq!(ask(cut)?, ask(usize::MAX)?);
    }
}
