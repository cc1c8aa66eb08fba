//! A window in which nothing is answered is too short for this machine, and no limit of the server.
#![cfg(unix)]

use std::io::Write;
use std::net::TcpListener;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use sys::clock::Clock;
use workload::{Server, Slots, Trial, Workload};

/// A `busy` server that answers its first connection at once, and each later one after this time: what a
/// machine looks like whose processors are taken by others.
fn stalling(time: Duration) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    std::thread::spawn(move || {
        for (number, stream) in listener.incoming().flatten().enumerate() {
            if number > 0 {
                std::thread::sleep(time);
            }
            let mut stream = stream;
            let _ = stream.write_all(b"450 too busy\r\n");
        }
    });
    address
}

#[test]
fn a_window_without_a_response_is_held_for_longer() {
    let race: &'static Workload = servers::GROUP.find("race").expect("a workload");
    let server = Server { address: stalling(Duration::from_millis(150)), prefix: Vec::new() };
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let numbers: Vec<AtomicU64> =
        (0..Slots::needed(race.declaration(), 1)).map(|_| AtomicU64::new(0)).collect();
    let slots = Slots::new(race.declaration(), 1, &numbers);
    let clock = Clock::start();
    let mut trial = Trial::new(race.declaration(), "thread", 1, scratch.path(), 7, &clock, slots);
    trial.set_window(Duration::from_millis(20));
    trial.set_server(Some(&server), None);
    race.run.expect("servers exist here")(&mut trial).expect("a trial");
    assert!(trial.ended().is_none(), "{:?}", trial.ended());
    let is_said = |warning: &String| warning.starts_with("No response came within 0.0");
    assert!(trial.warnings().iter().any(is_said), "{:?}", trial.warnings());
    for (index, operation) in race.measured().enumerate() {
        let expected = if operation.name == "server cpu" { 0 } else { 1 };
        assert_eq!(slots.reported(index).count(), expected, "{}", operation.name);
    }
}
