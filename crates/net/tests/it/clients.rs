//! The client's side of each protocol: accepted input, cut anywhere, and refused input.

use net::client::busy::BusyClient;
use net::client::echo::{EchoClient, EchoClientSettings};
use net::client::http::{HttpClient, HttpClientSettings};
use net::client::{Client, ClientSettings, ResponseError, ResponseState};
use net::options::Content;
use proptest::prelude::*;

/// The result of a stream of responses: each response's end, and the end of the stream.
type Reported = (Vec<(ResponseState, Option<ResponseError>)>, Option<ResponseError>);

/// Asks as often as the stream answers, at most `asked` times, and feeds it in pieces of these lengths.
fn tell<C: Client>(client: &mut C, stream: &[u8], cuts: &[usize], asked: usize) -> Reported {
    let mut session = client.session();
    for _ in 0..asked {
        client.request(&mut session);
    }
    let mut told = Vec::new();
    let mut rest = stream;
    let mut cuts = cuts.iter().copied().cycle();
    while !rest.is_empty() {
        let length = cuts.next().unwrap_or(usize::MAX).clamp(1, rest.len());
        let (mut piece, behind) = rest.split_at(length);
        while !piece.is_empty() {
            match client.on_input(&mut session, piece) {
                Ok(parsed) => {
                    assert!(parsed.taken <= piece.len());
                    piece = &piece[parsed.taken..];
                    if parsed.state == ResponseState::Partial {
                        assert!(piece.is_empty(), "a partial response takes all");
                    } else {
                        told.push((parsed.state, parsed.error));
                    }
                }
                Err(wrong) => return (told, Some(wrong)),
            }
        }
        rest = behind;
    }
    match client.end(&mut session) {
        Ok(parsed) => {
            told.push((parsed.state, parsed.error));
            (told, None)
        }
        Err(wrong) => (told, Some(wrong)),
    }
}

fn client(head: bool) -> HttpClient {
    HttpClientSettings { head, ..HttpClientSettings::default() }.open().expect("sound settings")
}

fn echo(bytes: usize) -> EchoClient {
    EchoClientSettings { bytes }.open().expect("sound settings")
}

fn http(stream: &str) -> Reported {
    tell(&mut client(false), stream.as_bytes(), &[usize::MAX], 10)
}

const WHOLE: (ResponseState, Option<ResponseError>) = (ResponseState::Complete, None);
const LAST: (ResponseState, Option<ResponseError>) = (ResponseState::Last, None);

#[test]
fn responses_end_by_length_by_chunks_or_with_the_connection() {
    let length = "HTTP/1.1 200 OK\r\ncontent-LENGTH: 5\r\n\r\nhello";
    let chunks =
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nhel\r\n2\r\nlo\r\n0\r\nA: b\r\n\r\n";
    let close = "HTTP/1.0 200 OK\r\n\r\nhello";
    let short = Some(ResponseError::Short);
    assert_eq!(http(length), (vec![WHOLE], short));
    assert_eq!(http(chunks), (vec![WHOLE], short));
    assert_eq!(http(close), (vec![LAST], None));
    assert_eq!(http(&[length, chunks, close].concat()), (vec![WHOLE, WHOLE, LAST], None));
}

#[test]
fn who_closes_is_read_from_version_and_connection() {
    let last = |version: &str, field: &str| {
        let response = format!("HTTP/{version} 200 OK\r\nContent-Length: 0\r\n{field}\r\n");
        http(&response).0[0].0 == ResponseState::Last
    };
    assert!(!last("1.1", ""));
    assert!(last("1.1", "Connection: close\r\n"));
    assert!(last("1.1", "connection: upgrade, CLOSE\r\n"));
    assert!(last("1.0", ""));
    assert!(!last("1.0", "Connection: Keep-Alive\r\n"));
}

