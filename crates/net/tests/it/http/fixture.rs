//! A folder with something of everything, served without sockets, and a parser of the responses.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use net::output::Output;
use net::service::http::HttpSettings;
use net::service::{Flow, OpenService, ServiceSettings};

/// A folder with something of everything, and beside it files that must never be served.
pub(crate) struct Fixture {
    _folder: tempfile::TempDir,
    pub(crate) root: std::path::PathBuf,
    pub(crate) machine: Arc<dyn OpenService>,
}

pub(crate) const PAGE: &[u8] = b"<p>a page</p>\n";
pub(crate) const SECRET: &str = "the secret";

pub(crate) fn site() -> Fixture {
    site_with(|settings| settings)
}

pub(crate) fn site_with(change: impl FnOnce(HttpSettings) -> HttpSettings) -> Fixture {
    site_logging(false, change)
}

pub(crate) fn site_logging(access_log: bool, change: impl FnOnce(HttpSettings) -> HttpSettings) -> Fixture {
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
    let settings = change(HttpSettings { root: root.clone(), ..HttpSettings::default() });
    let machine = settings.open(access_log).unwrap();
    Fixture { _folder: folder, root, machine }
}

pub(crate) fn write_aged(path: &Path, content: &[u8], age_seconds: u64) {
    fs::write(path, content).unwrap();
    let file = fs::File::options().write(true).open(path).unwrap();
    // Whole seconds, so that dates name the very moment.
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(now - age_seconds)).unwrap();
}

pub(crate) fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at % 251) as u8).collect()
}

/// All pending output.
pub(crate) fn drain(output: &mut Output) -> Vec<u8> {
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

/// Feeds the pieces to a new session; returns the output, with dates made equal, and how it ended.
pub(crate) fn converse<'a>(
    machine: &dyn OpenService,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> (Vec<u8>, Flow) {
    let mut session = machine.session(None);
    let mut output = Output::default();
    let mut flow = Flow::More;
    for piece in pieces {
        flow = session.on_input(piece, &mut output);
    }
    (undated(drain(&mut output)), flow)
}

pub(crate) fn undated(mut bytes: Vec<u8>) -> Vec<u8> {
    let mark = b"\r\nDate: ";
    let mut from = 0;
    while let Some(at) = bytes[from..].windows(mark.len()).position(|window| window == mark) {
        let begin = from + at + mark.len();
        bytes[begin..begin + 29].fill(b'D');
        from = begin;
    }
    bytes
}

/// One response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) fields: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Response {
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// Cuts a stream into responses; panics where it is none. `heads` marks the responses to HEAD; those beyond
/// count as responses to GET.
pub(crate) fn responses(mut bytes: &[u8], heads: &[bool]) -> Vec<Response> {
    let mut responses = Vec::new();
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
        let mut response = Response { status, fields, body: Vec::new() };
        assert!(response.field("Date").is_some(), "{head}");
        let is_head = heads.get(responses.len()).copied().unwrap_or(false);
        let length = response.field("Content-Length").map_or(0, |length| length.parse().unwrap());
        assert_eq!(status == 304, response.field("Content-Length").is_none(), "{head}");
        let length = if is_head || status == 304 { 0 } else { length };
        response.body = bytes[end..][..length].to_vec();
        bytes = &bytes[end + length..];
        responses.push(response);
    }
    responses
}

/// The one response to one request.
#[track_caller]
pub(crate) fn ask(machine: &dyn OpenService, request: &[u8]) -> (Response, Flow) {
    let (bytes, flow) = converse(machine, [request]);
    let mut responses = responses(&bytes, &[request.starts_with(b"HEAD ")]);
    assert_eq!(responses.len(), 1, "{responses:?}");
    (responses.remove(0), flow)
}

/// The response to GET of that path, with these lines.
#[track_caller]
pub(crate) fn get(site: &Fixture, path: &str, fields: &str) -> Response {
    let request = format!("GET {path} HTTP/1.1\r\nHost: h\r\n{fields}\r\n");
    ask(&*site.machine, request.as_bytes()).0
}
