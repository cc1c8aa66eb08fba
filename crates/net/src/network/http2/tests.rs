//! The loop against servers that speak HTTP/2 over a simulated network.

#[path = "../../../tests/common/peer.rs"]
mod peer;

use std::cell::RefCell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use self::peer::{BODY, Peer, settings as setting};
use super::Http2Network;
use crate::Error;
use crate::client::ClientSettings;
use crate::client::http::HttpClientSettings;
use crate::load::{
    Engine, Level, Load, LoadSettings, Measured, RequestStage, Schedule, closed_loop, unwatched,
};
use crate::network::simulated::{Arrival, MS, Passing, Server, Simulated, Wire, World};
use crate::options::Content;

const TIMEOUT_NS: u64 = 300 * MS;

type SharedWorld = Rc<RefCell<World<Servers>>>;

/// Servers that speak HTTP/2. Where they are not calm, a seed decides which bytes are cut, delayed, reset or
/// never answered.
struct Servers {
    /// Nanoseconds to each response of a calm server.
    calm_ns: Option<u64>,
    /// Whether bytes are cut on their way to the server.
    cuts_requests: bool,
    /// Whether the output of a calm server arrives only once in its delay.
    comes_together: bool,
    /// The first bytes of the servers.
    greeting: Vec<u8>,
    /// Nanoseconds to the first response of a calm server, which is not needed any more.
    late_first_ns: Option<u64>,
    /// Responses of a connection until the server asks for another one.
    each: Option<u32>,
    peers: Vec<ServerPeer>,
    requests: Vec<peer::Asked>,
    /// Right responses that were read, and were waited for.
    good: u64,
    /// The most requests that came in one piece.
    together_max: usize,
}

struct ServerPeer {
    peer: Peer,
    /// The server sends nothing more.
    is_done: bool,
    seen: u32,
}

impl Servers {
    fn world(random: fastrand::Rng, calm_ns: Option<u64>) -> World<Servers> {
        let servers = Servers {
            calm_ns,
            cuts_requests: false,
            comes_together: false,
            greeting: peer::frame(4, 0, 0, &[]),
            late_first_ns: None,
            each: None,
            peers: Vec::new(),
            requests: Vec::new(),
            good: 0,
            together_max: 0,
        };
        World::new(random, calm_ns.is_some(), servers)
    }

    fn respond(&mut self, wire: &mut Wire, link: usize, stream: u32) {
        if let Some(late_ns) = self.late_first_ns.filter(|_| self.requests.len() == 1) {
            // Other streams do not wait behind it.
            let late = Arrival::Bytes(peer::response(stream, b"LATE!"), None);
            return wire.send_anyhow(link, wire.now_ns + late_ns, late);
        }
        let good = peer::response(stream, BODY);
        if let Some(calm_ns) = self.calm_ns {
            let delay_ns = if self.comes_together { calm_ns - wire.now_ns % calm_ns } else { calm_ns };
            let is_last = self.each.is_some_and(|each| self.peers[link].seen >= each);
            if is_last {
                self.peers[link].is_done = true;
                say(wire, link, delay_ns, peer::go_away(stream, 0));
            }
            say_good(wire, link, delay_ns, stream, good);
            if is_last {
                wire.send_back(link, delay_ns, Arrival::End);
            }
            return;
        }
        let delay_ns = wire.random.u64(..3 * MS);
        let (head, body) = good.split_at(peer::head(stream, BODY.len()).len());
        let action = wire.random.u32(..30);
        self.peers[link].is_done = matches!(action, 1..=4);
        match action {
            0 => {}
            1 => wire.send_back(link, delay_ns, Arrival::Reset),
            2 => wire.send_back(link, delay_ns, Arrival::End),
            3 => {
                // No server may push.
                say(wire, link, delay_ns, peer::frame(5, 4, stream, &[0, 0, 0, 2]));
                wire.send_back(link, delay_ns, Arrival::End);
            }
            4 => {
                let (last, end) = if wire.random.bool() { (stream, true) } else { (stream - 1, false) };
                say(wire, link, delay_ns, peer::go_away(last, 0));
                if end {
                    say_good(wire, link, delay_ns, stream, good);
                }
                wire.send_back(link, delay_ns + MS, Arrival::End);
            }
            5 => say(wire, link, delay_ns, peer::reset(stream, 7)),
            6 => say(wire, link, delay_ns, peer::busy(stream)),
            // The first ones decide what is right.
            7 if self.good > 20 => say(wire, link, delay_ns, peer::response(stream, b"HELLO")),
            8 => {
                let longer = peer::frame(0, 1, stream, b"hello and more");
                say(wire, link, delay_ns, [head, &longer].concat());
            }
            9 => say(wire, link, delay_ns, [head, &peer::frame(0, 1, stream, b"hel")].concat()),
            10..=13 => {
                say(wire, link, delay_ns, head.to_vec());
                let more_ns = wire.random.u64(..60 * MS);
                say_good(wire, link, delay_ns + more_ns, stream, body.to_vec());
            }
            14 => {
                let whole = [head, &peer::frame(0, 0, stream, BODY)].concat();
                say(wire, link, delay_ns, whole);
                say_good(wire, link, delay_ns, stream, peer::frame(0, 1, stream, &[]));
            }
            _ => say_good(wire, link, delay_ns, stream, good),
        }
    }
}

