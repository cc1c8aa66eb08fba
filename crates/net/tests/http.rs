//! The service `http` as a client sees it: bytes in, bytes out, cut at every place.
#![allow(clippy::unwrap_used, reason = "a panic is the failure of a test")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use net::output::Output;
use net::service::{self, Flow, Machine, Settings, Stage};
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

/// Cuts a stream into answers; panics where it is none. `heads` says of each answer whether it belongs to
/// HEAD; those beyond are taken for answers to GET.
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

#[test]
fn a_file_as_a_whole() {
    let site = site();
    let answer = get(&site, "/page.html", "");
    assert_eq!((answer.status, &answer.body[..]), (200, PAGE));
    assert_eq!(answer.field("Content-Type"), Some("text/html; charset=utf-8"));
    assert_eq!(answer.field("Accept-Ranges"), Some("bytes"));
    assert_eq!(answer.field("Connection"), None);
    let tag = answer.field("ETag").unwrap();
    assert!(tag.starts_with('"') && tag.ends_with('"') && tag.len() > 8, "{tag}");
    assert!(answer.field("Last-Modified").unwrap().ends_with(" GMT"));
    let head = ask(&*site.machine, b"HEAD /page.html HTTP/1.1\r\nHost: h\r\n\r\n").0;
    assert_eq!(head.fields, answer.fields);
    assert_eq!(get(&site, "/empty.txt", "").body, b"");
    assert_eq!(get(&site, "/medium.bin", "").body, pattern(20_000));
    assert_eq!(get(&site, "/large.bin", "").body, pattern(200_000));
    assert_eq!(get(&site, "/", "").body, PAGE);
    assert_eq!(get(&site, "/indexed/", "").body, b"<p>inner</p>");
    assert_eq!(get(&site, "/%64igits", "").field("Content-Type"), Some("application/octet-stream"));
}

#[test]
fn folders_without_their_slash_are_elsewhere() {
    let site = site();
    let table = [
        ("/folder", "/folder/"),
        ("/folder?a=b", "/folder/?a=b"),
        // Never `//host/`, which is another host.
        ("//folder/deeper", "/folder/deeper/"),
        ("/a%20b%3c&", "/a%20b%3C%26/"),
    ];
    for (path, location) in table {
        let answer = get(&site, path, "");
        assert_eq!((answer.status, answer.field("Location")), (301, Some(location)), "{path}");
    }
}

#[test]
fn conditions() {
    let site = site();
    let answer = get(&site, "/digits", "");
    let (tag, date) = (answer.field("ETag").unwrap(), answer.field("Last-Modified").unwrap());
    let (old, new) = ("Sun, 06 Nov 1994 08:49:37 GMT", "Fri, 31 Dec 9999 23:59:59 GMT");
    let table = [
        (format!("If-None-Match: {tag}\r\n"), 304),
        (format!("If-None-Match: \"x\", W/{tag}\r\n"), 304),
        ("If-None-Match: *\r\n".to_owned(), 304),
        ("If-None-Match: \"x\"\r\n".to_owned(), 200),
        // The tag decides, whatever the date says.
        (format!("If-None-Match: \"x\"\r\nIf-Modified-Since: {date}\r\n"), 200),
        (format!("If-Modified-Since: {date}\r\n"), 304),
        (format!("If-Modified-Since: {new}\r\n"), 304),
        (format!("If-Modified-Since: {old}\r\n"), 200),
        ("If-Modified-Since: Sunday, 06-Nov-94 08:49:37 GMT\r\n".to_owned(), 200),
        ("If-Modified-Since: \u{e4}\r\n".to_owned(), 200),
        (format!("If-Match: {tag}\r\n"), 200),
        (format!("If-Match: W/{tag}\r\n"), 412),
        ("If-Match: \"x\"\r\n".to_owned(), 412),
        ("If-Match: *\r\n".to_owned(), 200),
        (format!("If-Unmodified-Since: {date}\r\n"), 200),
        (format!("If-Unmodified-Since: {old}\r\n"), 412),
    ];
    for (fields, status) in table {
        let answer = get(&site, "/digits", &fields);
        assert_eq!(answer.status, status, "{fields}");
        if status == 304 {
            assert_eq!(answer.field("ETag"), Some(tag));
            assert_eq!(answer.field("Content-Type"), None);
        }
    }
}

