//! A web server among hostile clients: each gets the right status or is closed in time, while an ordinary
//! client is served, memory stays bounded, and no descriptor is left behind. The counters of the server, its
//! access log and `osdyno load`, which runs beside the attack, must agree.
//!
//! In a loop these tests are a soak test: `OSDYNO_SEED` chooses the noise.
#![cfg(target_os = "linux")]

mod paths;
mod requests;
mod slow;
mod volume;

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Output;
use std::time::{Duration, Instant};

use net::arch::{Architecture, ServedBy};

use crate::common::everywhere::{architectures, each};
use crate::common::served::{Ended, Served};
use crate::common::wire::{Response, Wire, get, get_and_close};
use crate::common::witness::Witness;
use crate::common::{self, text, until};

const SMALL: &[u8] = b"<p>small</p>\n";
const SECRET: &[u8] = b"this is nobody's business";
const LARGE: usize = 50 << 20;

/// Threads or processes of a pool: more than there are hostile clients at a time, for each of these keeps one.
const POOL: usize = 24;

/// Architectures under attack at the same time by clients that use the processor, and by clients that mostly
/// wait.
const AT_ONCE: usize = 3;
const AT_ONCE_WAITING: usize = 16;

/// Hostile clients at a time, where each keeps a connection.
const CROWD: usize = 16;

/// What an ordinary client may have to wait at most, and usually, on a machine that does nothing else.
const PATIENCE: Duration = Duration::from_millis(1500);
const USUAL: Duration = Duration::from_millis(100);

/// On a busy machine it may wait longer by so many times what threads there wait for a processor: client and
/// server hand a request to and fro.
const HANDOVERS: u32 = 10;

/// What hostile clients may add to the server's memory, over all its processes.
const MEMORY_BYTES: u64 = 48 << 20;

/// Limits that a test can wait for, and that a client keeps which has no processor for a while.
const LIMIT: Duration = Duration::from_secs(3);
const SHORT: &[&str] = &["--idle-timeout", "3s", "--request-timeout", "3s", "--send-timeout", "3s"];

/// Of a client that exceeds a limit the server is free by then. It takes less than twice the limit; that the
/// event loops keep their times exactly is proved in simulated time.
const LET_GO: Duration = Duration::from_secs(20);

#[test]
fn paths() {
    everywhere(AT_ONCE, &[], paths::paths);
}

#[test]
fn shrinking_files() {
    everywhere(AT_ONCE_WAITING, &[], paths::shrinking_files);
}

#[test]
fn requests() {
    everywhere(AT_ONCE, &[], requests::requests);
}

#[test]
fn sizes() {
    everywhere(AT_ONCE, &[], volume::sizes);
}

#[test]
fn uploads() {
    everywhere(AT_ONCE, &[], volume::uploads);
}

#[test]
fn floods() {
    everywhere(AT_ONCE, &[], volume::floods);
}

#[test]
fn noise() {
    everywhere(AT_ONCE, SHORT, volume::noise);
}

#[test]
fn slow_writers() {
    everywhere(AT_ONCE_WAITING, SHORT, slow::slow_writers);
}

#[test]
fn slow_readers() {
    everywhere(AT_ONCE_WAITING, SHORT, slow::slow_readers);
}

#[test]
fn vanishing_peers() {
    everywhere(AT_ONCE_WAITING, SHORT, slow::vanishing_peers);
}

/// Has a server of every architecture under the attack, so many at the same time.
fn everywhere(at_once: usize, limits: &[&str], attack: fn(&Served)) {
    each(at_once, architectures().map(|one| (one.name.to_owned(), one)).collect(), |architecture| {
        under(architecture, limits, attack);
    });
}

