//! The engine against good and faulty servers: every recipient ends in exactly one way, and the server took
//! every recipient that counts as delivered.

mod dns;
#[cfg(unix)]
mod foreign;
mod server;
mod threads;
mod tls;

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use mail::{
    DeliveryEnding, DeliveryResult, DomainSizes, EngineSettings, GeneratedList, MailCounts, MailError,
    MailTls, Message, Mode, Permission, QueueSettings, Recipients, Results, Routing, SessionSettings, Until,
};
use net::load::Sources;

use self::server::{CUT, EHLO, SILENCE, Server};

/// A reply for each command; see [`Server::start`].
type Script = fn(&str) -> Option<String>;

/// A result in the form for tests.
struct KeptResult {
    number: u32,
    recipient: String,
    ending: DeliveryEnding,
    /// The reply that decided, or why there was none.
    reason: String,
}

/// All of them.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<KeptResult>>>);

impl Results for Kept {
    fn put(&mut self, result: &DeliveryResult<'_>) -> io::Result<()> {
        let decided = if result.reply.is_empty() { result.reason } else { result.reply };
        let (recipient, reason) = (result.recipient.to_owned(), decided.to_owned());
        let kept = KeptResult { number: result.number, recipient, ending: result.ending, reason };
        self.all().push(kept);
        Ok(())
    }
}

impl Kept {
    fn all(&self) -> MutexGuard<'_, Vec<KeptResult>> {
        self.0.lock().expect("no test has panicked here")
    }

    /// How often each ending came, and the recipients that were accepted; each has one result.
    fn endings(&self, recipients: usize) -> (HashMap<DeliveryEnding, usize>, Vec<String>) {
        let results = self.all();
        let mut numbers: Vec<u32> = results.iter().map(|result| result.number).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (0..recipients as u32).collect::<Vec<_>>(), "one result for each");
        let mut counts = HashMap::new();
        for result in results.iter() {
            *counts.entry(result.ending).or_default() += 1;
        }
        let is_accepted = |ending| matches!(ending, DeliveryEnding::Delivered | DeliveryEnding::Tested);
        let delivered = results.iter().filter(|result| is_accepted(result.ending));
        let mut delivered: Vec<String> = delivered.map(|result| result.recipient.clone()).collect();
        delivered.sort_unstable();
        (counts, delivered)
    }

    fn reasons(&self) -> Vec<String> {
        self.all().iter().map(|result| result.reason.clone()).collect()
    }
}

/// A destination of results without room.
struct Full;

impl Results for Full {
    fn put(&mut self, _: &DeliveryResult<'_>) -> io::Result<()> {
        Err(io::ErrorKind::StorageFull.into())
    }
}

fn settings(server: &Server, mode: Mode) -> EngineSettings {
    settings_for(server.address, mode)
}

fn settings_for(relay: SocketAddr, mode: Mode) -> EngineSettings {
    EngineSettings {
        session: SessionSettings {
            mode,
            helo: "engine.test".to_owned(),
            sender: "sender@engine.test".to_owned(),
            message: Arc::new(
                Message::new(b"Message-ID:\n <own@a.test>\nSubject: x\n\n.dots\n..\nend\n", "engine.test", 7)
                    .expect("a message"),
            ),
            deliveries_per_connection: 20,
        },
        queue: QueueSettings {
            batch: 8,
            attempts: 3,
            retry_ms: 5,
            retry_longest_ms: 20,
            ..QueueSettings::default()
        },
        routing: Routing::Relay(relay),
        sources: Sources::default(),
        permission: Permission::default(),
        tls: MailTls::default(),
        step_timeout: Duration::from_secs(20),
    }
}

fn generated(recipients: u32, domains: u32) -> Recipients {
    Recipients::generate(&GeneratedList { recipients, domains, sizes: DomainSizes::Zipf, seed: 3 })
}

/// Delivers the whole list, and returns the result of each.
struct Delivered {
    counts: MailCounts,
    endings: HashMap<DeliveryEnding, usize>,
    delivered: Vec<String>,
    reasons: Vec<String>,
}

fn deliver(events: &str, list: &Recipients, settings: EngineSettings) -> Result<Delivered, MailError> {
    let kept = Kept::default();
    let mut engine = mail::open(events, list, settings, kept.clone())?;
    // Longer than any of these takes; the rest then shows as queued.
    engine.run(10, Until { end_ns: 120_000_000_000, stop: None })?;
    engine.finish(Duration::from_secs(5))?;
    let counts = engine.measured().counts;
    let (endings, delivered) = kept.endings(list.len());
    for (ending, count) in [
        (DeliveryEnding::Delivered, counts.delivered),
        (DeliveryEnding::Tested, counts.tested),
        (DeliveryEnding::Failed, counts.failed),
        (DeliveryEnding::Queued, counts.queued),
    ] {
        assert_eq!(endings.get(&ending).copied().unwrap_or(0) as u64, count, "{ending:?}");
    }
    Ok(Delivered { counts, endings, delivered, reasons: kept.reasons() })
}

