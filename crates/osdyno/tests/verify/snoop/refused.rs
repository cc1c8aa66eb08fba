//! A process that is not a server, ends, or cannot be seen gets a clear message, and no process is left.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::common::{osdyno, run, run_well, text, until};

/// What it says, and its exit code.
fn refused(arguments: &[&str]) -> (String, i32) {
    let folder = tempfile::tempdir().expect("a folder");
    let output = run(folder.path(), &[&["snoop"], arguments].concat());
    (text(&output.stderr), output.status.code().expect("an exit code"))
}

/// A child that is killed with the test.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A server in Python, whose text is given; it prints its port when it listens.
fn python(script: &str) -> Option<(Killed, u16)> {
    let start = "import os, socket, sys, threading, time\ns = socket.socket()\ns.bind(('127.0.0.1', 0))\ns.listen(9)\n\
                 port = s.getsockname()[1]\n";
    let mut command = Command::new("python3");
    command.args(["-c", &format!("{start}{script}")]).stdin(Stdio::null()).stdout(Stdio::piped());
    let Ok(mut child) = command.spawn() else {
        skipped!("there is no python3");
        return None;
    };
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let child = Killed(child);
    let port = lines.next().expect("a line").expect("its port").trim().parse().expect("a port");
    // What it prints later is nobody's.
    Some((child, port))
}

#[test]
fn what_is_no_server_is_refused_in_clear_words() {
    let (told, code) = refused(&["-p", "4194303"]);
    assert!(code == 2 && told.contains("no process 4194303"), "{told}");
    let (told, code) = refused(&["--port", "1"]);
    assert!(code == 2 && told.contains("nothing listens on TCP port 1"), "{told}");
    let sleeper = Killed(Command::new("sleep").arg("60").spawn().expect("sleep starts"));
    let (told, code) = refused(&["-p", &sleeper.0.id().to_string()]);
    assert!(code == 2 && told.contains("(sleep) listens nowhere"), "{told}");
    for wrong in [&["-p", "0"][..], &["-p", "-1"], &["--port", "70000"], &["--port", "5", "-p", "5"], &[]] {
        assert_eq!(refused(wrong).1, 2, "{wrong:?}");
    }
    assert_eq!(refused(&["--port", "5", "--load", "100000"]).1, 2);
    // A thread of the kernel, where this name space has some.
    if fs::read_to_string("/proc/2/comm").is_ok_and(|name| name.trim() == "kthreadd") {
        let (told, code) = refused(&["-p", "2"]);
        assert!(code == 2 && told.contains("thread of the kernel"), "{told}");
    }
}

#[test]
fn a_zombie_is_named_with_its_parent() {
    let mut child = Command::new("true").spawn().expect("true starts");
    let stat = format!("/proc/{}/stat", child.id());
    until("it has ended", || fs::read_to_string(&stat).is_ok_and(|stat| stat.contains(") Z ")));
    let (told, code) = refused(&["-p", &child.id().to_string()]);
    assert!(
        code == 1 && told.contains("has ended") && told.contains(&std::process::id().to_string()),
        "{told}"
    );
    child.wait().expect("its end");
}

#[test]
fn a_server_that_ends_while_it_is_looked_at_is_no_failure_of_ours() {
    let Some((server, _)) = python("print(port, flush=True)\ntime.sleep(60)\n") else { return };
    let pid = server.0.id().to_string();
    let folder = tempfile::tempdir().expect("a folder");
    let mut snooping = osdyno(folder.path(), &["snoop", "-p", &pid, "--duration", "3s", "--load", "5"]);
    let snooping = snooping.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("osdyno starts");
    std::thread::sleep(Duration::from_secs(1));
    drop(server);
    let output = snooping.wait_with_output().expect("its end");
    let told = text(&output.stderr);
    assert!(!output.status.success() && told.contains("ended while it was looked at"), "{told}");
}

#[test]
fn names_may_hold_anything_and_are_printed_harmlessly() {
    let folder = tempfile::tempdir().expect("a folder");
    let name = "a) S 1 (\n\u{1b}[2J";
    let script = format!(
        "open('/proc/self/comm', 'w').write({name:?}.replace('\\\\u{{1b}}', chr(27)))\nprint(port, flush=True)\ns.accept()\n"
    );
    let script = script.replace("\\u{1b}", "\\x1b");
    let Some((server, port)) = python(&script) else { return };
    let pid = server.0.id().to_string();
    let printed = run_well(folder.path(), &["snoop", "-p", &pid, "--duration", "100ms", "-v"]);
    assert!(printed.contains(&format!("127.0.0.1:{port}")) && printed.contains("a) S 1 ("), "{printed}");
    assert!(!printed.contains('\u{1b}'), "{printed:?}");
}

