//! Routes by DNS: preferences, unreachable exchangers, domains that take no mail.

use std::collections::HashMap;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use domain::base::iana::Rcode;
use domain::base::{Message, MessageBuilder, Name, Rtype, Ttl};
use domain::rdata::{A, Mx};
use mail::{DeliveryEnding, EngineSettings, Mode, Recipients, Routing};

use super::server::Server;
use super::{deliver, settings, sorted};

/// A DNS server with one zone, until it is dropped.
struct NameServer {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl NameServer {
    fn start() -> NameServer {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a free port");
        let address = socket.local_addr().expect("an address");
        socket.set_read_timeout(Some(Duration::from_millis(10))).expect("a time limit");
        let stop = Arc::new(AtomicBool::new(false));
        let ordered = stop.clone();
        let thread = thread::spawn(move || {
            let mut buffer = [0; 1000];
            while !ordered.load(Ordering::Relaxed) {
                let Ok((length, from)) = socket.recv_from(&mut buffer) else { continue };
                if let Some(response) = response(&buffer[..length]) {
                    socket.send_to(&response, from).expect("a response is sent");
                }
            }
        });
        NameServer { address, stop, thread: Some(thread) }
    }
}

impl Drop for NameServer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// The answers of the zone.
fn response(query: &[u8]) -> Option<Vec<u8>> {
    let query = Message::from_octets(query).ok()?;
    let question = query.sole_question().ok()?;
    let name = question.qname().to_string().to_lowercase();
    let code = match name.as_str() {
        "unknown.test" => Rcode::NXDOMAIN,
        "broken.test" => Rcode::SERVFAIL,
        _ => Rcode::NOERROR,
    };
    let mut answer = MessageBuilder::new_vec().start_answer(&query, code).ok()?;
    let exchangers: &[(u16, &str)] = match name.as_str() {
        "two.test" => &[(10, "here.test"), (5, "dead.test")],
        "dead-only.test" => &[(5, "dead.test")],
        "null.test" => &[(0, ".")],
        "public.test" => &[(1, "stranger.test")],
        _ => &[],
    };
    let address = match name.as_str() {
        "here.test" | "plain.test" => Some([127, 0, 0, 1]),
        "dead.test" => Some([127, 9, 9, 9]),
        "stranger.test" => Some([192, 0, 2, 1]),
        _ => None,
    };
    let ttl = Ttl::from_secs(60);
    match question.qtype() {
        Rtype::MX => {
            for &(preference, host) in exchangers {
                let host: Name<Vec<u8>> = host.parse().ok()?;
                answer.push((question.qname(), ttl, Mx::new(preference, host))).ok()?;
            }
        }
        Rtype::A => {
            if let Some([a, b, c, d]) = address {
                answer.push((question.qname(), ttl, A::from_octets(a, b, c, d))).ok()?;
            }
        }
        _ => {}
    }
    Some(answer.finish())
}

#[test]
fn each_domain_is_delivered_to_its_exchangers() {
    let list = Recipients::from_addresses([
        "a@two.test",
        "b@TWO.test",
        "a@plain.test",
        "a@[127.0.0.1]",
        "a@dead-only.test",
        "a@null.test",
        "a@unknown.test",
        "a@nothing.test",
        "a@broken.test",
        "a@public.test",
    ]);
    for events in mail::EVENT_INTERFACES {
        let (server, names) = (Server::start(|_| Some(String::new())), NameServer::start());
        let routing = Routing::Dns { servers: vec![names.address], port: server.address.port() };
        let delivered =
            match deliver(events, &list, EngineSettings { routing, ..settings(&server, Mode::Test) }) {
                Err(mail::MailError::NoInterface(name)) => {
                    println!("skipped: this system has no {name}");
                    continue;
                }
                delivered => delivered.expect("an engine"),
            };
        assert_eq!(delivered.delivered, ["a@[127.0.0.1]", "a@plain.test", "a@two.test", "b@TWO.test"]);
        assert_eq!(sorted(server.taken().tested), delivered.delivered, "{events}");
        let expected = [
            (DeliveryEnding::Tested, 4),
            // Null MX, unknown, and nothing.
            (DeliveryEnding::Failed, 3),
            // An unreachable exchanger, a server that fails, and a stranger's.
            (DeliveryEnding::Queued, 3),
        ];
        assert_eq!(delivered.endings, HashMap::from(expected), "{events}");
        assert!(delivered.reasons.iter().any(|reason| reason.contains("192.0.2.1 is a public address")));
    }
}
