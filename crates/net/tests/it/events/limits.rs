//! Time limits, limits of connections and descriptors, and the order to stop.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use net::worker::{Counter, Limits};

use super::server::{MUCH, Server, asked, each, echoed, much, short, with_many_descriptors};

#[test]
fn clients_that_take_too_long() {
    each(|architecture| {
        let server = Server::of_lines(architecture, short());
        let (mut idle, mut trickle, mut silent) = (server.connect(), server.connect(), server.connect());
        let begin = Instant::now();
        silent.write_all(b"shared\n").unwrap();
        let mut sender = trickle.try_clone().unwrap();
        let trickling = std::thread::spawn(move || {
            // More bytes do not give a request more time.
            while begin.elapsed() < Duration::from_secs(3) && sender.write_all(b"x").is_ok() {
                std::thread::sleep(Duration::from_millis(50));
            }
        });
        assert_eq!(idle.read(&mut [0; 1]).unwrap(), 0, "an idle connection is closed without a word");
        let mut heard = String::new();
        trickle.read_to_string(&mut heard).unwrap();
        assert_eq!(heard, "late\n");
        let took = begin.elapsed();
        assert!(took >= Duration::from_millis(400) && took < Duration::from_millis(2500), "{took:?}");
        server.until(Counter::Ended, 2);
        // Bytes that had left still arrive; then comes the reset.
        let end = std::io::copy(&mut silent, &mut std::io::sink());
        assert!(end.as_ref().is_ok_and(|count| *count < MUCH as u64) || end.is_err(), "{end:?}");
        drop(trickle);
        trickling.join().unwrap();
        server.until(Counter::Ended, 3);
        assert_eq!(server.end()[Counter::Slow as usize], 2);
    });
}

#[test]
fn a_slow_client_that_keeps_within_the_limits_is_served() {
    each(|architecture| {
        let server = Server::of_lines(architecture, short());
        let mut client = server.connect();
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_secs(2) {
            assert_eq!(asked(&mut client, "again"), "ok\n");
            std::thread::sleep(Duration::from_millis(100));
        }
        assert_eq!(server.end()[Counter::Slow as usize], 0);
    });
}

#[test]
fn more_connections_than_are_wanted() {
    each(|architecture| {
        let server = Server::of_lines(architecture, Limits { connections: 3, ..Limits::default() });
        let mut clients: Vec<TcpStream> = (0..3).map(|_| server.connect()).collect();
        for client in &mut clients {
            assert_eq!(asked(client, "room for three"), "ok\n");
        }
        assert_eq!(server.connect().read(&mut [0; 1]).unwrap_or(0), 0);
        server.until(Counter::Refused, 1);
        clients.pop();
        server.until(Counter::Ended, 2);
        assert_eq!(asked(&mut server.connect(), "room again"), "ok\n");
        server.end();
    });
}

#[test]
fn responses_under_way_leave_after_the_order_to_stop() {
    each(|architecture| {
        let server = Server::of_lines(architecture, Limits::default());
        let (mut idle, mut busy) = (server.connect(), server.connect());
        assert_eq!(asked(&mut idle, "one"), "ok\n");
        busy.write_all(b"file\n").unwrap();
        busy.read_exact(&mut [0; 1000]).unwrap();
        server.stop.order();
        assert_eq!(idle.read(&mut [0; 1]).unwrap(), 0, "an idle connection is closed");
        let mut heard = Vec::new();
        busy.read_to_end(&mut heard).unwrap();
        assert!(heard == much()[1000..], "{} of {} bytes came", heard.len(), MUCH - 1000);
        server.end();
    });
}

#[test]
fn grace_ends() {
    each(|architecture| {
        let grace = Duration::from_millis(300);
        let server = Server::of_lines(architecture, Limits { grace, ..Limits::default() });
        let mut silent = server.connect();
        silent.write_all(b"shared\n").unwrap();
        silent.read_exact(&mut [0; 10]).unwrap();
        let begin = Instant::now();
        server.end();
        assert!(
            begin.elapsed() >= grace && begin.elapsed() < Duration::from_secs(3),
            "{:?}",
            begin.elapsed()
        );
    });
}

/// Not a test: the server of `descriptors_run_out`, in a process of its own, because its limit is that of the
/// process.
#[test]
#[ignore = "is executed by descriptors_run_out"]
fn serve_in_a_process() {
    let Ok(name) = std::env::var("OSDYNO_TEST_ARCHITECTURE") else { return };
    let server = Server::serving(net::arch::find(&name).unwrap(), "echo");
    println!("\naddress {}", server.address);
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
    println!("\nexhausted {}", server.end()[Counter::Exhausted as usize]);
}

#[test]
fn descriptors_run_out() {
    let _alone = with_many_descriptors();
    each(|architecture| {
        let mut process = Command::new("sh")
            .args([
                "-c",
                "ulimit -n 40 && exec \"$0\" --exact --ignored --nocapture events::limits::serve_in_a_process",
            ])
            .arg(std::env::current_exe().unwrap())
            .env("OSDYNO_TEST_ARCHITECTURE", architecture.name)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = BufReader::new(process.stdout.take().unwrap()).lines().map(Result::unwrap);
        let mut after = |word: &str| said.find_map(|line| Some(line.strip_prefix(word)?.to_owned()));
        let address: SocketAddr = after("address ").unwrap().parse().unwrap();
        let connect = || {
            let client = TcpStream::connect(address).unwrap();
            client.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
            client
        };
        let of_process = |what: &str| format!("/proc/{}/{what}", process.id());
        let descriptors = || std::fs::read_dir(of_process("fd")).unwrap().count();
        let ticks = || {
            let stat = std::fs::read_to_string(of_process("stat")).unwrap();
            let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
            fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
        };
        echoed(&mut connect(), b"the first");
        let settled = |wanted: usize| {
            let begin = Instant::now();
            while descriptors() != wanted && begin.elapsed() < Duration::from_secs(10) {
                std::thread::sleep(Duration::from_millis(10));
            }
            descriptors()
        };
        // The first has left by now.
        std::thread::sleep(Duration::from_millis(300));
        let before = descriptors();
        let mut clients: Vec<TcpStream> = (0..60).map(|_| connect()).collect();
        echoed(&mut clients[0], b"those inside are served");
        let begin = ticks();
        std::thread::sleep(Duration::from_millis(1000));
        assert!(ticks() - begin < 30, "the loop spins: {} ticks in a second", ticks() - begin);
        // Those outside wait for the others to leave.
        clients.drain(..40);
        for client in &mut clients[..10] {
            echoed(client, b"my turn");
        }
        drop(clients);
        assert_eq!(settled(before), before, "descriptors are left open");
        drop(process.stdin.take());
        assert_ne!(after("exhausted ").unwrap(), "0");
        assert!(process.wait().unwrap().success());
    });
}