/// How a recipient that a server accepts ends.
fn accepted(mode: Mode) -> DeliveryEnding {
    if mode == Mode::Deliver { DeliveryEnding::Delivered } else { DeliveryEnding::Tested }
}

fn sorted(mut addresses: Vec<String>) -> Vec<String> {
    addresses.sort_unstable();
    addresses
}

#[test]
fn each_address_is_tested_once_over_every_event_interface() {
    let list = generated(300, 20);
    for events in mail::EVENT_INTERFACES {
        for mode in [Mode::Test, Mode::TestPipelined] {
            let server = Server::start(|_| Some(String::new()));
            let delivered = match deliver(events, &list, settings(&server, mode)) {
                Err(MailError::NoInterface(name)) => {
                    println!("skipped: this system has no {name}");
                    continue;
                }
                delivered => delivered.unwrap(),
            };
            assert_eq!(
                delivered.endings,
                HashMap::from([(DeliveryEnding::Tested, 300)]),
                "{events} {mode:?}"
            );
            let taken = server.taken();
            assert_eq!(sorted(taken.tested), delivered.delivered);
            // 20 for each connection, and fewer for those that found nothing more.
            assert!(taken.connections >= 15 && taken.delivered.is_empty());
        }
    }
}

#[test]
fn messages_are_delivered_with_names_of_their_own() {
    for chunking in [false, true] {
        let list = generated(100, 7);
        let server = Server::start(move |command| {
            let is_ehlo = chunking && command.starts_with("EHLO");
            Some(if is_ehlo {
                format!("{}\r\n250 CHUNKING", EHLO.replace("250 SIZE", "250-SIZE"))
            } else {
                String::new()
            })
        });
        let mut settings = settings(&server, Mode::Deliver);
        settings.queue.recipients_per_transaction = 4;
        let delivered = deliver("poll", &list, settings).unwrap();
        let taken = server.taken();
        assert_eq!(delivered.endings, HashMap::from([(DeliveryEnding::Delivered, 100)]));
        let (addresses, messages): (Vec<String>, Vec<String>) = taken.delivered.into_iter().unzip();
        assert_eq!(sorted(addresses), delivered.delivered);
        let body =
            if chunking { "\r\n\r\n.dots\r\n..\r\nend\r\n" } else { "\r\n\r\n..dots\r\n...\r\nend\r\n.\r\n" };
        let mut names: HashMap<&str, usize> = HashMap::new();
        for message in &messages {
            assert!(message.ends_with(body), "{message:?}");
            assert!(!message.contains("own@a.test"), "two names: {message:?}");
            let name = message.lines().next().unwrap();
            assert!(name.starts_with("Message-ID: <") && name.ends_with(".7@engine.test>"), "{name}");
            *names.entry(name).or_default() += 1;
        }
        // A transaction has up to four recipients of one domain, and one name.
        assert!(names.values().all(|&count| count <= 4) && names.len() >= 25, "{names:?}");
    }
}

#[test]
fn replies_decide_how_a_recipient_ends() {
    let list = Recipients::from_addresses([
        "good@a.test",
        "never@a.test",
        "later@a.test",
        "always-later@b.test",
        "no address",
        "with space@a.test",
        "good@a.test\r\nRSET",
    ]);
    for mode in [Mode::Test, Mode::TestPipelined, Mode::Deliver] {
        let laters = AtomicUsize::new(0);
        let server = Server::start(move |command| {
            let first = command.contains("later@a.test") && laters.fetch_add(1, Ordering::Relaxed) == 0;
            Some(match command {
                _ if command.contains("<never@") => "550 5.1.1 no such user".to_owned(),
                _ if command.contains("<always-later@") || first => "451-try\r\n451 later".to_owned(),
                _ => String::new(),
            })
        });
        let delivered = deliver("poll", &list, settings(&server, mode)).unwrap();
        assert_eq!(delivered.delivered, ["good@a.test", "later@a.test"], "{mode:?}");
        assert_eq!(delivered.endings[&DeliveryEnding::Failed], 4, "{mode:?}");
        assert_eq!(delivered.endings[&DeliveryEnding::Queued], 1, "{mode:?}");
        assert!(delivered.reasons.contains(&"no such user".to_owned()), "{:?}", delivered.reasons);
        assert!(delivered.reasons.contains(&"try later".to_owned()), "{:?}", delivered.reasons);
        // Two more attempts for the one, and one for the other.
        assert_eq!(delivered.counts.deferred, 3, "{mode:?}");
    }
}

