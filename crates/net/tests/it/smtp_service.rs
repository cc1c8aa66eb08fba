//! The service `smtp`, driven without a socket.

use net::output::Output;
use net::service::smtp::SmtpSettings;
use net::service::{Flow, OpenService, ServiceSettings, SessionStage};
use proptest::prelude::*;

/// The output, the log and the end for a client that sends this in these pieces.
fn exchanged<'a>(
    settings: &SmtpSettings,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> (String, String, Flow) {
    let service = settings.open(true).expect("a service");
    let mut session = service.session(None);
    let mut output = Output::default();
    let mut flow = session.begin(&mut output);
    for piece in pieces {
        if flow == Flow::More {
            flow = session.on_input(piece, &mut output);
        }
    }
    if flow == Flow::More {
        session.end(&mut output);
    }
    let mut replies = Vec::with_capacity(1 << 20);
    output.fill(&mut replies).expect("bytes");
    let log = String::from_utf8(std::mem::take(&mut output.log)).expect("a ledger");
    (String::from_utf8(replies).expect("replies"), log, flow)
}

/// The codes of the replies to that, behind the greeting.
fn codes(settings: &SmtpSettings, lines: &[&str]) -> String {
    let sent = lines.concat();
    let (replies, _, _) = exchanged(settings, [sent.as_bytes()]);
    let last_lines = replies.lines().skip(1).filter(|line| line.as_bytes()[3] == b' ');
    last_lines.map(|line| &line[..3]).collect::<Vec<_>>().join(" ")
}

/// The ledger without times.
fn ledger(log: &str) -> Vec<serde_json::Value> {
    let lines = log.lines().map(|line| serde_json::from_str(line).expect("JSON"));
    let mut lines: Vec<serde_json::Value> = lines.collect();
    lines.iter_mut().for_each(|line| assert!(line["time_seconds"].take().as_f64().is_some()));
    lines
}

const BEGIN: &str = "EHLO c\r\nMAIL FROM:<>\r\nRCPT TO:<a@b.test>\r\n";

#[test]
fn a_message_is_taken_and_recorded() {
    let settings = SmtpSettings::default();
    let message = "Message-ID: <7@c>\r\n\r\n..dot\r\n";
    for text in [
        format!("{BEGIN}DATA\r\n{message}.\r\nQUIT\r\n"),
        format!("{BEGIN}BDAT 9\r\nMessage-IBDAT 18 LAST\r\nD: <7@c>\r\n\r\n.dot\r\nQUIT\r\n"),
    ] {
        let (replies, log, flow) = exchanged(&settings, [text.as_bytes()]);
        assert!(replies.ends_with("250 2.0.0 taken\r\n221 2.0.0 bye\r\n"), "{replies}");
        assert_eq!(flow, Flow::Close);
        let crc32 = crc32fast::hash(b"Message-ID: <7@c>\r\n\r\n.dot\r\n");
        let line = &ledger(&log)[0];
        assert_eq!((&line["recipient"], &line["domain"]), (&"a@b.test".into(), &"b.test".into()));
        assert_eq!((&line["code"], &line["end"]), (&250.into(), &"message".into()));
        assert_eq!((&line["message_id"], &line["message_bytes"]), (&"<7@c>".into(), &27.into()));
        assert_eq!(line["message_crc32"], format!("{crc32:08x}"));
    }
}

#[test]
fn every_recipient_has_a_line() {
    let settings = SmtpSettings { recipients: 2, ..SmtpSettings::default() };
    let text = "EHLO c\r\nMAIL FROM:<>\r\nRCPT TO:<550@b>\r\nRCPT TO:<a@b>\r\nRSET\r\nMAIL FROM:<>\r\n\
                RCPT TO:<c@b>\r\nRCPT TO:<d@b>\r\nRCPT TO:<e@b>\r\nRCPT TO:<busy@b>\r\n";
    let (_, log, flow) = exchanged(&settings, [text.as_bytes()]);
    let told: Vec<String> = ledger(&log)
        .iter()
        .map(|line| format!("{} {} {}", line["recipient"], line["code"], line["end"]).replace('"', ""))
        .collect();
    let expected = [
        "550@b 550 refused",
        "a@b 250 reset",
        "e@b 452 refused",
        "busy@b 421 refused",
        "c@b 421 lost",
        "d@b 421 lost",
    ];
    assert_eq!(told, expected);
    assert_eq!(flow, Flow::Linger);
}