#[test]
fn some_responses_have_no_body() {
    for status in [204, 304] {
        let response = format!("HTTP/1.1 {status} -\r\nContent-Length: 9\r\n\r\n");
        assert_eq!(http(&response).0.len(), 1, "{status}");
    }
    let interim = "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx";
    assert_eq!(http(interim).0, [WHOLE]);
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n".repeat(3);
    assert_eq!(tell(&mut client(true), head.as_bytes(), &[7], 3).0, [WHOLE; 3]);
}

#[test]
fn wrong_responses_are_reported_and_the_connection_stays() {
    let response = |body: &str| format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    let missing = "HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno".to_owned();
    let stream = [response("one"), response("two"), response("longer"), missing, response("one")].concat();
    let wrong = |wrong| (ResponseState::Complete, Some(wrong));
    let expected = [
        WHOLE,
        wrong(ResponseError::Content),
        wrong(ResponseError::Content),
        wrong(ResponseError::Status(404)),
        WHOLE,
    ];
    assert_eq!(http(&stream).0, expected);
}

#[test]
fn what_cannot_be_understood_is_malformed() {
    for stream in [
        "HTTP/2 200 OK\r\n\r\n",
        "HTTP/1.1 20 OK\r\n\r\n",
        "HTTP/1.1 2000 OK\r\n\r\n",
        "220 mail.example ESMTP\r\n\r\n",
        "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nxy",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n11111111111111111\r\n",
        "HTTP/1.1 101 Switching Protocols\r\n\r\n",
    ] {
        assert_eq!(http(stream).1, Some(ResponseError::Malformed), "{stream}");
    }
    let endless = format!("HTTP/1.1 200 OK\r\n{}", "A: b\r\n".repeat(20_000));
    assert_eq!(http(&endless).1, Some(ResponseError::Malformed));
    let unasked = tell(&mut client(false), b"HTTP/1.1 200 OK\r\n\r\n", &[9], 0);
    assert_eq!(unasked.1, Some(ResponseError::Unasked));
}

#[test]
fn requests_hold_no_second_request() {
    let refused = |settings: HttpClientSettings| settings.open().is_err();
    let base = HttpClientSettings::default;
    assert!(refused(HttpClientSettings { paths: vec!["/a b".to_owned()], ..base() }));
    assert!(refused(HttpClientSettings { paths: vec!["a".to_owned()], ..base() }));
    assert!(refused(HttpClientSettings { host: "a\r\nX: y".to_owned(), ..base() }));
    assert!(refused(HttpClientSettings { fields: vec!["A: b\r\n\r\nGET /".to_owned()], ..base() }));
}

#[test]
fn pages_that_change_and_other_statuses_are_right_where_asked_for() {
    let response = |status: u16, body: &str| {
        format!("HTTP/1.1 {status} x\r\nContent-Length: {}\r\n\r\n{body}", body.len())
    };
    let stream = [response(200, "one"), response(200, "other"), response(404, "none"), response(503, "no")];
    let errors = |settings: HttpClientSettings| {
        let told = tell(&mut settings.open().expect("sound settings"), stream.concat().as_bytes(), &[5], 4).0;
        told.into_iter().map(|(_, error)| error).collect::<Vec<_>>()
    };
    let (content, status) = (Some(ResponseError::Content), |status| Some(ResponseError::Status(status)));
    let base = HttpClientSettings::default;
    assert_eq!(errors(base()), [None, content, status(404), status(503)]);
    assert_eq!(
        errors(HttpClientSettings { any_body: true, ..base() }),
        [None, None, status(404), status(503)]
    );
    let expect_status = vec!["200,404".to_owned(), "5xx".to_owned()];
    assert_eq!(errors(HttpClientSettings { expect_status, ..base() }), [None, content, None, None]);
}

fn request(settings: &HttpClientSettings) -> String {
    let mut client = settings.open().expect("sound settings");
    let mut session = client.session();
    String::from_utf8(client.request(&mut session).to_vec()).expect("text")
}

