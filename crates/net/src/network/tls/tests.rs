//! The loop against servers that speak TLS over a simulated network, which cuts the bytes of both sides
//! wherever the test chooses.

#[path = "../../../tests/common/identity.rs"]
mod identity;

use std::cell::RefCell;
use std::io::{Read, Write};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use rustls::{ServerConfig, ServerConnection};

use self::identity::{Identity, Signed, Validity};
use super::{Alpn, TlsNetwork, TlsSettings};
use crate::client::ClientSettings;
use crate::client::http::HttpClientSettings;
use crate::load::{Drive, Engine, Level, Load, LoadSettings, closed_loop, unwatched};
use crate::network::simulated::{Arrival, Passing, Server, Simulated, Wire, World};

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
/// A body that ends with the connection.
const OPEN: &str = "HTTP/1.1 200 OK\r\n\r\nhello";

/// How the server ends a connection after its response.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    /// It does not.
    Open,
    CloseNotify,
    Silent,
    /// With `close_notify`, and connection n ends behind byte n of all that the server sends.
    CutShort,
}

/// Web servers that speak TLS; the test chooses the places of cuts.
struct Servers {
    config: Arc<ServerConfig>,
    response: &'static str,
    /// Whether connection n is cut behind its byte n.
    cuts: bool,
    end: End,
    peers: Vec<Peer>,
}

struct Peer {
    tls: ServerConnection,
    request: Vec<u8>,
    /// Bytes that have passed, to the server and to the client.
    passed: (u64, u64),
    /// Whether each direction has been cut already.
    was_cut: (bool, bool),
    /// Bytes behind a cut come with the next wait.
    pauses: (bool, bool),
}

impl Servers {
    fn new(response: &'static str) -> Servers {
        let config = Identity::local().server();
        Servers { config, response, cuts: false, end: End::Open, peers: Vec::new() }
    }

    fn world(self) -> Rc<RefCell<World<Servers>>> {
        Rc::new(RefCell::new(World::new(fastrand::Rng::with_seed(1), true, self)))
    }

    /// Bytes that passed on the first connection.
    fn lengths(&self) -> (u64, u64) {
        self.peers[0].passed
    }

    fn cut(&self, link: usize) -> Option<u64> {
        self.cuts.then_some(link as u64)
    }
}

impl Server for Servers {
    fn accept(&mut self, _link: usize) {
        self.peers.push(Peer {
            tls: ServerConnection::new(Arc::clone(&self.config)).expect("a server"),
            request: Vec::new(),
            passed: (0, 0),
            was_cut: (false, false),
            pauses: (false, false),
        });
    }

    fn to_server(&mut self, _wire: &mut Wire, link: usize, bytes: usize) -> Passing {
        let cut = self.cut(link);
        let peer = &mut self.peers[link];
        if peer.pauses.0 {
            return Passing::Blocked;
        }
        let count = passing(bytes, peer.passed.0, cut, &mut peer.was_cut.0);
        peer.pauses.0 = count < bytes;
        peer.passed.0 += count as u64;
        Passing::Bytes(count)
    }

    fn serve(&mut self, wire: &mut Wire, link: usize, mut bytes: &[u8]) {
        let peer = &mut self.peers[link];
        while !bytes.is_empty() {
            peer.tls.read_tls(&mut bytes).expect("room");
            // A client that has closed may break off anywhere.
            if peer.tls.process_new_packets().is_err() {
                break;
            }
            let _ = peer.tls.reader().read_to_end(&mut peer.request);
        }
        let mut has_ended = false;
        while let Some(at) = peer.request.windows(4).position(|four| four == b"\r\n\r\n") {
            peer.request.drain(..at + 4);
            peer.tls.writer().write_all(self.response.as_bytes()).expect("room");
            if matches!(self.end, End::CloseNotify | End::CutShort) {
                peer.tls.send_close_notify();
            }
            has_ended |= self.end != End::Open;
        }
        let mut out = Vec::new();
        while peer.tls.wants_write() {
            peer.tls.write_tls(&mut out).expect("memory");
        }
        wire.send_back(link, 0, Arrival::Bytes(out, None));
        if has_ended {
            wire.send_back(link, 0, Arrival::End);
        }
    }