#[test]
fn ranges() {
    let site = site();
    let answer = get(&site, "/digits", "");
    let (tag, date) = (answer.field("ETag").unwrap(), answer.field("Last-Modified").unwrap());
    let whole: (u16, Option<&str>, &str) = (200, None, "0123456789");
    let beyond = (416, Some("bytes */10"), "416 Range Not Satisfiable: the file is shorter\n");
    let table = [
        ("bytes=0-0", (206, Some("bytes 0-0/10"), "0")),
        ("bytes=2-4", (206, Some("bytes 2-4/10"), "234")),
        ("Bytes=8-", (206, Some("bytes 8-9/10"), "89")),
        ("bytes=8-99999999999999999999999", (206, Some("bytes 8-9/10"), "89")),
        ("bytes=-3", (206, Some("bytes 7-9/10"), "789")),
        ("bytes=-99", (206, Some("bytes 0-9/10"), "0123456789")),
        ("bytes=10-", beyond),
        ("bytes=99999999999999999999999-", beyond),
        ("bytes=-0", beyond),
        ("bytes=4-2", whole),
        ("bytes=-", whole),
        ("bytes=a-b", whole),
        ("bytes=1-2x", whole),
        ("bytes=1", whole),
        ("lines=1-2", whole),
        ("bytes=0-1,4-5", whole),
        ("", whole),
    ];
    for (range, expected) in table {
        let answer = get(&site, "/digits", &format!("Range: {range}\r\n"));
        let body = std::str::from_utf8(&answer.body).unwrap();
        assert_eq!((answer.status, answer.field("Content-Range"), body), expected, "{range}");
    }
    let ifs = [
        (tag.to_owned(), 206),
        (date.to_owned(), 206),
        (format!("W/{tag}"), 200),
        ("Sun, 06 Nov 1994 08:49:37 GMT".to_owned(), 200),
        ("nonsense".to_owned(), 200),
    ];
    for (validator, status) in ifs {
        let fields = format!("Range: bytes=0-1\r\nIf-Range: {validator}\r\n");
        assert_eq!(get(&site, "/digits", &fields).status, status, "{fields}");
    }
    for (path, length) in [("/medium.bin", 20_000), ("/large.bin", 200_000)] {
        let answer = get(&site, path, "Range: bytes=5000-15000\r\n");
        assert_eq!((answer.status, &answer.body[..]), (206, &pattern(length)[5000..=15_000]));
    }
    assert_eq!(get(&site, "/empty.txt", "Range: bytes=0-\r\n").status, 416);
    let head = ask(&*site.machine, b"HEAD /digits HTTP/1.1\r\nHost: h\r\nRange: bytes=0-1\r\n\r\n").0;
    assert_eq!(head.status, 200, "ranges are defined for GET alone");
}

