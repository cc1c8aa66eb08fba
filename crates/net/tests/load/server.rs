//! Servers with one thread for each connection, which behave as a test needs and record their work, and the
//! loads for them.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use net::client::busy::BusyClientSettings;
use net::client::echo::EchoClientSettings;
use net::client::http::HttpClientSettings;
use net::load::{Generator, Level, Load, LoadSettings, OffersLoad, RequestStage, unwatched};

pub(crate) const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

/// The observations of a server with one thread for each connection.
#[derive(Clone)]
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) connections: Arc<AtomicU64>,
    pub(crate) requests: Arc<AtomicU64>,
    pub(crate) gone: Arc<AtomicBool>,
    pub(crate) sources: Arc<std::sync::Mutex<std::collections::BTreeSet<std::net::IpAddr>>>,
}

/// Has `session` serve each connection, in a thread of its own.
pub(crate) fn listen(session: impl Fn(TcpStream) + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let session = Arc::new(session);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (stream, session) = (stream.expect("a connection"), Arc::clone(&session));
            std::thread::spawn(move || session(stream));
        }
    });
    address
}

/// Serves the response that `response` makes from the number of a request; `None` closes.
pub(crate) fn serve(response: impl Fn(u64) -> Option<Vec<u8>> + Send + Sync + 'static) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let server = Server {
        address: listener.local_addr().expect("an address"),
        connections: Arc::default(),
        requests: Arc::default(),
        gone: Arc::default(),
        sources: Arc::default(),
    };
    let (own, response) = (server.clone(), Arc::new(response));
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            if own.gone.load(Ordering::SeqCst) {
                return;
            }
            let (own, response) = (own.clone(), Arc::clone(&response));
            std::thread::spawn(move || own.session(stream.expect("a connection"), &*response));
        }
    });
    server
}

impl Server {
    fn session(&self, mut stream: TcpStream, response: &dyn Fn(u64) -> Option<Vec<u8>>) {
        stream.set_nodelay(true).expect("an option");
        self.connections.fetch_add(1, Ordering::SeqCst);
        self.sources.lock().expect("a lock").insert(stream.peer_addr().expect("a peer").ip());
        let mut input = Vec::new();
        let mut piece = [0; 4096];
        loop {
            while let Some(end) = input.windows(4).position(|window| window == b"\r\n\r\n") {
                input.drain(..end + 4);
                let number = self.requests.fetch_add(1, Ordering::SeqCst);
                let Some(bytes) = response(number) else { return };
                if stream.write_all(&bytes).is_err() {
                    return;
                }
            }
            match stream.read(&mut piece) {
                Ok(0) | Err(_) => return,
                Ok(read) => input.extend_from_slice(&piece[..read]),
            }
            if self.gone.load(Ordering::SeqCst) {
                return;
            }
        }
    }

    pub(crate) fn requests(&self) -> u64 {
        self.requests.load(Ordering::SeqCst)
    }

    pub(crate) fn connections(&self) -> u64 {
        self.connections.load(Ordering::SeqCst)
    }
}

pub(crate) fn ok(_: u64) -> Option<Vec<u8>> {
    Some(OK.to_vec())
}

pub(crate) fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

pub(crate) fn http(server: SocketAddr) -> LoadSettings {
    LoadSettings::new(server, &HttpClientSettings::default())
}

pub(crate) fn busy(server: SocketAddr) -> LoadSettings {
    LoadSettings::new(server, &BusyClientSettings {})
}

pub(crate) fn echo(server: SocketAddr, bytes: usize) -> LoadSettings {
    LoadSettings::new(server, &EchoClientSettings { bytes })
}

/// So many requests, on so many connections at once.
pub(crate) fn requests(connections: usize, requests: u64) -> Load {
    Load { connections, requests: Some(requests), duration: Duration::from_secs(60), ..Load::default() }
}

pub(crate) fn offer(settings: LoadSettings, load: &Load) -> Level {
    Generator::new(settings).and_then(|mut one| one.offer(load, &mut unwatched)).expect("a level")
}

/// Every request has one outcome.
pub(crate) fn expect_balance(level: &Level) {
    let outcomes = level.requests.completed + level.requests.failed + level.requests.late;
    let unsent = level.intended.map_or(0, |intended| intended - level.requests.started);
    assert_eq!(level.requests.started + unsent, outcomes + level.requests.unanswered, "{:?}", level.failures);
    assert!(level.requests.timed_out <= level.requests.failed);
}

pub(crate) fn failure(level: &Level, stage: RequestStage, cause: &str) -> u64 {
    level.failures.iter().filter(|one| one.stage == stage && one.cause == cause).map(|one| one.count).sum()
}
