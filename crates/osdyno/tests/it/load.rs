//! `osdyno load`, as a user would call it, against a server that counts.

mod ending;
#[cfg(target_os = "linux")]
mod hosts;
mod options;
mod targets;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::common;
use crate::common::{run, run_well, text};
use crate::identity::{Identity, Signed, Validity};

/// A web server that answers every request with five bytes.
fn server() -> (SocketAddr, Arc<AtomicU64>) {
    server_of(|_, _| "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello".to_owned())
}

/// A web server of requests that come in one piece: what it answers to each, by its number.
fn server_of(answer: fn(&str, u64) -> String) -> (SocketAddr, Arc<AtomicU64>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let requests = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&requests);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, counter) = (stream.expect("a connection"), Arc::clone(&counter));
            std::thread::spawn(move || {
                let mut piece = [0; 4096];
                while let Ok(read @ 1..) = stream.read(&mut piece) {
                    let request = text(&piece[..read]);
                    assert!(request.contains("\r\n\r\n"), "a request comes in one piece");
                    let number = counter.fetch_add(1, Ordering::SeqCst);
                    if stream.write_all(answer(&request, number).as_bytes()).is_err() {
                        return;
                    }
                }
            });
        }
    });
    (address, requests)
}

fn json(output: &str) -> serde_json::Value {
    serde_json::from_str(output).expect("JSON")
}

#[test]
fn the_rate_and_the_latency_come_first() {
    let folder = tempfile::tempdir().expect("a folder");
    let (address, requests) = server();
    let url = format!("http://{address}/x");
    let out = run_well(folder.path(), &["load", "-c", "3", "-n", "0.5k", "-d", "1m", &url]);
    let first = out.lines().next().expect("a line");
    for word in ["requests/s", "p50", "p99", "p99.9", "none failed"] {
        assert!(first.contains(word), "{word}: {first}");
    }
    for words in ["500 correct in", "500 × 200", "\nmean ", "\nmin ", "\nup to "] {
        assert!(out.contains(words), "{words}: {out}");
    }
    assert_eq!(requests.load(Ordering::SeqCst), 500);
}

/// A page that is another each time.
fn changing(_: &str, number: u64) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n{number:8}")
}

#[test]
fn a_page_that_changes_is_a_failure_with_the_option_that_cures_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let url = format!("http://{}/", server_of(changing).0);
    let output = run(folder.path(), &["load", "-c", "2", "-n", "200", &url]);
    let out = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{out}");
    assert!(out.contains("most requests failed") && out.contains("add --any-body"), "{out}");
    let out = run_well(folder.path(), &["load", "-c", "2", "-n", "200", "--any-body", &url]);
    assert!(out.contains("none failed") && !out.contains("--any-body"), "{out}");
}

#[test]
fn statuses_are_counted_and_chosen() {
    let folder = tempfile::tempdir().expect("a folder");
    let answer = |_: &str, number: u64| match number % 4 {
        0 => "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".to_owned(),
        _ => "HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nnone".to_owned(),
    };
    let url = format!("http://{}/", server_of(answer).0);
    let output = run(folder.path(), &["load", "-c", "1", "-n", "400", &url]);
    let out = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{out}");
    assert!(out.contains("100 × 200, 300 × 404") && out.contains("add --expect-status 404"), "{out}");
    let expecting = ["load", "-c", "1", "-n", "400", "--expect-status", "200,404", &url];
    assert!(run_well(folder.path(), &expecting).contains("none failed"));
    let out = run_well(folder.path(), &[&expecting[..], &["--format", "json"]].concat());
    assert_eq!(json(&out)["levels"][0]["statuses"], serde_json::json!({"200": 100, "404": 300}));
}

#[test]
fn requests_are_as_they_were_asked_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let answer = |request: &str, _: u64| {
        let is_right = request.starts_with("PATCH /b ")
            && request.matches("Host:").count() == 1
            && request.contains("Host: example.org\r\n")
            && request.ends_with("\r\n\r\n{\"a\": 1}");
        let status = if is_right { "200 OK" } else { "400 Bad Request" };
        format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n")
    };
    std::fs::write(folder.path().join("body.json"), "{\"a\": 1}").expect("a file");
    let url = format!("http://{}/b", server_of(answer).0);
    let arguments =
        ["load", "-n", "1k", "-X", "PATCH", "-H", "Host: example.org", "--body", "@body.json", &url];
    assert!(run_well(folder.path(), &arguments).contains("none failed"));
}

