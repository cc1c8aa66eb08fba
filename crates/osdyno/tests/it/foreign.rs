//! Programs of others as clients of `serve`, and nginx as the server of `load`: their counts equal ours.
//!
//! Where one is not installed the test says so and checks the rest.
#![cfg(target_os = "linux")]

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::common;
use crate::common::everywhere::{architectures, each};
use crate::common::foreign::{Group, Said, find, run_within};
use crate::common::served::Served;
use crate::common::until;
use crate::identity::{Identity, Signed, Validity};

const PAGE: &str =
    "<!doctype html><title>a page</title><p>something to read, and something to compress</p>\n";
const SECRET: &str = "this is nobody's business";

const LIMIT: Duration = Duration::from_secs(40);

/// Architectures whose servers work at the same time.
const AT_ONCE: usize = 4;

/// Has the programs meet a server of every architecture.
fn everywhere(test: fn(&str)) {
    each(AT_ONCE, architectures().map(|one| (one.name.to_owned(), one.name)).collect(), test);
}

/// A server of that architecture in front of a small site.
fn served(architecture: &str, folder: &Path, words: &[&str]) -> Served {
    let root = folder.join("root");
    if !root.exists() {
        std::fs::create_dir(&root).unwrap();
        std::fs::write(folder.join("secret"), SECRET).unwrap();
        std::fs::write(root.join("index.html"), PAGE).unwrap();
        std::fs::write(root.join("digits"), "0123456789".repeat(100)).unwrap();
        std::fs::write(root.join("large.bin"), vec![7; 3_000_000]).unwrap();
        std::fs::write(root.join("long.txt"), PAGE.repeat(200)).unwrap();
        let packed = Command::new("gzip").arg("-k").arg(root.join("long.txt")).status();
        assert!(packed.unwrap().success());
    }
    Served::start(&root, &[&["--arch", architecture], words].concat())
}

// ── curl ───────────────────────────────────────────────────────────────────────────────────────────────────

#[test]
fn curl() {
    everywhere(curl_meets);
}

fn curl_meets(architecture: &str) {
    let Some(program) = find("curl") else { return };
    let folder = tempfile::tempdir().unwrap();
    let served = served(architecture, folder.path(), &[]);
    let base = format!("http://{}", served.address);
    // What it wrote, and at its end the status, the bytes of the body as they came, and new connections.
    let ask = |words: &[&str], paths: &[&str]| -> (String, Vec<String>) {
        let mut command = Command::new(&program);
        command.args(["-q", "--silent", "--show-error", "--max-time", "20", "--write-out"]);
        command.arg("\n%{http_code} %{size_download} %{num_connects}\n").args(words);
        command.args(paths.iter().map(|path| format!("{base}{path}")));
        let Said { code, all, .. } = run_within(LIMIT, &mut command);
        assert_eq!(code, Some(0), "{architecture}: curl {words:?} {paths:?}: {all}");
        let last = all.lines().last().unwrap_or_default().split(' ').map(str::to_owned).collect();
        (all, last)
    };
    let (page, last) = ask(&[], &["/"]);
    assert!(page.starts_with(PAGE) && last == ["200", &PAGE.len().to_string(), "1"], "{page}");
    let (head, last) = ask(&["--head"], &["/digits"]);
    assert!(head.contains("Content-Length: 1000\r\n") && last[..2] == ["200", "0"], "{head}");
    let (part, last) = ask(&["--range", "11-14"], &["/digits"]);
    assert!(part.starts_with("1234\n") && last[..2] == ["206", "4"], "{part}");
    let (part, last) = ask(&["--range", "-3"], &["/digits"]);
    assert!(part.starts_with("789\n") && last[0] == "206", "{part}");
    assert_eq!(ask(&["--range", "1000-"], &["/digits"]).1[0], "416");

    let field = |name: &str| {
        let line = head.lines().find_map(|line| line.strip_prefix(name)).expect("the field");
        line.trim().to_owned()
    };
    let since = format!("If-Modified-Since: {}", field("Last-Modified:"));
    assert_eq!(ask(&["--header", &since], &["/digits"]).1[..2], ["304", "0"]);
    let tag = format!("If-None-Match: {}", field("ETag:"));
    assert_eq!(ask(&["--header", &tag], &["/digits"]).1[..2], ["304", "0"]);
    let before = "If-Modified-Since: Sat, 01 Jan 2000 00:00:00 GMT";
    assert_eq!(ask(&["--header", before], &["/digits"]).1[..2], ["200", "1000"]);

    let (long, last) = ask(&["--compressed"], &["/long.txt"]);
    assert!(long.starts_with(&PAGE.repeat(200)), "{architecture}: it was not unpacked to what it was");
    assert!(last[1].parse::<usize>().unwrap() < PAGE.len() * 50, "{last:?}");
    for path in ["/../secret", "/%2e%2e/secret", "/..%2fsecret"] {
        let (said, last) = ask(&["--path-as-is"], &[path]);
        assert!(last[0] == "400" && !said.contains(SECRET), "{path}: {said}");
    }
    let (page, last) = ask(&["--http1.0"], &["/"]);
    assert!(page.starts_with(PAGE) && last[0] == "200", "{page}");
    assert_eq!(
        ask(&[], &["/", "/digits", "/large.bin", "/missing"]).1[..],
        ["404", &*ask(&[], &["/missing"]).1[1], "0"]
    );
    assert_eq!(ask(&["--data", "a=b"], &["/"]).1[0], "405");
    let upload = folder.path().join("root/large.bin");
    // curl asks whether to send at all, or sends, as it is told; either way it is answered.
    for field in ["Expect: 100-continue", "Expect:"] {
        let (said, last) = ask(&["--header", field, "--upload-file", upload.to_str().unwrap()], &["/new"]);
        assert_eq!(last[0], "405", "{field}: {said}");
    }
    served.stop();
    curl_v6(&program, architecture, folder.path());
}