    fn to_client(&mut self, link: usize, bytes: usize) -> Passing {
        let (cut, end) = (self.cut(link), self.end);
        let peer = &mut self.peers[link];
        let mut left = bytes;
        if end == End::CutShort {
            // Behind this byte everything ends.
            left = left.min((link as u64).saturating_sub(peer.passed.1) as usize);
            if left == 0 && bytes > 0 {
                return Passing::End;
            }
        }
        if peer.pauses.1 {
            return Passing::Blocked;
        }
        let count = passing(left, peer.passed.1, cut, &mut peer.was_cut.1);
        peer.pauses.1 = count < left;
        peer.passed.1 += count as u64;
        if count == 0 && left > 0 { Passing::Blocked } else { Passing::Bytes(count) }
    }

    fn on_read(&mut self, _link: usize, _good: &[u32]) {}

    fn on_wait(&mut self) {
        self.peers.iter_mut().for_each(|peer| peer.pauses = (false, false));
    }
}

/// How many of these bytes pass now, if the direction is cut behind byte `cut`.
fn passing(count: usize, passed: u64, cut: Option<u64>, was_cut: &mut bool) -> usize {
    match cut.and_then(|cut| cut.checked_sub(passed)) {
        Some(left) if !*was_cut && (left as usize) < count => {
            *was_cut = true;
            left as usize
        }
        _ => count,
    }
}

fn trusting(identity: &Identity, folder: &tempfile::TempDir) -> TlsSettings {
    let file = folder.path().join("ca.pem");
    std::fs::write(&file, &identity.pem).expect("a file");
    TlsSettings { name: "localhost".to_owned(), cacert: Some(file), insecure: false }
}

/// So many requests, `each` on a connection, two connections at once.
fn load(servers: Servers, requests: u64, each: Option<u32>) -> (Level, Rc<RefCell<World<Servers>>>) {
    let folder = tempfile::tempdir().expect("a folder");
    let identity = Identity::local();
    let tls = trusting(&identity, &folder);
    let world = Servers { config: identity.server(), ..servers }.world();
    let client = HttpClientSettings::default();
    let settings = LoadSettings {
        tls: Some(tls.clone()),
        requests_per_connection: each,
        ..LoadSettings::new(std::net::SocketAddr::from(([127, 0, 0, 1], 9)), &client)
    };
    let network = TlsNetwork::new(&tls, Alpn::HTTP_1, Simulated(Rc::clone(&world))).expect("a network");
    let mut engine = Engine::new(client.open().expect("a client"), settings, network).expect("an engine");
    let load = Load { requests: Some(requests), ..closed_loop(2, Duration::from_secs(1000)) };
    let measured = engine.offer(&load, &mut unwatched).expect("a load");
    drop(engine);
    (Level::from_measured(&load, vec![measured]).expect("a level"), world)
}

#[test]
fn whatever_is_cut_anywhere_is_put_together() {
    let (whole, world) = load(Servers::new(OK), 2, Some(2));
    assert_eq!((whole.requests.completed, whole.requests.failed), (2, 0), "{:?}", whole.failures);
    let lengths = world.borrow().server.lengths();
    let most = lengths.0.max(lengths.1);
    assert!(most > 1000, "a handshake and two requests: {lengths:?}");
    // Connection n is cut behind its byte n, in both directions; the first two are there before the load.
    let (cut, world) = load(Servers { cuts: true, ..Servers::new(OK) }, 2 * most, Some(2));
    assert_eq!((cut.requests.completed, cut.requests.failed), (2 * most, 0), "{:?}", cut.failures);
    assert!(world.borrow().wire.connections() as u64 >= most);
    let connect = cut.connect.expect("connections were made");
    let handshake = cut.handshake.expect("with handshakes");
    assert_eq!(connect.count, handshake.count);
    assert!(connect.min_seconds >= handshake.min_seconds && handshake.min_seconds > 0.0);
}