impl Server for Servers {
    fn accept(&mut self, _link: usize) {
        let peer = Peer::saying(self.greeting.clone());
        self.peers.push(ServerPeer { peer, is_done: false, seen: 0 });
    }

    fn to_server(&mut self, wire: &mut Wire, _link: usize, bytes: usize) -> Passing {
        let is_cut = self.cuts_requests && wire.random.u32(..3) == 0;
        Passing::Bytes(if is_cut { wire.random.usize(..=bytes) } else { bytes })
    }

    fn serve(&mut self, wire: &mut Wire, link: usize, bytes: &[u8]) {
        let before = self.requests.len();
        let asked = self.peers[link].peer.take(bytes);
        let words = std::mem::take(&mut self.peers[link].peer.output);
        if !words.is_empty() {
            say(wire, link, MS / 100, words);
        }
        for one in asked {
            self.peers[link].seen += 1;
            self.requests.push(one.clone());
            if !self.peers[link].is_done {
                self.respond(wire, link, one.stream);
            }
        }
        self.together_max = self.together_max.max(self.requests.len() - before);
    }

    fn on_read(&mut self, link: usize, good: &[u32]) {
        let cancelled = &self.peers[link].peer.cancelled;
        self.good += good.iter().filter(|stream| !cancelled.contains(stream)).count() as u64;
    }
}

fn say(wire: &mut Wire, link: usize, delay_ns: u64, bytes: Vec<u8>) {
    wire.send_back(link, delay_ns, Arrival::Bytes(bytes, None));
}

/// The bytes that complete the right response of the stream.
fn say_good(wire: &mut Wire, link: usize, delay_ns: u64, stream: u32, bytes: Vec<u8>) {
    wire.send_back(link, delay_ns, Arrival::Bytes(bytes, Some(stream)));
}

fn client(streams: usize) -> HttpClientSettings {
    HttpClientSettings { http2: true, streams: Some(streams), ..HttpClientSettings::default() }
}

fn load_settings(client: &HttpClientSettings) -> LoadSettings {
    LoadSettings {
        timeout: Duration::from_nanos(TIMEOUT_NS),
        ..LoadSettings::new(SocketAddr::from(([127, 0, 0, 1], 9)), client)
    }
}

fn offer(
    client: &HttpClientSettings,
    settings: LoadSettings,
    load: &Load,
    world: World<Servers>,
) -> Result<(Measured, SharedWorld), Error> {
    let world = Rc::new(RefCell::new(world));
    let http2 = client.http2(false)?.expect("HTTP/2");
    let network = Http2Network::new(http2, Simulated(Rc::clone(&world)));
    let mut engine = Engine::new(client.open()?, settings, network)?;
    let measured = engine.offer(load, &mut unwatched)?;
    Ok((measured, world))
}

