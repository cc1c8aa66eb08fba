//! STARTTLS of the service `smtp`, driven without a socket by a client of the same library.

#![cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]

use std::io::{Read, Write};
use std::sync::Arc;

use net::output::Output;
use net::service::smtp::SmtpSettings;
use net::service::{Flow, OpenService, ServiceSettings, Session, SessionStage};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, ClientConnection, DigitallySignedStruct, Error, SignatureScheme};

/// Accepts everything, because the server is tested.
#[derive(Debug)]
struct Anyone;

impl ServerCertVerifier for Anyone {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ECDSA_NISTP256_SHA256]
    }
}

/// A session, and a client that has begun TLS with it.
struct Pair {
    session: Box<dyn Session>,
    output: Output,
    client: ClientConnection,
    flow: Flow,
    /// The client's bytes arrive in pieces of so many.
    cut: usize,
}

/// The service, or `None` with the reason printed where there is no cryptography.
fn service(settings: &SmtpSettings) -> Option<Arc<dyn OpenService>> {
    let service = settings.open(true).expect("a service");
    if service.handed_on().is_none() {
        let reason = "skipped: this processor lacks instructions for the cryptography";
        println!("{reason}");
        // Past the harness, which hides the output of a test that passes.
        let _ = writeln!(std::io::stderr(), "{reason}");
        return None;
    }
    Some(service)
}

fn client() -> ClientConnection {
    let provider = Arc::new(rustls_graviola::default_provider());
    let builder = ClientConfig::builder_with_provider(provider);
    let builder = builder.with_safe_default_protocol_versions().expect("versions");
    let builder = builder.dangerous().with_custom_certificate_verifier(Arc::new(Anyone));
    let name = ServerName::try_from("sink.test").expect("a name");
    ClientConnection::new(Arc::new(builder.with_no_client_auth()), name).expect("a client")
}

fn taken(output: &mut Output) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(1 << 20);
    output.fill(&mut bytes).expect("bytes");
    bytes
}

impl Pair {
    /// `said` is sent in plain text, up to STARTTLS.
    fn new(service: &dyn OpenService, said: &[u8], cut: usize) -> Pair {
        let (mut session, mut output) = (service.session(None), Output::default());
        session.begin(&mut output);
        let mut flow = Flow::More;
        for piece in said.chunks(cut) {
            flow = session.on_input(piece, &mut output);
        }
        let replies = String::from_utf8(taken(&mut output)).expect("replies");
        assert!(replies.ends_with("220 2.0.0 begin TLS\r\n"), "{replies}");
        Pair { session, output, client: client(), flow, cut }
    }

    /// Carries bytes until both are done, and returns the bytes that the client has decrypted.
    fn carry(&mut self) -> Result<String, Error> {
        let mut plain = String::new();
        loop {
            let mut sent = Vec::new();
            while self.client.wants_write() {
                self.client.write_tls(&mut sent).expect("bytes");
            }
            for piece in sent.chunks(self.cut) {
                if self.flow == Flow::More {
                    self.flow = self.session.on_input(piece, &mut self.output);
                }
            }
            let received = taken(&mut self.output);
            let mut rest = &received[..];
            while !rest.is_empty() {
                self.client.read_tls(&mut rest).expect("bytes");
                let state = self.client.process_new_packets()?;
                let mut piece = vec![0; state.plaintext_bytes_to_read()];
                self.client.reader().read_exact(&mut piece).expect("bytes");
                plain += &String::from_utf8(piece).expect("replies");
            }
            if sent.is_empty() && received.is_empty() {
                return Ok(plain);
            }
        }
    }

    fn say(&mut self, text: &str) -> Result<String, Error> {
        self.carry()?;
        self.client.writer().write_all(text.as_bytes()).expect("bytes");
        self.carry()
    }

    fn ledger(&mut self) -> Vec<serde_json::Value> {
        let log = std::mem::take(&mut self.output.log);
        let lines = log.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
        lines.map(|line| serde_json::from_slice(line).expect("JSON")).collect()
    }
}

const START: &[u8] = b"EHLO c\r\nSTARTTLS\r\n";

#[test]
fn mail_is_taken_over_tls_however_it_is_cut() {
    let Some(service) = service(&SmtpSettings::default()) else { return };
    for cut in [1, 2, 3, 5, 17, 100, 1 << 20] {
        let mut pair = Pair::new(&*service, START, cut);
        let message = "x".repeat(99_998);
        let text = format!(
            "EHLO c\r\nMAIL FROM:<>\r\nRCPT TO:<a@b.test>\r\nDATA\r\n{message}\r\n.\r\nSTARTTLS\r\nQUIT\r\n"
        );
        let mut replies = pair.say(&text[..30]).expect("replies");
        // A client's buffer takes so much at once.
        for piece in text.as_bytes()[30..].chunks(10_000) {
            replies += &pair.say(std::str::from_utf8(piece).expect("ASCII")).expect("replies");
        }
        assert!(!replies.contains("250-STARTTLS"), "it is not offered twice: {replies}");
        assert!(
            replies.ends_with("taken\r\n503 5.5.1 TLS is there already\r\n221 2.0.0 bye\r\n"),
            "{replies}"
        );
        assert_eq!(pair.flow, Flow::Close);
        let ledger = pair.ledger();
        assert_eq!(
            (&ledger[0]["recipient"], &ledger[0]["message_bytes"]),
            (&"a@b.test".into(), &100_000.into())
        );
    }
}