#[test]
fn a_body_without_a_length_needs_the_word_that_it_is_whole() {
    let (orderly, _) = load(Servers { end: End::CloseNotify, ..Servers::new(OPEN) }, 20, None);
    assert_eq!((orderly.requests.completed, orderly.requests.failed), (20, 0), "{:?}", orderly.failures);
    let (cut, _) = load(Servers { end: End::Silent, ..Servers::new(OPEN) }, 20, None);
    assert_eq!((cut.requests.completed, cut.requests.failed), (0, 20));
    assert_eq!(cut.failures[0].cause, "closed without close_notify");
}

/// Where the length shows that it is complete, a server may omit `close_notify`; no byte is missing then.
#[test]
fn a_body_with_a_length_is_whole_without_that_word() {
    let close = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello";
    let (level, _) = load(Servers { end: End::Silent, ..Servers::new(close) }, 20, None);
    assert_eq!((level.requests.completed, level.requests.failed), (20, 0), "{:?}", level.failures);
    assert!(level.failures.is_empty(), "{:?}", level.failures);
    let (whole, world) = load(Servers { end: End::CloseNotify, ..Servers::new(OPEN) }, 2, None);
    assert_eq!(whole.requests.completed, 2);
    let all = world.borrow().server.lengths().1;
    // Signatures differ in length by a few bytes, so the last of them may be all of a shorter one.
    let most = all - 12;
    // Connection n ends behind its byte n, the first two before the load: a part never counts as the whole.
    let (level, _) = load(Servers { end: End::CutShort, ..Servers::new(OPEN) }, most, None);
    assert_eq!((level.requests.completed, level.requests.failed), (0, most), "{:?}", level.failures);
}

#[test]
fn what_is_wrong_with_a_certificate_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let by_itself = Signed::ByItself { is_authority: false };
    let refused = |identity: &Identity, known: &Identity| {
        let tls = trusting(known, &folder);
        let world = Servers { config: identity.server(), ..Servers::new(OK) }.world();
        let network = TlsNetwork::new(&tls, Alpn::HTTP_1, Simulated(world)).expect("a network");
        let client = HttpClientSettings::default();
        let settings = LoadSettings::new(std::net::SocketAddr::from(([127, 0, 0, 1], 9)), &client);
        let mut engine = Engine::new(client.open().expect("a client"), settings, network).expect("an engine");
        let grown = engine.grow_to(1).expect("waiting");
        grown.failures.first().map(|failure| failure.cause.clone())
    };
    let local = Identity::local();
    for (names, validity, signed, wrong) in [
        (["localhost"], Validity::Now, Signed::ByAuthority, None),
        (["localhost"], Validity::Now, by_itself, None),
        (["localhost"], Validity::Now, Signed::ByItself { is_authority: true }, None),
        (["localhost"], Validity::Past, Signed::ByAuthority, Some("expired certificate")),
        (["localhost"], Validity::Past, Signed::ByItself { is_authority: true }, Some("expired certificate")),
        (["localhost"], Validity::Future, Signed::ByAuthority, Some("certificate not yet valid")),
        (["example.org"], Validity::Now, Signed::ByAuthority, Some("certificate for another name")),
        (
            ["example.org"],
            Validity::Now,
            Signed::ByItself { is_authority: true },
            Some("certificate for another name"),
        ),
    ] {
        let identity = Identity::new(&names, validity, signed);
        assert_eq!(refused(&identity, &identity).as_deref(), wrong, "{names:?}");
    }
    for is_authority in [false, true] {
        let other = Identity::new(&["localhost"], Validity::Now, Signed::ByItself { is_authority });
        assert_eq!(refused(&other, &local).as_deref(), Some("untrusted certificate"), "{is_authority}");
    }
}

#[test]
fn settings_that_make_no_sense_say_what_does() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("ca.pem");
    let of = |name: &str| TlsSettings { name: name.to_owned(), cacert: Some(file.clone()), insecure: false };
    let said = |tls: TlsSettings| tls.check().expect_err("refused").to_string();
    assert!(said(of("localhost")).contains("cannot read --cacert"));
    std::fs::write(&file, "a text").expect("a file");
    assert!(said(of("localhost")).contains("BEGIN CERTIFICATE"));
    assert!(said(of("a b")).contains("is no name"));
    assert!(TlsSettings { insecure: true, ..of("localhost") }.check().is_ok());
}