#[test]
fn compressed_neighbours() {
    let site = site();
    let table = [
        ("Accept-Encoding: gzip\r\n", true),
        ("Accept-Encoding: br, GZIP;q=0.5, deflate\r\n", true),
        ("Accept-Encoding: *\r\n", true),
        ("Accept-Encoding: identity;q=0.5, gzip;q=0.501\r\n", true),
        ("", false),
        ("Accept-Encoding:\r\n", false),
        ("Accept-Encoding: gzip;q=0\r\n", false),
        ("Accept-Encoding: gzip;q=0.000\r\n", false),
        ("Accept-Encoding: gzip; q=x\r\n", false),
        ("Accept-Encoding: *, gzip;q=0\r\n", false),
        ("Accept-Encoding: br\r\n", false),
        ("Accept-Encoding: gzip;q=0.5, identity\r\n", false),
        ("Accept-Encoding: notgzip\r\n", false),
    ];
    for (fields, is_gzip) in table {
        let answer = get(&site, "/zipped.js", fields);
        let (coding, body): (_, &[u8]) =
            if is_gzip { (Some("gzip"), b"not really gzip") } else { (None, b"plain") };
        assert_eq!((answer.field("Content-Encoding"), &answer.body[..]), (coding, body), "{fields}");
        assert_eq!(answer.field("Vary"), Some("Accept-Encoding"));
        assert_eq!(answer.field("Content-Type"), Some("text/javascript; charset=utf-8"));
    }
    let tag = |fields| get(&site, "/zipped.js", fields).field("ETag").unwrap().to_owned();
    assert_ne!(tag("Accept-Encoding: gzip\r\n"), tag(""), "two codings are two representations");
    let stale = get(&site, "/stale.js", "Accept-Encoding: gzip\r\n");
    assert_eq!((stale.field("Vary"), &stale.body[..]), (None, &b"newer than its neighbour"[..]));
    let itself = get(&site, "/zipped.js.gz", "");
    assert_eq!(
        (itself.field("Content-Encoding"), itself.field("Content-Type")),
        (None, Some("application/gzip"))
    );
}

#[test]
fn connections_are_kept_or_not() {
    let site = site();
    let table = [
        ("GET / HTTP/1.1\r\nHost: h\r\n\r\n", None),
        ("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", Some("close")),
        ("GET / HTTP/1.1\r\nHost: h\r\nConnection: Keep-Alive, Close\r\n\r\n", Some("close")),
        ("GET / HTTP/1.1\r\nHost: h\r\nConnection: keep-alive\r\nConnection: close\r\n\r\n", Some("close")),
        ("GET / HTTP/1.1\r\nHost: h\r\nConnection: upgrade\r\n\r\n", None),
        ("GET / HTTP/1.0\r\n\r\n", Some("close")),
        ("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", Some("keep-alive")),
        ("GET /missing HTTP/1.1\r\nHost: h\r\n\r\n", None),
    ];
    for (request, field) in table {
        let (answer, flow) = ask(&*site.machine, request.as_bytes());
        assert_eq!(answer.field("Connection"), field, "{request}");
        assert_eq!(flow, if field == Some("close") { Flow::Close } else { Flow::More }, "{request}");
        // What is sent after the last request gets no answer, and must not reset the connection.
        let twice = [request.as_bytes(), request.as_bytes()].concat();
        let (bytes, flow) = converse(&*site.machine, [&twice[..]]);
        let (count, expected) = if field == Some("close") { (1, Flow::Linger) } else { (2, Flow::More) };
        assert_eq!((answers(&bytes, &[]).len(), flow), (count, expected), "{request}");
    }
}

#[test]
fn content_is_dropped() {
    let site = site();
    let content = "GET /digits HTTP/1.1\r\nHost: h\r\n\r\n".repeat(100);
    let request = format!("GET / HTTP/1.1\r\nHost: h\r\nContent-Length: {}\r\n\r\n{content}", content.len());
    let stream = format!("{request}GET /page.html HTTP/1.1\r\nHost: h\r\n\r\n");
    let (bytes, _) = converse(&*site.machine, [stream.as_bytes()]);
    assert_eq!(answers(&bytes, &[]).len(), 2);
    let (in_pieces, _) = converse(&*site.machine, stream.as_bytes().chunks(7));
    assert_eq!(in_pieces, bytes);
}

