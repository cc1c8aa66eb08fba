//! Every request that was started has one outcome, for any behaviour of the server and any lateness of the
//! generator.

use std::time::{Duration, Instant};

use net::load::{Generator, Load, LoadSettings, OffersLoad, Schedule, closed_loop, open_loop};

use crate::server::{OK, expect_balance, http, ms, offer, ok, serve};

/// Responses of every kind, good and bad, in turn.
fn mixture(number: u64) -> Option<Vec<u8>> {
    let longer = [OK, b" and more"].concat();
    let twice = [OK, OK].concat();
    match number % 7 {
        0 | 1 => ok(0),
        2 => Some(longer),
        3 => Some(twice),
        4 => Some(b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n".to_vec()),
        5 => Some(OK[..30].to_vec()),
        _ => None,
    }
}

#[test]
fn every_request_has_one_outcome() {
    let server = serve(mixture);
    for new_connections in [false, true] {
        let settings = LoadSettings { new_connections, timeout: ms(60), ..http(server.address) };
        expect_balance(&offer(settings.clone(), &closed_loop(3, ms(200))));
        let warm = Load { warm_up: ms(100), ..closed_loop(3, ms(200)) };
        expect_balance(&offer(settings.clone(), &warm));
        expect_balance(&offer(settings, &open_loop(3, 500.0, Schedule::Poisson, ms(200))));
    }
    let together = LoadSettings { pipeline: 4, timeout: ms(60), ..http(server.address) };
    expect_balance(&offer(together, &closed_loop(3, ms(300))));
}

#[test]
fn a_response_with_bytes_behind_it_is_wrong_and_not_right_too() {
    let server = serve(|_| Some([OK, b" and more"].concat()));
    let load = Load { requests: Some(100), duration: Duration::from_secs(20), ..closed_loop(1, ms(1)) };
    let level = offer(http(server.address), &load);
    assert_eq!((level.requests.started, level.requests.completed, level.requests.failed), (100, 0, 100));
    assert_eq!(level.latency.count, 0);
}

#[test]
fn requests_that_time_out_are_slower_than_all_others() {
    let server = serve(|number| {
        if number % 2 == 1 {
            std::thread::sleep(ms(5000));
        }
        ok(0)
    });
    let settings = LoadSettings { timeout: ms(100), ..http(server.address) };
    // Many requests, and not much time: a busy machine sends fewer in the same time.
    let open = open_loop(4, 50.0, Schedule::Constant, ms(2000));
    let closed = Load { requests: Some(40), ..closed_loop(4, Duration::from_secs(20)) };
    for load in [open, closed] {
        let level = offer(settings.clone(), &load);
        expect_balance(&level);
        assert!(level.requests.timed_out > 5, "{level:?}");
        assert_eq!(level.latency.percentile(99.0).expect("a percentile").seconds, None);
        assert!(
            level.requests.timed_out * 100 > level.intended.unwrap_or(level.requests.started),
            "{level:?}"
        );
    }
}

/// The window is shorter than a response takes: it has none, but the server has answered all the same.
#[test]
fn a_response_after_the_window_is_late_and_not_missing() {
    let server = serve(|_| {
        std::thread::sleep(ms(700));
        ok(0)
    });
    for warm_up in [ms(0), ms(50)] {
        let load = Load { warm_up, ..closed_loop(1, ms(200)) };
        let level = offer(http(server.address), &load);
        expect_balance(&level);
        assert_eq!(
            (level.requests.completed, level.requests.failed, level.requests.late, level.requests.unanswered),
            (0, 0, 1, 0)
        );
        assert_eq!(level.latency.count, 0);
    }
}

/// A generator that had no processor when the load ended was late; the requests were meant all the same.
#[test]
fn a_generator_that_slept_over_the_end_sends_what_was_due() {
    let server = serve(ok);
    let mut generator = Generator::new(http(server.address)).expect("a generator");
    let mut asleep = |_: &net::load::Progress| {
        std::thread::sleep(ms(150));
        true
    };
    // The last look is at 100 ms or later, and the sleep that follows lasts beyond the end.
    let load = open_loop(50, 1000.0, Schedule::Constant, ms(200));
    let level = generator.offer(&load, &mut asleep).expect("a level");
    assert_eq!((level.intended, level.requests.started, level.requests.unanswered), (Some(200), 200, 0));
    assert_eq!((level.requests.completed + level.requests.late, server.requests()), (200, 200));
    let lateness = level.lateness.as_ref().expect("an open loop has a lateness");
    assert!(lateness.quantile(0.99) > 0.01, "it was late: {}", lateness.quantile(0.99));
}

#[test]
fn rates_that_nothing_can_reach_end_in_time() {
    let server = serve(ok);
    for rate in [1e12, 1e9, 1e-20] {
        let begun = Instant::now();
        let settings = LoadSettings { connections_max: 20, ..http(server.address) };
        let level = offer(settings, &open_loop(2, rate, Schedule::Poisson, ms(100)));
        expect_balance(&level);
        assert!(begun.elapsed() < Duration::from_secs(8), "{rate}: {:?}", begun.elapsed());
        let expected = rate * 0.1;
        let intended = level.intended.expect("an open loop has one") as f64;
        assert!((intended - expected).abs() <= 1.0 + expected * 0.01, "{rate}: {intended}");
    }
}
