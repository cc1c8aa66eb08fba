//! The engine, the DNS that routes its mail, and the server that takes it, as three programs: their reports
//! about a recipient agree, under any fault.

#![cfg(unix)]

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::common::accounts::{ended_as, ledger, lines, results};
use crate::common::served::Served;
use crate::common::{osdyno, signal};

/// `osdyno dns` at a port of its own. Dropped, it is ended.
struct NameServer {
    child: Child,
    address: SocketAddr,
}

impl NameServer {
    fn start(folder: &Path, words: &[&str]) -> NameServer {
        let mut command = osdyno(folder, &["dns", "--listen", "127.0.0.1:0", "--format", "json"]);
        let mut child =
            command.args(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
        let mut line = String::new();
        BufReader::new(child.stderr.take().expect("a pipe")).read_line(&mut line).expect("its first line");
        let address = line.split(" at ").nth(1).and_then(|rest| rest.split(' ').next());
        let address = address.and_then(|address| address.parse().ok());
        NameServer { child, address: address.unwrap_or_else(|| panic!("no address in {line:?}")) }
    }

    /// What it counted.
    fn stop(mut self) -> Value {
        signal(self.child.id(), "TERM");
        let output = self.child.stdout.take().expect("a pipe");
        let counts = serde_json::from_reader(output).expect("JSON");
        assert!(self.child.wait().expect("it ends").success());
        counts
    }
}

impl Drop for NameServer {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn ledger_and_results_agree_recipient_by_recipient() {
    for (arch, mode, without) in [
        ("epoll", "--test", "8BITMIME"),
        ("fork", "--pipeline", "SIZE"),
        ("thread", "--deliver", "SMTPUTF8"),
        // A transaction whose recipients were all refused is still there after DATA.
        ("poll", "--deliver", "CHUNKING"),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path();
        // Pipelined, a refusal of MAIL would decide, and the server would write down that of RCPT.
        let faults = ["--fault", "rcpt 451 10", "--fault", "rcpt 550 5"];
        let words = ["--service", "smtp", "--arch", arch, "--access-log", "ledger", "--without", without];
        let words = [&words[..], &faults].concat();
        let server = Served::start(folder, &words);
        let names = ["--domains", "100", "--null-mx", "0.1", "--unknown", "0.1", "--no-mx", "0.2"];
        let names = NameServer::start(folder, &names);
        let (dns, port) = (names.address.to_string(), server.address.port().to_string());
        let words = ["mail", mode, "--dns", &dns, "--port", &port, "--results", "results"];
        let list = ["--recipients", "1500", "--domains", "100", "--retry", "5ms", "--attempts", "20"];
        let output = osdyno(folder, &words).args(list).args(["--format", "json"]).output().expect("it runs");
        // Some are refused, and some are in domains that take no mail.
        assert_eq!(output.status.code(), Some(3), "{arch} {mode}: {output:?}");
        server.stop();
        let counts = names.stop();

        let results = results(&folder.join("results"));
        assert_eq!(results.len(), 1500);
        let (ending, end) = if mode == "--deliver" { ("delivered", "message") } else { ("tested", "reset") };
        let delivered = ended_as(&results, ending, 250);
        let taken = ledger(&folder.join("ledger"), end, 250);
        assert!(taken.values().all(|&times| times == 1), "{arch} {mode}: each is taken once");
        assert_eq!(taken.into_keys().collect::<BTreeSet<_>>(), delivered, "{arch} {mode}");
        let refused = ledger(&folder.join("ledger"), "refused", 550).into_keys().collect::<BTreeSet<_>>();
        assert_eq!(refused, ended_as(&results, "failed", 550), "{arch} {mode}");
        // The others are in domains that take no mail.
        let without = ended_as(&results, "failed", 0).len();
        assert_eq!(delivered.len() + refused.len() + without, 1500, "{arch} {mode}");
        assert!(delivered.len() > 500 && without > 20, "{arch} {mode}: {} {without}", delivered.len());
        assert!(counts["queries"]["mx"].as_u64() >= Some(100), "{counts}");
    }
}

#[test]
fn connections_that_break_lose_nobody() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let faults = ["rcpt drop 2", "message reset 2", "connect 421 5", "mail 451 2"];
    let faults: Vec<&str> = faults.into_iter().flat_map(|fault| ["--fault", fault]).collect();
    let words = [&["--service", "smtp", "--access-log", "ledger"][..], &faults].concat();
    let server = Served::start(folder, &words);
    let relay = server.address.to_string();
    let words = ["mail", "--deliver", "--relay", &relay, "--results", "results", "--format", "json"];
    let list = ["--recipients", "1000", "--domains", "50", "--retry", "5ms", "--attempts", "50"];
    let output = osdyno(folder, &words).args(list).output().expect("it runs");
    assert!(output.status.success(), "{output:?}");
    server.stop();
    let delivered = ended_as(&results(&folder.join("results")), "delivered", 250);
    assert_eq!(delivered.len(), 1000);
    let taken = ledger(&folder.join("ledger"), "message", 250);
    assert_eq!(taken.into_keys().collect::<BTreeSet<_>>(), delivered);
}

/// Connections of the engine that is killed.
const CONNECTIONS: usize = 5;

/// The files of a spool.
const SPOOLED: [&str; 3] = ["delivery", "list", "results"];

/// Kills at most; the list is larger than what is delivered meanwhile, unless the machine is very fast.
const KILLS: usize = 100;

#[test]
fn an_engine_that_is_killed_loses_nobody() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let server = Served::start(folder, &["--service", "smtp", "--access-log", "ledger"]);
    let (relay, connections) = (server.address.to_string(), CONNECTIONS.to_string());
    let words = ["mail", "--deliver", "--relay", &relay, "--spool", "spool", "-c", &connections];
    let list = ["--recipients", "20000", "--domains", "100", "--format", "json"];
    let mut random = fastrand::Rng::with_seed(5);
    let mut kills = 0;
    while kills < KILLS {
        let mut command = osdyno(folder, &words);
        let mut engine =
            command.args(list).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
        std::thread::sleep(Duration::from_millis(random.u64(5..60)));
        if engine.try_wait().expect("a child").is_some() {
            break;
        }
        engine.kill().expect("it is killed");
        engine.wait().expect("it ends");
        kills += 1;
        let files = std::fs::read_dir(folder.join("spool")).into_iter().flatten().flatten();
        let names = files.map(|file| file.file_name().to_string_lossy().into_owned());
        let others: Vec<String> = names.filter(|name| !SPOOLED.contains(&name.as_str())).collect();
        assert_eq!(others, [""; 0], "an unfinished file is left");
    }
    let output = osdyno(folder, &words).args(list).output().expect("it runs");
    assert!(output.status.success(), "{output:?}");
    server.stop();
    let delivered: BTreeSet<String> = lines(&folder.join("spool/results"))
        .iter()
        .filter(|line| line["ending"] == "delivered")
        .map(|line| line["recipient"].as_str().expect("an address").to_owned())
        .collect();
    assert_eq!(delivered.len(), 20_000);
    let taken = ledger(&folder.join("ledger"), "message", 250);
    assert_eq!(taken.keys().cloned().collect::<BTreeSet<_>>(), delivered);
    // What a kill can double: what was under way, and what was answered in the last turn.
    let twice = taken.values().sum::<usize>() - taken.len();
    println!("{twice} of 20000 messages came twice in {kills} kills");
    assert!(twice <= kills * 2 * CONNECTIONS, "{twice} messages came twice in {kills} kills");
}

