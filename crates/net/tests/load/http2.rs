//! The generator against servers that speak HTTP/2, over sockets of this machine.

use std::io::{Read, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use net::client::http::HttpClientSettings;
use net::load::{Generator, Load, LoadSettings, RequestStage, Schedule, TlsSettings, closed_loop, open_loop};
use net::options::Content;
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::identity::Identity;
use crate::peer::{BODY, Peer, busy, frame, go_away, reset, response};
use crate::server::{expect_balance, failure, listen, ms, offer, requests};

/// The observations of a server.
#[derive(Clone, Default)]
struct Seen {
    connections: Arc<AtomicU64>,
    requests: Arc<AtomicU64>,
    body_bytes: Arc<AtomicU64>,
}

/// The response of a server to the request of that number in that stream; if it is empty the server closes.
type Respond = fn(u64, u32) -> Vec<u8>;

/// A server of one thread for each connection, encrypted where it has a configuration.
fn serve(config: Option<Arc<ServerConfig>>, respond: Respond) -> (SocketAddr, Seen) {
    let seen = Seen::default();
    let ours = seen.clone();
    let address = listen(move |stream| {
        stream.set_nodelay(true).expect("an option");
        ours.connections.fetch_add(1, Ordering::SeqCst);
        match config.clone() {
            None => session(stream, respond, &ours),
            Some(config) => {
                let tls = ServerConnection::new(config).expect("a server");
                session(StreamOwned::new(tls, stream), respond, &ours);
            }
        }
    });
    (address, seen)
}

fn session(mut stream: impl Read + Write, respond: Respond, seen: &Seen) {
    let mut peer = Peer::saying(frame(4, 0, 0, &[]));
    let mut piece = [0; 16 << 10];
    while let Ok(read @ 1..) = stream.read(&mut piece) {
        let asked = peer.take(&piece[..read]);
        let mut words = std::mem::take(&mut peer.output);
        for one in asked {
            seen.body_bytes.fetch_add(one.body_bytes as u64, Ordering::SeqCst);
            let said = respond(seen.requests.fetch_add(1, Ordering::SeqCst), one.stream);
            if said.is_empty() {
                let _ = stream.write_all(&words).and_then(|()| stream.flush());
                return;
            }
            words.extend(said);
        }
        if stream.write_all(&words).is_err() || stream.flush().is_err() {
            return;
        }
    }
}

fn client(streams: usize) -> HttpClientSettings {
    HttpClientSettings { http2: true, streams: Some(streams), ..HttpClientSettings::default() }
}

#[test]
fn both_ends_count_the_same_requests_streams_and_connections() {
    for (streams, connections) in [(1, 3), (7, 3), (100, 1)] {
        let (address, seen) = serve(None, |_, stream| response(stream, BODY));
        let level = offer(LoadSettings::new(address, &client(streams)), &requests(connections, 3000));
        assert_eq!((level.requests.completed, level.requests.failed), (3000, 0), "{:?}", level.failures);
        assert_eq!(seen.requests.load(Ordering::SeqCst), 3000);
        assert_eq!(seen.connections.load(Ordering::SeqCst), connections as u64);
        assert_eq!(level.connections, connections);
        assert_eq!(level.statuses.get(&200), Some(&3000));
        // Frame and fields of a request, which the server knows from the first one on.
        assert!(level.sent_bytes < 3000 * 30, "{}", level.sent_bytes);
    }
}

/// A stream that joins a connection connects nothing.
#[test]
fn each_connection_has_one_connect_time() {
    let (address, _) = serve(None, |_, stream| response(stream, BODY));
    let mut generator = Generator::new(LoadSettings::new(address, &client(7))).expect("a generator");
    let grown = generator.grow_to(3).expect("connections");
    assert_eq!((grown.connections, grown.connect.count()), (3, 3));
}

#[test]
fn new_connections_and_those_for_some_requests_are_closed_by_the_client() {
    let (address, seen) = serve(None, |_, stream| response(stream, BODY));
    let plain = LoadSettings::new(address, &client(1));
    let level = offer(LoadSettings { new_connections: true, ..plain.clone() }, &requests(4, 200));
    assert_eq!((level.requests.completed, level.requests.failed), (200, 0), "{:?}", level.failures);
    assert_eq!(seen.connections.swap(0, Ordering::SeqCst), 200);
    let connect = level.connect.expect("connections were made");
    assert_eq!(connect.count, 200);
    let level = offer(LoadSettings { requests_per_connection: Some(10), ..plain }, &requests(4, 200));
    assert_eq!((level.requests.completed, level.requests.failed), (200, 0), "{:?}", level.failures);
    assert!((20..=24).contains(&seen.connections.load(Ordering::SeqCst)));
}

#[test]
fn a_rate_is_spread_over_streams_before_connections_are_opened() {
    let (address, seen) = serve(None, |_, stream| response(stream, BODY));
    let settings = LoadSettings { connections_max: 4, ..LoadSettings::new(address, &client(50)) };
    let level = offer(settings, &open_loop(1, 2000.0, Schedule::Poisson, ms(500)));
    expect_balance(&level);
    assert_eq!((level.requests.failed, level.requests.unanswered), (0, 0), "{:?}", level.failures);
    assert!(seen.connections.load(Ordering::SeqCst) <= 4);
    assert!((800..1200).contains(&level.requests.started), "{}", level.requests.started);
}

#[test]
fn every_request_has_one_outcome() {
    let mixture: Respond = |number, stream| match number % 9 {
        0 => busy(stream),
        1 => reset(stream, 7),
        2 => [response(stream, BODY), go_away(stream, 0)].concat(),
        3 => response(stream, b"HELLO"),
        4 => go_away(0, 11),
        5 if number % 2 == 0 => Vec::new(),
        6 => frame(6, 0, 0, b"12345678"),
        _ => response(stream, BODY),
    };
    for streams in [1, 4] {
        let (address, _) = serve(None, mixture);
        let settings = LoadSettings { timeout: ms(60), ..LoadSettings::new(address, &client(streams)) };
        let level = offer(settings.clone(), &Load { warm_up: ms(50), ..closed_loop(3, ms(400)) });
        expect_balance(&level);
        assert!(failure(&level, RequestStage::FirstByte, "RST_STREAM REFUSED_STREAM") > 0);
        assert!(failure(&level, RequestStage::FirstByte, "GOAWAY ENHANCE_YOUR_CALM") > 0);
        assert!(failure(&level, RequestStage::Body, "status 503") > 0, "{:?}", level.failures);
        expect_balance(&offer(settings, &open_loop(3, 500.0, Schedule::Poisson, ms(200))));
    }
}

#[test]
fn a_server_of_another_protocol_is_named() {
    let server = crate::server::serve(|_| Some(b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec()));
    let level = offer(LoadSettings::new(server.address, &client(2)), &requests(1, 4));
    assert!(failure(&level, RequestStage::FirstByte, "no HTTP/2") > 0, "{:?}", level.failures);
    assert_eq!((level.requests.completed, level.requests.failed), (0, 4));
}

fn secure(address: SocketAddr, identity: &Identity, folder: &tempfile::TempDir) -> LoadSettings {
    let file = folder.path().join("ca.pem");
    std::fs::write(&file, &identity.pem).expect("a file");
    let tls = TlsSettings { name: "localhost".to_owned(), cacert: Some(file), insecure: false };
    let body = Some(Content::new(vec![b'y'; 3 << 20]));
    let client = HttpClientSettings { body, ..client(4) };
    LoadSettings { tls: Some(tls), ..LoadSettings::new(address, &client) }
}

/// Bodies of more than the sockets and windows hold, encrypted.
#[test]
fn streams_are_encrypted_and_announced() {
    let folder = tempfile::tempdir().expect("a folder");
    let identity = Identity::local();
    let config = |protocol: &[u8]| {
        let mut config = (*identity.server()).clone();
        config.alpn_protocols = vec![protocol.to_vec()];
        Some(Arc::new(config))
    };
    let (address, seen) = serve(config(b"h2"), |_, stream| response(stream, BODY));
    let level = offer(secure(address, &identity, &folder), &requests(2, 24));
    assert_eq!((level.requests.completed, level.requests.failed), (24, 0), "{:?}", level.failures);
    assert_eq!(seen.connections.load(Ordering::SeqCst), 2);
    assert_eq!(seen.body_bytes.load(Ordering::SeqCst), 24 * (3 << 20));

    let (address, _) = serve(config(b"http/1.1"), |_, _| Vec::new());
    let level = offer(secure(address, &identity, &folder), &requests(1, 4));
    let named = failure(&level, RequestStage::Connect, "TLS alert NoApplicationProtocol");
    assert!(named > 0 && named == level.requests.failed, "{:?}", level.failures);
}

#[test]
fn settings_that_streams_contradict_are_refused() {
    let address: SocketAddr = "127.0.0.1:1".parse().expect("an address");
    let refused = |settings| Generator::new(settings).is_err();
    let of = |client: HttpClientSettings| LoadSettings::new(address, &client);
    assert!(!refused(of(client(2))));
    assert!(refused(of(client(0))));
    assert!(refused(of(HttpClientSettings { http2: false, ..client(2) })));
    assert!(refused(LoadSettings { pipeline: 2, ..of(client(1)) }));
    assert!(refused(LoadSettings { new_connections: true, ..of(client(2)) }));
    assert!(refused(LoadSettings { requests_per_connection: Some(3), ..of(client(2)) }));
    for field in ["Connection: close", "Transfer-Encoding: chunked", "TE: gzip"] {
        assert!(refused(of(HttpClientSettings { fields: vec![field.to_owned()], ..client(1) })), "{field}");
    }
}
