//! Exchanges: cut, half-closed, pipelined, large, many at once.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use net::worker::{Counter, Limits};
use sys::tcp::{Connection, Waiting};

use super::server::{MUCH, Server, able, asked, each, echoed, much, with_many_descriptors};

#[test]
fn a_server_that_speaks_first() {
    each(|architecture| {
        let server = Server::serving(architecture, "busy");
        for _ in 0..50 {
            let mut heard = String::new();
            server.connect().read_to_string(&mut heard).unwrap();
            assert_eq!(heard, "450 too busy\r\n");
        }
        let counts = server.end();
        assert_eq!(counts[Counter::Responses as usize], 50);
        assert_eq!(counts[Counter::Sent as usize], 50 * 14);
    });
}

#[test]
fn input_cut_anywhere_and_a_half_close() {
    each(|architecture| {
        let server = Server::serving(architecture, "echo");
        let mut client = server.connect();
        for byte in b"one at a time" {
            echoed(&mut client, &[*byte]);
        }
        let long: Vec<u8> = (0..1_000_000_u32).map(|number| number as u8).collect();
        let mut sender = client.try_clone().unwrap();
        let said = long.clone();
        let sending = std::thread::spawn(move || {
            sender.write_all(&said).unwrap();
            sender.shutdown(Shutdown::Write).unwrap();
        });
        let mut heard = Vec::new();
        client.read_to_end(&mut heard).unwrap();
        sending.join().unwrap();
        assert!(heard == long, "{} bytes came back", heard.len());
        server.end();
    });
}

#[test]
fn two_hundred_at_once() {
    let _alone = with_many_descriptors();
    // One after the other: all of them together have more descriptors than select(2) can take.
    for architecture in able() {
        let server = Server::serving(architecture, "echo");
        let mut clients: Vec<TcpStream> = (0..200).map(|_| server.connect()).collect();
        for round in 0..3_u8 {
            for client in &mut clients {
                client.write_all(&[round; 100]).unwrap();
            }
            for client in &mut clients {
                let mut heard = [0; 100];
                client.read_exact(&mut heard).unwrap();
                assert_eq!(heard, [round; 100]);
            }
        }
        drop(clients);
        server.until(Counter::Ended, 200);
        server.end();
    }
}

#[test]
fn who_does_not_read_is_not_read_from() {
    each(|architecture| {
        let server = Server::serving(architecture, "echo");
        let mut flood = server.connect();
        flood.set_write_timeout(Some(Duration::from_millis(300))).unwrap();
        let piece = vec![7; 64 << 10];
        // Until neither end reads any more: 64 MiB fit nowhere.
        let taken = (0..1024).take_while(|_| flood.write_all(&piece).is_ok()).count();
        assert!(taken < 1024, "everything was taken");
        let held = server.count(Counter::Received) - server.count(Counter::Sent);
        assert!(held <= 4 << 20, "{held} bytes are held");
        echoed(&mut server.connect(), b"others are served");
        drop(flood);
        server.until(Counter::Ended, 2);
        server.end();
    });
}

#[test]
fn pipelined_requests_have_all_their_responses() {
    each(|architecture| {
        let server = Server::of_lines(architecture, Limits::default());
        let mut client = server.connect();
        let mut sender = client.try_clone().unwrap();
        let sending = std::thread::spawn(move || sender.write_all(&b"a line\n".repeat(100_000)).unwrap());
        let mut heard = vec![0; 300_000];
        client.read_exact(&mut heard).unwrap();
        sending.join().unwrap();
        assert!(heard.chunks(3).all(|response| response == b"ok\n"));
        assert_eq!(server.end()[Counter::Responses as usize], 100_000);
    });
}

#[test]
fn a_slow_reader_of_much() {
    each(|architecture| {
        for kind in ["shared", "file"] {
            let server = Server::of_lines(architecture, Limits::default());
            let mut slow = server.connect();
            slow.write_all(format!("{kind}\nand more\n").as_bytes()).unwrap();
            std::thread::sleep(Duration::from_millis(50));
            assert_eq!(asked(&mut server.connect(), "others"), "ok\n");
            let mut heard = vec![0; MUCH + 3];
            slow.read_exact(&mut heard).unwrap();
            assert!(heard[..MUCH] == much()[..], "{kind}: other bytes came");
            assert_eq!(&heard[MUCH..], b"ok\n");
            assert_eq!(asked(&mut slow, "it goes on"), "ok\n");
            server.end();
        }
    });
}

#[test]
fn a_reset_in_the_middle() {
    each(|architecture| {
        let server = Server::of_lines(architecture, Limits::default());
        for number in 1..=10 {
            let mut client = server.connect();
            client.write_all(b"file\n").unwrap();
            client.read_exact(&mut [0; 1000]).unwrap();
            // With input unread, a close is a reset.
            drop(client);
            server.until(Counter::Ended, number);
        }
        let idle = Connection::connect(server.address, None, Waiting::Blocking).unwrap();
        idle.send(b"half a li").unwrap();
        server.until(Counter::Received, 10 * 5 + 9);
        idle.reset_on_close().unwrap();
        drop(idle);
        server.until(Counter::Ended, 11);
        assert_eq!(asked(&mut server.connect(), "others"), "ok\n");
        assert_eq!(server.end()[Counter::Broken as usize], 11);
    });
}
