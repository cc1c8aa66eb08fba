//! Servers: no descriptors left, signals, a stop under load, lost workers, ten times too many clients.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::loaded::load;
use super::{MEDIUM, SMALL, Way, everywhere, interrupt, site};
use crate::common::everywhere::architectures;
use crate::common::served::{Served, group};
use crate::common::wire::{Wire, get, get_and_close};
use crate::common::witness::Witness;
use crate::common::{signal, until};

fn every(_: &Way) -> bool {
    true
}

/// Of a hundred clients that stay, some wait without being accepted; meanwhile the server rests, and serves
/// those it has. Once others go, they are served.
#[test]
fn descriptors_run_out() {
    // A process of its own has descriptors of its own, and a pool has no more connections than members.
    let runs_out =
        |way: &Way| way.workers == 1 && !way.architecture.has_processes() && !way.architecture.has_pool();
    everywhere(runs_out, |way| {
        let folder = site();
        let mut command = Command::new("sh");
        let program = env!("CARGO_BIN_EXE_osdyno");
        command.args(["-c", "ulimit -n 64; exec \"$0\" \"$@\"", program]).current_dir(folder.path());
        let served = way.start_by(command);
        let mut early = Wire::connect(served.address);
        early.send(get("/"));
        assert_eq!(early.response().body, SMALL);

        let mut crowd: Vec<Wire> = (0..100).map(|_| Wire::connect(served.address)).collect();
        until("descriptors have run out", || served.counter("exhausted") > 0);
        let before = cpu_seconds(served.process());
        std::thread::sleep(Duration::from_millis(600));
        let used = cpu_seconds(served.process()) - before;
        assert!(used < 0.3, "{used} s of processor in 0.6 s for want of descriptors");
        // What it has looked at before it serves yet, though it would look again by now.
        std::thread::sleep(Duration::from_millis(600));
        early.send(get("/"));
        let response = early.response();
        assert_eq!((response.status, &response.body[..]), (200, SMALL));

        let mut last = crowd.split_off(80);
        drop(crowd);
        for wire in &mut last {
            wire.send(get_and_close("/"));
        }
        for wire in &mut last {
            assert_eq!(wire.response().body, SMALL);
        }
        early.finish();
        early.expect_end();
        until("all have ended", || served.counter("open now") == 0);
        let ended = served.stop();
        assert_eq!((ended.count("accepted"), ended.count("ended")), (101, 101), "{ended:?}");
    });
}

/// Processor time that the process has used, in seconds; clock ticks are hundredths on every Linux.
fn cpu_seconds(process: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    let (_, rest) = stat.rsplit_once(')').unwrap();
    let fields: Vec<f64> = rest.split_ascii_whitespace().map(|field| field.parse().unwrap_or(0.0)).collect();
    (fields[11] + fields[12]) / 100.0
}

/// Signals by the thousand interrupt system calls, and no response.
#[test]
fn a_storm_of_signals() {
    everywhere(every, |way| {
        let folder = site();
        let served = way.start(folder.path());
        let leader = served.process();
        // A report is for the process that people know; its workers have no use for the signal, and must bear
        // it.
        let processes = served.processes();
        let witness = Witness::start(served.address, "/", SMALL);
        let ended = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !ended.load(Ordering::Relaxed) {
                    for process in &processes {
                        interrupt(*process, rustix::process::Signal::USR1);
                        interrupt(*process, rustix::process::Signal::CONT);
                    }
                    std::thread::sleep(Duration::from_micros(200));
                }
            });
            for _ in 0..20 {
                let mut wire = Wire::connect(served.address);
                wire.send_split(get_and_close("/medium.bin"));
                assert_eq!(wire.response().body.len(), MEDIUM);
                wire.expect_end();
            }
            ended.store(true, Ordering::Relaxed);
        });
        witness.end();
        assert_eq!(leader, served.process());
        let ended = served.stop();
        assert_eq!((ended.count("broken"), ended.count("restarts")), (0, 0), "{ended:?}");
        assert_eq!(ended.count("accepted"), ended.count("ended"), "{ended:?}");
    });
}

/// What the last request of a client came to.
#[derive(Debug, PartialEq, Eq)]
enum Last {
    /// No byte of a response came: the client may ask again elsewhere.
    Nothing,
    /// Only a part of the response came.
    Torn(usize),
}

/// SIGTERM while responses leave as fast as they can: each that was begun is finished.
#[test]
fn a_stop_under_load_tears_no_response() {
    everywhere(every, |way| {
        let folder = site();
        let served = way.start(folder.path());
        let address = served.address;
        std::thread::scope(|scope| {
            let clients: Vec<_> = (0..8).map(|_| scope.spawn(move || ask_until_end(address))).collect();
            std::thread::sleep(Duration::from_millis(250));
            served.signal("TERM");
            for client in clients {
                let (responses, last) = client.join().unwrap();
                assert!(responses > 0 && last == Last::Nothing, "after {responses} responses {last:?}");
            }
        });
        let ended = served.end();
        assert_eq!(ended.count("accepted"), ended.count("ended"), "{ended:?}");
    });
}

