//! Closed and open loops: rates, stalls, warm-up, searches.

use std::sync::Arc;
use std::time::{Duration, Instant};

use net::load::search::{Goal, highest};
use net::load::{Generator, Load, LoadSettings, RequestStage, Schedule, closed_loop, open_loop, unwatched};

use crate::server::{OK, failure, http, ms, offer, ok, p, serve};

#[test]
fn counts_agree_with_the_servers() {
    let server = serve(ok);
    let load = Load { requests: Some(5000), duration: Duration::from_secs(60), ..closed_loop(7, ms(1)) };
    let level = offer(http(server.address), &load);
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
    let level = offer(http(server.address), &load);
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
        let level = offer(http(server.address), &load);
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
    let closed = offer(http(server.address), &load);
    assert!(closed.latency.max_seconds > 0.45);
    assert!(p(&closed, 99.0) < 0.1, "{}", p(&closed, 99.0));

    let server = stalling();
    let settings = LoadSettings { connections_max: 1, ..http(server.address) };
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
fn an_open_loop_opens_connections_while_all_are_busy() {
    let server = serve(|_| {
        std::thread::sleep(ms(50));
        ok(0)
    });
    let settings = LoadSettings { connections_max: 64, ..http(server.address) };
    let level = offer(settings, &open_loop(1, 200.0, Schedule::Poisson, ms(600)));
    assert!(level.connections > 5 && level.connections <= 64, "{}", level.connections);
    assert!(p(&level, 50.0) < 0.09, "{}", p(&level, 50.0));
    assert_eq!(level.unanswered, 0);
}

#[test]
fn more_than_the_server_can_do_has_no_response() {
    let server = serve(|_| {
        std::thread::sleep(ms(10));
        ok(0)
    });
    let settings = LoadSettings { connections_max: 2, ..http(server.address) };
    let level = offer(settings, &open_loop(2, 2000.0, Schedule::Poisson, ms(500)));
    assert!(level.unanswered > 500, "{}", level.unanswered);
    let lateness = level.lateness.as_ref().expect("an open loop has a lateness");
    assert!(lateness.quantile(0.99) < 0.05, "not the generator: {}", lateness.quantile(0.99));
    assert_eq!(level.latency.percentile(99.0).unwrap().seconds, None, "the response to most is yet to come");
}

#[test]
fn warm_up_think_time_and_a_stop_from_outside() {
    let server = serve(ok);
    let settings = LoadSettings { think: ms(20), ..http(server.address) };
    let load = Load { warm_up: ms(200), ..closed_loop(1, ms(400)) };
    let level = offer(settings, &load);
    assert!((10..=20).contains(&level.completed), "{}", level.completed);
    assert!(server.requests() > level.completed + 5);

    let start = Instant::now();
    let mut told = 0;
    let mut generator = Generator::new(http(server.address)).unwrap();
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
    let settings = LoadSettings { connections_max: 50, ..http(server.address) };
    let mut generator = Generator::new(settings).unwrap();
    let goal = Goal { percent: 90.0, seconds: 0.050 };
    let load = Load { connections: 4, duration: ms(1000), ..Load::default() };
    let found = highest(goal, &load, |load| generator.offer(load, &mut unwatched)).unwrap();
    let rate = found.rate.expect("a rate");
    assert!((150.0..520.0).contains(&rate), "{rate}: {:?}", found.stages);
    assert!(found.stages.iter().any(|stage| !stage.held));
}

#[test]
fn a_slow_server_is_not_said_to_be_stuck() {
    let server = serve(|_| {
        std::thread::sleep(ms(200));
        ok(0)
    });
    let level = offer(http(server.address), &closed_loop(4, ms(700)));
    assert_eq!((level.unanswered, level.failed), (0, 0));
}

#[test]
fn waiting_for_a_connection_that_fails_is_not_the_generators_fault() {
    let server = serve(|number| {
        if number % 10 == 9 {
            std::thread::sleep(ms(5000));
        }
        ok(0)
    });
    let settings = LoadSettings { connections_max: 1, timeout: ms(150), ..http(server.address) };
    let level = offer(settings, &open_loop(1, 200.0, Schedule::Constant, ms(1500)));
    assert!(failure(&level, RequestStage::FirstByte, "timeout") >= 3, "{:?}", level.failures);
    let lateness = level.lateness.as_ref().expect("an open loop has a lateness");
    assert!(lateness.quantile(0.99) < 0.05, "{}", lateness.quantile(0.99));
}