#[test]
fn commands_in_the_wrong_place_are_refused() {
    let without = vec!["STARTTLS".to_owned()];
    let settings = SmtpSettings { message_bytes: 10, without, ..SmtpSettings::default() };
    for (text, expected) in [
        ("MAIL FROM:<>\r\nRCPT TO:<a@b>\r\nDATA\r\nBDAT 3 LAST\r\nabcNOOP\r\n", "503 503 503 503 250"),
        ("HELO c\r\nMAIL FROM:<>\r\nMAIL FROM:<>\r\nDATA\r\n", "250 250 503 554"),
        ("EHLO c\r\nMAIL FROM:<> SIZE=11\r\nMAIL FROM:<> SIZE=10\r\n", "250 552 250"),
        ("EXPN a\r\nVRFY a\r\nHELP\r\nSTARTTLS\r\nRCPT TO:<a@b> X=1\r\nMAIL\r\n", "500 252 214 500 555 501"),
    ] {
        assert_eq!(codes(&settings, &[text]), expected, "{text}");
    }
    assert_eq!(
        codes(&settings, &[BEGIN, "BDAT 3\r\nabcDATA\r\nRCPT TO:<c@b>\r\n"]),
        "250 250 250 250 503 503"
    );
    assert_eq!(codes(&settings, &[BEGIN, "DATA\r\n0123456789\r\n.\r\n"]), "250 250 250 354 552");
}

#[test]
fn a_line_that_is_too_long_ends_the_session() {
    let text = format!("NOOP {}\r\nQUIT\r\n", "a".repeat(2000));
    let (replies, _, flow) = exchanged(&SmtpSettings::default(), [text.as_bytes()]);
    assert!(replies.ends_with("500 5.5.6 the line is too long\r\n"), "{replies}");
    assert_eq!(flow, Flow::Linger);
}

#[test]
fn faults_are_those_that_were_asked_for() {
    let fault = |fault: &str| SmtpSettings { faults: vec![fault.to_owned()], ..SmtpSettings::default() };
    let end = "DATA\r\na\r\n.\r\nRSET\r\nQUIT\r\n";
    for (text, expected) in [
        ("ehlo 550 100%", "550 503 503 503 500 500 250 221"),
        ("mail 450 100%", "250 450 503 503 500 500 250 221"),
        ("rcpt@B.test 550 100%", "250 250 550 554 500 500 250 221"),
        ("rcpt@c.test 550 100%", "250 250 250 354 250 250 221"),
        ("data 451 100%", "250 250 250 451 500 500 250 221"),
        ("message 452 100%", "250 250 250 354 452 250 221"),
        ("message drop 100%", "250 250 250 354"),
        ("rset 421 100%", "250 250 250 354 250 421"),
        ("ehlo@C 550 100%", "550 503 503 503 500 500 250 221"),
        ("ehlo@d 550 100%", "250 250 250 354 250 250 221"),
        ("mail@b.test 450 100%", "250 250 250 354 250 250 221"),
        ("quit@B.test 421 100%", "250 250 250 354 250 250 421"),
        ("quit@c.test 421 100%", "250 250 250 354 250 250 221"),
    ] {
        assert_eq!(codes(&fault(text), &[BEGIN, end]), expected, "{text}");
    }
    let from = ["EHLO c\r\nMAIL FROM:<x@Y.test>\r\n", "MAIL FROM:<x@z.test>\r\n"];
    assert_eq!(codes(&fault("mail@y.test 450 100%"), &from), "250 450 250");
    let (replies, _, flow) = exchanged(&fault("connect 554 100%"), []);
    assert_eq!((&replies[..4], flow), ("554 ", Flow::Linger));
    assert_eq!(exchanged(&fault("connect drop 100%"), []).2, Flow::Close);
    assert!(fault("rcpt 450").open(false).is_err());
}

