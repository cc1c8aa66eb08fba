//! `osdyno serve` as its clients and its operator see it: every architecture that this system has, under
//! idle and slow connections, too few descriptors, killed workers, and the order to stop.
#![cfg(target_os = "linux")]

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::common::everywhere::architectures;
use crate::common::{osdyno, run, signal, text, until};
use net::arch::{Architecture, ServedBy};
use net::worker::Accept;
use serde_json::Value;

/// After this a client takes its connection for lost; far longer than a busy machine delays a response.
const CLIENT_TIMEOUT: Duration = Duration::from_secs(20);

/// A server of the test, killed with it.
struct Server {
    child: Child,
    address: SocketAddr,
    told: Arc<Mutex<String>>,
}

impl Server {
    fn start(folder: &Path, arguments: &[&str]) -> Server {
        Server::spawn(osdyno(folder, &[&["serve"], arguments].concat()))
    }

    /// With so few descriptors.
    fn start_poor(folder: &Path, descriptors: u32, arguments: &[&str]) -> Server {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("ulimit -n {descriptors}; exec \"$0\" serve \"$@\"")]);
        command.arg(env!("CARGO_BIN_EXE_osdyno")).args(arguments).current_dir(folder);
        Server::spawn(command)
    }

    fn spawn(mut command: Command) -> Server {
        command.args(["--listen", "127.0.0.1:0", "--format", "json"]).stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("osdyno starts");
        let told = Arc::new(Mutex::new(String::new()));
        let (errors, kept) = (child.stderr.take().expect("a pipe"), Arc::clone(&told));
        std::thread::spawn(move || {
            for line in BufReader::new(errors).lines().map_while(Result::ok) {
                kept.lock().expect("the lock").push_str(&format!("{line}\n"));
            }
        });
        let mut server = Server { child, address: SocketAddr::from(([0; 4], 0)), told };
        until("the server listens", || {
            let told = server.told();
            let address =
                told.lines().find_map(|line| line.split_once("127.0.0.1:")?.1.split(['/', ' ']).next());
            let port = address.and_then(|port| port.parse().ok());
            server.address = SocketAddr::from(([127, 0, 0, 1], port.unwrap_or(0)));
            assert!(server.child.try_wait().expect("a child").is_none(), "it ended: {told}");
            port.is_some()
        });
        server
    }

    fn told(&self) -> String {
        self.told.lock().expect("the lock").clone()
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).expect("a connection");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a time-out");
        stream
    }

    fn children(&self) -> Vec<u32> {
        let is_child =
            |number: &u32| parent_and_state(*number).is_some_and(|(parent, _)| parent == self.child.id());
        numbers().filter(is_child).collect()
    }

    /// Stops it in order, and returns its counters.
    fn stop(mut self) -> Counters {
        signal(self.child.id(), "TERM");
        self.end()
    }

    /// Its counters, once it has ended by itself.
    fn end(&mut self) -> Counters {
        let mut printed = String::new();
        let mut out = self.child.stdout.take().expect("a pipe");
        out.read_to_string(&mut printed).expect("its output");
        let status = self.child.wait().expect("an end");
        assert!(status.success(), "{status}: {}", self.told());
        Counters(serde_json::from_str(&printed).expect("JSON"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

struct Counters(Value);

impl Counters {
    fn count(&self, name: &str) -> u64 {
        self.0["report"]["counts"][name].as_u64().unwrap_or_else(|| panic!("{name} in {}", self.0))
    }

    /// Nothing is open, nothing broke, nothing was refused.
    fn expect_clean(&self) {
        assert_eq!(self.count("accepted"), self.count("ended"), "{}", self.0);
        for name in ["broken", "slow", "refused", "restarts"] {
            assert_eq!(self.count(name), 0, "{name} in {}", self.0);
        }
    }
}

fn numbers() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").expect("/proc").flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok())
}

/// proc_pid_stat(5): behind the name come state and parent.
fn parent_and_state(process: u32) -> Option<(u32, String)> {
    let line = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let mut fields = line.rsplit(')').next()?.split_whitespace();
    let state = fields.next()?.to_owned();
    Some((fields.next()?.parse().ok()?, state))
}

fn is_gone(process: &u32) -> bool {
    parent_and_state(*process).is_none_or(|(_, state)| state == "Z")
}

/// Names of the architectures that this system has, of those that are asked for.
fn names(is_asked: fn(&Architecture) -> bool) -> impl Iterator<Item = &'static str> {
    architectures().filter(move |architecture| is_asked(architecture)).map(|architecture| architecture.name)
}

/// Ways to serve with several processes that a supervisor replaces.
fn supervised() -> impl Iterator<Item = Vec<&'static str>> {
    let pools = names(|one| one.served_by == ServedBy::PooledProcess);
    let way = |name, accept: &Accept| vec!["--arch", name, "--workers", "2", "--accept", accept.name()];
    let several = architectures().flat_map(move |one| one.accepts.iter().map(move |how| way(one.name, how)));
    pools.map(|name| vec!["--arch", name, "--pool", "2"]).chain(several)
}

