//! The generator against servers that do what each test needs, and know what they have done.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use net::load::search::{Goal, highest};
use net::load::{
    Generator, Level, Load, Schedule, Settings, Sources, Stage, Verdict, closed_loop, open_loop, unwatched,
};

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

/// What a server of one thread for each connection has seen.
#[derive(Clone)]
struct Server {
    address: SocketAddr,
    connections: Arc<AtomicU64>,
    requests: Arc<AtomicU64>,
    gone: Arc<AtomicBool>,
    sources: Arc<std::sync::Mutex<std::collections::BTreeSet<std::net::IpAddr>>>,
}

/// Serves with what `answer` makes of the number of a request; `None` closes.
fn serve(answer: impl Fn(u64) -> Option<Vec<u8>> + Send + Sync + 'static) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let server = Server {
        address: listener.local_addr().expect("an address"),
        connections: Arc::default(),
        requests: Arc::default(),
        gone: Arc::default(),
        sources: Arc::default(),
    };
    let (own, answer) = (server.clone(), Arc::new(answer));
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            if own.gone.load(Ordering::SeqCst) {
                return;
            }
            let (own, answer) = (own.clone(), Arc::clone(&answer));
            std::thread::spawn(move || own.session(stream.expect("a connection"), &*answer));
        }
    });
    server
}

