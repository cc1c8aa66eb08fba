//! Serves the files of a folder over HTTP/1.1 and 1.0.
//!
//! It supports GET and HEAD, ranges, conditional requests, persistent connections and pipelining;
//! `index.html` for folders; and `NAME.gz` beside `NAME` for clients that accept it. It serves nothing
//! outside the folder, and nothing whose name begins with a dot. A file is checked for changes at most
//! once per second, so a change may take that long to become visible. A request for several ranges gets
//! the whole file.
//!
//! Replace a file with rename(2) rather than truncate it while it is served: an architecture that uses
//! sendfile(2) gives the kernel pages of the file and not copies, and Linux sends zeros for the part that was
//! cut off before it left.
//!
//! Requests that two parsers could understand differently are refused: lines that end without a carriage
//! return, contradicting lengths, `Transfer-Encoding`, and expectations.
//!
//! A request that arrived completely is parsed in place, and its response header was prepared when the file
//! was read: it is only looked up, copied and dated.

mod files;
mod page;
mod request;
mod response;

use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use self::files::Files;
use self::request::{End, Method, Refusal, Request};
use self::response::{Answered, Now, Said, Staying};
use super::{Flow, OpenService, ServiceSettings, Session, SessionStage};
use crate::Error;
use crate::options::{count, utf_8_path};
use crate::output::Output;

/// The folder that is served, and its limits.
#[derive(Clone, Debug, PartialEq, Eq, clap::Args, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HttpSettings {
    /// Folder to serve; files outside it are never served
    #[arg(value_name = "DIR", default_value = ".", value_parser = utf_8_path())]
    pub root: PathBuf,
    /// Serve a listing of folders that have no index
    #[arg(long)]
    pub listing: bool,
    /// Largest request header, in bytes
    #[arg(
        long = "max-header",
        value_name = "BYTES",
        default_value_t = HttpSettings::default().head_bytes,
        value_parser = count::<usize>()
    )]
    pub head_bytes: usize,
}

impl Default for HttpSettings {
    fn default() -> HttpSettings {
        HttpSettings { root: PathBuf::from("."), listing: false, head_bytes: 16 << 10 }
    }
}

impl ServiceSettings for HttpSettings {
    const NAME: &'static str = "http";
    const SOURCE: &'static str = record::page!("mod.rs");
    const FOLDER: Option<&'static str> = Some("root");

    fn open(&self, access_log: bool) -> Result<Arc<dyn OpenService>, Error> {
        let root = sys::file::Root::new(&self.root)
            .map_err(Error::at(format!("open the folder {} to serve it", self.root.display())))?;
        let files = Files::new(root, self.listing);
        Ok(Arc::new(Http {
            shared: Arc::new(Shared {
                source: Source::Files(files),
                head_bytes: self.head_bytes,
                log: access_log,
            }),
        }))
    }

    fn describe(&self, address: SocketAddr) -> String {
        format!("{} at http://{address}/", self.root.display())
    }
}

/// A request for a page that a program makes, in place of the files of a folder. Its parts are as they came:
/// visible ASCII, with their escapes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageRequest<'a> {
    /// The path, which begins with a slash.
    pub path: &'a str,
    /// The part behind the question mark.
    pub query: &'a str,
    /// The host and port that the client named; empty where it named none.
    pub host: &'a str,
}

/// A page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MadePage {
    /// The status of HTTP.
    pub status: u16,
    /// Its media type.
    pub media_type: &'static str,
    /// Further fields of the head, each a whole line.
    pub fields: String,
    /// The content.
    pub body: Arc<[u8]>,
}

/// A program that makes pages. It is called by the thread of the connection: with an architecture that has a
/// thread for each, nobody waits for the page of another.
pub trait PageMaker: Send + Sync {
    /// Makes a page. It may take long, and it must not panic.
    fn page(&self, request: &PageRequest<'_>) -> MadePage;

    /// Stack that this takes, beyond that of a connection.
    fn stack_bytes(&self) -> usize;
}

/// A service of such pages over HTTP, with the limits of [`HttpSettings`].
pub fn made(maker: Arc<dyn PageMaker>) -> Arc<dyn OpenService> {
    let head_bytes = HttpSettings::default().head_bytes;
    Arc::new(Http { shared: Arc::new(Shared { source: Source::Made(maker), head_bytes, log: false }) })
}

struct Http {
    shared: Arc<Shared>,
}

enum Source {
    Files(Files),
    Made(Arc<dyn PageMaker>),
}

/// The state that all sessions share.
struct Shared {
    source: Source,
    /// The largest head of a request.
    head_bytes: usize,
    log: bool,
}

impl OpenService for Http {
    fn session(&self, peer: Option<SocketAddr>) -> Box<dyn Session> {
        let shared = Arc::clone(&self.shared);
        Box::new(HttpSession { shared, peer, held: Vec::new(), content_bytes: 0, has_ended: false })
    }