/// An attacker on the path can put commands behind STARTTLS; they must not count as the client's
/// (CVE-2011-0411).
#[test]
fn what_came_in_plain_text_is_forgotten() {
    let Some(service) = service(&SmtpSettings::default()) else { return };
    let injected = [&b"EHLO c\r\nMAIL FROM:<evil@c.test>\r\nRCPT TO:<evil@b.test>\r\n"[..], b"STARTTLS\r\n"];
    for behind in
        [&b""[..], b"MAIL FROM:<evil@c.test>\r\nRCPT TO:<evil@b.test>\r\n", b"RSET\r\nNOOP", b"EHLO evil\r\n"]
    {
        let said = [&injected.concat(), behind].concat();
        let mut pair = Pair::new(&*service, &said, 1 << 20);
        let replies =
            pair.say("MAIL FROM:<>\r\nEHLO c\r\nDATA\r\nMAIL FROM:<>\r\nRCPT TO:<a@b.test>\r\nRSET\r\n");
        let replies = replies.expect("replies");
        let codes: Vec<&str> =
            replies.lines().filter(|line| line.as_bytes()[3] == b' ').map(|line| &line[..3]).collect();
        assert_eq!(codes, ["503", "250", "503", "250", "250", "250"], "{replies}");
        let recipients: Vec<_> = pair.ledger().into_iter().map(|line| line["recipient"].clone()).collect();
        assert_eq!(recipients, ["evil@b.test", "a@b.test"], "each with the end of its own transaction");
    }
}

#[test]
fn a_client_that_speaks_something_else_is_told_and_closed() {
    let Some(service) = service(&SmtpSettings::default()) else { return };
    for text in [&b"EHLO c\r\n"[..], b"\x16\x03\x01\x00\x05\x01\x00\x00\x01\xff", &[0xff; 70_000], &[0; 6]] {
        let mut pair = Pair::new(&*service, START, 1 << 20);
        assert_eq!(pair.session.stage(), SessionStage::Request);
        let flow = pair.session.on_input(text, &mut pair.output);
        assert_eq!(flow, Flow::Linger, "{text:?}");
        // A fatal alert (RFC 8446, section 6).
        let sent = taken(&mut pair.output);
        assert!(sent.starts_with(&[21, 3, 3, 0, 2, 2]), "{sent:?}");
    }
}

#[test]
fn a_handshake_may_be_cut_everywhere() {
    let Some(service) = service(&SmtpSettings::default()) else { return };
    let mut hello = Vec::new();
    client().write_tls(&mut hello).expect("bytes");
    for cut in 0..hello.len() {
        let mut pair = Pair::new(&*service, START, 1 << 20);
        assert_eq!(pair.session.on_input(&hello[..cut], &mut pair.output), Flow::More, "{cut}");
        let is_late = cut % 2 == 0;
        let session = &mut pair.session;
        let flow = if is_late { session.too_slow(&mut pair.output) } else { session.end(&mut pair.output) };
        assert_eq!(flow, Flow::Close, "{cut}");
    }
}

/// A record that was changed on the path ends the session, and bytes in flight are lost.
#[test]
fn a_record_that_is_broken_ends_the_session() {
    let Some(service) = service(&SmtpSettings::default()) else { return };
    let mut pair = Pair::new(&*service, START, 1 << 20);
    pair.say("EHLO c\r\nMAIL FROM:<>\r\nRCPT TO:<a@b.test>\r\n").expect("replies");
    pair.client.writer().write_all(b"RSET\r\n").expect("bytes");
    let mut sent = Vec::new();
    pair.client.write_tls(&mut sent).expect("bytes");
    *sent.last_mut().expect("a byte") ^= 1;
    assert_eq!(pair.session.on_input(&sent, &mut pair.output), Flow::Linger);
    let ledger = pair.ledger();
    assert_eq!((&ledger[0]["recipient"], &ledger[0]["end"]), (&"a@b.test".into(), &"lost".into()));
}

#[test]
fn tls_is_offered_unless_it_is_not_wanted() {
    let Some(service) = service(&SmtpSettings::default()) else { return };
    let offers = |service: &dyn OpenService| {
        let mut output = Output::default();
        service.session(None).on_input(b"EHLO c\r\n", &mut output);
        String::from_utf8(taken(&mut output)).expect("a reply").contains("250-STARTTLS\r\n")
    };
    assert!(offers(&*service));
    let without = SmtpSettings { without: vec!["STARTTLS".to_owned()], ..SmtpSettings::default() };
    let without = without.open(false).expect("a service");
    assert!(!offers(&*without) && without.handed_on().is_none());
}

/// A program that serves one connection shows the same certificate.
#[test]
fn the_certificate_travels() {
    let Some(service) = service(&SmtpSettings::default()) else { return };
    let shown = |service: &dyn OpenService| {
        let mut pair = Pair::new(service, START, 1 << 20);
        pair.say("NOOP\r\n").expect("a reply");
        pair.client.peer_certificates().expect("a certificate")[0].clone()
    };
    let handed_on = service.handed_on().expect("settings").clone();
    let settings: SmtpSettings = serde_json::from_value(handed_on).expect("settings");
    let same = settings.open(false).expect("a service");
    let other = SmtpSettings::default().open(false).expect("a service");
    assert_eq!(shown(&*service), shown(&*same));
    assert_ne!(shown(&*service), shown(&*other));
    assert!(!format!("{settings:?}").contains("key"), "a key is not printed");
}