#[test]
fn a_server_of_many_threads_is_looked_at_in_bounded_time() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = "threading.stack_size(65536)\nstop = threading.Event()\nmade = 0\ntry:\n  while made < 20000:\n    \
                  threading.Thread(target=stop.wait, daemon=True).start()\n    made += 1\nexcept RuntimeError:\n  \
                  pass\nprint(port, flush=True)\ns.accept()\n";
    let Some((server, _)) = python(script) else { return };
    let pid = server.0.id().to_string();
    let printed = run_well(folder.path(), &["snoop", "-p", &pid, "--duration", "100ms", "--format", "json"]);
    let answer: Value = serde_json::from_str(&printed).expect("JSON");
    let threads = answer["servers"][0]["answer"]["growth"][0]["threads"].as_u64().expect("threads");
    if threads < 20_000 {
        skipped!("this system gives one process {threads} threads, not 20000");
    }
    let left_out = answer["servers"][0]["not_seen"]["threads_not_sampled"].as_u64().expect("a number");
    // Some in every round, and some once.
    let looked_at = threads - left_out;
    assert!((threads.min(1000)..=64 + 2048).contains(&looked_at), "{answer:#}");
}

#[test]
fn another_network_is_looked_at_and_not_loaded() {
    let listen = "import socket, time\ns = socket.socket()\ns.bind(('127.0.0.1', 4242))\ns.listen()\nprint(1, flush=True)\ns.accept()";
    let mut command = Command::new("unshare");
    command.args(["-r", "-n", "sh", "-c", "ip link set lo up; exec python3 -c \"$0\"", listen]);
    command.stdout(Stdio::piped()).stderr(Stdio::null()).process_group(0);
    let Ok(mut child) = command.spawn() else { return skipped!("there is no unshare") };
    let mut line = String::new();
    let read = BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line);
    let child = Killed(child);
    if !read.is_ok_and(|bytes| bytes > 0) {
        return skipped!("this user makes no network of its own, or there is no python3");
    }
    let pid = child.0.id().to_string();
    let folder = tempfile::tempdir().expect("a folder");
    let printed = run_well(folder.path(), &["snoop", "-p", &pid, "--duration", "100ms"]);
    assert!(printed.contains("127.0.0.1:4242"), "{printed}");
    let (told, code) = refused(&["-p", &pid, "--load", "5"]);
    assert!(code == 1 && told.contains("nsenter"), "{told}");
}

#[test]
fn all_that_listens_is_listed() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let folder = tempfile::tempdir().expect("a folder");
    // Servers of other tests may end meanwhile, and those of others may be hidden: that is 3.
    let output = run(folder.path(), &["snoop", "--all-listening", "--duration", "50ms"]);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{}", text(&output.stderr));
    let printed = text(&output.stdout);
    assert!(printed.contains(&format!("127.0.0.1:{port}")), "{printed}");
}

#[test]
fn without_proc_it_says_so() {
    let mut command = Command::new("unshare");
    command.args(["-r", "-m", "sh", "-c", "mount -t tmpfs none /proc && exec \"$0\" snoop -p 1"]);
    command.arg(env!("CARGO_BIN_EXE_osdyno"));
    let Ok(output) = command.output() else { return skipped!("there is no unshare") };
    let told = text(&output.stderr);
    if told.contains("unshare") || told.contains("mount:") {
        return skipped!("this user makes no mounts of its own: {told}");
    }
    assert!(output.status.code() == Some(1) && told.contains("/proc shows no process"), "{told}");
}

/// The program in a folder that is open to all, unlike that in which it was built.
fn copy_that_others_may_run() -> (tempfile::TempDir, PathBuf) {
    let is_open = fs::Permissions::from_mode(0o755);
    let folder = tempfile::Builder::new().permissions(is_open).tempdir().expect("a folder");
    let program = folder.path().join("osdyno");
    fs::copy(env!("CARGO_BIN_EXE_osdyno"), &program).expect("a copy");
    (folder, program)
}

#[test]
fn hidden_processes_are_said_to_be_hidden() {
    if !sys::process::is_root() {
        return skipped!("only root mounts /proc with hidepid, and becomes another user");
    }
    let Some((server, _)) = python("print(port, flush=True)\ns.accept()\n") else { return };
    let (_folder, program) = copy_that_others_may_run();
    let mut command = Command::new("unshare");
    let script = "mount -t proc -o hidepid=2 proc /proc && exec setpriv --reuid=65534 --regid=65534 --clear-groups \"$@\"";
    command.args(["-m", "sh", "-c", script, "sh"]).arg(&program);
    command.args(["snoop", "-p", &server.0.id().to_string()]);
    let output = command.output();
    let told = text(&output.expect("unshare starts").stderr);
    if told.contains("mount:") {
        return skipped!("no /proc can be mounted here: {told}");
    }
    assert!(told.contains("hidepid") && told.contains("root"), "{told}");
}

#[test]
fn another_users_server_needs_root() {
    if !sys::process::is_root() {
        return skipped!("only root becomes another user");
    }
    let Some((server, port)) = python("print(port, flush=True)\ns.accept()\n") else { return };
    let (_folder, program) = copy_that_others_may_run();
    let as_nobody = |arguments: &[&str]| {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(&program).args(arguments);
        text(&command.output().expect("setpriv starts").stderr)
    };
    let told = as_nobody(&["snoop", "-p", &server.0.id().to_string()]);
    let at_port = as_nobody(&["snoop", "--port", &port.to_string()]);
    assert!(told.contains("belongs to another user; run osdyno as root"), "{told}");
    assert!(at_port.contains("of another user"), "{at_port}");
}