#[test]
fn what_is_not_offered_is_not_said() {
    let without = ["chunking", "ENHANCEDSTATUSCODES", "SIZE", "starttls"].map(str::to_owned).to_vec();
    let settings = SmtpSettings { without, ..SmtpSettings::default() };
    let (replies, _, _) = exchanged(&settings, [&b"EHLO c\r\nRSET\r\n"[..]]);
    assert!(replies.contains("250-PIPELINING\r\n") && replies.ends_with("\r\n250 ok\r\n"), "{replies}");
    assert!(!["CHUNKING", "SIZE", "STARTTLS"].iter().any(|keyword| replies.contains(keyword)), "{replies}");
    let unknown = SmtpSettings { without: vec!["MAIL".to_owned()], ..SmtpSettings::default() };
    assert!(unknown.open(false).is_err());
    assert!(SmtpSettings { host: "a b".to_owned(), ..SmtpSettings::default() }.open(false).is_err());
}

/// The output at once and after each pause, and the pauses in milliseconds.
fn paused(settings: &SmtpSettings, pieces: &[&str]) -> (Vec<String>, Vec<u128>, String) {
    let service = settings.open(true).expect("a service");
    let (mut session, mut output) = (service.session(None), Output::default());
    let (mut said, mut pauses) = (Vec::new(), Vec::new());
    let mut take = |output: &mut Output| {
        let mut replies = Vec::with_capacity(1 << 16);
        output.fill(&mut replies).expect("bytes");
        let replies = String::from_utf8(replies).expect("replies");
        let codes = replies.lines().filter(|line| line.as_bytes()[3] == b' ').map(|line| &line[..3]);
        said.push(codes.collect::<Vec<_>>().join(" "));
    };
    let mut flow = session.begin(&mut output);
    for piece in pieces {
        assert_eq!(flow, Flow::More);
        flow = session.on_input(piece.as_bytes(), &mut output);
    }
    take(&mut output);
    while let SessionStage::Paused(time) = session.stage() {
        assert_eq!(flow, Flow::More);
        pauses.push(time.as_millis());
        flow = session.resume(&mut output);
        take(&mut output);
    }
    (said, pauses, String::from_utf8(std::mem::take(&mut output.log)).expect("a ledger"))
}

#[test]
fn a_reply_that_is_late_holds_up_all_that_follow() {
    let faults = |faults: &[&str]| {
        let faults = faults.iter().map(|&fault| fault.to_owned()).collect();
        SmtpSettings { faults, ..SmtpSettings::default() }
    };
    let end = "DATA\r\na\r\n.\r\nQUIT\r\n";
    let all = "220 250 250 250 354 250 221";
    for (settings, pauses) in [
        (faults(&[]), &[][..]),
        (faults(&["connect 1s 100", "ehlo 2s 100", "quit 20ms 100%"]), &[1000, 2000, 20]),
        (faults(&["rcpt@b.test 3s 100", "data@B.test 4s 100", "message@b.test 5ms 100"]), &[3000, 4000, 5]),
        (faults(&["rcpt@c.test 3s 100", "data@c.test 4s 100", "message@c.test 5ms 100"]), &[]),
    ] {
        for pieces in [&[BEGIN, end][..], &[BEGIN, &end[..9], &end[9..]]] {
            let (said, times, log) = paused(&settings, pieces);
            assert_eq!((said.join(" ").trim_matches(' '), &times[..]), (all, pauses), "{said:?}");
            assert_eq!(said.len(), pauses.len() + 1);
            assert_eq!(ledger(&log)[0]["end"], "message");
        }
    }
    // A recipient requests it; a close comes later too.
    let (said, times, _) = paused(&faults(&[]), &["HELO c\r\nMAIL FROM:<>\r\nRCPT TO:<delay-7s+1@b>\r\n"]);
    assert_eq!((said, times), (vec!["220 250 250".to_owned(), "250".to_owned()], vec![7000]));
    // One that never waits is closed.
    let service = SmtpSettings::default().open(true).expect("a service");
    let (mut session, mut output) = (service.session(None), Output::default());
    session.on_input(b"HELO c\r\nMAIL FROM:<>\r\nRCPT TO:<delay-7s@b>\r\n", &mut output);
    let flood = [b'x'; 1 << 16];
    let taken = (0..1000).take_while(|_| session.on_input(&flood, &mut output) == Flow::More).count();
    assert!((16..1000).contains(&taken), "{taken}");
}