fn calm(delay_ns: u64) -> World<Servers> {
    Servers::world(fastrand::Rng::with_seed(1), Some(delay_ns))
}

/// The same, with something changed.
fn calm_but(change: impl FnOnce(&mut Servers)) -> World<Servers> {
    let mut world = calm(MS);
    change(&mut world.server);
    world
}

/// The result of a calm server with so many streams on each of so many connections.
fn level(streams: usize, connections: usize, world: World<Servers>) -> (Level, SharedWorld) {
    let client = client(streams);
    let load = closed_loop(connections, Duration::from_millis(100));
    let (measured, world) = offer(&client, load_settings(&client), &load, world).expect("a load");
    (Level::from_measured(&load, vec![measured]).expect("a level"), world)
}

/// The broken promises of a seed.
fn broken(seed: u64) -> Vec<String> {
    let mut random = fastrand::Rng::with_seed(seed);
    let streams = random.usize(1..5);
    let mut client = client(streams);
    if random.bool() {
        client.paths = vec!["/a".to_owned(), "/b".to_owned()];
    }
    let has_body = random.u32(..4) == 0;
    if has_body {
        client.body = Some(Content::new(vec![b'x'; 500]));
    }
    let settings = LoadSettings {
        connections_max: 4,
        requests_per_connection: (streams == 1 && random.bool()).then_some(3),
        reset: random.bool(),
        seed,
        ..load_settings(&client)
    };
    let load = Load {
        connections: random.usize(1..4),
        rate: random.bool().then_some(400.0),
        schedule: Schedule::Poisson,
        duration: Duration::from_millis(random.u64(50..1500)),
        requests: random.bool().then_some(50),
        ..Load::default()
    };
    let cuts_requests = random.bool();
    let mut world = Servers::world(random, None);
    world.server.cuts_requests = cuts_requests;
    if has_body || seed.is_multiple_of(3) {
        // Two streams at once, and a window that is smaller than a body.
        world.server.greeting = [setting(3, 2), setting(4, 200), peer::frame(6, 0, 0, b"pingping")].concat();
    }
    let (measured, world) = match offer(&client, settings, &load, world) {
        Ok(outcome) => outcome,
        Err(error) => return vec![error.to_string()],
    };
    let world = world.borrow();
    let mut faults = world.wire.faults.clone();
    let counted = measured.requests.completed + measured.requests.late;
    // A request that was given up may be answered before the reset reaches the server.
    let given_up =
        if cuts_requests { measured.requests.timed_out + measured.requests.unanswered + 50 } else { 0 };
    if counted > world.server.good || counted + given_up < world.server.good {
        faults.push(format!(
            "{counted} right responses counted, {} read: {:?}",
            world.server.good, measured.failures
        ));
    }
    faults
}

#[test]
fn every_seed_is_counted_exactly() {
    sys::memory::keep_freed();
    crate::seeds::every(broken);
}

#[test]
fn streams_share_a_connection_and_requests_leave_together() {
    let (level, world) = level(8, 2, calm_but(|servers| servers.comes_together = true));
    let world = world.borrow();
    assert_eq!((world.wire.connections(), level.connections), (2, 2));
    assert_eq!((level.requests.failed, level.requests.unanswered), (0, 0), "{:?}", level.failures);
    // 16 requests each millisecond, but for the first ones, which are spread over five.
    assert!(
        (16 * 90..=16 * 100).contains(&(level.requests.completed as usize)),
        "{}",
        level.requests.completed
    );
    assert!(world.server.together_max == 8, "{} requests in one piece", world.server.together_max);
    assert!(level.latency.quantile(0.5) < 0.001 * 1.02, "{}", level.latency.quantile(0.5));
}

#[test]
fn a_server_that_allows_fewer_streams_makes_requests_wait() {
    let (level, _) = level(8, 1, calm_but(|servers| servers.greeting = setting(3, 2)));
    assert_eq!((level.requests.failed, level.requests.unanswered), (0, 0), "{:?}", level.failures);
    // Two at a time, of which each takes a millisecond, so that eight wait for four.
    assert!((180..=200).contains(&level.requests.completed), "{}", level.requests.completed);
    assert!((level.latency.quantile(0.5) / 0.004 - 1.0).abs() < 0.05, "{}", level.latency.quantile(0.5));
}