#[test]
fn an_old_server_is_spoken_to_as_such() {
    let list = generated(50, 3);
    for mode in [Mode::Test, Mode::TestPipelined, Mode::Deliver] {
        let server = Server::start(|command| {
            Some(if command.starts_with("EHLO") { "502 what?".to_owned() } else { String::new() })
        });
        let delivered = deliver("poll", &list, settings(&server, mode)).unwrap();
        assert_eq!(delivered.endings, HashMap::from([(accepted(mode), 50)]), "{mode:?}");
    }
}

#[test]
fn nothing_counts_as_delivered_when_replies_are_lost_or_too_many() {
    let list = generated(40, 3);
    let cases: [(&str, Script); 6] = [
        ("a reply is lost", |command| {
            Some(if command.starts_with("RCPT") { SILENCE.to_owned() } else { String::new() })
        }),
        ("a reply comes twice", |command| {
            Some(if command.starts_with("MAIL") { "250 ok\r\n250 ok".to_owned() } else { String::new() })
        }),
        ("a reply of another kind", |command| {
            Some(if command.starts_with("RCPT") { "354 go on".to_owned() } else { String::new() })
        }),
        ("something before the greeting", |command| {
            Some(if command == "CONNECT" { "hello\r\n220 test".to_owned() } else { String::new() })
        }),
        ("an answer before the question", |command| {
            Some(if command == "CONNECT" { format!("220 test\r\n{EHLO}") } else { String::new() })
        }),
        ("silence", |_| Some(SILENCE.to_owned())),
    ];
    for (name, script) in cases {
        for mode in [Mode::Test, Mode::TestPipelined] {
            let server = Server::start(script);
            let step_timeout = Duration::from_millis(50);
            let delivered =
                deliver("poll", &list, EngineSettings { step_timeout, ..settings(&server, mode) }).unwrap();
            assert_eq!(delivered.endings, HashMap::from([(DeliveryEnding::Queued, 40)]), "{name}, {mode:?}");
        }
    }
}

/// Nothing that comes behind the reply to a message takes it back: no message is sent twice.
#[test]
fn a_reply_too_many_behind_the_last_sends_no_message_again() {
    let list = generated(40, 3);
    for (verb, mode) in [("MESSAGE", Mode::Deliver), ("RSET", Mode::Test)] {
        for reply in ["250 ok\r\n250 ok", "250 ok\r\n421 bye", "250 ok\r\nnonsense"] {
            for without_pipelining in [false, true] {
                let server = Server::start(move |command| {
                    Some(match command {
                        _ if command.starts_with(verb) => reply.to_owned(),
                        _ if command.starts_with("EHLO") && without_pipelining => "250 test".to_owned(),
                        _ => String::new(),
                    })
                });
                let mut settings = settings(&server, mode);
                settings.queue.attempts = 200;
                let delivered = deliver("poll", &list, settings).unwrap();
                let case = format!("{reply:?}, {mode:?}, {without_pipelining}");
                assert_eq!(delivered.delivered.len(), 40, "{case}");
                let taken = server.taken();
                let addresses = taken.delivered.into_iter().map(|(address, _)| address);
                let taken = sorted(addresses.chain(taken.tested).collect());
                assert_eq!(taken, delivered.delivered, "{case}: each is taken once");
            }
        }
    }
}

#[test]
fn replies_may_be_cut_everywhere() {
    let list = generated(60, 3);
    for mode in [Mode::Test, Mode::TestPipelined, Mode::Deliver] {
        // More than the longest reply has, and another place each time.
        let cut = AtomicUsize::new(0);
        let server = Server::start(move |_| {
            let cut = cut.fetch_add(1, Ordering::Relaxed) % (EHLO.len() + 2);
            Some(format!("{CUT}{cut} "))
        });
        let delivered = deliver("poll", &list, settings(&server, mode)).unwrap();
        assert_eq!(delivered.endings, HashMap::from([(accepted(mode), 60)]), "{mode:?}");
        assert_eq!(delivered.counts.faults + delivered.counts.lost, 0, "{mode:?}");
    }
}