fn curl_v6(program: &Path, architecture: &str, folder: &Path) {
    if std::net::TcpListener::bind("[::1]:0").is_err() {
        skipped!("no IPv6 here");
        return;
    }
    let served = served(architecture, folder, &["--listen", "[::1]:0"]);
    let url = format!("http://{}/", served.address);
    let said = run_within(LIMIT, Command::new(program).args(["-q", "-6", "-sS", "-g", &url]));
    assert_eq!((said.code, &*said.all), (Some(0), PAGE));
    served.stop();
}

// ── generators of load ─────────────────────────────────────────────────────────────────────────────────────

/// Each counts what it was answered, and the server counts as many.
/// One program as a client: its words, what it prints when all went well, and how many requests that were;
/// `None` where the program decides how many.
struct Generator {
    name: &'static str,
    words: Vec<String>,
    printed: &'static [&'static str],
    requests: Option<u64>,
}

fn all_generators(served: &Served) -> Vec<Generator> {
    let (url, port) = (format!("http://{}/", served.address), served.address.port());
    let one = |name, words: String, printed, requests| Generator {
        name,
        words: words.split(' ').map(str::to_owned).collect(),
        printed,
        requests,
    };
    vec![
        one("ab", format!("-q -n 1000 -c 20 {url}"), &["Complete requests:      1000", AB_GOOD], Some(1000)),
        one(
            "ab",
            format!("-q -k -n 1000 -c 20 {url}"),
            &["Complete requests:      1000", "Keep-Alive requests:    1000", AB_GOOD],
            Some(1000),
        ),
        one(
            "siege",
            format!("-b -c 10 -r 30 {url}"),
            &["\"failed_transactions\":\t\t\t           0"],
            Some(300),
        ),
        one(
            "h2load",
            format!("--h1 -n 1000 -c 20 -m 4 {url}"),
            &["1000 done, 1000 succeeded, 0 failed, 0 errored, 0 timeout", "status codes: 1000 2xx"],
            Some(1000),
        ),
        one(
            "httperf",
            format!("--server 127.0.0.1 --port {port} --uri / --num-conns 100 --num-calls 5"),
            &["replies 500 ", "Errors: total 0 ", "2xx=500"],
            Some(500),
        ),
        one("wrk", format!("-t 1 -c 20 -d 1s {url}"), &[" requests in "], None),
    ]
}

#[test]
fn generators() {
    everywhere(generators_meet);
}

fn generators_meet(architecture: &str) {
    let folder = tempfile::tempdir().unwrap();
    let served = served(architecture, folder.path(), &[]);
    let mut responses = 0;
    for Generator { name, words, printed, requests } in all_generators(&served) {
        let Some(program) = find(name) else { continue };
        // Its settings of the user do not belong to a test.
        let said = run_within(LIMIT, Command::new(program).args(words).env("HOME", folder.path()));
        let all = said.all;
        assert_eq!(said.code, Some(0), "{architecture}: {name}: {all}");
        let squeezed = squeeze(&all);
        for sentence in printed {
            let is_there = squeezed.contains(&squeeze(sentence));
            assert!(is_there, "{architecture}: {name}: no {sentence:?} in {all}");
        }
        for sign in ["Non-2xx", "Socket errors", "Length: 1"] {
            assert!(!all.contains(sign), "{architecture}: {name}: {all}");
        }
        until("its connections have ended", || served.counter("open now") == 0);
        let now = served.counter("responses");
        match requests {
            Some(requests) => assert_eq!(now - responses, requests, "{architecture}: {name}: {all}"),
            // What was under way when its time was over it does not count.
            None => {
                let counted =
                    squeezed.split(" requests in ").next().and_then(|text| text.split(' ').next_back());
                let counted: u64 = counted.unwrap().parse().unwrap();
                assert!((counted..=counted + 40).contains(&(now - responses)), "{architecture}: {all}");
            }
        }
        responses = now;
    }
    let ended = served.stop();
    assert_eq!(ended.count("accepted"), ended.count("ended"), "{ended:?}");
}

const AB_GOOD: &str = "Failed requests:        0";

/// One space for any white space.
fn squeeze(text: &str) -> String {
    text.split_ascii_whitespace().collect::<Vec<_>>().join(" ")
}

// ── nginx ──────────────────────────────────────────────────────────────────────────────────────────────────

