//! Each client against a server of its protocol.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use net::load::{Load, LoadSettings, closed_loop};

use crate::server::{busy, echo, http, listen, ms, offer, ok, serve};

#[test]
fn busy_reads_the_line_and_the_close() {
    let accepted = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&accepted);
    let address = listen(move |mut stream| {
        counter.fetch_add(1, Ordering::SeqCst);
        stream.write_all(b"450 too busy\r\n").unwrap();
    });
    for reset in [false, true] {
        let before = accepted.load(Ordering::SeqCst);
        let settings = LoadSettings { reset, ..busy(address) };
        let load = Load { requests: Some(500), duration: Duration::from_secs(20), ..closed_loop(10, ms(1)) };
        let level = offer(settings, &load);
        assert_eq!((level.requests.completed, level.requests.failed), (500, 0), "{:?}", level.failures);
        assert_eq!((level.connected_per_second * level.elapsed_seconds).round() as u64, 500);
        assert_eq!(accepted.load(Ordering::SeqCst) - before, 500);
    }
}

#[test]
fn an_echo_comes_back_even_if_it_is_long() {
    let address = listen(|mut stream| {
        let mut other = stream.try_clone().unwrap();
        let _ = std::io::copy(&mut stream, &mut other);
    });
    for (bytes, pipeline) in [(1, 1), (100, 8), (65_536, 1)] {
        let settings = LoadSettings { pipeline, ..echo(address, bytes) };
        let load = Load { requests: Some(400), duration: Duration::from_secs(20), ..closed_loop(4, ms(1)) };
        let level = offer(settings, &load);
        assert_eq!(
            (level.requests.completed, level.requests.failed),
            (400, 0),
            "{bytes}: {:?}",
            level.failures
        );
        assert_eq!(level.received_bytes, 400 * bytes as u64);
    }
}

#[test]
fn requests_sent_together_are_all_answered() {
    let server = serve(ok);
    let settings = LoadSettings { pipeline: 10, ..http(server.address) };
    let load = Load { requests: Some(1000), duration: Duration::from_secs(20), ..closed_loop(3, ms(1)) };
    let level = offer(settings, &load);
    assert_eq!((level.requests.started, level.requests.completed, server.requests()), (1000, 1000, 1000));
}
