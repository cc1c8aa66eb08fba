//! The generator against servers that speak TLS, over sockets of this machine.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use net::client::http::HttpClientSettings;
use net::load::{LoadSettings, RequestStage, TlsSettings};
use net::options::Content;
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::identity::Identity;
use crate::server::{OK, failure, listen, offer, requests};

/// The observations of a server with one thread for each connection.
#[derive(Clone, Default)]
struct Seen {
    requests: Arc<AtomicU64>,
    /// The name that a client asked for, the protocol that both chose, and the version.
    last: Arc<Mutex<Option<Spoken>>>,
}

type Spoken = (Option<String>, Option<Vec<u8>>, String);

fn secure_server(config: Arc<ServerConfig>, response: &'static [u8], body: usize) -> (SocketAddr, Seen) {
    let seen = Seen::default();
    let ours = seen.clone();
    let address = listen(move |stream| session(stream, Arc::clone(&config), response, body, &ours));
    (address, seen)
}

fn session(stream: TcpStream, config: Arc<ServerConfig>, response: &[u8], body: usize, seen: &Seen) {
    stream.set_nodelay(true).expect("an option");
    let mut stream = StreamOwned::new(ServerConnection::new(config).expect("a server"), stream);
    let (mut input, mut piece) = (Vec::new(), [0; 16 << 10]);
    while let Ok(read @ 1..) = stream.read(&mut piece) {
        let (name, protocol) = (stream.conn.server_name(), stream.conn.alpn_protocol());
        let version = format!("{:?}", stream.conn.protocol_version());
        *seen.last.lock().expect("a lock") =
            Some((name.map(str::to_owned), protocol.map(<[u8]>::to_vec), version));
        input.extend_from_slice(&piece[..read]);
        while let Some(end) = input.windows(4).position(|window| window == b"\r\n\r\n")
            && input.len() >= end + 4 + body
        {
            let is_last = input[..end].windows(6).any(|window| window == b" close");
            input.drain(..end + 4 + body);
            seen.requests.fetch_add(1, Ordering::SeqCst);
            if stream.write_all(response).is_err() || stream.flush().is_err() || is_last {
                return;
            }
        }
    }
}

fn settings(address: SocketAddr, identity: &Identity, folder: &tempfile::TempDir) -> LoadSettings {
    let file = folder.path().join("ca.pem");
    std::fs::write(&file, &identity.pem).expect("a file");
    let tls = TlsSettings { name: "localhost".to_owned(), cacert: Some(file), insecure: false };
    LoadSettings { tls: Some(tls), ..LoadSettings::new(address, &HttpClientSettings::default()) }
}

#[test]
fn every_request_is_encrypted_and_answered() {
    let folder = tempfile::tempdir().expect("a folder");
    let identity = Identity::local();
    for (is_new, version) in [(false, &rustls::version::TLS13), (true, &rustls::version::TLS12)] {
        let (address, seen) = secure_server(identity.server_of(&[version]), OK, 0);
        let settings = LoadSettings { new_connections: is_new, ..settings(address, &identity, &folder) };
        let level = offer(settings, &requests(4, 200));
        assert_eq!((level.requests.completed, level.requests.failed), (200, 0), "{:?}", level.failures);
        assert_eq!(seen.requests.load(Ordering::SeqCst), 200);
        let last = seen.last.lock().expect("a lock").clone().expect("a connection");
        let spoken = format!("Some({:?})", version.version);
        assert_eq!(last, (Some("localhost".to_owned()), Some(b"http/1.1".to_vec()), spoken));
        assert_eq!(level.handshake.is_some(), is_new, "connections that stay were made before");
        if let (Some(handshake), Some(connect)) = (level.handshake, level.connect) {
            assert_eq!((handshake.count, connect.count), (200, 200));
            assert!(handshake.mean_seconds <= connect.mean_seconds);
        }
    }
}

/// More than the sockets hold, both ways.
#[test]
fn large_bodies_pass_both_ways() {
    let folder = tempfile::tempdir().expect("a folder");
    let identity = Identity::local();
    let length = 16 << 20;
    let response: &'static [u8] = Box::leak(
        [format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n").into_bytes(), vec![b'x'; length]]
            .concat()
            .into_boxed_slice(),
    );
    let (address, seen) = secure_server(identity.server(), response, length);
    let client =
        HttpClientSettings { body: Some(Content::new(vec![b'y'; length])), ..HttpClientSettings::default() };
    let tls = settings(address, &identity, &folder).tls;
    let level = offer(LoadSettings { tls, ..LoadSettings::new(address, &client) }, &requests(4, 4));
    assert_eq!((level.requests.completed, level.requests.failed), (4, 0), "{:?}", level.failures);
    assert_eq!(seen.requests.load(Ordering::SeqCst), 4);
    assert!(level.watch.sends_blocked > 0, "the body did not fit into a socket");
    assert!(level.received_bytes > 4 * length as u64 && level.sent_bytes > 4 * length as u64);
}

#[test]
fn what_a_server_lacks_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let identity = Identity::local();
    let mut other = (*identity.server()).clone();
    other.alpn_protocols = vec![b"h2".to_vec()];
    let (address, _) = secure_server(Arc::new(other), OK, 0);
    let level = offer(settings(address, &identity, &folder), &requests(4, 8));
    let named = failure(&level, RequestStage::Connect, "TLS alert NoApplicationProtocol");
    assert_eq!(named, level.requests.failed, "{:?}", level.failures);
    assert!(named > 0);

    let address = listen(|mut stream| {
        // The response of web servers to bytes that are no request.
        let _ = stream.read(&mut [0; 4096]);
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
    });
    let level = offer(settings(address, &identity, &folder), &requests(4, 8));
    assert!(failure(&level, RequestStage::Connect, "no TLS") > 0, "{:?}", level.failures);
}