#[test]
fn several_urls_have_their_weights() {
    let folder = tempfile::tempdir().expect("a folder");
    let answer = |request: &str, _: u64| {
        let status = if request.starts_with("GET /often ") { 201 } else { 202 };
        format!("HTTP/1.1 {status} x\r\nContent-Length: 0\r\n\r\n")
    };
    let address = server_of(answer).0;
    let urls = ["often", "seldom"].map(|path| format!("http://{address}/{path}"));
    let arguments =
        ["load", "-c", "1", "-n", "400", "--weights", "9,1", "--format", "json", &urls[0], &urls[1]];
    let out = json(&run_well(folder.path(), &arguments));
    assert_eq!(out["levels"][0]["statuses"], serde_json::json!({"201": 360, "202": 40}));
}

#[cfg(unix)]
#[test]
fn a_socket_in_the_file_system_is_loaded() {
    let folder = tempfile::tempdir().expect("a folder");
    let listener = std::os::unix::net::UnixListener::bind(folder.path().join("s")).expect("a socket");
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a connection");
            std::thread::spawn(move || {
                let mut piece = [0; 4096];
                while let Ok(read @ 1..) = stream.read(&mut piece) {
                    let request = text(&piece[..read]);
                    assert!(request.starts_with("GET /a HTTP/1.1\r\nHost: localhost\r\n"), "{request}");
                    let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
                    if request.contains("Connection: close") {
                        return;
                    }
                }
            });
        }
    });
    for way in [&["-c", "3"][..], &["-c", "3", "--new-connections"], &["-c", "2", "-w", "2"]] {
        if way.contains(&"-w") && sys::cpu::count() < 2 {
            continue;
        }
        let out = run_well(folder.path(), &[&["load", "-n", "300", "unix:s:/a"], way].concat());
        assert!(out.contains("300 correct") && out.contains("none failed"), "{way:?}: {out}");
    }
    let output = run(folder.path(), &["load", "-d", "100ms", "unix:missing"]);
    assert!(text(&output.stdout).contains("ENOENT"), "{}", text(&output.stdout));
}

#[test]
fn a_load_is_compared_with_an_earlier_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let slow = |_: &str, _: u64| {
        std::thread::sleep(std::time::Duration::from_millis(5));
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".to_owned()
    };
    let file = folder.path().join("before.json");
    let load = |server: SocketAddr, more: &[&str]| {
        let url = format!("http://{server}/x");
        let with = ["load", "-c", "1", "-d", "400ms", "-H", "Host: a", &url];
        run(folder.path(), &[&with[..], more].concat())
    };
    let before = load(server_of(slow).0, &["--format", "json"]);
    std::fs::write(&file, &before.stdout).expect("a file");
    let baseline = ["--baseline", "before.json"];
    let after = load(server().0, &baseline);
    let out = text(&after.stdout);
    // A response takes 5 ms less; where the machine is too busy to say so, the reason is there.
    let said = |figure: &str, answer: &str| {
        let line = out.lines().find(|line| line.starts_with("  1 connection ") && line.contains(figure));
        line.is_some_and(|line| line.ends_with(answer))
    };
    let is_compared = said("requests/s", "higher") && said("p50", "lower");
    assert!(is_compared || out.contains("not compared; "), "{out}{}", text(&after.stderr));
    let other = load(server().0, &[&baseline[..], &["--any-body"]].concat());
    assert_eq!(other.status.code(), Some(2));
    assert!(text(&other.stderr).contains("other settings: client"), "{}", text(&other.stderr));
    // The faster passes a gate, the slower fails it; on a machine too busy to compare both are undecided.
    let gate = ["--fail-on", "slower:20%"];
    let passed = load(server().0, &[&baseline[..], &gate].concat());
    assert!(matches!(passed.status.code(), Some(0 | 3)), "{}", text(&passed.stdout));
    let now = load(server().0, &["--format", "json"]);
    std::fs::write(folder.path().join("now.json"), &now.stdout).expect("a file");
    let failed = load(server_of(slow).0, &[&["--baseline", "now.json"], &gate[..]].concat());
    let printed = text(&failed.stdout);
    assert!(matches!(failed.status.code(), Some(4 | 3)), "{printed}");
    let word = if failed.status.code() == Some(4) { "failed " } else { "undecided " };
    let last = printed.lines().find(|line| line.starts_with(word)).unwrap_or_default();
    assert!(last.contains("slower:20% at 1 connection"), "{printed}");
    let no_file = load(server().0, &["--baseline", "missing"]);
    assert!(text(&no_file.stderr).contains("--format json writes one"), "{}", text(&no_file.stderr));
}

