//! Closed and open loops against a real server: counts. Times are tested in simulated time.

use std::time::{Duration, Instant};

use net::load::{Generator, Load, OffersLoad, Schedule, closed_loop, open_loop};

use crate::server::{OK, http, ms, offer, ok, serve};

#[test]
fn counts_agree_with_the_servers() {
    let server = serve(ok);
    let load = Load { requests: Some(5000), duration: Duration::from_secs(60), ..closed_loop(7, ms(1)) };
    let level = offer(http(server.address), &load);
    assert_eq!((level.requests.started, level.requests.completed, level.requests.failed), (5000, 5000, 0));
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
    assert_eq!((level.requests.started, level.requests.completed + level.requests.late), (1000, 1000));
    assert_eq!(server.requests(), 1000);
    assert_eq!(level.lag.as_ref().unwrap().count, 1000);
    assert!(level.elapsed_seconds > 0.49 && level.elapsed_seconds < 0.51);
}

#[test]
fn a_load_can_be_stopped_from_outside() {
    let server = serve(ok);
    let start = Instant::now();
    let mut told = 0;
    let mut generator = Generator::new(http(server.address)).unwrap();
    let mut watched = |_: &net::load::Progress| {
        told += 1;
        told < 3
    };
    let level = generator.offer(&closed_loop(1, Duration::from_secs(30)), &mut watched).unwrap();
    assert!(start.elapsed() < Duration::from_secs(5) && level.requests.completed > 0);
}
