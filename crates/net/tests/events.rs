//! Every architecture that is driven by events, under the same table of clients: well-behaved, slow, broken, many.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use net::arch::{ALL, Architecture};
use net::service::{self, Machine, Settings};
use net::site::{COUNTS, Count, Limits, Site, Stop, Tally};
use sys::tcp::{Listener, Listening};

/// Those that can run here, each under its name.
fn each(test: impl Fn(&'static Architecture)) {
    let mut tried = 0;
    for architecture in ALL.iter().copied().filter(|architecture| !architecture.blocking) {
        if let Some(obstacle) = architecture.obstacle() {
            assert!(!obstacle.is_empty(), "{} does not say why not", architecture.name);
            continue;
        }
        eprintln!("architecture {}", architecture.name);
        test(architecture);
        tried += 1;
    }
    assert!(tried >= 5, "only {tried} architectures ran");
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
        };
        let serve = architecture.serve.unwrap();
        let thread = Some(std::thread::spawn(move || serve(&site)));
        Server { address, tally, stop, thread }
    }

    fn of(architecture: &'static Architecture, service: &str) -> Server {
        let machine = (service::find(service).unwrap().open)(&Settings::default()).unwrap();
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
    each(|architecture| {
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
    });
}