/// A limit that no machine can break, one that each breaks, and one about nothing that was measured. On a
/// machine too busy to measure, the first two are undecided.
#[test]
fn a_load_is_held_against_limits() {
    let folder = tempfile::tempdir().expect("a folder");
    let load = |limits: &str| {
        let url = format!("http://{}/x", server().0);
        run(folder.path(), &["load", "-c", "1", "-n", "200", "-d", "1m", &url, "--max", limits])
    };
    let disturbed = |printed: &str| printed.contains("disturbed: ");
    let kept = load("p99<=60s,errors<=20%,rate>=0.1");
    let printed = text(&kept.stdout);
    let expected = if disturbed(&printed) { 3 } else { 0 };
    assert_eq!(kept.status.code(), Some(expected), "{printed} {}", text(&kept.stderr));
    assert!(printed.contains("errors<=20%"), "{printed}");
    let broken = load("p99<=60s,rate>=1G");
    let printed = text(&broken.stdout);
    let (expected, word) = if disturbed(&printed) { (3, "undecided ") } else { (4, "failed ") };
    assert_eq!(broken.status.code(), Some(expected), "{printed}");
    let of_word = |limit: &str| printed.lines().any(|line| line.starts_with(word) && line.contains(limit));
    assert!(of_word("rate>=1G") && (word != "failed " || !of_word("p99")), "{printed}");
    let unknown = load("p98,5<=1s");
    assert_eq!(unknown.status.code(), Some(2), "{}", text(&unknown.stderr));
}

#[test]
fn several_processes_share_a_load() {
    let folder = tempfile::tempdir().expect("a folder");
    if sys::cpu::count() < 2 {
        skipped!("there is one processor, and each process has one of its own");
        return;
    }
    let (address, requests) = server();
    let url = format!("http://{address}/");
    let arguments = ["load", "-w", "2", "-r", "500,1000", "--schedule", "constant", "-d", "300ms", "-c", "4"];
    let out = json(&run_well(folder.path(), &[&arguments[..], &["--format", "json", &url]].concat()));
    let levels = out["levels"].as_array().expect("levels");
    let intended: Vec<u64> = levels.iter().filter_map(|level| level["intended"].as_u64()).collect();
    assert_eq!(intended, [150, 300]);
    let answered = |level: &serde_json::Value| {
        level["completed"].as_u64().expect("a count") + level["late"].as_u64().expect("a count")
    };
    assert_eq!(levels.iter().map(answered).sum::<u64>(), 450);
    assert_eq!(levels[0]["workers"], 2);
    assert_eq!(requests.load(Ordering::SeqCst), 450);
    common::until("no worker is left", || common::processes_below(folder.path(), "load-worker").is_empty());
}

#[test]
fn levels_are_lines_of_csv_and_slices_of_a_log() {
    let folder = tempfile::tempdir().expect("a folder");
    let (address, _) = server();
    let url = format!("http://{address}/");
    // A number of requests, which a busy machine makes too, in its time.
    let each = ["-n", "50", "-d", "20s"];
    let told = ["--levels", "1,2-4", "--format", "csv", "--hdr", "a.hlog", &url];
    let arguments = [&["load"][..], &each, &told].concat();
    let out = run_well(folder.path(), &arguments);
    let rows: Vec<Vec<&str>> = out.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(rows.len(), 4);
    assert!(rows.iter().all(|row| row.len() == rows[0].len()), "{out}");
    assert_eq!(rows[3][0], "4");
    let log = std::fs::read_to_string(folder.path().join("a.hlog")).expect("a log");
    assert!(log.starts_with("#[Histogram log format version 1.3]"));
    assert!(log.contains("Tag=connections-4,") && log.contains(",HISTFAAAA"));
    let again = run(folder.path(), &arguments);
    assert_eq!(again.status.code(), Some(1), "a log is not written over");
    assert!(text(&again.stderr).contains("choose another name, or overwrite it with --force"));
    run_well(folder.path(), &[&arguments[..], &["--force"]].concat());
}

