//! For any input, cut anywhere: the same responses, as many as are counted and logged.

use net::output::Output;
use net::service::OpenService;
use net::service::http::HttpSettings;
use proptest::prelude::*;

use super::fixture::*;

/// A well-formed request with any response.
fn request() -> impl Strategy<Value = String> {
    let method = prop_oneof![Just("GET"), Just("HEAD"), Just("OPTIONS")];
    let path = prop_oneof![
        Just("/".to_owned()),
        Just("/digits".to_owned()),
        Just("/page.html".to_owned()),
        Just("/medium.bin".to_owned()),
        Just("/large.bin".to_owned()),
        Just("/zipped.js".to_owned()),
        Just("/folder".to_owned()),
        Just("/missing".to_owned()),
        "/[a-z%./]{0,12}",
    ];
    let field = prop_oneof![
        Just("Connection: keep-alive\r\n".to_owned()),
        Just("Accept-Encoding: gzip\r\n".to_owned()),
        Just("If-None-Match: *\r\n".to_owned()),
        "Range: bytes=[0-9]{0,3}-[0-9]{0,3}\r\n",
        "[A-Z][a-z]{1,9}: [ -~]{0,30}\r\n",
    ];
    (method, path, proptest::collection::vec(field, 0..4), 0_usize..40).prop_map(
        |(method, path, fields, content)| {
            let (fields, content) = (fields.concat(), "c".repeat(content));
            let length = content.len();
            format!(
                "{method} {path} HTTP/1.1\r\nHost: h\r\nContent-Length: {length}\r\n{fields}\r\n{content}"
            )
        },
    )
}

/// Cuts bytes at these places, taken modulo what is left.
fn cut<'a>(mut bytes: &'a [u8], cuts: &[usize]) -> Vec<&'a [u8]> {
    let mut pieces = Vec::new();
    for cut in cuts {
        let (piece, rest) = bytes.split_at(cut % (bytes.len() + 1));
        pieces.push(piece);
        bytes = rest;
    }
    pieces.push(bytes);
    pieces
}

/// The output and the log for bytes fed in these pieces.
fn logged<'a>(machine: &dyn OpenService, pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<u8>, String) {
    let mut session = machine.session(None);
    let mut output = Output::default();
    let mut count = 0;
    for piece in pieces {
        session.on_input(piece, &mut output);
        count += output.take_responses();
    }
    let log = String::from_utf8(std::mem::take(&mut output.log)).unwrap();
    assert_eq!(log.lines().count() as u64, count);
    (undated(drain(&mut output)), log)
}

/// The responses to HEAD, by the log.
fn heads(log: &str) -> Vec<bool> {
    log.lines().map(|line| line.contains("] \"HEAD ")).collect()
}

thread_local! {
    static SITE: Fixture = site_logging(true, |settings| HttpSettings { head_bytes: 512, ..settings });
}

/// Text that resembles a request.
const ALMOST: &str = "(GET|HEAD|POST) [/a-z%.]{1,9} HTTP/1[.][01]\r\n\
    (Host: h\r\n)?[A-Za-z-]{0,9}:? ?[a-z0-9,]{0,9}\r?\n";

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_cut_gives_the_same(
        requests in proptest::collection::vec(request(), 1..8),
        cuts in proptest::collection::vec(any::<usize>(), 0..12),
    ) {
        SITE.with(|site| {
            let stream = requests.concat();
            let (whole, log) = logged(&*site.machine, [stream.as_bytes()]);
            let responses = responses(&whole, &heads(&log));
            // A path that no file could have gets its 400 like any other.
            prop_assert_eq!(responses.len(), requests.len());
            prop_assert_eq!(&logged(&*site.machine, cut(stream.as_bytes(), &cuts)).0, &whole);
            prop_assert_eq!(&logged(&*site.machine, stream.as_bytes().chunks(1)).0, &whole);
            Ok(())
        })?;
    }

    #[test]
    fn any_bytes_get_proper_responses(
        pieces in proptest::collection::vec(
            prop_oneof![
                request().prop_map(String::into_bytes),
                proptest::collection::vec(any::<u8>(), 0..40),
                ALMOST
                    .prop_map(String::into_bytes),
                Just(b"\r\n".to_vec()),
            ],
            0..8,
        ),
        cuts in proptest::collection::vec(any::<usize>(), 0..12),
    ) {
        SITE.with(|site| {
            let stream = pieces.concat();
            let (whole, log) = logged(&*site.machine, [&stream[..]]);
            let responses = responses(&whole, &heads(&log));
            prop_assert_eq!(responses.len(), log.lines().count());
            prop_assert!(log.bytes().all(|byte| byte == b'\n' || (b' '..=b'~').contains(&byte)));
            prop_assert_eq!(&logged(&*site.machine, cut(&stream, &cuts)).0, &whole);
            prop_assert_eq!(&logged(&*site.machine, stream.chunks(1)).0, &whole);
            Ok(())
        })?;
    }
}