    fn wants_peer(&self) -> bool {
        self.shared.log
    }

    fn stack_bytes(&self) -> usize {
        match &self.shared.source {
            Source::Files(_) => 0,
            Source::Made(maker) => maker.stack_bytes(),
        }
    }
}

/// The server's side of one connection.
struct HttpSession {
    shared: Arc<Shared>,
    peer: Option<SocketAddr>,
    /// A head without its end. Empty and without memory between requests.
    held: Vec<u8>,
    /// Content of the last request that is still to come, and to be dropped.
    content_bytes: u64,
    /// Whether the last response was given.
    has_ended: bool,
}

/// There may be hundreds of thousands of them.
const _: () = assert!(size_of::<HttpSession>() <= 96);

impl Session for HttpSession {
    fn on_input(&mut self, mut input: &[u8], output: &mut Output) -> Flow {
        let now = response::now();
        while !input.is_empty() && !self.has_ended {
            if self.content_bytes > 0 {
                let dropped = self.content_bytes.min(input.len() as u64);
                self.content_bytes -= dropped;
                input = &input[dropped as usize..];
            } else if self.held.is_empty() {
                input = self.first(input, &now, output);
            } else {
                input = self.further(input, &now, output);
            }
        }
        match self.has_ended {
            false => Flow::More,
            true if input.is_empty() && self.content_bytes == 0 => Flow::Close,
            true => Flow::Linger,
        }
    }

    fn too_slow(&mut self, output: &mut Output) -> Flow {
        if self.held.is_empty() || self.has_ended {
            return Flow::Close;
        }
        let held = std::mem::take(&mut self.held);
        let refusal = Refusal { status: 408, why: "the request did not arrive in time" };
        self.refuse(&held, refusal, &response::now(), output);
        Flow::Linger
    }

    fn stage(&self) -> SessionStage {
        if self.held.is_empty() && self.content_bytes == 0 {
            SessionStage::Idle
        } else {
            SessionStage::Request
        }
    }
}

impl HttpSession {
    /// Takes a head that lies at the beginning of the input, and returns the rest.
    #[inline]
    fn first<'a>(&mut self, input: &'a [u8], now: &Now, output: &mut Output) -> &'a [u8] {
        let within = &input[..input.len().min(self.shared.head_bytes)];
        if let Ok((request, end)) = request::parse(within) {
            self.respond(&request, &input[..end], now, output);
            return &input[end..];
        }
        match request::end_of_head(within, 0) {
            End::At(end) => {
                self.head(&input[..end], now, output);
                &input[end..]
            }
            End::Beyond if within.len() < self.shared.head_bytes => {
                self.held.extend_from_slice(input);
                &[]
            }
            end => {
                self.refuse(within, no_end(end, within), now, output);
                input
            }
        }
    }

    /// Takes more of a head that came in pieces, and returns the bytes behind it.
    fn further<'a>(&mut self, input: &'a [u8], now: &Now, output: &mut Output) -> &'a [u8] {
        let seen = self.held.len();
        let more = &input[..input.len().min(self.shared.head_bytes.saturating_sub(seen))];
        self.held.extend_from_slice(more);
        match request::end_of_head(&self.held, seen) {
            End::Beyond if self.held.len() < self.shared.head_bytes => &[],
            end => {
                let held = std::mem::take(&mut self.held);
                match end {
                    End::At(end) => {
                        self.head(&held[..end], now, output);
                        &input[end - seen..]
                    }
                    end => {
                        self.refuse(&held, no_end(end, &held), now, output);
                        input
                    }
                }
            }
        }
    }

    /// Takes a head that is whole.
    fn head(&mut self, head: &[u8], now: &Now, output: &mut Output) {
        // Clients of old sent an empty line too many (RFC 9112, section 2.2).
        if head == b"\r\n" {
            return;
        }
        match request::parse(head) {
            Ok((request, _)) => self.respond(&request, head, now, output),
            Err(refusal) => self.refuse(head, refusal, now, output),
        }
    }

    #[inline]
    fn respond(&mut self, request: &Request<'_>, head: &[u8], now: &Now, output: &mut Output) {
        let staying = Staying::from_request(request);
        let answered = match request.method {
            Method::Options => response::options(staying, now, output),
            Method::Get | Method::Head => match &self.shared.source {
                Source::Files(files) => match files.find(request.path, now) {
                    Ok(entry) => response::entry(request, staying, &entry, now, output),
                    Err(miss) => response::miss(request, staying, miss, now, output),
                },
                Source::Made(maker) => respond_made(request, staying, maker.as_ref(), now, output),
            },
        };
        self.content_bytes = request.content_bytes;
        self.has_ended = staying == Staying::Ends;
        output.answered();
        if self.shared.log {
            let fields = &request.fields;
            let (referer, user_agent) = (fields.referer, fields.user_agent);
            let said = Said { line: first_line(head), referer, user_agent };
            response::write_log(self.peer, said, answered, now, &mut output.log);
        }
    }

    /// Answers with an error, after which the rest cannot be parsed.
    #[cold]
    fn refuse(&mut self, head: &[u8], refusal: Refusal, now: &Now, output: &mut Output) {
        let fields = if refusal.status == 405 { response::ALLOW } else { "" };
        let Refusal { status, why } = refusal;
        let method = if head.starts_with(b"HEAD ") { Method::Head } else { Method::Get };
        let answered: Answered = response::text(method, Staying::Ends, status, why, fields, now, output);
        self.has_ended = true;
        // The rest belongs to another protocol.
        self.content_bytes = u64::MAX;
        output.answered();
        if self.shared.log {
            let said = Said { line: first_line(head), ..Said::default() };
            response::write_log(self.peer, said, answered, now, &mut output.log);
        }
    }
}

