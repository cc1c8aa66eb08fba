//! The loop against a server that speaks TLS over a simulated network, which cuts what both send wherever the test
//! wants it.

pub(crate) mod identity;
mod wire;

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use self::identity::{Identity, Signed, Validity};
use self::wire::{End, Wire, World};
use super::{Alpn, TlsNetwork, TlsSettings};
use crate::client::ClientSettings;
use crate::client::http::HttpClientSettings;
use crate::load::{Engine, Level, Load, LoadSettings, closed_loop, unwatched};

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
/// A body that ends with the connection.
const OPEN: &str = "HTTP/1.1 200 OK\r\n\r\nhello";

fn trusting(identity: &Identity, folder: &tempfile::TempDir) -> TlsSettings {
    let file = folder.path().join("ca.pem");
    std::fs::write(&file, &identity.pem).expect("a file");
    TlsSettings { name: "localhost".to_owned(), cacert: Some(file), insecure: false }
}

/// So many requests, `each` on a connection, two connections at once.
fn load(world: World, requests: u64, each: Option<u32>) -> (Level, Rc<RefCell<World>>) {
    let folder = tempfile::tempdir().expect("a folder");
    let identity = Identity::local();
    let tls = trusting(&identity, &folder);
    let world = Rc::new(RefCell::new(World { server: identity.server(), ..world }));
    let client = HttpClientSettings::default();
    let settings = LoadSettings {
        tls: Some(tls.clone()),
        requests_per_connection: each,
        ..LoadSettings::new(std::net::SocketAddr::from(([127, 0, 0, 1], 9)), &client)
    };
    let network = TlsNetwork::new(&tls, Alpn::HTTP_1, Wire(Rc::clone(&world))).expect("a network");
    let mut engine = Engine::new(client.open().expect("a client"), settings, network).expect("an engine");
    let load = Load { requests: Some(requests), ..closed_loop(2, Duration::from_secs(1000)) };
    let measured = engine.offer(&load, &mut unwatched).expect("a load");
    drop(engine);
    (Level::from_measured(&load, vec![measured]).expect("a level"), world)
}

#[test]
fn whatever_is_cut_anywhere_is_put_together() {
    let (whole, world) = load(World::new(OK), 2, Some(2));
    assert_eq!((whole.completed, whole.failed), (2, 0), "{:?}", whole.failures);
    let lengths = world.borrow().lengths();
    let most = lengths.0.max(lengths.1);
    assert!(most > 1000, "a handshake and two requests: {lengths:?}");
    // Connection n is cut behind its byte n, in both directions; the first two are there before the load.
    let (cut, world) = load(World { cuts: true, ..World::new(OK) }, 2 * most, Some(2));
    assert_eq!((cut.completed, cut.failed), (2 * most, 0), "{:?}", cut.failures);
    assert!(world.borrow().connections() as u64 >= most);
    let connect = cut.connect.expect("connections were made");
    let handshake = cut.handshake.expect("with handshakes");
    assert_eq!(connect.count, handshake.count);
    assert!(connect.min_seconds >= handshake.min_seconds && handshake.min_seconds > 0.0);
}

#[test]
fn a_body_without_a_length_needs_the_word_that_it_is_whole() {
    let (orderly, _) = load(World { end: End::CloseNotify, ..World::new(OPEN) }, 20, None);
    assert_eq!((orderly.completed, orderly.failed), (20, 0), "{:?}", orderly.failures);
    let (cut, _) = load(World { end: End::Silent, ..World::new(OPEN) }, 20, None);
    assert_eq!((cut.completed, cut.failed), (0, 20));
    assert_eq!(cut.failures[0].cause, "closed without close_notify");
}

/// Where the length tells that it is whole, a server may leave the word out; no byte of it is missing then.
#[test]
fn a_body_with_a_length_is_whole_without_that_word() {
    let close = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello";
    let (level, _) = load(World { end: End::Silent, ..World::new(close) }, 20, None);
    assert_eq!((level.completed, level.failed), (20, 0), "{:?}", level.failures);
    assert!(level.failures.is_empty(), "{:?}", level.failures);
    let (whole, world) = load(World { end: End::CloseNotify, ..World::new(OPEN) }, 2, None);
    assert_eq!(whole.completed, 2);
    let all = world.borrow().lengths().1;
    // Signatures differ in length by a few bytes, so the last of them may be all of a shorter one.
    let most = all - 12;
    // Connection n ends behind its byte n, the first two before the load: never is a part taken for the whole.
    let (level, _) = load(World { end: End::CutShort, ..World::new(OPEN) }, most, None);
    assert_eq!((level.completed, level.failed), (0, most), "{:?}", level.failures);
}

#[test]
fn what_is_wrong_with_a_certificate_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let by_itself = Signed::ByItself { is_authority: false };
    let refused = |identity: &Identity, known: &Identity| {
        let tls = trusting(known, &folder);
        let world = World { server: identity.server(), ..World::new(OK) };
        let network =
            TlsNetwork::new(&tls, Alpn::HTTP_1, Wire(Rc::new(RefCell::new(world)))).expect("a network");
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