#[test]
fn fields_of_the_user_replace_ours() {
    let with = |fields: &[&str]| HttpClientSettings {
        fields: fields.iter().map(|&field| field.to_owned()).collect(),
        ..HttpClientSettings::default()
    };
    let plain = "GET / HTTP/1.1\r\nHost: localhost\r\nUser-Agent: osdyno\r\n\r\n";
    assert_eq!(request(&with(&[])), plain);
    let both = request(&with(&["host: a.example", "USER-AGENT: b", "X: 1", "X: 2"]));
    assert_eq!(both, "GET / HTTP/1.1\r\nhost: a.example\r\nUSER-AGENT: b\r\nX: 1\r\nX: 2\r\n\r\n");
    assert_eq!(request(&with(&["User-Agent:"])), "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    let closing = with(&["Connection: Close"]);
    assert!(closing.server_closes() && !with(&["Connection: keep-alive"]).server_closes());
    assert_eq!(request(&HttpClientSettings { close: true, ..closing }).matches("onnection:").count(), 1);
    let kept = with(&["Connection: keep-alive"]);
    assert!(HttpClientSettings { close: true, ..kept }.open().is_err(), "which of the two?");
}

#[test]
fn bodies_have_their_length_and_a_method() {
    let body = |method: Option<&str>, body: Option<&str>| HttpClientSettings {
        method: method.map(str::to_owned),
        body: body.map(|body| Content::new(body.into())),
        ..HttpClientSettings::default()
    };
    let posted = request(&body(None, Some("a=b")));
    assert!(
        posted.starts_with("POST / ") && posted.ends_with("\r\nContent-Length: 3\r\n\r\na=b"),
        "{posted}"
    );
    assert!(request(&body(Some("PUT"), None)).ends_with("\r\nContent-Length: 0\r\n\r\n"));
    assert!(request(&body(Some("DELETE"), None)).starts_with("DELETE / "));
    assert!(!request(&body(Some("DELETE"), None)).contains("Length"));
    for wrong in ["", "A B", "GET\r\n", "CONNECT"] {
        assert!(body(Some(wrong), None).open().is_err(), "{wrong:?}");
    }
    assert!(HttpClientSettings { head: true, ..body(Some("GET"), None) }.open().is_err());
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n".repeat(2);
    let mut client = body(Some("HEAD"), None).open().expect("sound settings");
    assert_eq!(tell(&mut client, head.as_bytes(), &[7], 2).0, [WHOLE; 2]);
}

#[test]
fn paths_take_turns_and_each_has_its_own_body() {
    let paths = ["/a", "/b", "/c"].map(str::to_owned).to_vec();
    let mut client = HttpClientSettings { paths, ..HttpClientSettings::default() }.open().unwrap();
    let mut sessions = [client.session(), client.session()];
    for round in 0..4 {
        for (number, session) in sessions.iter_mut().enumerate() {
            let request = String::from_utf8(client.request(session).to_vec()).unwrap();
            let path = ["/a", "/b", "/c"][(round + number) % 3];
            assert!(request.starts_with(&format!("GET {path} HTTP/1.1\r\nHost: ")), "{request}");
            let response = format!("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{path}");
            assert_eq!(client.on_input(session, response.as_bytes()).unwrap().error, None);
        }
    }
}

#[test]
fn busy_is_parsed_not_just_read() {
    let busy = |stream: &str| tell(&mut BusyClient, stream.as_bytes(), &[3], 1);
    assert_eq!(busy("450 too busy\r\n").0, [LAST]);
    assert_eq!(busy("450 \n").0, [LAST]);
    assert_eq!(busy("220 welcome\r\n").0, [(ResponseState::Last, Some(ResponseError::Status(220)))]);
    assert_eq!(busy("450 too bu").1, Some(ResponseError::Short));
    assert_eq!(busy("450-more\r\n").1, Some(ResponseError::Malformed));
    assert_eq!(busy("450 too busy\r\n450 too busy\r\n").1, Some(ResponseError::Unasked));
    assert_eq!(busy(&format!("450 {}", "x".repeat(600))).1, Some(ResponseError::Malformed));
}

#[test]
fn an_echo_of_another_request_is_none() {
    let mut client = echo(100);
    let mut session = client.session();
    let first = client.request(&mut session).to_vec();
    assert_eq!(client.on_input(&mut session, &first).unwrap().state, ResponseState::Complete);
    let second = client.request(&mut session).to_vec();
    assert_ne!(first, second);
    assert_eq!(client.on_input(&mut session, &second[..40]).unwrap().state, ResponseState::Partial);
    assert_eq!(client.on_input(&mut session, &second[40..]).unwrap().state, ResponseState::Complete);
    client.request(&mut session);
    assert_eq!(client.on_input(&mut session, &first), Err(ResponseError::Content));
}

/// Responses as servers write them.
fn response() -> impl Strategy<Value = Vec<u8>> {
    let body = proptest::collection::vec(any::<u8>(), 0..200);
    let status = prop_oneof![Just(200), Just(206), Just(404), Just(500), Just(204), Just(304), Just(100)];
    (status, body, 0..3_u8, any::<bool>(), 1..50_usize).prop_map(|(status, body, framing, crlf, chunk)| {
        let mut out = format!("HTTP/1.1 {status} x\r\nDate: now\r\n");
        let bodyless = matches!(status, 100 | 204 | 304);
        if framing == 0 && !bodyless {
            out.push_str("Transfer-Encoding: chunked\r\n\r\n");
        } else {
            let length = if bodyless { 0 } else { body.len() };
            out.push_str(&format!("Content-Length: {length}\r\n\r\n"));
        }
        let mut out = if crlf { out } else { out.replace("\r\n", "\n") }.into_bytes();
        if bodyless {
            return out;
        }
        if framing != 0 {
            out.extend_from_slice(&body);
            return out;
        }
        for chunk in body.chunks(chunk) {
            out.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
            out.extend_from_slice(chunk);
            out.extend_from_slice(b"\r\n");
        }
        out.extend_from_slice(b"0\r\n\r\n");
        out
    })
}

proptest! {
    #[test]
    fn however_responses_are_cut_the_same_is_reported(
        responses in proptest::collection::vec(response(), 1..8),
        cuts in proptest::collection::vec(1..40_usize, 1..20),
        until_close in any::<bool>(),
    ) {
        let mut stream = responses.concat();
        if until_close {
            stream.extend_from_slice(b"HTTP/1.0 200 OK\r\n\r\nto the end");
        }
        let whole = tell(&mut client(false), &stream, &[usize::MAX], 100);
        prop_assert_eq!(&whole, &tell(&mut client(false), &stream, &[1], 100));
        prop_assert_eq!(&whole, &tell(&mut client(false), &stream, &cuts, 100));
        let interim = responses.iter().filter(|response| response.starts_with(b"HTTP/1.1 100")).count();
        prop_assert_eq!(whole.0.len(), responses.len() - interim + usize::from(until_close));
    }

    #[test]
    fn no_bytes_make_a_client_panic(
        bytes in proptest::collection::vec(any::<u8>(), 0..400),
        edits in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 0..6),
        responses in proptest::collection::vec(response(), 1..4),
        cuts in proptest::collection::vec(1..60_usize, 1..9),
    ) {
        let mut damaged = responses.concat();
        for (place, byte) in edits {
            let place = place.index(damaged.len());
            damaged[place] = byte;
        }
        for stream in [&bytes, &damaged] {
            let whole = tell(&mut client(false), stream, &[usize::MAX], 100);
            prop_assert_eq!(whole, tell(&mut client(false), stream, &cuts, 100));
            tell(&mut client(true), stream, &cuts, 2);
            tell(&mut BusyClient, stream, &cuts, 1);
            tell(&mut echo(10), stream, &cuts, 3);
        }
    }
}