/// It writes a line for every response; ours are as many, whatever the way of asking.
#[test]
fn nginx_counts_what_load_counts() {
    let Some(program) = find("nginx") else { return };
    let folder = tempfile::tempdir().unwrap();
    let own = Identity::new(&["127.0.0.1"], Validity::Now, Signed::ByItself { is_authority: false });
    std::fs::write(folder.path().join("own.pem"), &own.pem).unwrap();
    std::fs::write(folder.path().join("key.pem"), own.key_pem()).unwrap();
    let free = || std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let ports = [free(), free(), free()].map(|listener| listener.local_addr().unwrap().port());
    std::fs::write(folder.path().join("index.html"), PAGE).unwrap();
    let configuration = folder.path().join("nginx.conf");
    std::fs::write(&configuration, nginx_configuration(folder.path(), ports)).unwrap();
    let mut command = Command::new(program);
    command.arg("-p").arg(folder.path()).arg("-c").arg(&configuration).args(["-e", "stderr"]);
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let _nginx = Group(command.stdin(Stdio::null()).spawn().unwrap());
    until("nginx listens", || std::net::TcpStream::connect(("127.0.0.1", ports[0])).is_ok());

    let log = folder.path().join("access.log");
    let lines = |status: u16| {
        let log = std::fs::read_to_string(&log).unwrap_or_default();
        log.lines().filter(|line| line.ends_with(&format!(" {status}"))).count() as u64
    };
    let url = format!("http://127.0.0.1:{}/", ports[0]);
    let secure_url = format!("https://127.0.0.1:{}/", ports[1]);
    let http2_url = format!("http://127.0.0.1:{}/", ports[2]);
    let ways: &[&[&str]] = &[
        // Each connection is closed by nginx after a thousand requests, as it is by default.
        &["-c", "3", "-n", "5000"],
        &["-c", "10", "-n", "500", "--new-connections"],
        &["-c", "10", "-n", "500", "--per-connection", "7"],
        &["-c", "4", "-n", "800", "--pipeline", "4"],
        &["-c", "4", "-n", "400", "--head"],
        &["-r", "400", "-d", "1s"],
    ];
    let http2_ways: &[&[&str]] = &[
        // Each connection is given up by nginx after a thousand requests, with some under way.
        &["-c", "3", "-n", "5000", "--streams", "10"],
        &["-c", "1", "-n", "3000", "--streams", "200"],
        &["-c", "10", "-n", "500", "--new-connections"],
        &["-c", "10", "-n", "500", "--per-connection", "7"],
        &["-c", "4", "-n", "400", "--head"],
        &["-r", "400", "-d", "1s", "--streams", "5"],
    ];
    let http2_plain = http2_ways.iter().map(|way| [&["--http2", &http2_url], *way].concat());
    let http2_secure =
        http2_ways.iter().map(|way| [&["--http2", "--cacert", "own.pem", &secure_url], *way].concat());
    let secure = ways.iter().map(|way| [&["--cacert", "own.pem", &secure_url], *way].concat());
    let plain = ways.iter().map(|way| [&[&url[..]], *way].concat());
    for way in &plain.chain(secure).chain(http2_plain).chain(http2_secure).collect::<Vec<_>>() {
        let before = lines(200);
        let output = common::run(folder.path(), &[&["load", "--format", "json"], &way[..]].concat());
        let errors = common::text(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{way:?}: {errors}");
        let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let level = &document["levels"][0];
        let number = |name: &str| level[name].as_u64().unwrap_or_else(|| panic!("no {name}: {level}"));
        assert_eq!(number("failed"), 0, "{way:?}: {}", level["failures"]);
        let right = number("started");
        if let Some(at) = way.iter().position(|word| *word == "-n") {
            assert_eq!(number("completed").to_string(), way[at + 1], "{way:?}");
        }
        until(
            &format!("nginx has a line for each of {right} requests by {way:?}, not {}", lines(200) - before),
            || lines(200) - before == right,
        );
    }
    let missing = common::run(folder.path(), &["load", "-n", "100", "-c", "2", &format!("{url}missing")]);
    assert_eq!(missing.status.code(), Some(1), "{}", common::text(&missing.stdout));
    assert!(lines(404) >= 100, "{}", lines(404));
}

fn nginx_configuration(folder: &Path, [port, secure_port, http2_port]: [u16; 3]) -> String {
    let folder = folder.display();
    let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|name| format!("{name}_temp_path {folder}/{name};"))
        .join(" ");
    format!(
        "daemon off; master_process off; pid {folder}/nginx.pid;
events {{ worker_connections 512; }}
http {{
    {temporary}
    log_format status '$request $status';
    access_log {folder}/access.log status;
    log_not_found off;
    server {{ listen 127.0.0.1:{port}; root {folder}; }}
    server {{
        listen 127.0.0.1:{secure_port} ssl http2; root {folder};
        ssl_certificate {folder}/own.pem; ssl_certificate_key {folder}/key.pem;
    }}
    server {{ listen 127.0.0.1:{http2_port} http2; root {folder}; }}
}}
"
    )
}
