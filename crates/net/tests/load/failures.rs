//! Failures are counted at the stage where they happened.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::Ordering;
use std::time::Duration;

use net::load::{
    Generator, Load, LoadSettings, OffersLoad, Progress, RequestStage, Schedule, Sources, closed_loop,
    open_loop, unwatched,
};

use crate::server::{OK, busy, echo, failure, http, listen, ms, offer, ok, serve};

#[test]
fn refused_connections_are_counted_and_not_hurried() {
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for settings in [http(address), busy(address)] {
        let level = offer(settings, &closed_loop(5, ms(350)));
        assert_eq!(level.requests.completed, 0);
        let refused = failure(&level, RequestStage::Connect, "ECONNREFUSED");
        assert!((5..=50).contains(&refused), "{:?}", level.failures);
        assert_eq!(level.latency.count, 0);
    }
}

#[test]
fn broken_responses_are_told_apart() {
    let server = serve(|number| match number % 4 {
        0 => ok(0),
        1 => Some(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nHELLO".to_vec()),
        2 => Some(b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n".to_vec()),
        _ => None,
    });
    let load = Load { requests: Some(400), duration: Duration::from_secs(20), ..closed_loop(1, ms(1)) };
    let level = offer(http(server.address), &load);
    assert_eq!((level.requests.started, level.requests.completed, level.requests.failed), (400, 100, 300));
    assert_eq!(failure(&level, RequestStage::Body, "wrong content"), 100);
    assert_eq!(failure(&level, RequestStage::Body, "status 503"), 100);
    assert_eq!(failure(&level, RequestStage::FirstByte, "closed early"), 100);
    assert_eq!(server.connections(), 100, "one until each that the server closed");
}

#[test]
fn a_reset_in_the_middle_of_a_response_is_counted_where_it_was() {
    let address = listen(|mut stream| {
        stream.write_all(&OK[..30]).unwrap();
        std::thread::sleep(ms(20));
        // Closed with a request that was never read: that resets.
        drop(stream);
    });
    let level = offer(http(address), &closed_loop(1, ms(500)));
    assert!(failure(&level, RequestStage::Body, "ECONNRESET") >= 1, "{:?}", level.failures);
}

#[test]
fn responses_that_do_not_come_in_time_are_counted() {
    let server = serve(|_| {
        std::thread::sleep(Duration::from_secs(5));
        ok(0)
    });
    let settings = LoadSettings { timeout: ms(100), ..http(server.address) };
    let level = offer(settings, &closed_loop(2, ms(450)));
    assert!(failure(&level, RequestStage::FirstByte, "timeout") >= 2, "{:?}", level.failures);
    assert_eq!(level.requests.completed, 0);
}

#[test]
fn a_server_that_vanishes_is_survived() {
    let server = serve(ok);
    let mut watched = |progress: &Progress| {
        if progress.completed > 10 && !server.gone.swap(true, Ordering::SeqCst) {
            // The listener reads, and closes.
            drop(TcpStream::connect(server.address));
        }
        progress.failed < 20
    };
    let mut generator = Generator::new(http(server.address)).unwrap();
    let level = generator.offer(&closed_loop(4, Duration::from_secs(20)), &mut watched).unwrap();
    assert!(level.requests.completed > 10);
    assert!(failure(&level, RequestStage::Connect, "ECONNREFUSED") >= 1, "{:?}", level.failures);
    assert!(level.elapsed_seconds < 20.0, "{}", level.elapsed_seconds);
}

#[test]
fn one_request_that_fails_says_how() {
    let server = serve(|_| Some(b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n".to_vec()));
    let mut generator = Generator::new(http(server.address)).unwrap();
    generator.grow_to(1).unwrap();
    let error = generator.ask_once(0).unwrap_err().to_string();
    assert!(error.contains("status 500"), "{error}");
}

#[test]
fn settings_that_make_no_sense_are_refused() {
    let address = "127.0.0.1:1".parse().unwrap();
    let refused = |settings| Generator::new(settings).is_err();
    let plain = || http(address);
    assert!(refused(LoadSettings { pipeline: 0, ..plain() }));
    assert!(refused(LoadSettings { pipeline: 2, ..busy(address) }));
    assert!(refused(LoadSettings { timeout: Duration::ZERO, ..plain() }));
    assert!(refused(LoadSettings { connect_rate: f64::NAN, ..plain() }));
    assert!(refused(echo(address, 0)));
    assert!(refused(LoadSettings { sources: Sources::parse("::1").unwrap(), ..plain() }));
    let mut generator = Generator::new(plain()).unwrap();
    for load in [closed_loop(0, ms(1)), closed_loop(1, ms(0)), open_loop(1, 0.0, Schedule::Poisson, ms(1))] {
        assert!(generator.offer(&load, &mut unwatched).is_err(), "{load:?}");
    }
}

#[test]
fn silent_connections_that_the_server_closes_are_reported() {
    let address = listen(|mut stream| {
        stream.set_read_timeout(Some(ms(400))).expect("an option");
        while matches!(stream.read(&mut [0; 4096]), Ok(1..)) && stream.write_all(OK).is_ok() {}
    });
    for rate in [None, Some(100.0)] {
        let settings = LoadSettings { idle: 5, ..http(address) };
        let level = offer(settings, &Load { rate, ..closed_loop(1, ms(800)) });
        assert_eq!(failure(&level, RequestStage::Idle, "closed early"), 5, "{rate:?}: {:?}", level.failures);
        assert_eq!(level.requests.failed, 0);
    }
}