#[test]
fn stages_and_slow_clients() {
    let site = site();
    let mut session = site.machine.session(None);
    let mut output = Output::default();
    assert_eq!(session.stage(), Stage::Idle);
    assert_eq!(session.feed(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n", &mut output), Flow::More);
    assert_eq!((session.stage(), output.take_answers()), (Stage::Idle, 1));
    assert!(session.too_slow(&mut output) == Flow::Close, "an idle connection is closed without a word");
    drain(&mut output);
    session.feed(b"GET / HTTP/1.1\r\n", &mut output);
    assert_eq!((session.stage(), output.take_answers()), (Stage::Request, 0));
    assert_eq!(session.too_slow(&mut output), Flow::Linger);
    assert_eq!(session.feed(b"Host: h\r\n\r\n", &mut output), Flow::Linger);
    let answers = answers(&drain(&mut output), &[]);
    assert_eq!(answers.iter().map(|answer| answer.status).collect::<Vec<_>>(), [408]);
    assert_eq!(output.take_answers(), 1);

    let mut session = site.machine.session(None);
    session.feed(b"GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\n", &mut output);
    assert_eq!(session.stage(), Stage::Request);
    drain(&mut output);
    assert_eq!(session.too_slow(&mut output), Flow::Close, "the answer was given already");
    assert!(output.is_empty());
}

#[test]
fn a_changed_file_is_seen_within_a_second() {
    let site = site();
    let path = site.root.join("digits");
    let before = get(&site, "/digits", "");
    fs::write(&path, b"changed").unwrap();
    fs::remove_file(site.root.join("page.html")).unwrap();
    std::thread::sleep(Duration::from_millis(1100));
    let after = get(&site, "/digits", "");
    assert_eq!(after.body, b"changed");
    assert_ne!(after.field("ETag"), before.field("ETag"));
    assert_eq!(get(&site, "/page.html", "").status, 404);
}

/// As tools do that copy a file with its time, or build with one time for all files.
#[test]
fn a_changed_file_is_seen_whatever_its_time_says() {
    let site = site();
    let path = site.root.join("dated");
    write_aged(&path, b"one", 1000);
    let before = get(&site, "/dated", "");
    let time = fs::metadata(&path).unwrap().modified().unwrap();
    // What was changed a moment ago is read again in any case.
    std::thread::sleep(Duration::from_millis(2100));
    assert_eq!(get(&site, "/dated", "").body, b"one");
    fs::write(&path, b"two").unwrap();
    fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
    std::thread::sleep(Duration::from_millis(1100));
    let after = get(&site, "/dated", "");
    assert_eq!(after.body, b"two");
    assert_ne!(after.field("ETag"), before.field("ETag"));
}

#[test]
fn times_that_http_cannot_write() {
    let site = site();
    for (moment, year) in [(-86_400_i64, "1970"), (400_000_000_000, "20")] {
        let path = site.root.join("digits");
        let distance = Duration::from_secs(moment.unsigned_abs());
        let epoch = SystemTime::UNIX_EPOCH;
        let time = if moment < 0 { epoch - distance } else { epoch + distance };
        // A file system may not know the time either, and take the nearest that it knows.
        fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
        let machine = (service::find("http").unwrap().open)(&Settings {
            root: Some(site.root.clone()),
            ..Settings::default()
        })
        .unwrap();
        let answer = ask(&*machine, b"GET /digits HTTP/1.1\r\nHost: h\r\n\r\n").0;
        let date = answer.field("Last-Modified").unwrap();
        assert!(date[12..].starts_with(year) && date.len() == 29, "{date}");
    }
}

#[test]
fn lists_of_folders() {
    let site = site_with(|settings| Settings { listing: true, ..settings });
    let answer = get(&site, "/folder/", "");
    assert_eq!(answer.status, 200);
    assert_eq!(answer.field("Content-Type"), Some("text/html; charset=utf-8"));
    let page = String::from_utf8(answer.body).unwrap();
    for link in [
        "<a href=\"../\">../</a>",
        "<a href=\"./%3Cb%3E%26.txt\">&lt;b&gt;&amp;.txt</a>",
        "<a href=\"./deeper/\">deeper/</a>",
        "<a href=\"./one.css\">one.css</a>",
    ] {
        assert!(page.contains(link), "{link} in {page}");
    }
    assert_eq!(get(&site, "/folder/%3Cb%3E%26.txt", "").body, b"odd");
    assert!(!String::from_utf8(get(&site, "/folder/deeper/", "").body).unwrap().contains("<b>"));
    assert_eq!(get(&site, "/", "").body, PAGE, "an index comes first");
    fs::remove_file(site.root.join("index.html")).unwrap();
    std::thread::sleep(Duration::from_millis(1100));
    let page = String::from_utf8(get(&site, "/", "").body).unwrap();
    assert!(!page.contains("hidden") && page.contains("digits") && !page.contains("\"../\""), "{page}");
}

#[test]
fn the_log_has_a_line_for_each_answer() {
    let site = site_with(|settings| Settings { log: true, ..settings });
    assert!(site.machine.wants_peer());
    let mut session = site.machine.session(Some("[2001:db8::1]:80".parse().unwrap()));
    let mut output = Output::default();
    let stream =
        b"GET /digits?\"\\ HTTP/1.1\r\nHost: h\r\nReferer: http://r/\r\nUser-Agent: a\"\x80b\r\n\r\n\
        HEAD /digits HTTP/1.1\r\nHost: h\r\n\r\nG\x1b[2J\r\n\r\n";
    session.feed(stream, &mut output);
    let log = String::from_utf8(std::mem::take(&mut output.log)).unwrap();
    let lines: Vec<&str> = log.lines().collect();
    let rests = [
        r#""GET /digits?\x22\x5C HTTP/1.1" 200 10 "http://r/" "a\x22\x80b""#,
        r#""HEAD /digits HTTP/1.1" 200 0 "-" "-""#,
        r#""G\x1B[2J" 400 46 "-" "-""#,
    ];
    assert_eq!(lines.len(), rests.len(), "{log}");
    for (line, rest) in lines.iter().zip(rests) {
        let (begin, end) = line.split_once("] ").unwrap();
        assert_eq!(end, rest);
        let moment = begin.strip_prefix("2001:db8::1 - - [").unwrap();
        assert!(moment.len() == 26 && moment.ends_with(" +0000"), "{moment}");
    }
}

#[test]
fn what_is_no_folder_is_not_opened() {
    let open = service::find("http").unwrap().open;
    let error = |settings: &Settings| open(settings).err().unwrap().to_string();
    assert_eq!(error(&Settings::default()), "http serves the files of a folder: name one");
    let missing = Settings { root: Some("/nonexistent/folder".into()), ..Settings::default() };
    assert!(error(&missing).starts_with("cannot open the folder /nonexistent/folder to serve it: "));
}

/// More files than are kept, in memory or open: every one is served.
#[test]
fn many_files() {
    let site = site();
    for number in 0..1200 {
        fs::write(site.root.join(format!("folder/{number}")), number.to_string()).unwrap();
    }
    for number in 0..200 {
        let file = fs::File::create(site.root.join(format!("folder/large{number}"))).unwrap();
        file.set_len(100_000 + number).unwrap();
    }
    for _ in 0..2 {
        for number in 0..1200 {
            assert_eq!(get(&site, &format!("/folder/{number}"), "").body, number.to_string().into_bytes());
        }
        for number in 0..200 {
            assert_eq!(get(&site, &format!("/folder/large{number}"), "").body.len(), 100_000 + number);
        }
    }
}

#[test]
fn a_flood_of_requests_is_answered() {
    let site = site();
    let flood = b"GET /page.html HTTP/1.1\r\nHost:\r\n\r\n".repeat(2000);
    let (bytes, _) = converse(&*site.machine, [&flood[..]]);
    let answers = answers(&bytes, &[]);
    assert_eq!(answers.len(), 2000);
    assert!(answers.iter().all(|answer| answer.body == PAGE));
}

/// A request that is well formed, whatever it gets.
fn request() -> impl Strategy<Value = String> {
    let method = prop_oneof![Just("GET"), Just("HEAD"), Just("OPTIONS")];
    let path = prop_oneof![
        Just("/".to_owned()),
        Just("/digits".to_owned()),
        Just("/page.html".to_owned()),
        Just("/medium.bin".to_owned()),
        Just("/large.bin".to_owned()),
        Just("/zipped.js".to_owned()),
        Just("/folder".to_owned()),
        Just("/missing".to_owned()),
        "/[a-z%./]{0,12}",
    ];
    let field = prop_oneof![
        Just("Connection: keep-alive\r\n".to_owned()),
        Just("Accept-Encoding: gzip\r\n".to_owned()),
        Just("If-None-Match: *\r\n".to_owned()),
        "Range: bytes=[0-9]{0,3}-[0-9]{0,3}\r\n",
        "[A-Z][a-z]{1,9}: [ -~]{0,30}\r\n",
    ];
    (method, path, proptest::collection::vec(field, 0..4), 0_usize..40).prop_map(
        |(method, path, fields, content)| {
            let (fields, content) = (fields.concat(), "c".repeat(content));
            let length = content.len();
            format!(
                "{method} {path} HTTP/1.1\r\nHost: h\r\nContent-Length: {length}\r\n{fields}\r\n{content}"
            )
        },
    )
}

/// Cuts bytes at these places, taken modulo what is left.
fn cut<'a>(mut bytes: &'a [u8], cuts: &[usize]) -> Vec<&'a [u8]> {
    let mut pieces = Vec::new();
    for cut in cuts {
        let (piece, rest) = bytes.split_at(cut % (bytes.len() + 1));
        pieces.push(piece);
        bytes = rest;
    }
    pieces.push(bytes);
    pieces
}

