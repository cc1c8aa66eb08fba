//! Every architecture that is driven by events, under the same table of clients: well-behaved, slow, broken,
//! many.

#![allow(clippy::unwrap_used)]

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpStream};
use std::process::{Command, Stdio};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use net::arch::{ALL, Architecture};
use net::output::Output;
use net::service::{self, Flow, Machine, Session, Stage};
use net::site::{COUNTS, Count, Limits, Site, Stop, Tally};
use sys::tcp::{Connection, Listener, Listening, Waiting};

/// All that can run here, side by side.
fn each(test: impl Fn(&'static Architecture) + Sync) {
    let test = &test;
    std::thread::scope(|scope| {
        for architecture in able() {
            let named = std::thread::Builder::new().name(architecture.name.to_owned());
            named.spawn_scoped(scope, move || test(architecture)).unwrap();
        }
    });
}

fn able() -> Vec<&'static Architecture> {
    let driven_by_events = || ALL.iter().copied().filter(|architecture| !architecture.blocking);
    let (able, unable): (Vec<_>, Vec<_>) = driven_by_events().partition(|each| each.obstacle().is_none());
    assert!(able.len() >= 5, "only {} architectures can run", able.len());
    for architecture in unable {
        assert!(
            architecture.obstacle().is_some_and(|why| !why.is_empty()),
            "{} gives no reason",
            architecture.name
        );
    }
    able
}

struct Server {
    address: SocketAddr,
    tally: Tally,
    stop: Stop,
    thread: Option<JoinHandle<std::io::Result<()>>>,
}

impl Server {
    fn start(architecture: &'static Architecture, machine: Arc<dyn Machine>, limits: Limits) -> Server {
        let anywhere = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let listener = Listener::bind(anywhere, Listening::default()).unwrap();
        let address = listener.address().unwrap();
        let (tally, stop) = (Tally::new(1).unwrap(), Stop::default());
        let site = Site {
            listener,
            service: machine,
            limits,
            tally: tally.clone(),
            stop: stop.clone(),
            log: None,
            session_command: Vec::new(),
            pool: 1,
            is_supervised: false,
        };
        let serve = architecture.serve.unwrap();
        let thread = Some(std::thread::spawn(move || serve(&site)));
        Server { address, tally, stop, thread }
    }

    /// With a [`Lines`] of so many bytes.
    fn of_lines(architecture: &'static Architecture, limits: Limits) -> Server {
        Server::start(architecture, Arc::new(Lines::new()), limits)
    }

    fn of(architecture: &'static Architecture, service: &str) -> Server {
        let machine = service::find(service).unwrap().open(&serde_json::json!({}), false).unwrap();
        Server::start(architecture, machine, Limits::default())
    }

    fn connect(&self) -> TcpStream {
        let client = TcpStream::connect(self.address).unwrap();
        client.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        client.set_write_timeout(Some(Duration::from_secs(10))).unwrap();
        client
    }

    fn count(&self, count: Count) -> u64 {
        self.tally.sums()[count as usize]
    }