#[test]
fn a_server_that_does_not_respond_is_reported() {
    let folder = tempfile::tempdir().expect("a folder");
    let closed = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port");
    let output = run(folder.path(), &["load", "-d", "200ms", &format!("http://{closed}/")]);
    assert_eq!(output.status.code(), Some(1));
    let out = text(&output.stdout);
    assert!(out.starts_with("no correct response") && out.contains("ECONNREFUSED"), "{out}");
    assert!(out.contains(&format!("no server accepts connections at {closed}: start it")), "{out}");
}

/// A web server that speaks TLS, and the file of the certificate that it has signed itself.
fn secure_server(folder: &Path) -> (SocketAddr, PathBuf) {
    let identity = Identity::new(&["localhost"], Validity::Now, Signed::ByItself { is_authority: true });
    let file = folder.join("own.pem");
    std::fs::write(&file, &identity.pem).expect("a file");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    serve_over_tls(listener, identity.server());
    (address, file)
}

fn serve_over_tls(listener: TcpListener, config: Arc<rustls::ServerConfig>) {
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let tls = rustls::ServerConnection::new(Arc::clone(&config)).expect("a server");
            let mut stream = rustls::StreamOwned::new(tls, stream.expect("a connection"));
            std::thread::spawn(move || {
                let mut piece = [0; 4096];
                while let Ok(1..) = stream.read(&mut piece) {
                    let written = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
                    if written.and_then(|()| stream.flush()).is_err() {
                        return;
                    }
                }
            });
        }
    });
}

#[test]
fn a_certificate_is_checked_and_the_cure_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let (address, file) = secure_server(folder.path());
    let (port, file) = (address.port(), file.to_str().expect("UTF-8"));
    let (named, other) = (format!("https://localhost:{port}/"), format!("https://127.0.0.1:{port}/"));
    let known = ["load", "-c", "4", "-w", "2", "-n", "400", "--cacert", file, &named];
    let out = run_well(folder.path(), &known);
    assert!(out.contains("400 correct in") && out.contains("none failed"), "{out}");
    let out = run_well(folder.path(), &["load", "-c", "4", "-n", "400", "--insecure", &other]);
    assert!(out.contains("400 correct in"), "{out}");
    for (words, cause, cure) in [
        (&[&named[..]][..], "untrusted certificate", "--cacert FILE"),
        (&["--cacert", file, &other], "certificate for another name", "load it by one of those"),
    ] {
        let output = run(folder.path(), &[&["load", "-c", "2", "-d", "300ms"], words].concat());
        let out = text(&output.stdout);
        assert_eq!(output.status.code(), Some(1), "{out}{}", text(&output.stderr));
        assert!(out.contains(cause) && out.contains(cure) && out.contains("--insecure"), "{out}");
    }
}

/// The screen of a person who watches the load on a terminal of 80 columns.
#[cfg(target_os = "linux")]
fn on_a_terminal(mut command: std::process::Command) -> String {
    // The command has the end of the terminal too, until it is dropped.
    with_a_terminal(80, move |end| command.env("TERM", "xterm").stderr(end).spawn().expect("osdyno starts"))
}

/// The text on a terminal of so many columns that is one of the outputs of a program.
#[cfg(target_os = "linux")]
fn with_a_terminal(columns: u16, start: impl FnOnce(std::os::fd::OwnedFd) -> std::process::Child) -> String {
    use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
    let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
    grantpt(&terminal).and_then(|()| unlockpt(&terminal)).expect("a terminal of ours");
    let end = ioctl_tiocgptpeer(&terminal, OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("its other end");
    let size = rustix::termios::Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    rustix::termios::tcsetwinsize(&end, size).expect("a size");
    // Reading ends when nobody has the other end any more.
    let mut child = start(end);
    let (mut terminal, mut seen) = (std::fs::File::from(terminal), Vec::new());
    // A terminal that nobody has any more is an error to read.
    let _ = terminal.read_to_end(&mut seen);
    assert!(child.wait().expect("it ends").success(), "{}", text(&seen));
    text(&seen)
}

#[cfg(target_os = "linux")]
#[test]
fn a_terminal_shows_the_last_second_and_a_pipe_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let slow = |_: &str, _| {
        std::thread::sleep(std::time::Duration::from_millis(5));
        "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".to_owned()
    };
    let url = format!("http://{}/", server_of(slow).0);
    for workers in ["1", "2"] {
        let words = ["load", "-c", "4", "-w", workers, "-d", "2500ms", &url];
        let mut command = common::osdyno(folder.path(), &words);
        command.stdout(std::process::Stdio::null());
        let seen = on_a_terminal(command);
        for word in ["/s · p50 ", " · p99 ", " · 0 failed · 4 connections"] {
            assert!(seen.contains(word), "{workers} workers, {word}: {seen}");
        }
        assert!(!seen.contains("p50 —"), "{seen}");
    }
    let output = run(folder.path(), &["load", "-c", "4", "-d", "1200ms", &url]);
    assert_eq!(text(&output.stderr), "");
}