#[test]
fn a_recipient_that_is_new_is_put_off() {
    let settings = SmtpSettings { greylist_seconds: 1, ..SmtpSettings::default() };
    let service = settings.open(true).expect("a service");
    // Another process, as with inetd.
    let handed_on = service.handed_on().expect("its shared part").clone();
    let handed_on: SmtpSettings = serde_json::from_value(handed_on).expect("settings");
    let other = if cfg!(unix) { handed_on.open(true).expect("a service") } else { service.clone() };
    let code = |service: &dyn OpenService, recipient: &str| {
        let (mut session, mut output) = (service.session(None), Output::default());
        let text = format!("HELO c\r\nMAIL FROM:<a@b>\r\nRCPT TO:<{recipient}>\r\n");
        session.on_input(text.as_bytes(), &mut output);
        let mut replies = Vec::with_capacity(1 << 10);
        output.fill(&mut replies).expect("bytes");
        let replies = String::from_utf8(replies).expect("replies");
        replies.lines().last().expect("a reply")[..3].to_owned()
    };
    assert_eq!(code(&*service, "x@y.test"), "451");
    std::thread::sleep(std::time::Duration::from_millis(1200));
    assert_eq!((&*code(&*other, "x@y.test"), &*code(&*other, "new@y.test")), ("250", "451"));
    assert_eq!((&*code(&*service, "x@y.test"), &*code(&*service, "new@y.test")), ("250", "451"));
    // In this process both have the same descriptor, which is closed once.
    std::mem::forget(other);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// For any input, the replies do not depend on the cuts.
    #[test]
    fn cuts_change_nothing(
        words in proptest::collection::vec(prop_oneof![
            Just("EHLO c\r\n"), Just("MAIL FROM:<a@b>\r\n"), Just("RCPT TO:<a@b>\r\n"), Just("DATA\r\n"),
            Just(".\r\n"), Just("..\r\n"), Just("RSET\r\n"), Just("BDAT 5\r\n"), Just("BDAT 0 LAST\r\n"),
            Just("RCPT TO:<450@b>\r\n"), Just("x"), Just("\r\n"), Just("NOOP\n"), Just("BDAT 9 LAST\r\n"),
        ], 0..40),
        cuts in proptest::collection::vec(1_usize..30, 1..9),
    ) {
        let faults = ["rcpt 452 20%", "message 451 20%", "rset 421 2%"].map(str::to_owned).to_vec();
        let settings = SmtpSettings { faults, ..SmtpSettings::default() };
        let text = [BEGIN, &words.concat()].concat();
        let (replies, log, flow) = exchanged(&settings, [text.as_bytes()]);
        let (mut pieces, mut rest) = (Vec::new(), text.as_bytes());
        for &cut in cuts.iter().cycle() {
            let (piece, others) = rest.split_at(cut.min(rest.len()));
            pieces.push(piece);
            rest = others;
            if rest.is_empty() {
                break;
            }
        }
        let cut = exchanged(&settings, pieces);
        prop_assert_eq!((&cut.0, cut.2), (&replies, flow));
        prop_assert_eq!(ledger(&cut.1), ledger(&log));
    }
}