impl Server {
    fn session(&self, mut stream: TcpStream, answer: &dyn Fn(u64) -> Option<Vec<u8>>) {
        stream.set_nodelay(true).expect("an option");
        self.connections.fetch_add(1, Ordering::SeqCst);
        self.sources.lock().expect("a lock").insert(stream.peer_addr().expect("a peer").ip());
        let mut input = Vec::new();
        let mut piece = [0; 4096];
        loop {
            while let Some(end) = input.windows(4).position(|window| window == b"\r\n\r\n") {
                input.drain(..end + 4);
                let number = self.requests.fetch_add(1, Ordering::SeqCst);
                let Some(bytes) = answer(number) else { return };
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

    fn requests(&self) -> u64 {
        self.requests.load(Ordering::SeqCst)
    }

    fn connections(&self) -> u64 {
        self.connections.load(Ordering::SeqCst)
    }
}

fn ok(_: u64) -> Option<Vec<u8>> {
    Some(OK.to_vec())
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn offer(settings: Settings, load: &Load) -> Level {
    Generator::new(settings).and_then(|mut one| one.offer(load, &mut unwatched)).expect("a level")
}

fn p(level: &Level, percent: f64) -> f64 {
    level.latency.quantile(percent / 100.0)
}

fn failure(level: &Level, stage: Stage, cause: &str) -> u64 {
    level.failures.iter().filter(|one| one.stage == stage && one.cause == cause).map(|one| one.count).sum()
}

#[test]
fn counts_agree_with_the_servers() {
    let server = serve(ok);
    let load = Load { requests: Some(5000), duration: Duration::from_secs(60), ..closed_loop(7, ms(1)) };
    let level = offer(Settings::http(server.address), &load);
    assert_eq!((level.started, level.completed, level.failed), (5000, 5000, 0));
    assert_eq!((server.requests(), server.connections()), (5000, 7));
    assert_eq!(level.received_bytes, 5000 * OK.len() as u64);
    assert_eq!(level.latency.count, 5000);
    assert_eq!(level.slices.iter().map(|slice| slice.completed).sum::<u64>(), 5000);
    assert!(level.elapsed_seconds < 30.0, "ends when all were answered");
}

#[test]
fn an_open_loop_asks_at_its_rate() {
    let server = serve(ok);
    let load = open_loop(4, 2000.0, Schedule::Constant, ms(500));
    let level = offer(Settings::http(server.address), &load);
    assert_eq!(level.intended, Some(1000));
    assert_eq!((level.started, level.completed + level.late), (1000, 1000));
    assert_eq!(server.requests(), 1000);
    assert_eq!(level.lag.as_ref().unwrap().count, 1000);
    assert!(level.elapsed_seconds > 0.49 && level.elapsed_seconds < 0.51);
}

#[test]
fn the_service_time_of_a_slow_server_is_found() {
    let server = serve(|_| {
        std::thread::sleep(ms(10));
        ok(0)
    });
    for load in [closed_loop(2, ms(400)), open_loop(4, 100.0, Schedule::Uniform, ms(400))] {
        let level = offer(Settings::http(server.address), &load);
        assert!(level.completed > 10, "{level:?}");
        assert!(level.latency.min_seconds >= 0.010, "{}", level.latency.min_seconds);
        assert!(p(&level, 50.0) < 0.030, "{}", p(&level, 50.0));
    }
}

/// Coordinated omission: of a closed loop, one request sees the server stand still; of an open loop, all that
/// were to come meanwhile.
#[test]
fn a_stall_shows_in_an_open_loop_and_hardly_in_a_closed_one() {
    let stalling = || {
        serve(|number| {
            if number == 300 {
                std::thread::sleep(ms(500));
            }
            ok(number)
        })
    };
    let server = stalling();
    let load = Load { requests: Some(2000), duration: Duration::from_secs(20), ..closed_loop(1, ms(1)) };
    let closed = offer(Settings::http(server.address), &load);
    assert!(closed.latency.max_seconds > 0.45);
    assert!(p(&closed, 99.0) < 0.1, "{}", p(&closed, 99.0));

    let server = stalling();
    let settings = Settings { connections_max: 1, ..Settings::http(server.address) };
    let open = offer(settings, &open_loop(1, 1000.0, Schedule::Constant, ms(2000)));
    assert!(p(&open, 90.0) > 0.2, "{}", p(&open, 90.0));
    assert!(p(&open, 99.0) > 0.4, "{}", p(&open, 99.0));
    let service = open.service.as_ref().unwrap().quantile(0.99);
    assert!(service < 0.1, "the server was slow but once: {service}");
    // The generator had no free connection: that is no fault of its own.
    assert!(open.lag.as_ref().unwrap().quantile(0.99) > 0.4);
    assert!(open.lateness.as_ref().unwrap().quantile(0.90) < 0.05);
}

#[test]
fn refused_connections_are_counted_and_not_hurried() {
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for settings in [Settings::http(address), Settings::busy(address)] {
        let level = offer(settings, &closed_loop(5, ms(350)));
        assert_eq!(level.completed, 0);
        let refused = failure(&level, Stage::Connect, "ECONNREFUSED");
        assert!((5..=50).contains(&refused), "{:?}", level.failures);
        assert!(matches!(level.verdict, Verdict::NoAnswers(_)));
    }
}

#[test]
fn broken_answers_are_told_apart() {
    let server = serve(|number| match number % 4 {
        0 => ok(0),
        1 => Some(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nHELLO".to_vec()),
        2 => Some(b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n".to_vec()),
        _ => None,
    });
    let load = Load { requests: Some(400), duration: Duration::from_secs(20), ..closed_loop(1, ms(1)) };
    let level = offer(Settings::http(server.address), &load);
    assert_eq!((level.started, level.completed, level.failed), (400, 100, 300));
    assert_eq!(failure(&level, Stage::Body, "wrong content"), 100);
    assert_eq!(failure(&level, Stage::Body, "status 503"), 100);
    assert_eq!(failure(&level, Stage::FirstByte, "closed early"), 100);
    assert_eq!(server.connections(), 100, "one until each that the server closed");
}

#[test]
fn a_reset_in_the_middle_of_an_answer_is_counted_where_it_was() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            stream.write_all(&OK[..30]).unwrap();
            std::thread::sleep(ms(20));
            // Closed with a request that was never read: that resets.
            drop(stream);
        }
    });
    let level = offer(Settings::http(address), &closed_loop(1, ms(500)));
    assert!(failure(&level, Stage::Body, "ECONNRESET") >= 1, "{:?}", level.failures);
}

#[test]
fn answers_that_do_not_come_in_time_are_counted() {
    let server = serve(|_| {
        std::thread::sleep(Duration::from_secs(5));
        ok(0)
    });
    let settings = Settings { timeout: ms(100), ..Settings::http(server.address) };
    let level = offer(settings, &closed_loop(2, ms(450)));
    assert!(failure(&level, Stage::FirstByte, "timeout") >= 2, "{:?}", level.failures);
    assert_eq!(level.completed, 0);
}

#[test]
fn a_server_that_vanishes_is_survived() {
    let server = serve(ok);
    let gone = Arc::clone(&server.gone);
    let address = server.address;
    std::thread::spawn(move || {
        std::thread::sleep(ms(200));
        gone.store(true, Ordering::SeqCst);
        // The listener looks, and goes.
        drop(TcpStream::connect(address));
    });
    let level = offer(Settings::http(server.address), &closed_loop(4, ms(700)));
    assert!(level.completed > 10);
    assert!(failure(&level, Stage::Connect, "ECONNREFUSED") >= 1, "{:?}", level.failures);
    assert!(level.elapsed_seconds > 0.69);
}

#[test]
fn a_new_connection_for_every_request() {
    let server = serve(|_| Some(OK.to_vec()));
    // This server does not look at `Connection: close`, so it is the client's limit that closes.
    let settings = Settings { requests_per_connection: Some(1), ..Settings::http(server.address) };
    let load = Load { requests: Some(300), duration: Duration::from_secs(20), ..closed_loop(3, ms(1)) };
    let level = offer(settings, &load);
    assert_eq!((level.completed, level.failed), (300, 0));
    assert_eq!(server.requests(), 300);
    assert!((300..=303).contains(&server.connections()), "{}", server.connections());
}

#[test]
fn busy_reads_the_line_and_the_close() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let accepted = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&accepted);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            counter.fetch_add(1, Ordering::SeqCst);
            stream.unwrap().write_all(b"450 too busy\r\n").unwrap();
        }
    });
    for reset in [false, true] {
        let before = accepted.load(Ordering::SeqCst);
        let settings = Settings { reset, ..Settings::busy(address) };
        let load = Load { requests: Some(500), duration: Duration::from_secs(20), ..closed_loop(10, ms(1)) };
        let level = offer(settings, &load);
        assert_eq!((level.completed, level.failed), (500, 0), "{:?}", level.failures);
        assert_eq!((level.connected_per_second * level.elapsed_seconds).round() as u64, 500);
        assert_eq!(accepted.load(Ordering::SeqCst) - before, 500);
    }
}

