//! The loop against a simulated server of echo. Where its delays are known, every figure is exact on a
//! machine of any speed; where a seed decides which bytes are split, delayed, refused, reset or never
//! answered, the network knows which responses were read, and so the right counts.

use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use super::{Drive, Engine};
use crate::Error;
use crate::client::echo::EchoClientSettings;
use crate::client::{Client, ClientSettings};
use crate::load::measured::Window;
use crate::load::search::{Goal, StageOutcome, highest};
use crate::load::{
    Level, Load, LoadSettings, Measured, Progress, RequestStage, Schedule, closed_loop, open_loop, unwatched,
};
use crate::network::simulated::{Arrival, MS, Passing, READ_MAX_NS, Server, Simulated, Wire, World};

const REQUEST_BYTES: usize = 16;
const TIMEOUT_NS: u64 = 300 * MS;

/// The histograms keep three digits; the rest is what the loop itself takes of the simulated time.
const EXACT: f64 = 1.01;

/// Nanoseconds from the arrival of a request to its response, by the number of the request and the time;
/// `None` for no response.
type Delays = Box<dyn FnMut(u64, u64) -> Option<u64>>;

/// A server that sends back each request; with delays it is calm, else a seed decides.
struct EchoServer {
    delays: Option<Delays>,
    /// Requests that have arrived.
    requests: u64,
    peers: Vec<Peer>,
    /// Right responses that were read.
    good: u64,
}

#[derive(Default)]
struct Peer {
    request: Vec<u8>,
    /// The arrival of the last request.
    asked_ns: Option<u64>,
}

impl EchoServer {
    fn respond(&mut self, wire: &mut Wire, link: usize) {
        let request = std::mem::take(&mut self.peers[link].request);
        self.peers[link].asked_ns = Some(wire.now_ns);
        wire.begin_request(link);
        self.requests += 1;
        if let Some(delays) = &mut self.delays {
            if let Some(delay_ns) = delays(self.requests, wire.now_ns) {
                wire.send_back(link, delay_ns, Arrival::Bytes(request, Some(0)));
            }
            return;
        }
        let delay_ns = wire.random.u64(..3 * MS);
        match wire.random.u32(..20) {
            0 => {}
            1 => wire.send_back(link, delay_ns, Arrival::Reset),
            2 => wire.send_back(link, delay_ns, Arrival::End),
            3 => wire.send_back(link, delay_ns, Arrival::Bytes(vec![b'?'; REQUEST_BYTES], None)),
            4 => {
                let twice = [&request[..], &request[..]].concat();
                wire.send_back(link, delay_ns, Arrival::Bytes(twice, None));
            }
            5 => {
                let part = wire.random.usize(1..REQUEST_BYTES);
                wire.send_back(link, delay_ns, Arrival::Bytes(request[..part].to_vec(), None));
                let end = if wire.random.bool() { Arrival::End } else { Arrival::Reset };
                wire.send_back(link, delay_ns, end);
            }
            6..=9 => {
                let part = wire.random.usize(1..REQUEST_BYTES);
                wire.send_back(link, delay_ns, Arrival::Bytes(request[..part].to_vec(), None));
                let more_ns = wire.random.u64(..60 * MS);
                wire.send_back(link, delay_ns + more_ns, Arrival::Bytes(request[part..].to_vec(), Some(0)));
            }
            10 => {
                wire.send_back(link, delay_ns, Arrival::Bytes(request, Some(0)));
                wire.send_back(link, delay_ns, Arrival::End);
            }
            _ => wire.send_back(link, delay_ns, Arrival::Bytes(request, Some(0))),
        }
    }
}

impl Server for EchoServer {
    fn accept(&mut self, _link: usize) {
        self.peers.push(Peer::default());
    }

    fn to_server(&mut self, wire: &mut Wire, _link: usize, bytes: usize) -> Passing {
        Passing::Bytes(if wire.happens(8) { wire.random.usize(1..=bytes) } else { bytes })
    }

    fn serve(&mut self, wire: &mut Wire, link: usize, bytes: &[u8]) {
        self.peers[link].request.extend_from_slice(bytes);
        if self.peers[link].request.len() == REQUEST_BYTES {
            self.respond(wire, link);
        }
    }

    fn on_read(&mut self, _link: usize, good: &[u32]) {
        self.good += good.len() as u64;
    }

    fn on_close(&mut self, wire: &mut Wire, link: usize) {
        let is_late = |at: u64| wire.now_ns - at > TIMEOUT_NS + READ_MAX_NS;
        if self.peers[link].asked_ns.is_some_and(is_late) && !wire.is_settled(link) {
            wire.faults.push(format!("connection {link}: the timeout was not kept"));
        }
    }
}