#[test]
fn a_server_without_http2_is_named_with_the_cure() {
    let folder = tempfile::tempdir().expect("a folder");
    let (address, _) = server();
    let arguments = ["load", "--http2", "-n", "3", "-c", "1", &format!("http://{address}/")];
    let output = run(folder.path(), &arguments);
    assert_eq!(output.status.code(), Some(1));
    for words in ["no HTTP/2", "leave --http2 out"] {
        assert!(text(&output.stdout).contains(words), "{words}: {}", text(&output.stdout));
    }
}

#[test]
fn wrong_usage_is_reported() {
    let folder = tempfile::tempdir().expect("a folder");
    for (arguments, word) in [
        (&["http://192.0.2.1/"][..], "--allow-public"),
        (&["ftp://127.0.0.1/"], "https://"),
        (&["--insecure", "http://127.0.0.1:9/"], "https:// only"),
        (&["--cacert", "missing", "https://127.0.0.1:9/"], "cannot read --cacert missing"),
        (&["--client", "echo", "--insecure", "https://127.0.0.1:9/"], "--client http only"),
        (&["--client", "echo", "127.0.0.1"], "needs a port"),
        (&["--client", "echo", "http://127.0.0.1:9/"], "--client http only"),
        (&["http://127.0.0.1:99999/"], "is no port"),
        (&["http://169.254.169.254/"], "--allow-public"),
        (&["http://[fe80::9]:9/"], "%eth0"),
        (&["--out", "result", "http://127.0.0.1:9/"], ".hlog"),
        (&["-H", "@missing", "http://127.0.0.1:9/"], "cannot read header fields from missing"),
        (&["--timeout", "10x", "http://127.0.0.1:9/"], "500ms"),
        (&["-w", "100000", "http://127.0.0.1/"], "workers"),
        (&["--pipeline", "2", "-r", "10", "http://127.0.0.1:9/"], "several"),
        (&["--find-rate", "p99<5ms", "http://127.0.0.1/"], "p99<=5ms"),
        (&["--source", "nowhere", "http://127.0.0.1/"], "source addresses"),
        (&["--client", "echo", "--bytes", "0", "127.0.0.1:9"], "65536"),
        (&["-r", "1e10", "http://127.0.0.1:9/"], "per second"),
        (&["--source", "127.0.0.2", "unix:a"], "family"),
        (&["--levels", "9-1", "http://127.0.0.1:9/"], "1-100"),
        (&["--body", "@missing", "http://127.0.0.1:9/"], "cannot read missing"),
        (&["--expect-status", "OK", "http://127.0.0.1:9/"], "200,304"),
        (&["--weights", "1,2", "http://127.0.0.1:9/"], "one for each"),
        (&["http://127.0.0.1:9/", "http://127.0.0.1:8/"], "one server at a time"),
        (&["-r", "1e-20", "http://127.0.0.1:9/"], "per second"),
        (&["--ramp", "1e300", "http://127.0.0.1:9/"], "per second"),
        (&["--idle", "18446744073709551615", "http://127.0.0.1:9/"], "10000000"),
        (&["-c", "10000001", "http://127.0.0.1:9/"], "10000000"),
        (&["--streams", "2", "http://127.0.0.1:9/"], "--http2"),
        (&["--http2", "--streams", "0", "http://127.0.0.1:9/"], "10000 streams"),
        (&["--http2", "--pipeline", "2", "http://127.0.0.1:9/"], "--streams"),
        (&["--http2", "--streams", "2", "--new-connections", "http://127.0.0.1:9/"], "share a connection"),
        (&["--http2", "-H", "Connection: close", "http://127.0.0.1:9/"], "no such field"),
        (&["--client", "echo", "--http2", "127.0.0.1:9"], "--client http"),
        (&["--timeout", "999999999y", "http://127.0.0.1:9/"], "at most"),
    ] {
        let output = run(folder.path(), &[&["load", "-d", "100ms"], arguments].concat());
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(text(&output.stderr).contains(word), "{arguments:?}: {}", text(&output.stderr));
    }
}
