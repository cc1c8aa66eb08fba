//! Trials of a slow server: a window without a response is too short for this machine, and no limit of the
//! server.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a panic is the failure of a test")]

use std::io::Write;
use std::net::TcpListener;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use sys::clock::Clock;
use workload::{OfferedLevel, Server, Slots, Trial, Workload};

/// A `busy` server that answers its first connection at once, and each later one after this time: like a
/// machine with busy processors.
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

/// One trial with one connection, whose server responds after this time: its output, and its values of each
/// operation.
fn trial(response: Duration, offered: &[OfferedLevel]) -> (Vec<String>, Vec<(&'static str, Vec<f64>)>) {
    let race: &'static Workload = servers::GROUP.find("race").expect("a workload");
    let server = Server { address: stalling(response), prefix: Vec::new() };
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let numbers: Vec<AtomicU64> = (0..Slots::needed(race, 1)).map(|_| AtomicU64::new(0)).collect();
    let slots = Slots::new(race, 1, &numbers);
    let clock = Clock::start();
    let mut trial = Trial::new(race, "thread", 1, scratch.path(), 7, &clock, slots);
    trial.set_window(Duration::from_millis(20));
    trial.set_server(Some(&server), None);
    trial.set_offered(offered);
    race.run.expect("servers exist here")(&mut trial).expect("a trial");
    assert!(trial.ended().is_none(), "{:?}", trial.ended());
    let reported = race
        .measured()
        .enumerate()
        .map(|(index, operation)| (operation.name, slots.reported(index).map(|(_, value)| value).collect()));
    (trial.warnings().to_vec(), reported.collect())
}

#[test]
fn a_window_without_a_response_is_held_for_longer() {
    // Long, because a busy machine may take tenths of a second to end a window of 20 ms.
    let (warnings, reported) = trial(Duration::from_millis(800), &[]);
    let is_said = |warning: &String| warning.starts_with("No response came within 0.");
    assert!(warnings.iter().any(is_said), "{warnings:?}");
    for (name, values) in reported {
        assert_eq!(values.len(), usize::from(name == "throughput"), "{name}: {values:?}");
    }
}

/// Five a second, for a second: fewer than a hundred, because these would take too long.
#[test]
fn what_all_are_offered_is_measured_by_itself() {
    let offered = OfferedLevel {
        n: 1,
        per_second: 5.0,
        spacing_seconds: 1e-3,
        slowest: "inetd".into(),
        slowest_per_second: 10.0,
        generator_seconds: 1e-4,
    };
    for (name, values) in trial(Duration::from_millis(150), &[offered]).1 {
        match (name, &values[..]) {
            // The resources of a server that was started elsewhere are unknown.
            ("server cpu", none) => assert!(none.is_empty(), "{none:?}"),
            ("throughput", [rate]) => assert!(*rate > 0.0 && *rate < 7.0, "{rate}"),
            (name, [seconds]) => assert!(*seconds > 0.14, "{name}: {seconds}"),
            (name, values) => panic!("{name}: {values:?}"),
        }
    }
}