    /// Waits until a count has come that far.
    fn until(&self, count: Count, least: u64) {
        let begin = Instant::now();
        while self.count(count) < least {
            assert!(
                begin.elapsed() < Duration::from_secs(10),
                "{} stays below {least}",
                COUNTS[count as usize]
            );
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Stops it, and returns its counts once it has ended.
    fn end(mut self) -> [u64; COUNTS.len()] {
        self.stop.order();
        self.thread.take().unwrap().join().unwrap().unwrap();
        let sums = self.tally.sums();
        assert_eq!(sums[Count::Accepted as usize], sums[Count::Ended as usize], "some are counted as open");
        sums
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.order();
    }
}

/// Answers lines: `ok` to any, much to `shared` and `file`.
struct Lines {
    shared: Arc<[u8]>,
    file: Arc<File>,
}

const MUCH: usize = 50 << 20;

/// What is sent much of.
fn much() -> &'static Arc<[u8]> {
    static MUCH_BYTES: OnceLock<Arc<[u8]>> = OnceLock::new();
    MUCH_BYTES.get_or_init(|| (0..MUCH).map(|place| (place / 3) as u8).collect())
}

impl Lines {
    fn new() -> Lines {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(much()).unwrap();
        Lines { shared: Arc::clone(much()), file: Arc::new(file) }
    }
}

impl Machine for Lines {
    fn session(&self, _peer: Option<SocketAddr>) -> Box<dyn Session> {
        Box::new(Line { shared: Arc::clone(&self.shared), file: Arc::clone(&self.file), line: Vec::new() })
    }
}

struct Line {
    shared: Arc<[u8]>,
    file: Arc<File>,
    line: Vec<u8>,
}

impl Session for Line {
    fn feed(&mut self, input: &[u8], output: &mut Output) -> Flow {
        for byte in input {
            if *byte != b'\n' {
                self.line.push(*byte);
                continue;
            }
            match std::mem::take(&mut self.line).as_slice() {
                b"shared" => output.shared(Arc::clone(&self.shared)),
                b"file" => output.file(Arc::clone(&self.file), 0, MUCH as u64),
                _ => output.bytes().extend_from_slice(b"ok\n"),
            }
            output.answered();
        }
        Flow::More
    }

    fn too_slow(&mut self, output: &mut Output) -> Flow {
        output.bytes().extend_from_slice(b"late\n");
        Flow::Linger
    }

