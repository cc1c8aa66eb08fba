//! The service `http` as a client sees it: bytes in, bytes out, cut at every place.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use net::output::Output;
use net::service::{self, Flow, Machine, Session, Settings, Stage};
use proptest::prelude::*;

/// A folder with something of everything, and beside it what must never be served.
struct Site {
    _folder: tempfile::TempDir,
    root: std::path::PathBuf,
    machine: Arc<dyn Machine>,
}

const PAGE: &[u8] = b"<p>a page</p>\n";
const SECRET: &str = "the secret";

fn site() -> Site {
    site_with(|settings| settings)
}

fn site_with(change: impl FnOnce(Settings) -> Settings) -> Site {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("root");
    fs::create_dir_all(root.join("folder/deeper")).unwrap();
    fs::create_dir(root.join("indexed")).unwrap();
    fs::create_dir(root.join("a b<&")).unwrap();
    fs::write(folder.path().join("secret"), SECRET).unwrap();
    let files: [(&str, &[u8]); 11] = [
        ("index.html", PAGE),
        ("indexed/index.html", b"<p>inner</p>"),
        ("page.html", PAGE),
        ("empty.txt", b""),
        ("digits", b"0123456789"),
        ("folder/one.css", b"p {}"),
        ("folder/<b>&.txt", b"odd"),
        (".hidden", SECRET.as_bytes()),
        ("zipped.js", b"plain"),
        ("zipped.js.gz", b"not really gzip"),
        ("stale.js", b"newer than its neighbour"),
    ];
    for (name, content) in files {
        write_aged(&root.join(name), content, 1000);
    }
    write_aged(&root.join("stale.js.gz"), b"stale", 2000);
    write_aged(&root.join("medium.bin"), &pattern(20_000), 1000);
    write_aged(&root.join("large.bin"), &pattern(200_000), 1000);
    symlink(folder.path().join("secret"), root.join("out")).unwrap();
    symlink("../secret", root.join("up")).unwrap();
    symlink("/etc", root.join("etc")).unwrap();
    symlink("page.html", root.join("link.html")).unwrap();
    symlink("loop", root.join("loop")).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(root.join("pipe")).status().unwrap().success());
    let settings = change(Settings { root: Some(root.clone()), ..Settings::default() });
    let machine = (service::find("http").unwrap().open)(&settings).unwrap();
    Site { _folder: folder, root, machine }
}

fn write_aged(path: &Path, content: &[u8], age_seconds: u64) {
    fs::write(path, content).unwrap();
    let file = fs::File::options().write(true).open(path).unwrap();
    // Whole seconds, so that dates name the very moment.
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(now - age_seconds)).unwrap();
}

fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at % 251) as u8).collect()
}

/// Everything that is on its way out.
fn drain(output: &mut Output) -> Vec<u8> {
    let mut all = Vec::new();
    loop {
        let mut chunk = Vec::with_capacity(1 << 20);
        output.fill(&mut chunk).unwrap();
        if chunk.is_empty() {
            return all;
        }
        all.extend(chunk);
    }
}

/// Feeds the pieces to a new session; what came out, with dates made equal, and how it ended.
fn converse<'a>(machine: &dyn Machine, pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<u8>, Flow) {
    let mut session = machine.session(None);
    let mut output = Output::default();
    let mut flow = Flow::More;
    for piece in pieces {
        flow = session.feed(piece, &mut output);
    }
    (undated(drain(&mut output)), flow)
}

fn undated(mut bytes: Vec<u8>) -> Vec<u8> {
    let mark = b"\r\nDate: ";
    let mut from = 0;
    while let Some(at) = bytes[from..].windows(mark.len()).position(|window| window == mark) {
        let begin = from + at + mark.len();
        bytes[begin..begin + 29].fill(b'D');
        from = begin;
    }
    bytes
}