/// For any reply of the server to one command, any number of times, each recipient ends.
#[test]
fn a_server_that_puts_everything_off_gets_no_more_than_the_attempts() {
    let list = generated(40, 4);
    for verb in ["CONNECT", "EHLO", "MAIL", "RCPT", "RSET"] {
        for code in ["450 later", "421 go away"] {
            let commands = Arc::new(AtomicUsize::new(0));
            let counted = commands.clone();
            let server = Server::start(move |command| {
                let is_meant = command.starts_with(verb);
                counted.fetch_add(usize::from(is_meant), Ordering::Relaxed);
                Some(if is_meant { code.to_owned() } else { String::new() })
            });
            let delivered = deliver("poll", &list, settings(&server, Mode::Test)).unwrap();
            assert_eq!(delivered.endings, HashMap::from([(DeliveryEnding::Queued, 40)]), "{verb} {code}");
            // Three attempts for each, and those of hosts.
            assert!(commands.load(Ordering::Relaxed) <= 200, "{verb} {code}: {commands:?}");
        }
    }
}

#[test]
fn a_server_that_closes_after_each_command_loses_nobody() {
    let list = generated(30, 3);
    for verb in ["CONNECT", "EHLO", "MAIL", "RCPT", "RSET"] {
        let server = Server::start(move |command| (!command.starts_with(verb)).then(String::new));
        let delivered = deliver("poll", &list, settings(&server, Mode::Test)).unwrap();
        assert_eq!(delivered.endings, HashMap::from([(DeliveryEnding::Queued, 30)]), "{verb}");
        assert!(server.taken().tested.is_empty());
    }
}

#[test]
fn a_server_that_sends_clients_away_gets_fewer_connections() {
    let list = generated(60, 3);
    for mode in [Mode::Test, Mode::TestPipelined] {
        let open = Arc::new(AtomicUsize::new(0));
        let server = Server::start(move |command| match command {
            "CONNECT" if open.fetch_add(1, Ordering::Relaxed) >= 2 => {
                open.fetch_sub(1, Ordering::Relaxed);
                Some("421 too many connections".to_owned())
            }
            "QUIT" => {
                open.fetch_sub(1, Ordering::Relaxed);
                Some(String::new())
            }
            _ => Some(String::new()),
        });
        let mut settings = settings(&server, mode);
        settings.queue.attempts = 200;
        let delivered = deliver("poll", &list, settings).unwrap();
        assert_eq!(delivered.endings, HashMap::from([(accepted(mode), 60)]), "{mode:?}");
        assert_eq!(sorted(server.taken().tested), delivered.delivered);
    }
}

#[test]
fn where_nobody_listens_all_stay_queued() {
    let list = generated(1000, 100);
    let server = Server::start(|_| Some(String::new()));
    let mut settings = settings(&server, Mode::Test);
    drop(server);
    settings.queue.attempts = 2;
    let delivered = deliver("poll", &list, settings).unwrap();
    assert_eq!(delivered.endings, HashMap::from([(DeliveryEnding::Queued, 1000)]));
    assert!(delivered.reasons[0].contains("connect"), "{}", delivered.reasons[0]);
    // Each of its failures counts for all domains.
    assert!(delivered.counts.not_connected <= 40, "{:?}", delivered.counts);
}

#[test]
fn a_public_address_is_never_connected_to() {
    let list = generated(1, 1);
    let server = Server::start(|_| Some(String::new()));
    let routing = Routing::Relay("192.0.2.1:25".parse().unwrap());
    let refused = deliver("poll", &list, EngineSettings { routing, ..settings(&server, Mode::Test) });
    assert!(matches!(refused.err(), Some(MailError::NotPermitted(_))));
}

#[test]
fn a_result_that_cannot_be_written_stops_the_engine() {
    let list = generated(500, 10);
    let server = Server::start(|_| Some(String::new()));
    let mut engine = mail::open("poll", &list, settings(&server, Mode::Test), Full).unwrap();
    let stopped = engine.run(2, Until { end_ns: 60_000_000_000, stop: None });
    assert!(stopped.unwrap_err().to_string().contains("write results"));
    assert!(engine.measured().counts.delivered < 500);
}

#[test]
fn one_domain_of_many_and_many_domains_of_one() {
    for (recipients, domains) in [(20_000, 1), (20_000, 20_000)] {
        let list = generated(recipients, domains);
        let server = Server::start(|_| Some(String::new()));
        let mut settings = settings(&server, Mode::TestPipelined);
        (settings.queue.batch, settings.session.deliveries_per_connection) = (500, 5000);
        let delivered = deliver("poll", &list, settings).unwrap();
        assert_eq!(delivered.endings, HashMap::from([(DeliveryEnding::Tested, recipients as usize)]));
    }
}
