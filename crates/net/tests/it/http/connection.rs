//! A connection: whether it is kept, content, slow clients, floods; the log; settings that are refused.

use net::output::Output;
use net::service::http::HttpSettings;
use net::service::{Flow, ServiceSettings, SessionStage};

use super::fixture::*;

#[test]
fn connections_are_kept_or_not() {
    let site = site();
    let table = [
        ("GET / HTTP/1.1\r\nHost: h\r\n\r\n", None),
        ("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", Some("close")),
        ("GET / HTTP/1.1\r\nHost: h\r\nConnection: Keep-Alive, Close\r\n\r\n", Some("close")),
        ("GET / HTTP/1.1\r\nHost: h\r\nConnection: keep-alive\r\nConnection: close\r\n\r\n", Some("close")),
        ("GET / HTTP/1.1\r\nHost: h\r\nConnection: upgrade\r\n\r\n", None),
        ("GET / HTTP/1.0\r\n\r\n", Some("close")),
        ("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", Some("keep-alive")),
        ("GET /missing HTTP/1.1\r\nHost: h\r\n\r\n", None),
    ];
    for (request, field) in table {
        let (response, flow) = ask(&*site.machine, request.as_bytes());
        assert_eq!(response.field("Connection"), field, "{request}");
        assert_eq!(flow, if field == Some("close") { Flow::Close } else { Flow::More }, "{request}");
        // Bytes after the last request get no response, and must not reset the connection.
        let twice = [request.as_bytes(), request.as_bytes()].concat();
        let (bytes, flow) = converse(&*site.machine, [&twice[..]]);
        let (count, expected) = if field == Some("close") { (1, Flow::Linger) } else { (2, Flow::More) };
        assert_eq!((responses(&bytes, &[]).len(), flow), (count, expected), "{request}");
    }
}

#[test]
fn content_is_dropped() {
    let site = site();
    let content = "GET /digits HTTP/1.1\r\nHost: h\r\n\r\n".repeat(100);
    let request = format!("GET / HTTP/1.1\r\nHost: h\r\nContent-Length: {}\r\n\r\n{content}", content.len());
    let stream = format!("{request}GET /page.html HTTP/1.1\r\nHost: h\r\n\r\n");
    let (bytes, _) = converse(&*site.machine, [stream.as_bytes()]);
    assert_eq!(responses(&bytes, &[]).len(), 2);
    let (in_pieces, _) = converse(&*site.machine, stream.as_bytes().chunks(7));
    assert_eq!(in_pieces, bytes);
}

#[test]
fn stages_and_slow_clients() {
    let site = site();
    let mut session = site.machine.session(None);
    let mut output = Output::default();
    assert_eq!(session.stage(), SessionStage::Idle);
    assert_eq!(session.on_input(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n", &mut output), Flow::More);
    assert_eq!((session.stage(), output.take_responses()), (SessionStage::Idle, 1));
    assert!(session.too_slow(&mut output) == Flow::Close, "an idle connection is closed without a word");
    drain(&mut output);
    session.on_input(b"GET / HTTP/1.1\r\n", &mut output);
    assert_eq!((session.stage(), output.take_responses()), (SessionStage::Request, 0));
    assert_eq!(session.too_slow(&mut output), Flow::Linger);
    assert_eq!(session.on_input(b"Host: h\r\n\r\n", &mut output), Flow::Linger);
    let responses = responses(&drain(&mut output), &[]);
    assert_eq!(responses.iter().map(|response| response.status).collect::<Vec<_>>(), [408]);
    assert_eq!(output.take_responses(), 1);

    let mut session = site.machine.session(None);
    session.on_input(b"GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\n", &mut output);
    assert_eq!(session.stage(), SessionStage::Request);
    drain(&mut output);
    assert_eq!(session.too_slow(&mut output), Flow::Close, "the response was given already");
    assert!(output.is_empty());
}

#[test]
fn the_log_has_a_line_for_each_response() {
    let site = site_logging(true, |settings| settings);
    assert!(site.machine.wants_peer());
    let mut session = site.machine.session(Some("[2001:db8::1]:80".parse().unwrap()));
    let mut output = Output::default();
    let stream =
        b"GET /digits?\"\\ HTTP/1.1\r\nHost: h\r\nReferer: http://r/\r\nUser-Agent: a\"\x80b\r\n\r\n\
        HEAD /digits HTTP/1.1\r\nHost: h\r\n\r\nG\x1b[2J\r\n\r\n";
    session.on_input(stream, &mut output);
    let log = String::from_utf8(std::mem::take(&mut output.log)).unwrap();
    let lines: Vec<&str> = log.lines().collect();
    let rests = [
        r#""GET /digits?\x22\x5C HTTP/1.1" 200 10 "http://r/" "a\x22\x80b""#,
        r#""HEAD /digits HTTP/1.1" 200 0 "-" "-""#,
        r#""G\x1B[2J" 400 46 "-" "-""#,
    ];
    assert_eq!(lines.len(), rests.len(), "{log}");
    for (line, rest) in lines.iter().zip(rests) {
        let (begin, end) = line.split_once("] ").unwrap();
        assert_eq!(end, rest);
        let moment = begin.strip_prefix("2001:db8::1 - - [").unwrap();
        assert!(moment.len() == 26 && moment.ends_with(" +0000"), "{moment}");
    }
}

#[test]
fn what_is_no_folder_is_not_opened() {
    let missing = HttpSettings { root: "/nonexistent/folder".into(), ..HttpSettings::default() };
    let error = missing.open(false).err().unwrap().to_string();
    assert!(error.starts_with("cannot open the folder /nonexistent/folder to serve it: "));
}

#[test]
fn settings_of_another_service_are_refused() {
    let open = |name, settings| net::service::find(name).unwrap().open(&settings, false).map(drop);
    assert!(open("echo", serde_json::json!({})).is_ok());
    for (name, wrong) in [("echo", "root"), ("http", "rot")] {
        let error = open(name, serde_json::json!({ wrong: "." })).unwrap_err().to_string();
        assert!(error.contains(&format!("settings of {name}")) && error.contains(wrong), "{error}");
    }
}

#[test]
fn a_flood_of_requests_is_answered() {
    let site = site();
    let flood = b"GET /page.html HTTP/1.1\r\nHost:\r\n\r\n".repeat(2000);
    let (bytes, _) = converse(&*site.machine, [&flood[..]]);
    let responses = responses(&bytes, &[]);
    assert_eq!(responses.len(), 2000);
    assert!(responses.iter().all(|response| response.body == PAGE));
}
