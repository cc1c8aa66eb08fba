//! Loads that several hosts did not offer together are offered again, and never count.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a panic is the failure of a test")]

use std::io::Write;
use std::net::TcpListener;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use net::Error;
use net::client::busy::BusyClientSettings;
use net::load::{Generator, Level, Load, LoadSettings, OffersLoad, VoidReason, Watched, closed_loop};
use net::server::ServerPlan;
use net::service::busy::BusySettings;
use sys::clock::Clock;
use workload::server::ServerUnderTest;
use workload::{ClientHost, Server, Slots, Trial, TrialError, Workload};

/// A `busy` server, started elsewhere.
fn server() -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.write_all(b"450 too busy\r\n");
        }
    });
    Server { address, prefix: Vec::new() }
}

/// Generators whose first loads do not count.
struct Hosts {
    generator: Generator,
    void: Vec<VoidReason>,
    offered: usize,
}

impl OffersLoad for Hosts {
    fn offer(&mut self, load: &Load, watched: &mut Watched<'_>) -> Result<Level, Error> {
        self.offered += 1;
        match self.void.pop() {
            Some(reason) => Err(Error::Void(reason)),
            None => self.generator.offer(load, watched),
        }
    }
}

/// A trial of one level whose first loads are void for these reasons: how it ended, how many loads were
/// offered, and its remarks.
fn trial(void: Vec<VoidReason>) -> (Result<(), TrialError>, usize, Vec<String>) {
    let race: &'static Workload = servers::GROUP.find("race").expect("a workload");
    let server = server();
    let clients = [ClientHost { name: "n1".to_owned(), command: Vec::new() }];
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let numbers: Vec<AtomicU64> = (0..Slots::needed(race, 1)).map(|_| AtomicU64::new(0)).collect();
    let slots = Slots::new(race, 1, &numbers);
    let clock = Clock::start();
    let mut trial = Trial::new(race, "thread", 1, scratch.path(), 7, &clock, slots);
    trial.set_server(Some(&server), None);
    trial.set_clients(&clients);
    let plan = ServerPlan::new("thread", &BusySettings {});
    let mut server = ServerUnderTest::start(&trial, plan).expect("a server");
    let settings = LoadSettings::new(server.address(), &BusyClientSettings {});
    let mut hosts = Hosts { generator: Generator::new(settings).expect("a generator"), void, offered: 0 };
    let ran = trial.at_levels(|n, recorder| {
        let load = closed_loop(n as usize, Duration::from_millis(50));
        server.hold(&mut hosts, &load, &["throughput"], recorder).map(drop)
    });
    assert!(trial.ended().is_none(), "no limit of the server: {:?}", trial.ended());
    (ran, hosts.offered, trial.warnings().to_vec())
}

fn absent() -> VoidReason {
    VoidReason::Absent { worker: "n1".to_owned(), seconds: 0.2 }
}

#[test]
fn a_void_load_is_offered_again() {
    let (ran, offered, warnings) = trial(vec![absent(), absent()]);
    ran.expect("a trial");
    // One request on every connection comes before the load.
    assert_eq!(offered, 2 + 2, "{warnings:?}");
    assert!(warnings.iter().any(|warning| warning.contains("again: n1 was stopped")), "{warnings:?}");
}

#[test]
fn a_load_that_stays_void_is_the_error_of_the_trial() {
    let (ran, offered, _) = trial(vec![absent(); 9]);
    let error = ran.expect_err("a void load").to_string();
    assert!(error.contains("does not count: n1 was stopped"), "{error}");
    assert_eq!(offered, 4);
    let lost = VoidReason::Lost { worker: "n1".to_owned(), reason: "killed".to_owned() };
    let (ran, offered, _) = trial(vec![lost; 9]);
    assert!(ran.expect_err("a host is gone").to_string().contains("n1 was lost"));
    assert_eq!(offered, 1, "no other load can be offered");
}