/// A world with a server of these delays, or with one that a seed makes.
fn world(random: fastrand::Rng, delays: Option<Delays>) -> World<EchoServer> {
    let server = EchoServer { delays, requests: 0, peers: Vec::new(), good: 0 };
    World::new(random, server.delays.is_some(), server)
}

/// An engine before a server with these delays, and the world that both are in.
fn before(
    settings: LoadSettings,
    delays: impl FnMut(u64, u64) -> Option<u64> + 'static,
) -> (Engine<impl Client, Simulated<EchoServer>>, Rc<RefCell<World<EchoServer>>>) {
    let world = Rc::new(RefCell::new(world(fastrand::Rng::with_seed(1), Some(Box::new(delays)))));
    let client = echo().open().expect("a client");
    let engine = Engine::new(client, settings, Simulated(Rc::clone(&world))).expect("an engine");
    (engine, world)
}

fn echo() -> EchoClientSettings {
    EchoClientSettings { bytes: REQUEST_BYTES }
}

fn settings() -> LoadSettings {
    LoadSettings::new(SocketAddr::from(([127, 0, 0, 1], 9)), &echo())
}

fn offer(
    settings: LoadSettings,
    load: &Load,
    delays: impl FnMut(u64, u64) -> Option<u64> + 'static,
) -> Level {
    level_of(&mut before(settings, delays).0, load)
}