#[test]
fn a_list_that_is_not_delivered_is_said_to_be_queued() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    std::fs::write(folder.join("list"), "a@one.test\nno address\ntempfail@two.test\n").expect("a list");
    let server = Served::start(folder, &["--service", "smtp"]);
    let relay = server.address.to_string();
    let words =
        ["mail", "list", "--relay", &relay, "--results", "results", "--attempts", "2", "--retry", "1ms"];
    let output = osdyno(folder, &words).output().expect("it runs");
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let results = results(&folder.join("results"));
    let ending = |recipient: &str| results[recipient].0.clone();
    assert_eq!(
        [ending("a@one.test"), ending("no address"), ending("tempfail@two.test")],
        ["tested", "failed", "queued"]
    );
    // Nothing is overwritten unasked, and no stranger is connected to.
    let refused = |words: &[&str]| osdyno(folder, words).output().expect("it runs").status.code();
    assert_eq!(refused(&["mail", "list", "--relay", &relay, "--results", "results"]), Some(1));
    assert_eq!(refused(&["mail", "list", "--relay", "192.0.2.1:25"]), Some(2));
    assert_eq!(refused(&["mail", "list", "--dns", "192.0.2.1"]), Some(2));
    // Two of three recipients are not delivered to.
    for (limits, code) in [("errors<=70%,rate>=0.001", 3), ("errors<=10%", 4)] {
        let words = ["mail", "list", "--relay", &relay, "--attempts", "2", "--retry", "1ms", "--max", limits];
        let output = osdyno(folder, &words).output().expect("it runs");
        assert_eq!(output.status.code(), Some(code), "{limits}: {output:?}");
    }
    server.stop();
}