#[test]
fn a_server_that_asks_for_another_connection_gets_it_without_a_failure() {
    let (level, world) = level(4, 1, calm_but(|servers| servers.each = Some(10)));
    assert_eq!((level.requests.failed, level.requests.unanswered), (0, 0), "{:?}", level.failures);
    assert!(level.requests.completed > 200, "{}", level.requests.completed);
    let connections = world.borrow().wire.connections() as u64;
    assert!(
        (level.requests.completed / 10..=level.requests.completed / 10 + 4).contains(&connections),
        "{connections}"
    );
    assert!(level.connected_per_second > 100.0, "{}", level.connected_per_second);
}

/// A request that times out resets its stream; the connection stays while anything comes on it.
#[test]
fn a_server_that_says_nothing_is_left() {
    let client = client(3);
    let load = closed_loop(1, Duration::from_millis(1000));
    let (measured, world) =
        offer(&client, load_settings(&client), &load, calm(100_000 * MS)).expect("a load");
    let timeouts = measured.failures.iter().find(|one| one.cause == "timeout").expect("timeouts");
    assert_eq!((timeouts.stage, measured.requests.completed), (RequestStage::FirstByte, 0));
    assert!(
        measured.requests.timed_out >= 6 && world.borrow().wire.connections() >= 2,
        "{}",
        measured.requests.timed_out
    );
}

/// Its stream was reset, and later bytes in it are no response to the next request in its place.
#[test]
fn a_response_after_the_timeout_is_not_that_of_the_next_request() {
    let client = client(2);
    let load = closed_loop(1, Duration::from_millis(1000));
    // A place that failed rests for a while, so the response comes well after that.
    let world = calm_but(|servers| servers.late_first_ns = Some(2 * TIMEOUT_NS));
    let (measured, world) = offer(&client, load_settings(&client), &load, world).expect("a load");
    assert_eq!((measured.requests.failed, measured.requests.timed_out), (1, 1), "{:?}", measured.failures);
    let counted = measured.requests.completed + measured.requests.late;
    assert_eq!((counted, world.borrow().wire.connections()), (world.borrow().server.good, 1));
    assert!(measured.requests.completed > 1000, "{}", measured.requests.completed);
}

/// With room for all bodies on the connection, so that only the windows of streams hold them back.
#[test]
fn a_stream_ends_at_its_own_window() {
    let client = HttpClientSettings { body: Some(Content::new(vec![b'x'; 300_000])), ..client(3) };
    let load = Load { requests: Some(6), ..closed_loop(1, Duration::from_secs(10)) };
    let world = calm_but(|servers| servers.greeting = setting(4, 10_000));
    let (measured, world) = offer(&client, load_settings(&client), &load, world).expect("a load");
    assert_eq!((measured.requests.completed, measured.requests.failed), (6, 0), "{:?}", measured.failures);
    assert!(world.borrow().server.requests.iter().all(|one| one.body_bytes == 300_000));
}

#[test]
fn a_body_is_sent_as_far_as_there_are_windows() {
    let body = vec![b'x'; 1_000_000];
    let client = HttpClientSettings { body: Some(Content::new(body)), ..client(2) };
    let load = Load { requests: Some(6), ..closed_loop(1, Duration::from_secs(10)) };
    for cuts_requests in [false, true] {
        let world = calm_but(|servers| servers.cuts_requests = cuts_requests);
        let (measured, world) = offer(&client, load_settings(&client), &load, world).expect("a load");
        assert_eq!(
            (measured.requests.completed, measured.requests.failed),
            (6, 0),
            "{:?}",
            measured.failures
        );
        assert!(world.borrow().server.requests.iter().all(|one| one.body_bytes == 1_000_000));
        assert!(measured.sent_bytes > 6_000_000);
    }
}