/// A process for every connection.
fn is_process_each(architecture: &Architecture) -> bool {
    architecture.served_by == ServedBy::Process
}

fn rest(stream: &mut TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).expect("all until the end");
    bytes
}

fn exchange(stream: &mut TcpStream, bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    stream.write_all(bytes)?;
    let mut response = vec![0; bytes.len()];
    stream.read_exact(&mut response)?;
    Ok(response)
}

/// Every connection of a crowd has a process or a thread of its own; in the table of conformance pools are
/// smaller than crowds.
#[test]
fn a_pool_that_is_larger_than_the_crowd_serves_all_of_it_in_turn() {
    let folder = tempfile::tempdir().expect("a folder");
    for name in names(Architecture::has_pool) {
        let server = Server::start(folder.path(), &["--arch", name, "--service", "echo", "--pool", "64"]);
        let mut streams: Vec<TcpStream> = (0..50).map(|_| server.connect()).collect();
        for byte in b"pieces" {
            for stream in &mut streams {
                assert_eq!(exchange(stream, &[*byte]).expect("a response"), [*byte], "{name}");
            }
        }
        drop(streams);
        let counters = server.stop();
        counters.expect_clean();
        assert_eq!(counters.count("accepted"), 50, "{name}");
        assert_eq!(counters.count("sent_bytes"), 50 * 6, "{name}");
    }
}

#[test]
fn under_load_a_stop_loses_no_response_that_was_begun() {
    let folder = tempfile::tempdir().expect("a folder");
    let ways = names(|_| true).map(|name| vec!["--arch", name]).chain(supervised());
    for way in ways {
        let server = Server::start(folder.path(), &[&way[..], &["--service", "busy"]].concat());
        let (done, whole) = (AtomicBool::new(false), AtomicU64::new(0));
        let stopping = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    while !done.load(Ordering::Relaxed) {
                        let Ok(mut stream) = TcpStream::connect(server.address) else { continue };
                        stream.set_read_timeout(Some(CLIENT_TIMEOUT)).expect("a time-out");
                        let mut response = Vec::new();
                        match stream.read_to_end(&mut response) {
                            Ok(_) => {
                                assert_eq!(text(&response), "450 too busy\r\n", "{way:?}");
                                whole.fetch_add(1, Ordering::Relaxed);
                            }
                            // No worker had accepted it. Linux resets such a connection when the listener closes,
                            // but not one whose handshake completes at that moment: __inet_inherit_port() finds
                            // the port released and drops the segment, and the client waits for ever.
                            Err(error) => {
                                let is_reset = error.kind() != ErrorKind::WouldBlock;
                                assert!(is_reset || stopping.load(Ordering::Relaxed), "{way:?}: {error}");
                                assert!(response.is_empty(), "{way:?}: {response:?}");
                            }
                        }
                    }
                });
            }
            until("some were served", || whole.load(Ordering::Relaxed) > 100);
            stopping.store(true, Ordering::Relaxed);
            signal(server.child.id(), "TERM");
            until("it stops", || is_gone(&server.child.id()));
            done.store(true, Ordering::Relaxed);
        });
        let mut server = server;
        let counters = server.end();
        counters.expect_clean();
        assert_eq!(counters.count("responses"), whole.load(Ordering::Relaxed), "{way:?}");
    }
}

#[test]
fn a_killed_worker_is_replaced_and_the_others_go_on() {
    let folder = tempfile::tempdir().expect("a folder");
    for way in supervised() {
        let server = Server::start(folder.path(), &[&way[..], &["--service", "echo"]].concat());
        until("the workers are there", || server.children().len() == 2);
        let workers = server.children();
        signal(workers[0], "KILL");
        until("it is replaced", || {
            let now = server.children();
            now.len() == 2 && !now.contains(&workers[0])
        });
        assert!(server.children().contains(&workers[1]), "{way:?}: the other one stays");
        // Wherever they wait, somebody takes them.
        for _ in 0..20 {
            assert_eq!(exchange(&mut server.connect(), b"still").expect("a response"), b"still", "{way:?}");
        }
        let counters = server.stop();
        assert_eq!(counters.count("restarts"), 1, "{way:?}");
        assert_eq!(counters.count("accepted"), counters.count("ended"), "{way:?}");
    }
}