/// Replies that are late, recipients that are put off, and TLS are the same in every architecture: the thread
/// or process of a connection pauses, shares what is known of recipients, and shows the certificate of all.
#[test]
fn every_architecture_is_late_and_puts_off_and_encrypts() {
    for architecture in net::arch::ALL {
        if let Some(reason) = architecture.unavailable_reason() {
            skipped!("{}: {reason}", architecture.name);
            continue;
        }
        let name = architecture.name;
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path();
        let faults = ["--fault", "mail 20ms 100", "--greylist", "1", "--access-log", "ledger"];
        let server = Served::start(folder, &[&["--service", "smtp", "--arch", name][..], &faults].concat());
        let relay = server.address.to_string();
        let words = ["mail", "--deliver", "--tls", "required", "--relay", &relay, "--results", "results"];
        let list =
            ["--recipients", "12", "--domains", "3", "--retry", "600ms", "--attempts", "60", "-c", "4"];
        let output = osdyno(folder, &words).args(list).args(["--format", "json"]).output().expect("it runs");
        assert!(output.status.success(), "{name}: {output:?}");
        server.stop();
        let delivered = ended_as(&results(&folder.join("results")), "delivered", 250);
        assert_eq!(delivered.len(), 12, "{name}");
        let taken = ledger(&folder.join("ledger"), "message", 250).into_keys().collect::<BTreeSet<_>>();
        assert_eq!(taken, delivered, "{name}");
        let put_off = ledger(&folder.join("ledger"), "refused", 451).into_keys().collect::<BTreeSet<_>>();
        assert_eq!(put_off, delivered, "{name}: each is put off first");
        let counts: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let count = |field: &str| counts["counts"][field].as_u64();
        assert!(
            count("encrypted") > Some(0) && count("encrypted") == count("connections"),
            "{name}: {counts}"
        );
    }
}

/// Far more than a socket holds on both sides.
const AHEAD_BYTES: usize = 64 << 20;

/// A server that does not read has no memory to lose: what a client sends during a pause waits in sockets.
#[test]
fn a_server_that_pauses_receives_nothing() {
    for architecture in net::arch::ALL {
        if let Some(reason) = architecture.unavailable_reason() {
            skipped!("{}: {reason}", architecture.name);
            continue;
        }
        let name = architecture.name;
        let folder = tempfile::tempdir().expect("a folder");
        let words = ["--service", "smtp", "--arch", name, "--fault", "mail 3s 100"];
        let server = Served::start(folder.path(), &words);
        let mut client = TcpStream::connect(server.address).expect("a connection");
        client.write_all(b"EHLO c\r\n").expect("it is sent");
        let mut replies = BufReader::new(client.try_clone().expect("a socket"));
        let mut last_line = |code: &str| loop {
            let mut line = String::new();
            assert!(replies.read_line(&mut line).expect("a reply") > 0, "{name}: the server has closed");
            if line.starts_with(code) {
                return;
            }
        };
        last_line("250 ");
        client.write_all(b"MAIL FROM:<>\r\n").expect("it is sent");
        let paused = Instant::now();
        client.set_nonblocking(true).expect("a socket");
        let ahead = b"NOOP\r\n".repeat(10_000);
        let (mut sent, mut blocked) = (0, None);
        while sent < AHEAD_BYTES && blocked.is_none_or(|since: Instant| since.elapsed().as_millis() < 500) {
            match client.write(&ahead[sent % ahead.len()..]) {
                Ok(count) => (sent, blocked) = (sent + count, None),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    blocked.get_or_insert_with(Instant::now);
                    std::thread::sleep(Duration::from_millis(5));
                }
                Err(error) => panic!("{name}: {error} after {sent} bytes"),
            }
        }
        // On a busy machine the pause may be over by now; then this says nothing.
        let is_telling = paused.elapsed() < Duration::from_secs(3);
        assert!(sent < 12 << 20 || !is_telling, "{name}: the server took {sent} bytes");
        // It goes on where it was.
        client.set_nonblocking(false).expect("a socket");
        (0..3).for_each(|_| last_line("250 "));
        drop((client, replies));
        server.stop();
    }
}

/// A shell in a place of its own, for root; `None` with the reason printed.
fn sealed(folder: &Path, flags: &[&str], script: &str) -> Option<std::process::Output> {
    if !sys::process::is_root() {
        skipped!("mounts and networks of its own need root");
        return None;
    }
    let mut command = std::process::Command::new("unshare");
    command.args(flags).args(["sh", "-e", "-c", script]).arg(osdyno(folder, &[]).get_program());
    match command.current_dir(folder).output() {
        Ok(output) => Some(output),
        Err(error) => {
            skipped!("unshare cannot be started: {error}; it is in Debian's package util-linux");
            None
        }
    }
}