    fn stage(&self) -> Stage {
        if self.line.is_empty() { Stage::Idle } else { Stage::Request }
    }
}

fn asked(client: &mut TcpStream, line: &str) -> String {
    client.write_all(format!("{line}\n").as_bytes()).unwrap();
    let mut answer = [0; 3];
    client.read_exact(&mut answer).unwrap();
    String::from_utf8(answer.to_vec()).unwrap()
}

fn short() -> Limits {
    let limit = Duration::from_millis(400);
    Limits { idle: limit, request: limit, send: limit, ..Limits::default() }
}

fn echoed(client: &mut TcpStream, said: &[u8]) {
    client.write_all(said).unwrap();
    let mut heard = vec![0; said.len()];
    client.read_exact(&mut heard).unwrap();
    assert_eq!(heard, said);
}

#[test]
fn a_server_that_speaks_first() {
    each(|architecture| {
        let server = Server::of(architecture, "busy");
        for _ in 0..50 {
            let mut heard = String::new();
            server.connect().read_to_string(&mut heard).unwrap();
            assert_eq!(heard, "450 too busy\r\n");
        }
        let counts = server.end();
        assert_eq!(counts[Count::Answers as usize], 50);
        assert_eq!(counts[Count::Sent as usize], 50 * 14);
    });
}

#[test]
fn input_cut_anywhere_and_a_half_close() {
    each(|architecture| {
        let server = Server::of(architecture, "echo");
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
    // One after the other: all of them together have more descriptors than select(2) can take.
    for architecture in able() {
        let server = Server::of(architecture, "echo");
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
        server.until(Count::Ended, 200);
        server.end();
    }
}

#[test]
fn who_does_not_read_is_not_read_from() {
    each(|architecture| {
        let server = Server::of(architecture, "echo");
        let mut flood = server.connect();
        flood.set_write_timeout(Some(Duration::from_millis(300))).unwrap();
        let piece = vec![7; 64 << 10];
        // Until neither end takes any more: 64 MiB would have to be somewhere.
        let taken = (0..1024).take_while(|_| flood.write_all(&piece).is_ok()).count();
        assert!(taken < 1024, "everything was taken");
        let held = server.count(Count::Received) - server.count(Count::Sent);
        assert!(held <= 4 << 20, "{held} bytes are held");
        echoed(&mut server.connect(), b"others are served");
        drop(flood);
        server.until(Count::Ended, 2);
        server.end();
    });
}

#[test]
fn pipelined_requests_have_all_their_answers() {
    each(|architecture| {
        let server = Server::of_lines(architecture, Limits::default());
        let mut client = server.connect();
        let mut sender = client.try_clone().unwrap();
        let sending = std::thread::spawn(move || sender.write_all(&b"a line\n".repeat(100_000)).unwrap());
        let mut heard = vec![0; 300_000];
        client.read_exact(&mut heard).unwrap();
        sending.join().unwrap();
        assert!(heard.chunks(3).all(|answer| answer == b"ok\n"));
        assert_eq!(server.end()[Count::Answers as usize], 100_000);
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
            server.until(Count::Ended, number);
        }
        let idle = Connection::connect(server.address, None, Waiting::Blocking).unwrap();
        idle.send(b"half a li").unwrap();
        server.until(Count::Received, 10 * 5 + 9);
        idle.reset_on_close().unwrap();
        drop(idle);
        server.until(Count::Ended, 11);
        assert_eq!(asked(&mut server.connect(), "others"), "ok\n");
        assert_eq!(server.end()[Count::Broken as usize], 11);
    });
}

#[test]
fn clients_that_take_too_long() {
    each(|architecture| {
        let server = Server::of_lines(architecture, short());
        let (mut idle, mut trickle, mut deaf) = (server.connect(), server.connect(), server.connect());
        let begin = Instant::now();
        deaf.write_all(b"shared\n").unwrap();
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
        server.until(Count::Ended, 2);
        // What had left is still there; then comes the reset.
        let end = std::io::copy(&mut deaf, &mut std::io::sink());
        assert!(end.as_ref().is_ok_and(|count| *count < MUCH as u64) || end.is_err(), "{end:?}");
        drop(trickle);
        trickling.join().unwrap();
        server.until(Count::Ended, 3);
        assert_eq!(server.end()[Count::Slow as usize], 2);
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
        assert_eq!(server.end()[Count::Slow as usize], 0);
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
        server.until(Count::Refused, 1);
        clients.pop();
        server.until(Count::Ended, 2);
        assert_eq!(asked(&mut server.connect(), "room again"), "ok\n");
        server.end();
    });
}

#[test]
fn answers_under_way_leave_after_the_order_to_stop() {
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
        let mut deaf = server.connect();
        deaf.write_all(b"shared\n").unwrap();
        deaf.read_exact(&mut [0; 10]).unwrap();
        let begin = Instant::now();
        server.end();
        assert!(
            begin.elapsed() >= grace && begin.elapsed() < Duration::from_secs(3),
            "{:?}",
            begin.elapsed()
        );
    });
}

/// Not a test: the server of `descriptors_run_out`, in a process of its own, for its limit is the process's.
#[test]
#[ignore = "is executed by descriptors_run_out"]
fn serve_in_a_process() {
    let Ok(name) = std::env::var("OSDYNO_TEST_ARCHITECTURE") else { return };
    let server = Server::of(net::arch::find(&name).unwrap(), "echo");
    println!("\naddress {}", server.address);
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
    println!("\nexhausted {}", server.end()[Count::Exhausted as usize]);
}

#[test]
fn descriptors_run_out() {
    each(|architecture| {
        let mut process = Command::new("sh")
            .args(["-c", "ulimit -n 40 && exec \"$0\" --exact --ignored --nocapture serve_in_a_process"])
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
        let mut clients: Vec<TcpStream> = (0..100).map(|_| connect()).collect();
        echoed(&mut clients[0], b"those inside are served");
        let begin = ticks();
        std::thread::sleep(Duration::from_millis(1000));
        assert!(ticks() - begin < 30, "the loop spins: {} ticks in a second", ticks() - begin);
        // Those outside wait for the others to leave.
        clients.drain(..60);
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