#[test]
fn an_echo_comes_back_even_if_it_is_long() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            std::thread::spawn(move || {
                let mut other = stream.try_clone().unwrap();
                let _ = std::io::copy(&mut stream, &mut other);
            });
        }
    });
    for (bytes, pipeline) in [(1, 1), (100, 8), (65_536, 1)] {
        let settings = Settings { pipeline, ..Settings::echo(address, bytes) };
        let load = Load { requests: Some(400), duration: Duration::from_secs(20), ..closed_loop(4, ms(1)) };
        let level = offer(settings, &load);
        assert_eq!((level.completed, level.failed), (400, 0), "{bytes}: {:?}", level.failures);
        assert_eq!(level.received_bytes, 400 * bytes as u64);
    }
}

#[test]
fn requests_sent_together_are_all_answered() {
    let server = serve(ok);
    let settings = Settings { pipeline: 10, ..Settings::http(server.address) };
    let load = Load { requests: Some(1000), duration: Duration::from_secs(20), ..closed_loop(3, ms(1)) };
    let level = offer(settings, &load);
    assert_eq!((level.started, level.completed, server.requests()), (1000, 1000, 1000));
}

#[test]
fn connections_come_from_many_addresses() {
    let server = serve(ok);
    let sources = Sources::parse("127.0.0.2-127.0.0.6,127.0.9.0/30").unwrap();
    let settings = Settings { sources, idle: 5, ..Settings::http(server.address) };
    let level = offer(settings, &closed_loop(9, ms(100)));
    assert!(level.completed > 0);
    assert_eq!(level.connections, 9);
    assert_eq!(server.sources.lock().unwrap().len(), 7);
    assert_eq!(server.connections(), 14, "nine that ask, and five that are silent");
}

