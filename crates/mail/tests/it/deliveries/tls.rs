//! STARTTLS: with a server that speaks it, with servers that do not, and with those that only claim it.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use mail::{DeliveryEnding, EngineSettings, MailError, MailTls, Mode, TlsPolicy};
use net::TlsIdentity;
use net::load::TlsSettings;
use net::output::Output;
use net::service::smtp::SmtpSettings;
use net::service::{Flow, OpenService, ServiceSettings};

use super::server::{EHLO, SILENCE, Server};
use super::{accepted, deliver, generated, settings, settings_for, sorted};

/// The service `smtp` with a thread for each connection, and its ledger.
struct Sink {
    address: SocketAddr,
    ledger: Arc<Mutex<Vec<u8>>>,
}

impl Sink {
    fn start(settings: &SmtpSettings) -> Sink {
        let service = settings.open(true).expect("a service");
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        let ledger = Arc::new(Mutex::new(Vec::new()));
        let lines = ledger.clone();
        // It ends with the test.
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (service, lines) = (service.clone(), lines.clone());
                thread::spawn(move || serve(&*service, &stream.expect("a connection"), &lines));
            }
        });
        Sink { address, ledger }
    }

    /// Recipients whose transaction ended so.
    fn recipients(&self, end: &str) -> Vec<String> {
        let ledger = self.ledger.lock().expect("no test has panicked here");
        let lines = ledger.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
        let lines = lines.map(|line| serde_json::from_slice::<serde_json::Value>(line).expect("JSON"));
        let recipients = lines
            .filter(|line| line["end"] == end)
            .map(|line| line["recipient"].as_str().expect("an address").to_owned());
        sorted(recipients.collect())
    }
}

fn serve(service: &dyn OpenService, mut stream: &TcpStream, ledger: &Mutex<Vec<u8>>) -> Option<()> {
    stream.set_nodelay(true).ok()?;
    let (mut session, mut output) = (service.session(None), Output::default());
    let mut flow = session.begin(&mut output);
    let mut input = vec![0; 4096];
    loop {
        output.send(&Blocking(stream), &mut 0).ok()?;
        ledger.lock().ok()?.append(&mut output.log);
        if flow != Flow::More {
            return None;
        }
        match stream.read(&mut input).ok()? {
            0 => flow = session.end(&mut output),
            received => flow = session.on_input(&input[..received], &mut output),
        }
    }
}

/// Sends bytes, which is all that SMTP has.
struct Blocking<'a>(&'a TcpStream);

impl net::output::Sender for Blocking<'_> {
    fn send(&self, bytes: &[u8]) -> std::io::Result<usize> {
        (&mut &*self.0).write(bytes)
    }

    fn send_and_more(&self, bytes: &[u8]) -> std::io::Result<usize> {
        self.send(bytes)
    }

    fn send_pieces(&self, pieces: &[std::io::IoSlice<'_>]) -> std::io::Result<usize> {
        (&mut &*self.0).write_vectored(pieces)
    }

    fn send_file(&self, _: &std::fs::File, _: &mut u64, _: usize) -> std::io::Result<usize> {
        Err(std::io::ErrorKind::Unsupported.into())
    }
}

fn with(policy: TlsPolicy, settings: EngineSettings) -> EngineSettings {
    EngineSettings { tls: MailTls { policy, certificates: None }, ..settings }
}

#[test]
fn every_step_is_made_over_tls() {
    if let Err(error) = TlsIdentity::new("sink.test") {
        println!("skipped: {error}");
        return;
    }
    let list = generated(60, 5);
    for events in mail::EVENT_INTERFACES {
        for mode in [Mode::Test, Mode::TestPipelined, Mode::Deliver] {
            let sink = Sink::start(&SmtpSettings::default());
            let settings = with(TlsPolicy::Required, settings_for(sink.address, mode));
            let delivered = match deliver(events, &list, settings) {
                Err(MailError::NoInterface(name)) => {
                    println!("skipped: this system has no {name}");
                    continue;
                }
                delivered => delivered.unwrap(),
            };
            assert_eq!(delivered.endings, HashMap::from([(accepted(mode), 60)]), "{events} {mode:?}");
            assert_eq!(delivered.counts.encrypted, delivered.counts.connections, "{events} {mode:?}");
            let end = if mode == Mode::Deliver { "message" } else { "reset" };
            assert_eq!(sink.recipients(end), delivered.delivered, "{events} {mode:?}");
        }
    }
}

/// A message that is larger than any buffer leaves whole.
#[test]
fn a_large_message_is_delivered_over_tls() {
    if let Err(error) = TlsIdentity::new("sink.test") {
        println!("skipped: {error}");
        return;
    }
    let list = generated(4, 1);
    for without in [vec![], vec!["CHUNKING".to_owned()]] {
        let sink = Sink::start(&SmtpSettings { without, ..SmtpSettings::default() });
        let mut settings = with(TlsPolicy::Required, settings_for(sink.address, Mode::Deliver));
        settings.session.message = Arc::new(mail::Message::of_bytes(3 << 20, "engine.test", 1));
        let delivered = deliver("poll", &list, settings).unwrap();
        assert_eq!(delivered.endings, HashMap::from([(DeliveryEnding::Delivered, 4)]));
        assert_eq!(sink.recipients("message"), delivered.delivered);
    }
}

