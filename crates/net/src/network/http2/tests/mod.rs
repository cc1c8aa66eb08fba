//! The loop against servers that speak HTTP/2 over a simulated network.

pub(crate) mod peer;
mod world;

use std::cell::RefCell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use self::peer::settings as setting;
use self::world::{MS, Simulated, World};
use super::Http2Network;
use crate::Error;
use crate::client::ClientSettings;
use crate::client::http::HttpClientSettings;
use crate::load::{
    Engine, Level, Load, LoadSettings, Measured, RequestStage, Schedule, closed_loop, unwatched,
};
use crate::options::Content;

const TIMEOUT_NS: u64 = 300 * MS;

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
    world: World,
) -> Result<(Measured, Rc<RefCell<World>>), Error> {
    let world = Rc::new(RefCell::new(world));
    let http2 = client.http2(false)?.expect("HTTP/2");
    let network = Http2Network::new(http2, Simulated(Rc::clone(&world)));
    let mut engine = Engine::new(client.open()?, settings, network)?;
    let measured = engine.offer(load, &mut unwatched)?;
    Ok((measured, world))
}

fn calm(delay_ns: u64) -> World {
    World::new(fastrand::Rng::with_seed(1), Some(delay_ns))
}

/// The same, with something changed.
fn calm_but(change: impl FnOnce(&mut World)) -> World {
    let mut world = calm(MS);
    change(&mut world);
    world
}

/// What a calm server and so many streams on each of so many connections make.
fn level(streams: usize, connections: usize, world: World) -> (Level, Rc<RefCell<World>>) {
    let client = client(streams);
    let load = closed_loop(connections, Duration::from_millis(100));
    let (measured, world) = offer(&client, load_settings(&client), &load, world).expect("a load");
    (Level::from_measured(&load, vec![measured]).expect("a level"), world)
}

/// What a seed shows that must never be.
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
    let mut world = World::new(random, None);
    world.cuts_requests = cuts_requests;
    if has_body || seed.is_multiple_of(3) {
        // Two streams at once, and a window that is smaller than a body.
        world.greeting = [settings_of(2), setting(4, 200), peer::frame(6, 0, 0, b"pingping")].concat();
    }
    let (measured, world) = match offer(&client, settings, &load, world) {
        Ok(outcome) => outcome,
        Err(error) => return vec![error.to_string()],
    };
    let world = world.borrow();
    let mut faults = world.faults.clone();
    let counted = measured.completed + measured.late;
    // A request that was given up may be answered before the server hears so, where that is cut.
    let given_up = if cuts_requests { measured.timed_out + measured.unanswered + 50 } else { 0 };
    if counted > world.good || counted + given_up < world.good {
        faults
            .push(format!("{counted} right responses counted, {} read: {:?}", world.good, measured.failures));
    }
    faults
}

/// So many streams at once.
fn settings_of(streams: u32) -> Vec<u8> {
    setting(3, streams)
}

#[test]
fn every_seed_is_counted_exactly() {
    sys::memory::keep_freed();
    crate::seeds::every(broken);
}

#[test]
fn streams_share_a_connection_and_requests_leave_together() {
    let (level, world) = level(8, 2, calm_but(|world| world.comes_together = true));
    let world = world.borrow();
    assert_eq!((world.connections(), level.connections), (2, 2));
    assert_eq!((level.failed, level.unanswered), (0, 0), "{:?}", level.failures);
    // 16 requests each millisecond, but for the first ones, which are spread over five.
    assert!((16 * 90..=16 * 100).contains(&(level.completed as usize)), "{}", level.completed);
    assert!(world.together_max == 8, "{} requests in one piece", world.together_max);
    assert!(level.latency.quantile(0.5) < 0.001 * 1.02, "{}", level.latency.quantile(0.5));
}

#[test]
fn a_server_that_allows_fewer_streams_makes_requests_wait() {
    let (level, _) = level(8, 1, calm_but(|world| world.greeting = settings_of(2)));
    assert_eq!((level.failed, level.unanswered), (0, 0), "{:?}", level.failures);
    // Two at a time, of which each takes a millisecond, so that eight wait for four.
    assert!((180..=200).contains(&level.completed), "{}", level.completed);
    assert!((level.latency.quantile(0.5) / 0.004 - 1.0).abs() < 0.05, "{}", level.latency.quantile(0.5));
}

#[test]
fn a_server_that_asks_for_another_connection_gets_it_without_a_failure() {
    let (level, world) = level(4, 1, calm_but(|world| world.each = Some(10)));
    assert_eq!((level.failed, level.unanswered), (0, 0), "{:?}", level.failures);
    assert!(level.completed > 200, "{}", level.completed);
    let connections = world.borrow().connections() as u64;
    assert!((level.completed / 10..=level.completed / 10 + 4).contains(&connections), "{connections}");
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
    assert_eq!((timeouts.stage, measured.completed), (RequestStage::FirstByte, 0));
    assert!(measured.timed_out >= 6 && world.borrow().connections() >= 2, "{}", measured.timed_out);
}

/// Its stream was reset, and what still comes in it is no response to the next request in its place.
#[test]
fn a_response_after_the_timeout_is_not_that_of_the_next_request() {
    let client = client(2);
    let load = closed_loop(1, Duration::from_millis(1000));
    // A place that failed rests for a while, so the response comes well after that.
    let world = calm_but(|world| world.late_first_ns = Some(2 * TIMEOUT_NS));
    let (measured, world) = offer(&client, load_settings(&client), &load, world).expect("a load");
    assert_eq!((measured.failed, measured.timed_out), (1, 1), "{:?}", measured.failures);
    let counted = measured.completed + measured.late;
    assert_eq!((counted, world.borrow().connections()), (world.borrow().good, 1));
    assert!(measured.completed > 1000, "{}", measured.completed);
}

/// With room for all bodies on the connection, so that only the windows of streams hold them back.
#[test]
fn a_stream_ends_at_its_own_window() {
    let client = HttpClientSettings { body: Some(Content::new(vec![b'x'; 300_000])), ..client(3) };
    let load = Load { requests: Some(6), ..closed_loop(1, Duration::from_secs(10)) };
    let world = calm_but(|world| world.greeting = setting(4, 10_000));
    let (measured, world) = offer(&client, load_settings(&client), &load, world).expect("a load");
    assert_eq!((measured.completed, measured.failed), (6, 0), "{:?}", measured.failures);
    assert!(world.borrow().requests.iter().all(|one| one.body_bytes == 300_000));
}

#[test]
fn a_body_is_sent_as_far_as_there_are_windows() {
    let body = vec![b'x'; 1_000_000];
    let client = HttpClientSettings { body: Some(Content::new(body)), ..client(2) };
    let load = Load { requests: Some(6), ..closed_loop(1, Duration::from_secs(10)) };
    for cuts_requests in [false, true] {
        let world = calm_but(|world| world.cuts_requests = cuts_requests);
        let (measured, world) = offer(&client, load_settings(&client), &load, world).expect("a load");
        assert_eq!((measured.completed, measured.failed), (6, 0), "{:?}", measured.failures);
        assert!(world.borrow().requests.iter().all(|one| one.body_bytes == 1_000_000));
        assert!(measured.sent_bytes > 6_000_000);
    }
}