/// Has a server of that architecture under the attack, with an ordinary client beside.
fn under(architecture: &Architecture, limits: &[&str], attack: fn(&Served)) {
    let name = architecture.name;
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("root");
    make_site(folder.path(), &root);
    let log = folder.path().join("access.log");
    let words = ["--arch", name, "--pool", &POOL.to_string(), "--access-log", log.to_str().unwrap()];
    let served = Served::start(&root, &[&words, limits].concat());
    let mut first = Wire::connect(served.address);
    // The large one last: the server may be done with it long before this client, and close.
    for path in ["/", "/shrinks", "/large.bin"] {
        first.send(get(path));
        assert_eq!(first.response().status, 200, "{path}");
    }
    drop(first);
    let open = || served.counter("open now");
    until("the first connection has ended", || open() == 0);
    let (descriptors, memory) = (served.descriptors(), served.resident_bytes());

    let witness = Witness::start(served.address, "/", SMALL);
    let before = Instant::now();
    let generated = std::thread::scope(|scope| {
        let generated = scope.spawn(|| generate(folder.path(), &served));
        attack(&served);
        generated.join().unwrap()
    });
    let took = before.elapsed();
    let seen = witness.end();
    let grown = served.resident_bytes().saturating_sub(memory);
    println!("{name}: {took:.1?}, {seen:?}, {} KiB more", grown >> 10);
    let (client, machine) = (seen.client, seen.machine);
    assert!(client.median < USUAL + machine.median * HANDOVERS, "an ordinary client waited: {seen:?}");
    assert!(client.longest < PATIENCE + machine.longest * HANDOVERS, "an ordinary client waited: {seen:?}");
    assert!(grown < MEMORY_BYTES, "{grown} bytes more than before");
    until("all connections have ended", || open() == 0);
    // What a process of a pool has been asked for it keeps open: three files here, of two forms.
    let kept = if architecture.served_by == ServedBy::PooledProcess { 6 * POOL } else { 0 };
    until("the descriptors are those of before", || served.descriptors() <= descriptors + kept);
    let mut last = Wire::connect(served.address);
    last.send(get_and_close("/"));
    assert_eq!(last.response().body, SMALL);
    let ended = served.stop();
    assert_eq!((ended.open, ended.count("restarts")), (0, 0), "{ended:?}");
    expect_agreement(&ended, &std::fs::read_to_string(&log).unwrap(), &generated);
}

/// Loads the server for two seconds; the query marks the requests in the access log.
fn generate(folder: &Path, served: &Served) -> Output {
    let url = format!("http://{}/?generated", served.address);
    let words = ["load", "--format", "json", "-r", "50", "-c", "2", "--connections-max", "4", "-d", "2s"];
    common::run(folder, &[&words[..], &["--timeout", "20s", &url]].concat())
}

/// The server has logged each response that it counted, and the generator has an outcome for each request.
fn expect_agreement(ended: &Ended, log: &str, generated: &Output) {
    assert_eq!(ended.count("accepted"), ended.count("ended"), "{ended:?}");
    assert_eq!(ended.count("responses"), log.lines().count() as u64, "{ended:?}");
    let document: serde_json::Value = serde_json::from_slice(&generated.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", text(&generated.stderr)));
    let level = &document["levels"][0];
    let count = |name: &str| level[name].as_u64().unwrap_or_else(|| panic!("no {name}: {level}"));
    let responses = count("completed") + count("late");
    assert!(responses > 0, "{level}");
    assert_eq!(responses + count("failed") + count("unanswered"), count("intended"), "{level}");
    // A response that the generator did not wait for may be in the log.
    let logged = log.lines().filter(|line| line.contains("\"GET /?generated ")).count() as u64;
    assert!((responses..=count("started")).contains(&logged), "{logged} logged: {level}");
    for failure in level["failures"].as_array().into_iter().flatten() {
        let cause = failure["cause"].as_str().unwrap_or_default();
        assert!(!["wrong content", "malformed", "unasked bytes"].contains(&cause), "{level}");
    }
}

fn make_site(folder: &Path, root: &Path) {
    std::fs::create_dir_all(root.join("folder")).unwrap();
    std::fs::write(folder.join("secret"), SECRET).unwrap();
    std::fs::write(root.join("index.html"), SMALL).unwrap();
    std::fs::write(root.join("shrinks"), [b'x'; paths::LONG]).unwrap();
    std::fs::write(root.join(".htpasswd"), SECRET).unwrap();
    let large = std::fs::File::create(root.join("large.bin")).unwrap();
    // A hole: it takes no disk.
    large.set_len(LARGE as u64).unwrap();
    symlink(folder.join("secret"), root.join("absolute")).unwrap();
    symlink("../secret", root.join("relative")).unwrap();
    symlink(folder, root.join("folder/out")).unwrap();
    symlink("/proc/self/root/etc/passwd", root.join("magic")).unwrap();
    symlink("/dev/zero", root.join("endless")).unwrap();
    symlink("loop", root.join("loop")).unwrap();
    symlink("b", root.join("a")).unwrap();
    symlink("a", root.join("b")).unwrap();
    let made = std::process::Command::new("mkfifo").arg(root.join("pipe")).status().unwrap();
    assert!(made.success());
    std::os::unix::net::UnixListener::bind(root.join("socket")).unwrap();
    // Only root may; elsewhere it is missing, which comes to the same.
    let _ = std::process::Command::new("mknod").arg(root.join("zero")).args(["c", "1", "5"]).output();
}

/// Sends it on a connection of its own; the first response, after which the connection must end.
fn refused(served: &Served, request: impl AsRef<[u8]>) -> Response {
    let mut wire = Wire::connect(served.address);
    wire.send(request);
    let response = wire.response();
    wire.expect_end();
    response
}