/// Why a head has no end.
fn no_end(end: End, head: &[u8]) -> Refusal {
    if end == End::BareLineFeed {
        return Refusal { status: 400, why: "lines end with a carriage return and a line feed" };
    }
    if first_line(head).len() == head.len() {
        return Refusal { status: 414, why: "the target is too long" };
    }
    Refusal { status: 431, why: "the head of the request is too large" }
}

fn first_line(head: &[u8]) -> &[u8] {
    let end = memchr::memchr2(b'\r', b'\n', head).unwrap_or(head.len());
    &head[..end]
}

/// Answers with a page that is made now.
fn respond_made(
    request: &Request<'_>,
    staying: Staying,
    maker: &dyn PageMaker,
    now: &Now,
    output: &mut Output,
) -> Answered {
    // The parser let nothing but visible ASCII through.
    let text = |bytes| std::str::from_utf8(bytes).unwrap_or_default();
    let query = request.query.strip_prefix(b"?").unwrap_or_default();
    let host = text(request.fields.host.unwrap_or_default());
    let page = maker.page(&PageRequest { path: text(request.path), query: text(query), host });
    let out = output.bytes();
    response::begin(page.status, now, out);
    // Writing to memory does not fail.
    let _ = write!(
        out,
        "Content-Type: {}\r\nContent-Length: {}\r\n{}",
        page.media_type,
        page.body.len(),
        page.fields
    );
    response::end(staying, out);
    if request.method == Method::Head {
        return Answered { status: page.status, body_bytes: 0 };
    }
    let body_bytes = page.body.len() as u64;
    output.shared(page.body);
    Answered { status: page.status, body_bytes }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Echo;

    impl PageMaker for Echo {
        fn page(&self, request: &PageRequest<'_>) -> MadePage {
            let body = format!("{request:?}").into_bytes().into();
            MadePage { status: 200, media_type: "text/plain", fields: "X-Of: a test\r\n".to_owned(), body }
        }

        fn stack_bytes(&self) -> usize {
            0
        }
    }

    fn asked(request: &str) -> (Flow, String) {
        let mut output = Output::default();
        let mut session = made(Arc::new(Echo)).session(None);
        let flow = session.on_input(request.as_bytes(), &mut output);
        let mut all = Vec::new();
        while !output.is_empty() {
            let mut chunk = Vec::with_capacity(4096);
            output.fill(&mut chunk).expect("memory");
            all.extend(chunk);
        }
        (flow, String::from_utf8(all).expect("text"))
    }

    #[test]
    fn a_page_is_made_from_path_query_and_host() {
        let (flow, text) = asked("GET /a%20b?c=d HTTP/1.1\r\nHost: 127.0.0.1:80\r\n\r\n");
        assert_eq!(flow, Flow::More);
        assert!(text.starts_with("HTTP/1.1 200 OK\r\n") && text.contains("\r\nX-Of: a test\r\n"), "{text}");
        let expected = "PageRequest { path: \"/a%20b\", query: \"c=d\", host: \"127.0.0.1:80\" }";
        assert!(text.ends_with(&format!("\r\n\r\n{expected}")), "{text}");
        let (_, text) = asked("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n");
        assert!(text.ends_with("\r\n\r\n"), "{text}");
    }

    #[test]
    fn a_request_that_is_refused_makes_no_page() {
        let (flow, text) = asked("POST / HTTP/1.1\r\nHost: a\r\n\r\n");
        assert_eq!(flow, Flow::Linger);
        assert!(text.starts_with("HTTP/1.1 405 "), "{text}");
    }
}
