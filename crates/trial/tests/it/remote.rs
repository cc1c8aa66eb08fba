//! A server in a process of its own, as workloads start, question and stop it.
#![cfg(target_os = "linux")]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use net::Error;
use net::server::{Remote, ServerHost, ServerPlan};
use net::service::http::HttpSettings;
use net::worker::Counter;

const PROGRAM: &str = env!("CARGO_BIN_EXE_osdyno-trial-servers");

fn start(prefix: &[&str], program: &str, plan: &ServerPlan) -> Result<Remote, Error> {
    let prefix: Vec<String> = prefix.iter().map(|&word| word.to_owned()).collect();
    let folder = std::env::temp_dir();
    Remote::start(ServerHost { prefix: &prefix, program: Path::new(program), folder: &folder }, plan)
}

fn plan(architecture: &str) -> ServerPlan {
    ServerPlan { architecture: architecture.to_owned(), pool: 4, ..ServerPlan::default() }
}

fn ask(remote: &Remote) {
    let mut stream = TcpStream::connect(remote.address()).expect("a connection");
    let mut response = String::new();
    stream.read_to_string(&mut response).expect("a response");
    assert_eq!(response, "450 too busy\r\n");
}

#[test]
fn every_architecture_is_started_questioned_and_stopped() {
    for architecture in
        net::arch::ALL.iter().filter(|architecture| architecture.unavailable_reason().is_none())
    {
        let name = architecture.name;
        let mut remote = start(&[], PROGRAM, &plan(name)).expect(name);
        for _ in 0..5 {
            ask(&remote);
        }
        let deadline = Instant::now() + Duration::from_secs(10);
        let report = loop {
            let report = remote.report().expect(name);
            // A server counts at the end of its turn, which a client need not wait for.
            let is_counted = |counter| report.count(counter) == 5;
            if is_counted(Counter::Responses) && is_counted(Counter::Ended) || Instant::now() > deadline {
                break report;
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        assert_eq!(report.count(Counter::Responses), 5, "{name}");
        assert_eq!(report.count(Counter::Ended), 5, "{name}");
        assert!(report.processes.is_some_and(|count| count >= 1), "{name}");
        // More than nothing, and less than a program without its share of what others have too.
        assert!(report.memory_bytes.is_some_and(|bytes| (100 << 10..1 << 30).contains(&bytes)), "{name}");
        ask(&remote);
        let last = remote.stop().expect(name);
        assert_eq!(last.count(Counter::Responses), 6, "{name}");
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
    let mut remote = start(&[], PROGRAM, &plan("epoll")).expect("a server");
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
fn why_a_server_does_not_begin_is_reported() {
    let unknown = start(&[], PROGRAM, &plan("epol")).expect_err("no such architecture");
    assert!(unknown.to_string().contains("no architecture is called"), "{unknown}");
    let missing = start(&[], "/nonexistent/program", &plan("epoll")).expect_err("no program");
    assert!(missing.to_string().contains("/nonexistent/program"), "{missing}");
    let silent = start(&[], "true", &plan("epoll")).expect_err("no server");
    assert!(silent.to_string().contains("ended without a reply"), "{silent}");
    let has_ended = [unknown, missing, silent].map(|error| Remote::has_ended(&error));
    assert_eq!(has_ended, [false, false, true]);
}

#[test]
fn a_forgotten_server_is_gone_with_all_its_processes() {
    let remote = start(&[], PROGRAM, &plan("prefork")).expect("a server");
    let address = remote.address();
    drop(remote);
    let deadline = Instant::now() + Duration::from_secs(10);
    while TcpStream::connect(address).is_ok() {
        assert!(Instant::now() < deadline, "somebody still listens");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_server_behind_a_command_gets_its_program_and_its_files_through_it() {
    let served = tempfile::tempdir().expect("a folder");
    std::fs::write(served.path().join("590.bin"), [7; 590]).expect("a file");
    let settings = HttpSettings { root: served.path().to_owned(), ..HttpSettings::default() };
    // Where the folder that is served is not to be seen.
    let hidden = format!("mount -t tmpfs none {} && exec \"$@\"", served.path().display());
    let prefix = ["unshare", "--mount", "sh", "-c", hidden.as_str(), "--"];
    let prefix = match Command::new(prefix[0]).args(&prefix[1..]).arg("true").output() {
        Ok(output) if output.status.success() => &prefix[..],
        other => {
            println!("the folder is shared with the server: no mount of its own: {other:?}");
            &["nice"]
        }
    };
    let remote = start(prefix, PROGRAM, &ServerPlan::new("epoll", &settings)).expect("a server");
    let mut stream = TcpStream::connect(remote.address()).expect("a connection");
    stream.write_all(b"GET /590.bin HTTP/1.0\r\n\r\n").expect("a request");
    let mut response = Vec::new();
    stream.read_to_end(&mut response).expect("a response");
    assert!(response.ends_with(&[7; 590]), "{}", String::from_utf8_lossy(&response));
    assert_eq!(remote.stop().expect("a report").count(Counter::Accepted), 1);
}