/// Asks for the same file until the server wants no more; how many responses came, and how it ended.
fn ask_until_end(address: SocketAddr) -> (usize, Last) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let (mut length, mut chunk) = (0, vec![0; 64 << 10]);
    for responses in 0.. {
        if stream.write_all(get("/medium.bin").as_bytes()).is_err() {
            return (responses, Last::Nothing);
        }
        let mut received = 0;
        while received == 0 || received < length {
            match stream.read(&mut chunk) {
                Ok(count) if count > 0 => received += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                _ if received == 0 => return (responses, Last::Nothing),
                _ => return (responses, Last::Torn(received)),
            }
            if length == 0 {
                // All responses are equally long, but for those that say that they are the last.
                let head = chunk.windows(4).position(|four| four == b"\r\n\r\n").unwrap() + 4;
                length = head + MEDIUM;
            }
        }
    }
    unreachable!("the server does not end")
}

/// Workers, and processes of a pool, that are killed or told to end: the others go on, and each is replaced
/// by one that serves.
#[test]
fn a_worker_that_ends_is_replaced() {
    everywhere(
        |way| way.replaced() > 0,
        |way| {
            let folder = site();
            let served = way.start(folder.path());
            let workers = || -> Vec<u32> {
                let mut processes = group(served.process());
                processes.retain(|process| *process != served.process());
                processes
            };
            serves(&served);
            let count = way.replaced();
            until("all workers are there", || workers().len() == count);
            let mut restarts = 0;
            for name in ["KILL", "TERM", "ABRT"] {
                let before = workers();
                for process in &before {
                    signal(*process, name);
                    restarts += 1;
                    until(&format!("a worker ended by SIG{name} is replaced"), || {
                        served.counter("restarts") == restarts && workers().len() == count
                    });
                    if way.architecture.has_pool() {
                        break;
                    }
                }
                // By now every one is another, or the one of a pool is.
                serves(&served);
            }
            assert_eq!(served.counter("exhausted"), 0);
            let ended = served.stop();
            assert_eq!((ended.count("accepted"), ended.open), (ended.count("ended"), 0), "{ended:?}");
        },
    );
}

/// New connections, so many that every worker has some, are served.
fn serves(served: &Served) {
    for _ in 0..40 {
        drop(TcpStream::connect(served.address).unwrap());
        let mut wire = Wire::connect(served.address);
        wire.send(get_and_close("/"));
        assert_eq!(wire.response().body, SMALL);
    }
}

/// Ten times what it can: it goes on, and afterwards responds as it did before.
#[test]
fn ten_times_too_much() {
    let is_alone = |way: &Way| way.workers == 1;
    everywhere(is_alone, |way| {
        let folder = site();
        let served = way.start(folder.path());
        let url = format!("http://{}/", served.address);
        let watch = || {
            let witness = Witness::start(served.address, "/", SMALL);
            std::thread::sleep(Duration::from_millis(300));
            witness.end().client.median
        };
        let capacity = load(folder.path(), &["-c", "8", "-d", "300ms", &url]).number("completed_per_second");
        let before = watch();
        let rate = (capacity * 10.0).to_string();
        let over = load(
            folder.path(),
            &["-r", &rate, "-d", "1s", "--connections-max", "400", "--timeout", "2s", &url],
        );
        assert!(over.number("completed") > 0.0, "{}", over.errors);
        // Other work of this machine may be in the way of one look.
        let mut after = before;
        until("it answers as before", || {
            after = watch();
            after < before * 5 + Duration::from_millis(5)
        });
        println!("{capacity} requests/s, then {rate}; median {before:?} before, {after:?} after");
        until("all have ended", || served.counter("open now") == 0);
        served.stop();
    });
}

/// Clients that reset the connection within a response: the counter says as much as the access log, in every
/// architecture.
#[test]
fn responses_that_are_not_taken_are_counted_as_they_are_logged() {
    let folder = site();
    std::fs::File::create(folder.path().join("large")).unwrap().set_len(12 << 20).unwrap();
    for architecture in architectures() {
        let name = architecture.name;
        let log = folder.path().join(format!("{name}.log"));
        let served = Served::start(folder.path(), &["--arch", name, "--access-log", log.to_str().unwrap()]);
        let mut wire = Wire::connect(served.address);
        wire.send(get("/large").repeat(2));
        wire.take(4096);
        wire.reset();
        let ended = served.stop();
        let lines = std::fs::read_to_string(&log).unwrap().lines().count() as u64;
        assert!(lines > 0, "{name}");
        assert_eq!(ended.count("responses"), lines, "{name}: {ended:?}");
    }
}
