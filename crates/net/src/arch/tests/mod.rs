//! The event loops against a simulated network: every one of them, with every service and every client that
//! speaks with it, under the same seeds. A seed decides which bytes are split, delayed, refused, reset or
//! never read, when descriptors run out and when the order to stop comes. Loop, connection, time limits,
//! service and client are the program's own; only sockets, sets, rings and the clock are simulated.
//!
//! A failing seed is printed; `OSDYNO_SEED=N cargo test -p net --lib arch::tests -- --nocapture` runs it
//! alone and prints its events.

mod clients;
mod ring;
mod set;
mod simulation;
mod socket;
mod witness;
mod world;

use std::sync::Arc;

use self::simulation::{Attempt, FOREIGN_LOOP, LOOPS};
use self::world::Fault;
use crate::arch;
use crate::client::busy::BusyClientSettings;
use crate::client::echo::EchoClientSettings;
use crate::client::http::HttpClientSettings;
use crate::client::{self, ClientChoice, ClientKind};
use crate::service::busy::BusySettings;
use crate::service::echo::EchoSettings;
use crate::service::http::HttpSettings;
use crate::service::{OpenService, ServiceSettings};

/// A planted fault must show within so many seeds.
const SEEDS_OF_FAULT: u64 = 100;

/// A file that is served from memory, one that is sent as a file, and the largest response.
const FILES: [(&str, usize); 2] = [("small.txt", 700), ("large.bin", 90_000)];

/// The services, opened once, and the folder of one of them.
struct Services {
    open: Vec<(&'static str, Arc<dyn OpenService>)>,
    _folder: tempfile::TempDir,
}

impl Services {
    fn open() -> Services {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, length) in FILES {
            let bytes: Vec<u8> = (0..length).map(|at| (at * 31 % 251) as u8).collect();
            std::fs::write(folder.path().join(name), bytes).expect("a file");
        }
        let http = HttpSettings { root: folder.path().to_owned(), ..HttpSettings::default() };
        let opened = [
            (BusySettings::NAME, BusySettings::default().open(false)),
            (EchoSettings::NAME, EchoSettings::default().open(false)),
            (HttpSettings::NAME, http.open(false)),
        ];
        let open = opened.map(|(name, service)| (name, service.expect("a service"))).into_iter().collect();
        Services { open, _folder: folder }
    }

    fn get(&self, name: &str) -> &dyn OpenService {
        let found = self.open.iter().find(|(own, _)| *own == name);
        &*found.unwrap_or_else(|| panic!("no simulation opens the service {name:?}")).1
    }
}

/// A client's settings, as a seed chooses them, and the bytes of its largest response.
fn choice(kind: &ClientKind, seed: u64) -> (ClientChoice, usize) {
    let mut random = fastrand::Rng::with_seed(seed);
    match kind.name {
        "busy" => (ClientChoice::new(&BusyClientSettings {}), 14),
        "echo" => {
            let bytes = [16, 700, 5000][random.usize(..3)];
            (ClientChoice::new(&EchoClientSettings { bytes }), bytes)
        }
        "http" => {
            let count = random.usize(1..=FILES.len());
            let paths = FILES[..count].iter().map(|(name, _)| format!("/{name}")).collect();
            let (head, close) = (random.u8(..4) == 0, random.u8(..4) == 0);
            let settings = HttpClientSettings { paths, head, close, ..HttpClientSettings::default() };
            (ClientChoice::new(&settings), FILES[count - 1].1)
        }
        other => panic!("no simulation chooses settings for the client {other:?}"),
    }
}

/// Simulates one loop with one client and its service; the first promise that was broken.
fn attempt(
    seed: u64,
    name: &str,
    kind: &ClientKind,
    fault: Fault,
    services: &Services,
) -> Result<(), String> {
    let (choice, response_bytes) = choice(kind, seed);
    let service = services.get(kind.service);
    if crate::seeds::repeated().is_some() {
        println!("{name} with {}", kind.name);
    }
    let attempt = Attempt { seed, name, service, service_name: kind.service, response_bytes, fault };
    let broken = choice.visit(attempt).expect("a client");
    broken.map_err(|text| format!("{name} with {}: {text}", kind.name))
}

/// Every loop and every client, under one seed.
fn attempt_all(seed: u64, services: &Services) -> Vec<String> {
    let pairs = LOOPS.iter().flat_map(|name| client::ALL.iter().map(move |kind| (name, kind)));
    pairs.filter_map(|(name, kind)| attempt(seed, name, kind, Fault::None, services).err()).collect()
}

#[test]
fn every_loop_keeps_its_promises() {
    let services = Services::open();
    crate::seeds::every(|seed| attempt_all(seed, &services));
}

/// Every loop of ours is simulated. The conformance table lists the services without a client.
#[test]
fn every_loop_is_simulated() {
    for architecture in arch::ALL {
        let name = architecture.name;
        let has_loop = architecture.serve.is_ok() && !architecture.is_blocking() && name != FOREIGN_LOOP;
        assert_eq!(LOOPS.contains(&name), has_loop, "{name}");
    }
}

/// The fault breaks a promise of these words in some seed that keeps it without the fault, in every loop.
fn finds(fault: Fault, client: &str, promises: &[&str]) {
    let services = Services::open();
    let kind = client::find(client).expect("a client");
    for name in LOOPS {
        let is_broken = |seed: &u64| {
            let broken = attempt(*seed, name, kind, fault, &services).err();
            broken.is_some_and(|text| promises.iter().any(|promise| text.contains(promise)))
        };
        let found = (0..SEEDS_OF_FAULT).find(is_broken);
        let seed = found.unwrap_or_else(|| panic!("{fault:?} in {name} was not found"));
        assert_eq!(attempt(seed, name, kind, Fault::None, &services), Ok(()), "without the fault");
    }
}

#[test]
fn a_lost_wake_up_is_found() {
    finds(Fault::LostWakeUp, "http", &["nothing will wake it"]);
}

#[test]
fn a_response_that_is_counted_twice_is_found() {
    finds(Fault::CountedTwice, "http", &["responses:"]);
}

#[test]
fn a_time_out_that_never_comes_is_found() {
    finds(Fault::StandingClock, "echo", &["time limit"]);
}

#[test]
fn a_wrong_byte_is_found() {
    finds(Fault::WrongByte, "echo", &["of the response"]);
}
