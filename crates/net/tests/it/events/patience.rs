//! The time limits of clients, the same for all architectures. Those with processes have the same clients in
//! the hostile tests of the program, because a test with threads cannot fork.

use std::io::{ErrorKind, Read, Write};
use std::time::{Duration, Instant};

use net::worker::{Counter, Limits};

use super::server::{MUCH, Server, asked, each_and_threads, much};

#[test]
fn a_client_that_takes_nothing_is_given_up_in_time() {
    let send = Duration::from_millis(1000);
    each_and_threads(|architecture| {
        let server = Server::of_lines(architecture, Limits { send, ..Limits::default() });
        let mut silent = server.connect();
        silent.write_all(b"file\n").unwrap();
        let begin = Instant::now();
        server.until(Counter::Slow, 1);
        let took = begin.elapsed();
        assert!(took >= send && took < send * 5 / 2, "{}: {took:?}", architecture.name);
        server.until(Counter::Ended, 1);
        server.end();
    });
}

/// It acknowledges something within every limit, but takes many limits for the whole.
#[test]
fn a_client_that_reads_slowly_gets_everything() {
    let send = Duration::from_millis(1000);
    each_and_threads(|architecture| {
        let server = Server::of_lines(architecture, Limits { send, ..Limits::default() });
        for request in ["file\n", "shared\n"] {
            let mut client = server.connect();
            client.write_all(request.as_bytes()).unwrap();
            let mut heard = vec![0; MUCH];
            let (begin, mut at) = (Instant::now(), 0);
            while begin.elapsed() < send * 4 {
                at += client.read(&mut heard[at..at + (150 << 10)]).unwrap();
                std::thread::sleep(Duration::from_millis(200));
            }
            client
                .read_exact(&mut heard[at..])
                .unwrap_or_else(|error| panic!("{}: {error}", architecture.name));
            assert!(heard == much()[..], "{}", architecture.name);
        }
        assert_eq!(server.end()[Counter::Slow as usize], 0);
    });
}

/// Each piece comes within the limit, and all of them take many limits; then nothing comes.
#[test]
fn data_may_take_long_as_long_as_it_comes() {
    let request = Duration::from_millis(2000);
    each_and_threads(|architecture| {
        let server = Server::of_lines(architecture, Limits { request, ..Limits::default() });
        let mut client = server.connect();
        client.write_all(b"data").unwrap();
        let begin = Instant::now();
        while begin.elapsed() < request * 2 {
            client.write_all(b"x").unwrap();
            std::thread::sleep(Duration::from_millis(100));
        }
        assert_eq!(asked(&mut client, ""), "ok\n", "{}", architecture.name);
        client.write_all(b"data").unwrap();
        let (begin, mut heard) = (Instant::now(), String::new());
        client.read_to_string(&mut heard).unwrap();
        assert_eq!(heard, "late\n", "{}", architecture.name);
        assert!(begin.elapsed() >= request - Duration::from_millis(50), "{}", architecture.name);
        drop(client);
        assert_eq!(server.end()[Counter::Slow as usize], 1);
    });
}

#[test]
fn a_session_can_reset_its_connection() {
    each_and_threads(|architecture| {
        let server = Server::of_lines(architecture, Limits::default());
        let mut client = server.connect();
        assert_eq!(asked(&mut client, "first"), "ok\n");
        client.write_all(b"reset\n").unwrap();
        let end = client.read(&mut [0; 16]).map_err(|error| error.kind());
        assert_eq!(end, Err(ErrorKind::ConnectionReset), "{}", architecture.name);
        server.until(Counter::Ended, 1);
        let counts = server.end();
        assert_eq!((counts[Counter::Broken as usize], counts[Counter::Slow as usize]), (0, 0));
    });
}