/// One answer.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Answer {
    status: u16,
    fields: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Answer {
    fn field(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// Cuts a stream into answers; panics where it is none. `heads` says of each answer whether it belongs to HEAD; those
/// beyond are taken for answers to GET.
fn answers(mut bytes: &[u8], heads: &[bool]) -> Vec<Answer> {
    let mut answers = Vec::new();
    while !bytes.is_empty() {
        let end = bytes.windows(4).position(|window| window == b"\r\n\r\n").expect("a whole head") + 4;
        let head = std::str::from_utf8(&bytes[..end]).expect("a head of ASCII");
        let mut lines = head.trim_end_matches("\r\n").split("\r\n");
        let first = lines.next().unwrap();
        let status: u16 = first.strip_prefix("HTTP/1.1 ").unwrap()[..3].parse().unwrap();
        let fields: Vec<(String, String)> = lines
            .map(|line| {
                assert!(line.bytes().all(|byte| (b' '..=b'~').contains(&byte)), "{line:?}");
                let (name, value) = line.split_once(": ").expect("a field");
                (name.to_owned(), value.to_owned())
            })
            .collect();
        let mut names: Vec<&str> = fields.iter().map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), fields.len(), "a field came twice: {head}");
        let mut answer = Answer { status, fields, body: Vec::new() };
        assert!(answer.field("Date").is_some(), "{head}");
        let is_head = heads.get(answers.len()).copied().unwrap_or(false);
        let length = answer.field("Content-Length").map_or(0, |length| length.parse().unwrap());
        assert_eq!(status == 304, answer.field("Content-Length").is_none(), "{head}");
        let length = if is_head || status == 304 { 0 } else { length };
        answer.body = bytes[end..][..length].to_vec();
        bytes = &bytes[end + length..];
        answers.push(answer);
    }
    answers
}

/// The one answer to one request.
#[track_caller]
fn ask(machine: &dyn Machine, request: &[u8]) -> (Answer, Flow) {
    let (bytes, flow) = converse(machine, [request]);
    let mut answers = answers(&bytes, &[request.starts_with(b"HEAD ")]);
    assert_eq!(answers.len(), 1, "{answers:?}");
    (answers.remove(0), flow)
}

/// The answer to GET of that path, with these lines.
#[track_caller]
fn get(site: &Site, path: &str, fields: &str) -> Answer {
    let request = format!("GET {path} HTTP/1.1\r\nHost: h\r\n{fields}\r\n");
    ask(&*site.machine, request.as_bytes()).0
}