#[test]
fn a_process_of_a_connection_takes_only_that_connection_with_it() {
    let folder = tempfile::tempdir().expect("a folder");
    for name in names(is_process_each) {
        let server = Server::start(folder.path(), &["--arch", name, "--service", "echo"]);
        let mut streams: Vec<TcpStream> = (0..5).map(|_| server.connect()).collect();
        for stream in &mut streams {
            assert_eq!(exchange(stream, b"one").expect("a response"), b"one", "{name}");
        }
        let processes = server.children();
        assert_eq!(processes.len(), 5, "{name}");
        signal(processes[2], "KILL");
        until("it is gone", || server.children().len() == 4);
        let answered = streams.iter_mut().filter_map(|stream| exchange(stream, b"two").ok()).count();
        assert_eq!(answered, 4, "{name}");
        drop(streams);
        until("all have ended", || server.children().is_empty());
        let counters = server.stop();
        assert_eq!(counters.count("broken"), 1, "{name}");
        assert_eq!(counters.count("ended"), 5, "{name}");
    }
}

#[test]
fn nothing_outlives_a_server_that_is_killed() {
    let folder = tempfile::tempdir().expect("a folder");
    let alone = names(is_process_each).map(|name| vec!["--arch", name]);
    for way in supervised().chain(alone) {
        let mut server = Server::start(folder.path(), &[&way[..], &["--service", "echo"]].concat());
        let mut streams: Vec<TcpStream> = (0..2).map(|_| server.connect()).collect();
        for stream in &mut streams {
            assert_eq!(exchange(stream, b"hello").expect("a response"), b"hello", "{way:?}");
        }
        until("both workers run", || server.children().len() == 2);
        let children = server.children();
        server.child.kill().expect("killed");
        until("its processes are gone", || children.iter().all(is_gone));
    }
}

#[test]
fn without_descriptors_it_waits_until_some_are_given_back() {
    let folder = tempfile::tempdir().expect("a folder");
    for architecture in architectures() {
        let name = architecture.name;
        let arguments = ["--arch", name, "--service", "echo", "--pool", "64"];
        let server = Server::start_poor(folder.path(), 40, &arguments);
        let mut waiting: Vec<TcpStream> = (0..60).map(|_| server.connect()).collect();
        for stream in &mut waiting {
            stream.write_all(b"?").expect("sent");
            stream.set_nonblocking(true).expect("a stream that does not wait");
        }
        // Processes have descriptors of their own, and never run out of them.
        let runs_out = !architecture.has_processes();
        if runs_out {
            let descriptors = format!("/proc/{}/fd", server.child.id());
            until("none is left", || fs::read_dir(&descriptors).expect("a folder").count() >= 40);
            std::thread::sleep(Duration::from_millis(50));
        }
        // Who was served makes room for the next.
        until("all were served", || {
            waiting.retain_mut(|stream| !matches!(stream.read(&mut [0]), Ok(1)));
            waiting.is_empty()
        });
        let counters = server.stop();
        counters.expect_clean();
        assert_eq!(counters.count("responses"), 60, "{name}");
        assert_eq!(counters.count("exhausted") > 0, runs_out, "{name}");
    }
}

#[test]
fn too_many_too_idle_and_too_slow_connections_are_closed() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("index.html"), "hello").expect("a file");
    for name in names(|_| true) {
        let limits = ["--idle-timeout", "300ms", "--request-timeout", "300ms", "--max-connections", "2"];
        let server = Server::start(folder.path(), &[&["--arch", name][..], &limits].concat());
        let begun = Instant::now();
        let mut idle = server.connect();
        let mut slow = server.connect();
        slow.write_all(b"GET / HT").expect("sent");
        assert_eq!(rest(&mut idle), b"", "{name}");
        let told = text(&rest(&mut slow));
        assert!(told.is_empty() || told.starts_with("HTTP/1.1 408 "), "{name}: {told}");
        drop(slow);
        assert!(begun.elapsed() > Duration::from_millis(250), "{name}: {:?}", begun.elapsed());
        assert!(begun.elapsed() < Duration::from_secs(4), "{name}: {:?}", begun.elapsed());
        let counters = server.stop();
        assert_eq!(counters.count("slow"), 1, "{name}");
        assert_eq!(counters.count("ended"), 2, "{name}");
    }
    // Where a pool is the limit, others wait.
    for name in names(|one| !one.has_pool()) {
        let server =
            Server::start(folder.path(), &["--arch", name, "--service", "echo", "--max-connections", "2"]);
        let mut streams = [server.connect(), server.connect()];
        for stream in &mut streams {
            assert_eq!(exchange(stream, b"in").expect("a response"), b"in", "{name}");
        }
        let mut third = server.connect();
        match third.read(&mut [0; 8]) {
            Ok(count) => assert_eq!(count, 0, "{name}"),
            Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset, "{name}"),
        }
        for stream in &mut streams {
            assert_eq!(exchange(stream, b"still").expect("a response"), b"still", "{name}");
        }
        assert_eq!(server.stop().count("refused"), 1, "{name}");
    }
}