#[test]
fn a_certificate_counts_where_one_is_asked_for() {
    let identity = match TlsIdentity::new("sink.test") {
        Ok(identity) => identity,
        Err(error) => return println!("skipped: {error}"),
    };
    let sent = serde_json::to_value(&identity).expect("JSON");
    let certificate = sent["certificate"].as_str().expect("a certificate").to_owned();
    assert!(STANDARD.decode(&certificate).is_ok());
    let folder = tempfile::tempdir().expect("a folder");
    let cacert = folder.path().join("sink.pem");
    let pem = format!("-----BEGIN CERTIFICATE-----\n{certificate}\n-----END CERTIFICATE-----\n");
    std::fs::write(&cacert, pem).expect("a file");
    let sink = Sink::start(&SmtpSettings { identity: Some(identity), ..SmtpSettings::default() });
    let list = generated(10, 2);
    for (name, policy, ending, is_encrypted) in [
        ("sink.test", TlsPolicy::Required, DeliveryEnding::Tested, true),
        ("other.test", TlsPolicy::Required, DeliveryEnding::Queued, false),
        ("other.test", TlsPolicy::Opportunistic, DeliveryEnding::Tested, false),
    ] {
        let mut settings = settings_for(sink.address, Mode::Test);
        let certificates =
            TlsSettings { name: name.to_owned(), cacert: Some(cacert.clone()), insecure: false };
        settings.tls = MailTls { policy, certificates: Some(certificates) };
        let delivered = deliver("poll", &list, settings).unwrap();
        assert_eq!(delivered.endings, HashMap::from([(ending, 10)]), "{name} {policy:?}");
        assert_eq!(delivered.counts.encrypted > 0, is_encrypted, "{name} {policy:?}");
        let is_told = delivered.reasons.iter().all(|reason| reason.contains("certificate for another name"));
        assert!(ending != DeliveryEnding::Queued || is_told, "{:?}", delivered.reasons);
    }
}

/// Another reply to EHLO, which offers STARTTLS, and then the script's reply.
fn offering(script: fn(&str) -> Option<String>) -> Server {
    Server::start(move |command| {
        if command.starts_with("EHLO") {
            return Some(format!("{}\r\n250 STARTTLS", EHLO.replace("250 SIZE", "250-SIZE")));
        }
        script(command)
    })
}

#[test]
fn a_server_without_tls_gets_mail_only_where_that_is_allowed() {
    let list = generated(30, 3);
    type Start = fn() -> Server;
    let cases: [(&str, Start, &str); 7] = [
        ("not offered", || Server::start(|_| Some(String::new())), "does not offer STARTTLS"),
        ("refused", || offering(|command| starttls(command, "454 no")), "454 no"),
        ("unknown", || offering(|command| starttls(command, "500 what?")), "500 what?"),
        ("plain text", || offering(|command| tls(command, Some("250 ok"))), "TLS: no TLS"),
        ("closed", || offering(|command| tls(command, None)), "TLS: closed during the TLS handshake"),
        ("cut", || offering(|command| tls(command, Some("\x16\x03\x03\x00\x7a\x02"))), "TLS: "),
        ("silent", || offering(|command| tls(command, Some(SILENCE))), "TLS: the handshake took too long"),
    ];
    for (name, start, reason) in cases {
        for mode in [Mode::Test, Mode::TestPipelined] {
            let server = start();
            let mut settings = settings(&server, mode);
            settings.queue.attempts = 2;
            if ["cut", "silent"].contains(&name) {
                settings.step_timeout = Duration::from_millis(200);
            }
            let plain = deliver("poll", &list, with(TlsPolicy::Opportunistic, settings.clone())).unwrap();
            assert_eq!(plain.endings, HashMap::from([(accepted(mode), 30)]), "{name} {mode:?}");
            assert_eq!(
                (sorted(server.taken().tested), plain.counts.encrypted),
                (plain.delivered, 0),
                "{name}"
            );
            let server = start();
            let required = EngineSettings { routing: mail::Routing::Relay(server.address), ..settings };
            let required = deliver("poll", &list, with(TlsPolicy::Required, required)).unwrap();
            assert_eq!(required.endings, HashMap::from([(DeliveryEnding::Queued, 30)]), "{name} {mode:?}");
            assert!(required.reasons[0].contains(reason), "{name}: {:?}", required.reasons[0]);
            assert!(server.taken().tested.is_empty(), "{name}");
        }
    }
}

fn starttls(command: &str, reply: &str) -> Option<String> {
    Some(if command == "STARTTLS" { reply.to_owned() } else { String::new() })
}

/// The answer to the client's hello.
fn tls(command: &str, reply: Option<&str>) -> Option<String> {
    match command {
        "STARTTLS" => Some("220 go on".to_owned()),
        "TLS" => reply.map(str::to_owned),
        _ => Some(String::new()),
    }
}

/// Bytes behind the reply to STARTTLS can be an attacker's: they must not count as the server's over TLS.
#[test]
fn what_comes_with_the_reply_to_starttls_is_not_believed() {
    let list = generated(10, 2);
    for policy in [TlsPolicy::Opportunistic, TlsPolicy::Required] {
        let server = offering(|command| starttls(command, "220 go on\r\n250 injected"));
        let delivered = deliver("poll", &list, with(policy, settings(&server, Mode::Test))).unwrap();
        assert_eq!(delivered.endings, HashMap::from([(DeliveryEnding::Queued, 10)]), "{policy:?}");
        assert!(delivered.counts.faults > 0 && server.taken().tested.is_empty());
        assert!(delivered.reasons[0].contains("behind the reply to STARTTLS"), "{:?}", delivered.reasons);
    }
}