fn level_of(engine: &mut Engine<impl Client, Simulated<EchoServer>>, load: &Load) -> Level {
    let measured = engine.offer(load, &mut unwatched).expect("a load");
    Level::from_measured(load, vec![measured]).expect("a level")
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn p(level: &Level, percent: f64) -> f64 {
    level.latency.quantile(percent / 100.0)
}

fn timeouts(level: &Level) -> u64 {
    let is_timeout =
        |one: &&crate::load::Failure| (one.stage, one.cause.as_str()) == (RequestStage::FirstByte, "timeout");
    level.failures.iter().filter(is_timeout).map(|one| one.count).sum()
}

#[test]
fn the_service_time_of_a_slow_server_is_found() {
    for load in [closed_loop(2, ms(400)), open_loop(4, 100.0, Schedule::Uniform, ms(400))] {
        let level = offer(settings(), &load, |_, _| Some(10 * MS));
        assert!(level.requests.completed > 30, "{level:?}");
        assert!(level.latency.min_seconds >= 0.010 / EXACT, "{}", level.latency.min_seconds);
        assert!(p(&level, 50.0) < 0.010 * EXACT, "{}", p(&level, 50.0));
    }
}

/// Coordinated omission: of a closed loop, one request sees the server stand still; of an open loop, all that
/// were to come meanwhile.
#[test]
fn a_stall_shows_in_an_open_loop_and_hardly_in_a_closed_one() {
    let stalling = |number, _| Some(if number == 300 { 500 * MS } else { MS / 10 });
    let load = Load { requests: Some(2000), duration: Duration::from_secs(20), ..closed_loop(1, ms(1)) };
    let closed = offer(settings(), &load, stalling);
    assert!(closed.latency.max_seconds > 0.5 / EXACT);
    assert!(p(&closed, 99.0) < 0.000_1 * EXACT, "{}", p(&closed, 99.0));

    let one = LoadSettings { connections_max: 1, ..settings() };
    let open = offer(one, &open_loop(1, 1000.0, Schedule::Constant, ms(2000)), stalling);
    assert!(p(&open, 90.0) > 0.25, "{}", p(&open, 90.0));
    assert!(p(&open, 99.0) > 0.45, "{}", p(&open, 99.0));
    let service = open.service.as_ref().expect("service times").quantile(0.99);
    assert!(service < 0.000_1 * EXACT, "the server was slow but once: {service}");
    // The generator had no free connection, which is not its fault.
    assert!(open.lag.as_ref().expect("lags").quantile(0.99) > 0.45);
    assert!(open.lateness.as_ref().expect("a lateness").quantile(0.99) < 0.000_1);
}

#[test]
fn an_open_loop_opens_connections_while_all_are_busy() {
    let many = LoadSettings { connections_max: 64, ..settings() };
    let level = offer(many, &open_loop(1, 200.0, Schedule::Poisson, ms(600)), |_, _| Some(50 * MS));
    assert!(level.connections > 5 && level.connections <= 64, "{}", level.connections);
    assert!(p(&level, 99.0) < 0.050 * EXACT, "{}", p(&level, 99.0));
    assert_eq!(level.requests.unanswered, 0);
}

#[test]
fn more_than_the_server_can_do_has_no_response() {
    let two = LoadSettings { connections_max: 2, ..settings() };
    let level = offer(two, &open_loop(2, 2000.0, Schedule::Poisson, ms(500)), |_, _| Some(10 * MS));
    assert!(level.requests.unanswered > 500, "{}", level.requests.unanswered);
    let lateness = level.lateness.as_ref().expect("an open loop has a lateness");
    assert!(lateness.quantile(0.99) < 0.000_1, "not the generator: {}", lateness.quantile(0.99));
    assert_eq!(
        level.latency.percentile(99.0).expect("p99").seconds,
        None,
        "the response to most is yet to come"
    );
}

#[test]
fn what_comes_before_the_window_is_not_counted_and_think_time_is_kept() {
    let thinking = LoadSettings { think: ms(20), ..settings() };
    let (mut engine, world) = before(thinking, |_, _| Some(MS));
    let load = Load { warm_up: ms(200), ..closed_loop(1, ms(420)) };
    let level = level_of(&mut engine, &load);
    // Every 21 ms one: 20 in the window, and nine before it.
    assert_eq!(level.requests.completed, 20, "{level:?}");
    assert!((29..=31).contains(&world.borrow().server.requests), "{}", world.borrow().server.requests);
}

/// A watcher sees the last second, and not everything before.
#[test]
fn progress_holds_the_latencies_of_the_last_second() {
    let (mut engine, _) = before(settings(), |_, now_ns| Some(if now_ns < 2_000 * MS { MS } else { 8 * MS }));
    let load = Load { warm_up: ms(300), ..closed_loop(3, ms(4_000)) };
    let mut seen = Vec::new();
    let mut watch = |progress: &Progress| {
        seen.push(progress.clone());
        true
    };
    engine.offer(&load, &mut watch).expect("a load");
    assert!(seen.iter().all(|progress| progress.recent.is_none()), "nobody asked for latencies");

    let mut watch = |progress: &Progress| {
        let medians = progress.recent.as_ref().map(|recent| recent.quantile(0.5).expect("responses"));
        seen.extend(medians.map(|_| progress.clone()));
        true
    };
    let (mut engine, _) = before(settings(), |_, now_ns| Some(if now_ns < 2_000 * MS { MS } else { 8 * MS }));
    engine.follow();
    engine.offer(&load, &mut watch).expect("a load");
    let looks: Vec<&Progress> = seen.iter().filter(|progress| progress.recent.is_some()).collect();
    assert!((3..=4).contains(&looks.len()), "one for each second, {}", looks.len());
    for (look, median) in looks.iter().zip([0.001, 0.001, 0.008, 0.008]) {
        let found = look.recent.as_ref().and_then(|recent| recent.quantile(0.5)).expect("latencies");
        assert!((found / median - 1.0).abs() < 0.04, "{found} at {}", look.seconds);
        assert_eq!(look.open, 3);
    }
}

#[test]
fn the_highest_rate_of_a_limited_server_is_found() {
    // One at a time, 2 ms each: 500 per second at most.
    let mut free_ns = 0;
    let in_turn = move |_, now_ns: u64| {
        free_ns = now_ns.max(free_ns) + 2 * MS;
        Some(free_ns - now_ns)
    };
    let many = LoadSettings { connections_max: 50, ..settings() };
    let mut engine = before(many, in_turn).0;
    let goal = Goal { percent: 90.0, seconds: 0.050 };
    let load = Load { connections: 4, duration: ms(1000), ..Load::default() };
    let found = highest(goal, &load, |_| false, |load| Ok(level_of(&mut engine, load))).expect("a search");
    let rate = found.rate.expect("a rate");
    assert!((400.0..520.0).contains(&rate), "{rate}: {:?}", found.stages);
    assert!(found.stages.iter().any(|stage| stage.outcome == StageOutcome::Fails));
}

#[test]
fn a_slow_server_is_not_reported_as_stuck() {
    let level = offer(settings(), &closed_loop(4, ms(700)), |_, _| Some(200 * MS));
    assert_eq!((level.requests.completed, level.requests.unanswered, level.requests.failed), (12, 0, 0));
}

#[test]
fn waiting_for_a_connection_that_fails_is_not_the_generators_fault() {
    let one = LoadSettings { connections_max: 1, timeout: ms(150), ..settings() };
    let load = open_loop(1, 200.0, Schedule::Constant, ms(1500));
    let level = offer(one, &load, |number, _| (number % 10 != 9).then_some(MS / 10));
    assert!(timeouts(&level) >= 3, "{:?}", level.failures);
    let lateness = level.lateness.as_ref().expect("a lateness");
    assert!(lateness.quantile(0.99) < 0.000_1, "{}", lateness.quantile(0.99));
}

#[test]
fn a_timeout_comes_at_its_time() {
    let impatient = LoadSettings { timeout: ms(100), ..settings() };
    let level = offer(impatient, &closed_loop(2, ms(450)), |_, _| None);
    // Each connection after 100, 300 and 500 ms: what failed is tried again after 100 ms.
    assert_eq!((level.requests.completed, timeouts(&level)), (0, 6), "{:?}", level.failures);
}

#[test]
fn connections_that_never_get_a_response_are_not_passed_over() {
    // Each of four connections begins with a request; only the first gets responses.
    let level =
        offer(settings(), &closed_loop(4, ms(300)), |number, _| (!(2..=4).contains(&number)).then_some(MS));
    assert_eq!((level.requests.unanswered, level.requests.failed), (3, 0));
}

#[test]
fn connections_stay_while_levels_rise() {
    let (mut engine, world) = before(settings(), |_, _| Some(MS));
    for connections in [1, 20, 5, 40] {
        let grown = engine.grow_to(connections).expect("connections");
        assert_eq!((grown.connections, engine.connections()), (connections, connections));
        let level = level_of(&mut engine, &closed_loop(connections, ms(60)));
        assert_eq!((level.connections, level.requests.failed), (connections, 0));
        assert!(level.requests.completed as usize >= 58 * connections, "{}", level.requests.completed);
    }
    // 20, fifteen of them closed, and 35 more.
    assert_eq!(world.borrow().wire.connections(), 55);
}

#[test]
fn a_load_begins_at_its_moment_and_a_stopped_generator_is_absent() {
    let first_ns = Rc::new(Cell::new(u64::MAX));
    let seen = Rc::clone(&first_ns);
    let delays = move |_, now_ns: u64| {
        seen.set(seen.get().min(now_ns));
        Some(MS)
    };
    let (mut engine, world) = before(settings(), delays);
    let at_ns = engine.now_ns() + 40 * MS;
    let mut is_stopped = false;
    let mut watch = |progress: &Progress| {
        if progress.seconds > 0.5 && !std::mem::replace(&mut is_stopped, true) {
            world.borrow_mut().wire.now_ns += 1000 * MS;
        }
        true
    };
    let measured = engine.offer_at(&closed_loop(2, ms(3000)), Some(at_ns), &mut watch).expect("a load");
    let Window { begin_ns, end_ns, absent_ns } = measured.window;
    assert!((at_ns..at_ns + MS).contains(&begin_ns), "{begin_ns} for {at_ns}");
    assert!((at_ns..at_ns + MS).contains(&first_ns.get()), "{} for {at_ns}", first_ns.get());
    assert_eq!(end_ns, at_ns + 3000 * MS);
    assert!((980 * MS..=1000 * MS).contains(&absent_ns), "{absent_ns}");
    let undisturbed = engine.offer(&closed_loop(2, ms(300)), &mut unwatched).expect("a load");
    assert_eq!(undisturbed.window.absent_ns, 0);
}

/// The counts of one load, the right responses that were read, and the events that must never happen.
fn run(seed: u64, loses_wakeups: bool) -> Result<(Measured, u64, Vec<String>), Error> {
    let mut random = fastrand::Rng::with_seed(seed);
    let settings = LoadSettings {
        timeout: Duration::from_nanos(TIMEOUT_NS),
        connections_max: 8,
        requests_per_connection: random.bool().then_some(3),
        reset: random.bool(),
        seed,
        ..settings()
    };
    let load = Load {
        connections: random.usize(1..6),
        rate: random.bool().then_some(400.0),
        schedule: Schedule::Poisson,
        duration: Duration::from_millis(random.u64(50..1500)),
        requests: random.bool().then_some(50),
        ..Load::default()
    };
    let mut world = world(random, None);
    world.wire.loses_wakeups = loses_wakeups;
    let world = Rc::new(RefCell::new(world));
    let mut engine = Engine::new(echo().open()?, settings, Simulated(Rc::clone(&world)))?;
    let measured = engine.offer(&load, &mut unwatched)?;
    drop(engine);
    let world = world.borrow();
    Ok((measured, world.server.good, world.wire.faults.clone()))
}

/// The faults that a seed shows.
fn broken(seed: u64) -> Vec<String> {
    let (measured, good, mut faults) = match run(seed, false) {
        Ok(outcome) => outcome,
        Err(error) => return vec![error.to_string()],
    };
    if measured.requests.completed + measured.requests.late != good {
        let counted = measured.requests.completed + measured.requests.late;
        faults.push(format!("{counted} right responses counted, {good} read: {:?}", measured.failures));
    }
    faults
}

#[test]
fn every_seed_is_counted_exactly() {
    sys::memory::keep_freed();
    crate::seeds::every(broken);
}

#[test]
fn a_lost_wake_up_is_found() {
    let found =
        (0..50).filter(|&seed| run(seed, true).is_ok_and(|(_, _, faults)| !faults.is_empty())).count();
    assert!(found > 0, "50 seeds with lost wake-ups and none was seen");
}