#[test]
fn connections_stay_while_levels_rise() {
    let server = serve(ok);
    let mut generator = Generator::new(Settings::http(server.address)).unwrap();
    for connections in [1, 20, 5, 40] {
        let grown = generator.grow_to(connections).unwrap();
        assert_eq!((grown.connections, generator.connections()), (connections, connections));
        let level = generator.closed_loop(ms(60)).unwrap();
        assert_eq!((level.connections, level.failed), (connections, 0));
        assert!(level.completed > 0);
    }
    // 20, fifteen of them closed, and 35 more.
    assert_eq!(server.connections(), 55);
    let before = server.requests();
    for number in [0, 39, 17] {
        assert!(generator.ask_once(number).unwrap() < Duration::from_secs(5));
    }
    assert_eq!(server.requests(), before + 3);
    assert!(generator.ask_once(40).is_err());
}

#[test]
fn one_request_that_fails_says_how() {
    let server = serve(|_| Some(b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n".to_vec()));
    let mut generator = Generator::new(Settings::http(server.address)).unwrap();
    generator.grow_to(1).unwrap();
    let error = generator.ask_once(0).unwrap_err().to_string();
    assert!(error.contains("status 500"), "{error}");
}

#[test]
fn an_open_loop_opens_connections_while_all_are_busy() {
    let server = serve(|_| {
        std::thread::sleep(ms(50));
        ok(0)
    });
    let settings = Settings { connections_max: 64, ..Settings::http(server.address) };
    let level = offer(settings, &open_loop(1, 200.0, Schedule::Poisson, ms(600)));
    assert!(level.connections > 5 && level.connections <= 64, "{}", level.connections);
    assert!(p(&level, 50.0) < 0.09, "{}", p(&level, 50.0));
    assert_eq!(level.unanswered, 0);
}

#[test]
fn more_than_the_server_can_do_is_said_to_be_so() {
    let server = serve(|_| {
        std::thread::sleep(ms(10));
        ok(0)
    });
    let settings = Settings { connections_max: 2, ..Settings::http(server.address) };
    let level = offer(settings, &open_loop(2, 2000.0, Schedule::Poisson, ms(500)));
    assert!(level.unanswered > 500, "{}", level.unanswered);
    assert!(matches!(level.verdict, Verdict::Behind(_)), "{:?}", level.verdict);
    assert_eq!(level.latency.percentile(99.0).unwrap().seconds, None, "the answer to most is yet to come");
}

#[test]
fn warm_up_think_time_and_a_stop_from_outside() {
    let server = serve(ok);
    let settings = Settings { think: ms(20), ..Settings::http(server.address) };
    let load = Load { warm_up: ms(200), ..closed_loop(1, ms(400)) };
    let level = offer(settings, &load);
    assert!((10..=20).contains(&level.completed), "{}", level.completed);
    assert!(server.requests() > level.completed + 5);

    let start = Instant::now();
    let mut told = 0;
    let mut generator = Generator::new(Settings::http(server.address)).unwrap();
    let mut watched = |_: &net::load::Progress| {
        told += 1;
        told < 3
    };
    let level = generator.offer(&closed_loop(1, Duration::from_secs(30)), &mut watched).unwrap();
    assert!(start.elapsed() < Duration::from_secs(5) && level.completed > 0);
}

#[test]
fn the_highest_rate_of_a_limited_server_is_found() {
    // One at a time, 2 ms each: 500 a second at most; at 80 % of that a queue is still short.
    let turn = Arc::new(std::sync::Mutex::new(()));
    let server = serve(move |_| {
        let _turn = turn.lock().unwrap();
        std::thread::sleep(ms(2));
        ok(0)
    });
    let settings = Settings { connections_max: 50, ..Settings::http(server.address) };
    let mut generator = Generator::new(settings).unwrap();
    let goal = Goal { percent: 90.0, seconds: 0.050 };
    let load = Load { connections: 4, duration: ms(1000), ..Load::default() };
    let found = highest(goal, &load, |load| generator.offer(load, &mut unwatched)).unwrap();
    let rate = found.rate.expect("a rate");
    assert!((150.0..520.0).contains(&rate), "{rate}: {:?}", found.stages);
    assert!(found.stages.iter().any(|stage| !stage.held));
}

#[test]
fn settings_that_make_no_sense_are_refused() {
    let address = "127.0.0.1:1".parse().unwrap();
    let refused = |settings| Generator::new(settings).is_err();
    let http = || Settings::http(address);
    assert!(refused(Settings { pipeline: 0, ..http() }));
    assert!(refused(Settings { pipeline: 2, ..Settings::busy(address) }));
    assert!(refused(Settings { timeout: Duration::ZERO, ..http() }));
    assert!(refused(Settings { connect_rate: f64::NAN, ..http() }));
    assert!(refused(Settings::echo(address, 0)));
    assert!(refused(Settings { sources: Sources::parse("::1").unwrap(), ..http() }));
    let mut generator = Generator::new(http()).unwrap();
    for load in [closed_loop(0, ms(1)), closed_loop(1, ms(0)), open_loop(1, 0.0, Schedule::Poisson, ms(1))] {
        assert!(generator.offer(&load, &mut unwatched).is_err(), "{load:?}");
    }
}

#[test]
fn connections_that_never_get_an_answer_are_not_passed_over() {
    // The first request is answered, and all others on that connection; nobody else is.
    let first = std::sync::Mutex::new(None);
    let server = serve(move |_| {
        let own = std::thread::current().id();
        if *first.lock().expect("a lock").get_or_insert(own) != own {
            std::thread::sleep(ms(60_000));
        }
        ok(0)
    });
    let level = offer(Settings::http(server.address), &closed_loop(4, ms(300)));
    assert_eq!(level.unanswered, 3);
    assert!(matches!(level.verdict, Verdict::Behind(_)), "{:?}", level.verdict);
    assert_eq!(level.failed, 0);
}

#[test]
fn a_slow_server_is_not_said_to_be_stuck() {
    let server = serve(|_| {
        std::thread::sleep(ms(200));
        ok(0)
    });
    let level = offer(Settings::http(server.address), &closed_loop(4, ms(700)));
    assert_eq!((level.unanswered, level.failed), (0, 0));
    assert_eq!(level.verdict, Verdict::Sound);
}

#[test]
fn waiting_for_a_connection_that_fails_is_not_the_generators_fault() {
    let server = serve(|number| {
        if number % 10 == 9 {
            std::thread::sleep(ms(5000));
        }
        ok(0)
    });
    let settings = Settings { connections_max: 1, timeout: ms(150), ..Settings::http(server.address) };
    let level = offer(settings, &open_loop(1, 200.0, Schedule::Constant, ms(1500)));
    assert!(failure(&level, Stage::FirstByte, "timeout") >= 3, "{:?}", level.failures);
    let lateness = level.lateness.as_ref().expect("an open loop has a lateness");
    assert!(lateness.quantile(0.99) < 0.05, "{}", lateness.quantile(0.99));
    assert!(!matches!(level.verdict, Verdict::Generator(_)), "{:?}", level.verdict);
}

#[test]
fn silent_connections_that_the_server_closes_are_told() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let (mut stream, mut piece) = (stream, [0; 4096]);
                stream.set_read_timeout(Some(ms(400))).expect("an option");
                while matches!(stream.read(&mut piece), Ok(1..)) && stream.write_all(OK).is_ok() {}
            });
        }
    });
    for rate in [None, Some(100.0)] {
        let settings = Settings { idle: 5, ..Settings::http(address) };
        let level = offer(settings, &Load { rate, ..closed_loop(1, ms(800)) });
        assert_eq!(failure(&level, Stage::Idle, "closed early"), 5, "{rate:?}: {:?}", level.failures);
        assert_eq!(level.failed, 0);
    }
}