/// What came out and what was logged, of bytes fed in these pieces.
fn logged<'a>(machine: &dyn Machine, pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<u8>, String) {
    let mut session = machine.session(None);
    let mut output = Output::default();
    let mut count = 0;
    for piece in pieces {
        session.feed(piece, &mut output);
        count += output.take_answers();
    }
    let log = String::from_utf8(std::mem::take(&mut output.log)).unwrap();
    assert_eq!(log.lines().count() as u64, count);
    (undated(drain(&mut output)), log)
}

/// Which of the answers belong to HEAD, as the log has it.
fn heads(log: &str) -> Vec<bool> {
    log.lines().map(|line| line.contains("] \"HEAD ")).collect()
}

thread_local! {
    static SITE: Site = site_with(|settings| Settings { log: true, head_bytes: 512, ..settings });
}

/// What looks like a request from afar.
const ALMOST: &str = "(GET|HEAD|POST) [/a-z%.]{1,9} HTTP/1[.][01]\r\n\
    (Host: h\r\n)?[A-Za-z-]{0,9}:? ?[a-z0-9,]{0,9}\r?\n";

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_cut_gives_the_same(
        requests in proptest::collection::vec(request(), 1..8),
        cuts in proptest::collection::vec(any::<usize>(), 0..12),
    ) {
        SITE.with(|site| {
            let stream = requests.concat();
            let (whole, log) = logged(&*site.machine, [stream.as_bytes()]);
            let answers = answers(&whole, &heads(&log));
            // A path that no file could have gets its 400 like any other.
            prop_assert_eq!(answers.len(), requests.len());
            prop_assert_eq!(&logged(&*site.machine, cut(stream.as_bytes(), &cuts)).0, &whole);
            prop_assert_eq!(&logged(&*site.machine, stream.as_bytes().chunks(1)).0, &whole);
            Ok(())
        })?;
    }

    #[test]
    fn any_bytes_get_proper_answers(
        pieces in proptest::collection::vec(
            prop_oneof![
                request().prop_map(String::into_bytes),
                proptest::collection::vec(any::<u8>(), 0..40),
                ALMOST
                    .prop_map(String::into_bytes),
                Just(b"\r\n".to_vec()),
            ],
            0..8,
        ),
        cuts in proptest::collection::vec(any::<usize>(), 0..12),
    ) {
        SITE.with(|site| {
            let stream = pieces.concat();
            let (whole, log) = logged(&*site.machine, [&stream[..]]);
            let answers = answers(&whole, &heads(&log));
            prop_assert_eq!(answers.len(), log.lines().count());
            prop_assert!(log.bytes().all(|byte| byte == b'\n' || (b' '..=b'~').contains(&byte)));
            prop_assert_eq!(&logged(&*site.machine, cut(&stream, &cuts)).0, &whole);
            prop_assert_eq!(&logged(&*site.machine, stream.chunks(1)).0, &whole);
            Ok(())
        })?;
    }
}