#[test]
fn counters_are_reported_when_asked_for_and_at_the_end() {
    let folder = tempfile::tempdir().expect("a folder");
    for way in [vec!["--arch", "thread"], vec!["--arch", "epoll", "--workers", "2"]] {
        let server = Server::start(folder.path(), &[&way[..], &["--service", "echo"]].concat());
        let mut stream = server.connect();
        assert_eq!(exchange(&mut stream, b"12345").expect("a response"), b"12345");
        signal(server.child.id(), "USR1");
        until("the counters are printed", || server.told().contains("open at most"));
        let told = server.told();
        let has = |name: &str, value: &str| {
            let line = told.lines().find(|line| line.trim_start().starts_with(name)).expect(name);
            assert_eq!(line.split_whitespace().last(), Some(value), "{told}");
        };
        has("accepted", "1");
        has("open now", "1");
        has("open at most", "1");
        has("received bytes", "5");
        assert_eq!(exchange(&mut stream, b"on").expect("a response"), b"on");
        assert_eq!(server.stop().count("responses"), 2);
    }
}

#[test]
fn what_makes_no_sense_is_said_and_nothing_is_served() {
    let folder = tempfile::tempdir().expect("a folder");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let taken = taken.local_addr().map(|address| address.to_string()).expect("an address");
    for (arguments, code, words) in [
        (&["--arch", "epol"][..], 2, "a similar value exists: 'epoll'"),
        (&["--arch", "thread", "--workers", "2"], 2, "several workers make no sense"),
        (&["--workers", "0"], 2, "between 1 and"),
        (&["--service", "echo", "somewhere"], 2, "DIR belongs to --service http, not to echo"),
        (&["nowhere"], 1, "nowhere"),
        (&["--arch", "iocp"], 1, "unsupported here"),
        (&["--user", "nobody-of-that-name"], 1, "cannot become"),
        (&["--arch", "epoll", "--workers", "2", "--listen", &taken], 1, "cannot listen at"),
    ] {
        let mut whole = vec!["serve"];
        whole.extend(arguments);
        if !arguments.contains(&"--listen") {
            whole.extend(["--listen", "127.0.0.1:0"]);
        }
        let output = run(folder.path(), &whole);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", text(&output.stderr));
        assert!(text(&output.stderr).contains(words), "{arguments:?}: {}", text(&output.stderr));
    }
    let latin_1 = OsStr::from_bytes(b"caf\xe9");
    let output = osdyno(folder.path(), &["serve"]).arg(latin_1).output().expect("osdyno starts");
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("its name is not UTF-8; rename it"), "{}", text(&output.stderr));
}

#[test]
fn the_user_asked_for_serves_and_not_root() {
    let folder = tempfile::tempdir().expect("a folder");
    let status = fs::read_to_string("/proc/self/status").expect("a status");
    let is_root = status.lines().any(|line| line.starts_with("Uid:\t0\t0"));
    if !is_root {
        return;
    }
    for way in [vec!["--arch", "thread"], vec!["--arch", "epoll", "--workers", "2"], vec!["--arch", "inetd"]]
    {
        let server =
            Server::start(folder.path(), &[&way[..], &["--service", "echo", "--user", "nobody"]].concat());
        let mut stream = server.connect();
        assert_eq!(exchange(&mut stream, b"who").expect("a response"), b"who", "{way:?}");
        for process in server.children().into_iter().chain([server.child.id()]) {
            let status = fs::read_to_string(format!("/proc/{process}/status")).expect("a status");
            let of = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).expect("a line");
            assert!(!of("Uid:").split_whitespace().any(|id| id == "0"), "{way:?}: {status}");
            assert!(!of("Gid:").split_whitespace().any(|id| id == "0"), "{way:?}: {status}");
            assert!(!of("Groups:").split_whitespace().any(|id| id == "0"), "{way:?}: {status}");
        }
        server.stop().expect_clean();
    }
}
