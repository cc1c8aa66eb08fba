//! A server in a process of its own, as workloads start, question and stop it.
#![cfg(target_os = "linux")]

use std::io::Read;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use net::server::{Remote, ServerPlan};
use net::site::Count;

fn command() -> Vec<String> {
    vec![env!("CARGO_BIN_EXE_osdyno-trial-servers").to_owned(), "serve".to_owned()]
}

fn plan(architecture: &str) -> ServerPlan {
    ServerPlan { architecture: architecture.to_owned(), pool: 4, ..ServerPlan::default() }
}

fn ask(remote: &Remote) {
    let mut stream = TcpStream::connect(remote.address()).expect("a connection");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    assert_eq!(answer, "450 too busy\r\n");
}

#[test]
fn every_architecture_is_started_questioned_and_stopped() {
    for architecture in net::arch::ALL.iter().filter(|architecture| architecture.obstacle().is_none()) {
        let name = architecture.name;
        let mut remote = Remote::start(&command(), &plan(name)).expect(name);
        for _ in 0..5 {
            ask(&remote);
        }
        let deadline = Instant::now() + Duration::from_secs(10);
        let report = loop {
            let report = remote.report().expect(name);
            if report.open == 0 || Instant::now() > deadline {
                break report;
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        assert_eq!(report.count(Count::Answers), 5, "{name}");
        assert_eq!(report.count(Count::Ended), 5, "{name}");
        assert!(report.processes.is_some_and(|count| count >= 1), "{name}");
        // More than nothing, and less than a program without its share of what others have too.
        assert!(report.memory_bytes.is_some_and(|bytes| (100 << 10..1 << 30).contains(&bytes)), "{name}");
        ask(&remote);
        let last = remote.stop().expect(name);
        assert_eq!(last.count(Count::Answers), 6, "{name}");
        assert!(
            last.cpu_seconds > report.cpu_seconds,
            "{name}: {:?} {:?}",
            report.cpu_seconds,
            last.cpu_seconds
        );
    }
}

#[test]
fn asking_for_a_report_is_no_serving() {
    let mut remote = Remote::start(&command(), &plan("epoll")).expect("a server");
    let mut seconds = || remote.report().expect("a report").cpu_seconds.expect("processor time");
    let before = seconds();
    for _ in 0..200 {
        seconds();
    }
    let taken = seconds() - before;
    // Each walks through all processes of the machine, which takes a tenth of a millisecond at least.
    assert!(taken < 0.005, "{taken} s for 200 reports of a server that served nobody");
}

#[test]
fn why_a_server_does_not_begin_is_told() {
    let unknown = Remote::start(&command(), &plan("epol")).expect_err("no such architecture");
    assert!(unknown.to_string().contains("no architecture is called"), "{unknown}");
    let missing =
        Remote::start(&["/nonexistent/program".to_owned()], &plan("epoll")).expect_err("no program");
    assert!(missing.to_string().contains("/nonexistent/program"), "{missing}");
    let silent = Remote::start(&["true".to_owned()], &plan("epoll")).expect_err("no server");
    assert!(silent.to_string().contains("has ended"), "{silent}");
}

#[test]
fn a_forgotten_server_is_gone_with_all_its_processes() {
    let remote = Remote::start(&command(), &plan("prefork")).expect("a server");
    let address = remote.address();
    drop(remote);
    let deadline = Instant::now() + Duration::from_secs(10);
    while TcpStream::connect(address).is_ok() {
        assert!(Instant::now() < deadline, "somebody still listens");
        std::thread::sleep(Duration::from_millis(5));
    }
}