#[test]
fn statuses() {
    let site = site();
    let long = format!("GET /{} HTTP/1.1\r\nHost: h\r\n\r\n", "a".repeat(20_000));
    let large = format!("GET / HTTP/1.1\r\nHost: h\r\nX: {}\r\n\r\n", "a".repeat(20_000));
    let table: &[(&str, u16)] = &[
        // Served.
        ("GET / HTTP/1.1\r\nHost: h\r\n\r\n", 200),
        ("\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n", 200),
        ("HEAD /page.html HTTP/1.1\r\nhOST:\t h:80 \t\r\n\r\n", 200),
        ("GET /page.html HTTP/1.0\r\n\r\n", 200),
        ("GET /page.html HTTP/1.7\r\nHost: [::1]:80\r\n\r\n", 200),
        ("GET /page.html HTTP/1.1\r\nHost:\r\n\r\n", 200),
        ("GET /page.html?q=/../%zz HTTP/1.1\r\nHost: h\r\n\r\n", 200),
        ("GET http://h:80/page.html HTTP/1.1\r\nHost: other\r\n\r\n", 200),
        ("GET HTTP://h HTTP/1.1\r\nHost: h\r\n\r\n", 200),
        ("GET http://h?q HTTP/1.1\r\nHost: h\r\n\r\n", 200),
        ("GET /p%61ge.html HTTP/1.1\r\nHost: h\r\n\r\n", 200),
        ("GET //indexed//index.html HTTP/1.1\r\nHost: h\r\n\r\n", 200),
        ("GET /link.html HTTP/1.1\r\nHost: h\r\n\r\n", 200),
        ("OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n", 200),
        ("OPTIONS /page.html HTTP/1.1\r\nHost: h\r\n\r\n", 200),
        ("GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n", 200),
        ("GET / HTTP/1.1\r\nHost: h\r\nX: \u{e9}\t~\r\nY:\r\n\r\n", 200),
        // Not served.
        ("GET /missing HTTP/1.1\r\nHost: h\r\n\r\n", 404),
        ("GET /page.html/ HTTP/1.1\r\nHost: h\r\n\r\n", 404),
        ("GET /page.html/x HTTP/1.1\r\nHost: h\r\n\r\n", 404),
        ("GET /%ff%fe HTTP/1.1\r\nHost: h\r\n\r\n", 404),
        ("GET /p%2561ge.html HTTP/1.1\r\nHost: h\r\n\r\n", 404),
        ("GET /.hidden HTTP/1.1\r\nHost: h\r\n\r\n", 404),
        ("GET /%2ehidden HTTP/1.1\r\nHost: h\r\n\r\n", 404),
        ("GET /./page.html HTTP/1.1\r\nHost: h\r\n\r\n", 404),
        ("GET /out HTTP/1.1\r\nHost: h\r\n\r\n", 404),
        ("GET /up HTTP/1.1\r\nHost: h\r\n\r\n", 404),
        ("GET /etc/passwd HTTP/1.1\r\nHost: h\r\n\r\n", 404),
        ("GET /loop HTTP/1.1\r\nHost: h\r\n\r\n", 404),
        ("GET /pipe HTTP/1.1\r\nHost: h\r\n\r\n", 404),
        ("GET /folder/ HTTP/1.1\r\nHost: h\r\n\r\n", 403),
        ("GET /folder HTTP/1.1\r\nHost: h\r\n\r\n", 301),
        // Paths that no file could have.
        ("GET /../secret HTTP/1.1\r\nHost: h\r\n\r\n", 400),
        ("GET /folder/../../secret HTTP/1.1\r\nHost: h\r\n\r\n", 400),
        ("GET /%2e%2e/secret HTTP/1.1\r\nHost: h\r\n\r\n", 400),
        ("GET /.%2E HTTP/1.1\r\nHost: h\r\n\r\n", 400),
        ("GET /..%2fsecret HTTP/1.1\r\nHost: h\r\n\r\n", 400),
        ("GET /folder%2Fone.css HTTP/1.1\r\nHost: h\r\n\r\n", 400),
        ("GET /..\\secret HTTP/1.1\r\nHost: h\r\n\r\n", 400),
        ("GET /..%5csecret HTTP/1.1\r\nHost: h\r\n\r\n", 400),
        ("GET /page.html%00 HTTP/1.1\r\nHost: h\r\n\r\n", 400),
        ("GET /page%zz HTTP/1.1\r\nHost: h\r\n\r\n", 400),
        ("GET /page%+1 HTTP/1.1\r\nHost: h\r\n\r\n", 400),
        ("GET /page% HTTP/1.1\r\nHost: h\r\n\r\n", 400),
        ("GET /page%a HTTP/1.1\r\nHost: h\r\n\r\n", 400),
        // First lines that are none.
        ("GET /\r\n\r\n", 400),
        ("GET  / HTTP/1.1\r\nHost: h\r\n\r\n", 400),
        ("GET / HTTP/1.1 \r\nHost: h\r\n\r\n", 400),
        ("GET / HTTP/1.1\n\n", 400),
        ("GET / HTTP/1.1\r\nHost: h\n\r\n", 400),
        ("\nGET / HTTP/1.1\r\nHost: h\r\n\r\n", 400),
        ("GET / http/1.1\r\nHost: h\r\n\r\n", 400),
        ("GET / HTTP/11\r\nHost: h\r\n\r\n", 400),
        ("GET / HTTP/1.10\r\nHost: h\r\n\r\n", 400),
        ("GET page.html HTTP/1.1\r\nHost: h\r\n\r\n", 400),
        ("GET * HTTP/1.1\r\nHost: h\r\n\r\n", 400),
        ("GET ftp://h/ HTTP/1.1\r\nHost: h\r\n\r\n", 400),
        ("GET http:///page.html HTTP/1.1\r\nHost: h\r\n\r\n", 400),
        ("GET http://u@h/page.html HTTP/1.1\r\nHost: h\r\n\r\n", 400),
        ("GET /page.html#top HTTP/1.1\r\nHost: h\r\n\r\n", 400),
        ("GET /p\u{e4}ge HTTP/1.1\r\nHost: h\r\n\r\n", 400),
        ("G\u{7}T / HTTP/1.1\r\nHost: h\r\n\r\n", 400),
        ("G(T / HTTP/1.1\r\nHost: h\r\n\r\n", 400),
        (" GET / HTTP/1.1\r\nHost: h\r\n\r\n", 400),
        ("GET / HTTP/1.1\rHost: h\r\n\r\n", 400),
        ("GET / HTTP/2.0\r\nHost: h\r\n\r\n", 505),
        ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
        ("GET / HTTP/0.9\r\n\r\n", 505),
        ("get / HTTP/1.1\r\nHost: h\r\n\r\n", 501),
        ("BREW / HTTP/1.1\r\nHost: h\r\n\r\n", 501),
        ("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc", 405),
        ("CONNECT h:80 HTTP/1.1\r\nHost: h\r\n\r\n", 405),
        ("TRACE / HTTP/1.1\r\nHost: h\r\n\r\n", 405),
        // Fields that two readers could understand differently.
        ("GET / HTTP/1.1\r\n\r\n", 400),
        ("GET http://h/ HTTP/1.1\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", 400),
        ("GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a b\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a@b\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost : h\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\n Host: h\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: h\r\n folded\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: h\r\nX: a\r\n\tb\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: h\r\n: x\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: h\r\nX\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: h\r\nX: a\rb\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: h\r\nX: a\r\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: h\r\nX: a\0b\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: h\r\nX: a\u{7f}\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: h\r\nX\u{b}: a\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 3, 3\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: h\r\nContent-Length: +3\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: h\r\nContent-Length: -3\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 0x3\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: h\r\nContent-Length:\r\n\r\n", 400),
        ("GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 501),
        ("GET / HTTP/1.1\r\nHost: h\r\ntransfer-encoding:\tidentity\r\n\r\n", 501),
        ("GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 65537\r\n\r\n", 413),
        ("GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999999999999999999\r\n\r\n", 413),
        ("GET / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n", 417),
        ("GET / HTTP/1.0\r\nExpect: 100-continue\r\n\r\n", 200),
        (&long, 414),
        (&large, 431),
    ];
    for (request, status) in table {
        let shown: String = request.chars().take(80).collect();
        let (answer, flow) = ask(&*site.machine, request.as_bytes());
        assert_eq!(answer.status, *status, "{shown:?}");
        assert!(!answer.body.windows(SECRET.len()).any(|window| window == SECRET.as_bytes()), "{shown:?}");
        let ends = answer.field("Connection") == Some("close");
        assert_eq!(ends, flow != Flow::More, "{shown:?}");
        if ends && *status >= 400 {
            assert_eq!(flow, Flow::Linger, "{shown:?}");
        }
        if *status == 405 {
            assert_eq!(answer.field("Allow"), Some("GET, HEAD, OPTIONS"));
        }
        let pieces: Vec<&[u8]> = request.as_bytes().chunks(1).collect();
        let whole = converse(&*site.machine, [request.as_bytes()]).0;
        assert_eq!(converse(&*site.machine, pieces).0, whole, "{shown:?} byte by byte");
    }
}