#[test]
fn a_full_disk_under_the_spool_loses_nobody() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let server = Served::start(folder, &["--service", "smtp", "--access-log", "ledger"]);
    let script = format!(
        "mkdir disk && mount -t tmpfs -o size=40k none disk
         deliver() {{ \"$0\" mail --deliver --relay {} --spool disk/spool --recipients 1000 --domains 10 -c 5; }}
         deliver 2>full && exit 9
         mount -o remount,size=16m disk
         deliver
         cp disk/spool/results results",
        server.address
    );
    let Some(output) = sealed(folder, &["--mount"], &script) else { return };
    assert!(output.status.success(), "{output:?}");
    server.stop();
    let said = std::fs::read_to_string(folder.join("full")).expect("its error");
    assert!(said.contains("write") && said.contains("No space left"), "{said}");
    let delivered = ended_as(&results(&folder.join("results")), "delivered", 250);
    assert_eq!(delivered.len(), 1000);
    let taken = ledger(&folder.join("ledger"), "message", 250);
    let twice = taken.values().sum::<usize>() - taken.len();
    assert_eq!(taken.into_keys().collect::<BTreeSet<_>>(), delivered);
    // What was under way when the disk was full.
    assert!(twice <= 20, "{twice} messages came twice");
}

#[test]
fn a_full_disk_under_the_ledger_ends_the_server() {
    for architecture in net::arch::ALL {
        if let Some(reason) = architecture.unavailable_reason() {
            skipped!("{}: {reason}", architecture.name);
            continue;
        }
        let (name, folder) = (architecture.name, tempfile::tempdir().expect("a folder"));
        let folder = folder.path();
        let script = format!(
            "mkdir disk && mount -t tmpfs -o size=16k none disk
             \"$0\" sink --arch {name} --listen 127.0.0.1:0 --access-log disk/ledger 2>said & server=$!
             until grep -q 'smtp at' said; do sleep 0.1; done
             relay=$(sed -n 's/.*smtp at \\([^ ]*\\) .*/\\1/p' said)
             list='--recipients 1000 --domains 10 -c 5 --attempts 1'
             \"$0\" mail --relay $relay $list --results results >mailed 2>&1 || true
             wait $server && exit 8
             test -s disk/ledger"
        );
        let Some(output) = sealed(folder, &["--mount"], &script) else { return };
        let said = std::fs::read_to_string(folder.join("said")).expect("its error");
        assert!(output.status.success(), "{name}: {output:?}\n{said}");
        assert!(
            said.contains("cannot write to disk/ledger") && said.contains("No space left"),
            "{name}: {said}"
        );
        // The engine has an account of everybody all the same.
        let results = results(&folder.join("results"));
        assert_eq!(results.len(), 1000, "{name}");
    }
}

#[test]
fn descriptors_and_ports_that_run_out_lose_nobody() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let list = "--recipients 3000 --domains 30 -c 200 --per-connection 50 --format json";
    for (name, flags, limit) in [
        ("descriptors", &["--mount"][..], "ulimit -n 40"),
        ("ports", &["--net"], "echo 40000 40019 >/proc/sys/net/ipv4/ip_local_port_range"),
    ] {
        let script = format!(
            "ip link set lo up 2>/dev/null || true
             \"$0\" serve --service smtp --listen 127.0.0.1:2525 2>served &
             server=$!
             until grep -q 127.0.0.1:2525 served; do sleep 0.1; done
             {limit}
             \"$0\" mail --relay 127.0.0.1:2525 {list} && ended=0 || ended=$?
             kill $server; wait $server
             exit $ended"
        );
        // Those of the descriptors share the network of the others.
        let port = if name == "ports" { 2525 } else { free_port() };
        let script = script.replace("2525", &port.to_string());
        let Some(output) = sealed(folder, flags, &script) else { return };
        assert!(output.status.success(), "{name}: {output:?}");
        let counts: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let count = |field: &str| counts["counts"][field].as_u64().expect("a number");
        assert_eq!(count("tested"), 3000, "{name}");
        assert!(count("exhausted") > 0, "{name}: {counts}");
    }
}

fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("an address").port()
}

#[test]
fn the_experiment_is_one_command() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let words = ["mail", "--experiment", "--recipients", "3000", "--domains", "600", "--format", "json"];
    let output = osdyno(folder, &words).args(["--results", "results"]).output().expect("it runs");
    assert!(output.status.success(), "{output:?}");
    let counts: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(counts["counts"]["tested"], 3000, "{counts}");
    let hosts: BTreeSet<String> = lines(&folder.join("results"))
        .iter()
        .map(|line| line["exchanger"].as_str().expect("a server").to_owned())
        .collect();
    // 600 domains over 256 addresses.
    let expected = if cfg!(target_os = "linux") { 200 } else { 1 };
    assert!(hosts.len() >= expected, "{}", hosts.len());
}
