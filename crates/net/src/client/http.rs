//! Requests files from a web server, and checks every response (RFC 9110, RFC 9112).
//!
//! The first good response for each path defines the length and the CRC-32 of its body; every later one must
//! be equal. A response may have a length, may be chunked, or may end with the connection.

use memchr::memchr;
use serde::{Deserialize, Serialize};

use super::definition::{Client, ClientSettings, Endpoint, Received, ResponseError, ResponseState};
use crate::Error;
use crate::options::{OptionForm, OptionSpec};

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HttpClientSettings {
    /// The value of `Host`.
    pub host: String,
    /// Asked for in turn; each connection begins with another. None is `/`.
    pub paths: Vec<String>,
    /// Ask for heads alone.
    pub head: bool,
    /// Ask the server to close after each response.
    pub close: bool,
    /// More fields, as `Name: value`.
    pub fields: Vec<String>,
}

impl Default for HttpClientSettings {
    fn default() -> HttpClientSettings {
        HttpClientSettings {
            host: "localhost".to_owned(),
            paths: Vec::new(),
            head: false,
            close: false,
            fields: Vec::new(),
        }
    }
}

impl ClientSettings for HttpClientSettings {
    const NAME: &'static str = "http";
    const SOURCE: &'static str = include_str!("http.rs");
    const SERVICE: &'static str = "http";
    const OPTIONS: &'static [OptionSpec] = &[
        OptionSpec {
            name: "path",
            short: None,
            field: "paths",
            form: OptionForm::Texts("PATH"),
            help: "Another path to request, in turn with the first",
        },
        OptionSpec {
            name: "header",
            short: Some('H'),
            field: "fields",
            form: OptionForm::Texts("FIELD"),
            help: "Header field of the requests, as 'Name: value'",
        },
        OptionSpec {
            name: "head",
            short: Some('I'),
            field: "head",
            form: OptionForm::Switch,
            help: "Send HEAD requests",
        },
    ];

    type Client = HttpClient;

    fn open(&self) -> Result<HttpClient, Error> {
        let root = ["/".to_owned()];
        let paths = if self.paths.is_empty() { &root[..] } else { &self.paths };
        let targets = paths.iter().map(|path| target(self, path)).collect::<Result<Vec<_>, _>>()?;
        let known = (Vec::new(), Head::default());
        Ok(HttpClient { targets, head_only: self.head, close: self.close, sessions: 0, known })
    }

    fn aim(&mut self, target: &Endpoint) -> Result<(), Error> {
        let Some(path) = &target.path else {
            let text = format!("--client http needs a URL, such as http://{}/", target.host);
            return Err(Error::Settings(text));
        };
        self.host.clone_from(&target.host);
        self.paths.insert(0, path.clone());
        Ok(())
    }

    fn server_closes(&self) -> bool {
        self.close
    }

    fn request_close(&mut self) {
        self.close = true;
    }
}

/// The client.
#[derive(Clone, Debug)]
pub struct HttpClient {
    targets: Vec<Target>,
    head_only: bool,
    close: bool,
    sessions: usize,
    /// The last head that was read, and what it says: most are the same for a second.
    known: (Vec<u8>, Head),
}

#[derive(Clone, Debug)]
struct Target {
    request: Vec<u8>,
    expected: Option<Body>,
}

/// What a body is known by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Body {
    length: u64,
    crc: u32,
}

/// Where a connection stands.
#[derive(Clone, Debug)]
pub struct HttpSession {
    /// The next to be asked for, and the one whose response comes next.
    ask: u32,
    awaited: u32,
    outstanding: u32,
    stage: Stage,
    status: u16,
    last: bool,
    body: Body,
    /// The beginning of a head that came in pieces.
    pieces: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Head,
    Body {
        left: u64,
    },
    UntilClose,
    ChunkSize {
        size: u64,
        digits: u8,
    },
    ChunkExtension {
        size: u64,
    },
    Chunk {
        left: u64,
    },
    /// The end of line behind a chunk.
    ChunkEnd,
    Trailer {
        line_bytes: u32,
        left: u32,
    },
}

/// A head, a chunk's extension or a trailer longer than this is none.
const HEAD_MAX: usize = 64 << 10;

impl HttpClient {
    /// Reads a head, which is the whole of `head`.
    fn read_head(
        &mut self,
        session: &mut HttpSession,
        head: &[u8],
    ) -> Result<Option<Received>, ResponseError> {
        if self.known.0 != head {
            self.known.1 = Head::parse(head)?;
            self.known.0.clear();
            self.known.0.extend_from_slice(head);
        }
        let head = self.known.1;
        match head.status {
            // Nobody asked for another protocol.
            101 => return Err(ResponseError::Malformed),
            100..200 => return Ok(None),
            _ => {}
        }
        session.status = head.status;
        session.last = head.last || self.close;
        let empty = self.head_only || matches!(head.status, 204 | 304);
        session.stage = match head.framing {
            _ if empty => Stage::Body { left: 0 },
            Framing::Chunked => Stage::ChunkSize { size: 0, digits: 0 },
            Framing::Length(left) => Stage::Body { left },
            Framing::UntilClose => {
                session.last = true;
                Stage::UntilClose
            }
        };
        session.body = Body::default();
        if let (true, Framing::Length(length)) = (self.head_only, head.framing) {
            session.body.length = length;
        }
        let done = session.stage == Stage::Body { left: 0 };
        Ok(done.then(|| self.finish(session, 0)))
    }

    /// The response is complete.
    fn finish(&mut self, session: &mut HttpSession, taken: usize) -> Received {
        let response = if session.last { ResponseState::Last } else { ResponseState::Complete };
        session.stage = Stage::Head;
        session.outstanding -= 1;
        let target = session.awaited as usize % self.targets.len();
        session.awaited = following(session.awaited, &self.targets);
        let wrong = if !(200..300).contains(&session.status) {
            Some(ResponseError::Status(session.status))
        } else {
            let expected = *self.targets[target].expected.get_or_insert(session.body);
            (expected != session.body).then_some(ResponseError::Content)
        };
        Received { taken, state: response, error: wrong }
    }
}

impl Client for HttpClient {
    type Session = HttpSession;

    fn session(&mut self) -> HttpSession {
        let first = (self.sessions % self.targets.len()) as u32;
        self.sessions = self.sessions.wrapping_add(1);
        HttpSession {
            ask: first,
            awaited: first,
            outstanding: 0,
            stage: Stage::Head,
            status: 0,
            last: false,
            body: Body::default(),
            pieces: Vec::new(),
        }
    }

    fn request<'a>(&'a self, session: &'a mut HttpSession) -> &'a [u8] {
        let target = session.ask as usize % self.targets.len();
        session.ask = following(session.ask, &self.targets);
        session.outstanding += 1;
        &self.targets[target].request
    }

    fn on_input(&mut self, session: &mut HttpSession, input: &[u8]) -> Result<Received, ResponseError> {
        let mut taken = 0;
        while taken < input.len() {
            if session.outstanding == 0 {
                return Err(ResponseError::Unasked);
            }
            let rest = &input[taken..];
            match session.stage {
                Stage::Head => {
                    let (used, done) = self.read_head_piece(session, rest)?;
                    taken += used;
                    if let Some(parsed) = done {
                        return Ok(Received { taken, ..parsed });
                    }
                }
                Stage::Body { left } => {
                    let used = take_body(session, rest, left);
                    taken += used;
                    if used as u64 == left {
                        return Ok(self.finish(session, taken));
                    }
                    session.stage = Stage::Body { left: left - used as u64 };
                }
                Stage::UntilClose => taken += take_body(session, rest, u64::MAX),
                Stage::Chunk { left } => {
                    let used = take_body(session, rest, left);
                    taken += used;
                    let left = left - used as u64;
                    session.stage = if left == 0 { Stage::ChunkEnd } else { Stage::Chunk { left } };
                }
                stage => {
                    taken += 1;
                    match between_chunks(stage, rest[0])? {
                        Some(stage) => session.stage = stage,
                        None => return Ok(self.finish(session, taken)),
                    }
                }
            }
        }
        Ok(Received::partial(taken))
    }

    fn end(&mut self, session: &mut HttpSession) -> Result<Received, ResponseError> {
        if session.stage == Stage::UntilClose {
            Ok(self.finish(session, 0))
        } else {
            Err(ResponseError::Short)
        }
    }
}

impl HttpClient {
    /// Takes what belongs to the head: how many bytes, and the response if there is no body.
    #[inline]
    fn read_head_piece(
        &mut self,
        session: &mut HttpSession,
        input: &[u8],
    ) -> Result<(usize, Option<Received>), ResponseError> {
        if session.pieces.is_empty() {
            let known = self.known.0.len();
            // A head ends in an empty line, so what begins with it holds all of it.
            let end =
                if known > 0 && input.starts_with(&self.known.0) { Some(known) } else { head_end(input, 0) };
            if let Some(end) = end {
                return Ok((end, self.read_head(session, &input[..end])?));
            }
        }
        let before = session.pieces.len();
        let room = HEAD_MAX - before;
        session.pieces.extend_from_slice(&input[..room.min(input.len())]);
        let Some(end) = head_end(&session.pieces, before.saturating_sub(2)) else {
            return if input.len() < room { Ok((input.len(), None)) } else { Err(ResponseError::Malformed) };
        };
        let pieces = std::mem::take(&mut session.pieces);
        Ok((end - before, self.read_head(session, &pieces[..end])?))
    }
}

fn following(number: u32, targets: &[Target]) -> u32 {
    if number as usize + 1 < targets.len() { number + 1 } else { 0 }
}

/// Takes at most `left` bytes of the body.
#[inline]
fn take_body(session: &mut HttpSession, input: &[u8], left: u64) -> usize {
    let used = usize::try_from(left).unwrap_or(usize::MAX).min(input.len());
    let mut hasher = crc32fast::Hasher::new_with_initial(session.body.crc);
    hasher.update(&input[..used]);
    session.body.crc = hasher.finalize();
    session.body.length += used as u64;
    used
}

/// One byte of what stands around chunks (RFC 9112, section 7.1); `None` at the end of the last.
fn between_chunks(stage: Stage, byte: u8) -> Result<Option<Stage>, ResponseError> {
    let begin = |size: u64| match size {
        0 => Stage::Trailer { line_bytes: 0, left: HEAD_MAX as u32 },
        left => Stage::Chunk { left },
    };
    Ok(Some(match (stage, byte) {
        (Stage::ChunkSize { digits: 1.., size }, b'\n') => begin(size),
        (Stage::ChunkSize { digits: 1.., size }, b';' | b' ' | b'\t' | b'\r') => {
            Stage::ChunkExtension { size }
        }
        (Stage::ChunkSize { digits: 0..15, size }, _) => {
            let digit = char::from(byte).to_digit(16).ok_or(ResponseError::Malformed)?;
            let Stage::ChunkSize { digits, .. } = stage else { return Err(ResponseError::Malformed) };
            Stage::ChunkSize { size: size * 16 + u64::from(digit), digits: digits + 1 }
        }
        (Stage::ChunkExtension { size }, b'\n') => begin(size),
        (Stage::ChunkExtension { size }, _) => Stage::ChunkExtension { size },
        (Stage::ChunkEnd, b'\r') => Stage::ChunkEnd,
        (Stage::ChunkEnd, b'\n') => Stage::ChunkSize { size: 0, digits: 0 },
        (Stage::Trailer { line_bytes: 0, .. }, b'\n') => return Ok(None),
        (Stage::Trailer { left: 0, .. }, _) => return Err(ResponseError::Malformed),
        (Stage::Trailer { left, .. }, b'\n') => Stage::Trailer { line_bytes: 0, left: left - 1 },
        (Stage::Trailer { line_bytes, left }, b'\r') => Stage::Trailer { line_bytes, left: left - 1 },
        (Stage::Trailer { line_bytes, left }, _) => {
            Stage::Trailer { line_bytes: line_bytes + 1, left: left - 1 }
        }
        _ => return Err(ResponseError::Malformed),
    }))
}

/// Where the head ends, behind its empty line, if that comes after `from`.
fn head_end(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    while let Some(found) = memchr(b'\n', &bytes[at..]) {
        at += found + 1;
        match bytes.get(at..)? {
            [b'\n', ..] => return Some(at + 1),
            [b'\r', b'\n', ..] => return Some(at + 2),
            _ => {}
        }
    }
    None
}

/// What a head says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Head {
    status: u16,
    framing: Framing,
    last: bool,
}

/// How the end of the body is found (RFC 9112, section 6.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Framing {
    #[default]
    UntilClose,
    Length(u64),
    Chunked,
}

impl Head {
    fn parse(head: &[u8]) -> Result<Head, ResponseError> {
        let mut lines =
            head.split(|&byte| byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
        let (minor, status) = parse_status_line(lines.next().unwrap_or_default())?;
        let (mut length, mut coded, mut chunked) = (None, false, false);
        let (mut close, mut keep) = (false, false);
        for line in lines.filter(|line| !line.is_empty()) {
            let colon = memchr(b':', line).ok_or(ResponseError::Malformed)?;
            let (name, value) = (&line[..colon], &line[colon + 1..]);
            if name.eq_ignore_ascii_case(b"content-length") {
                for value in tokens(value) {
                    let value = parse_length(value)?;
                    if length.is_some_and(|length| length != value) {
                        return Err(ResponseError::Malformed);
                    }
                    length = Some(value);
                }
            } else if name.eq_ignore_ascii_case(b"transfer-encoding") {
                for coding in tokens(value) {
                    coded = true;
                    chunked = coding.eq_ignore_ascii_case(b"chunked");
                }
            } else if name.eq_ignore_ascii_case(b"connection") {
                close |= tokens(value).any(|option| option.eq_ignore_ascii_case(b"close"));
                keep |= tokens(value).any(|option| option.eq_ignore_ascii_case(b"keep-alive"));
            }
        }
        let framing = match (coded, chunked, length) {
            (true, true, _) => Framing::Chunked,
            (false, _, Some(length)) => Framing::Length(length),
            _ => Framing::UntilClose,
        };
        Ok(Head { status, framing, last: close || (minor == b'0' && !keep) })
    }
}

/// The minor version and the status.
fn parse_status_line(line: &[u8]) -> Result<(u8, u16), ResponseError> {
    let rest = line.strip_prefix(b"HTTP/1.").ok_or(ResponseError::Malformed)?;
    match *rest {
        [minor @ (b'0' | b'1'), b' ', a @ b'1'..=b'9', b @ b'0'..=b'9', c @ b'0'..=b'9', ref rest @ ..]
            if matches!(rest, [] | [b' ', ..]) =>
        {
            let digit = |byte: u8| u16::from(byte - b'0');
            Ok((minor, digit(a) * 100 + digit(b) * 10 + digit(c)))
        }
        _ => Err(ResponseError::Malformed),
    }
}

fn tokens(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii)
}

fn parse_length(value: &[u8]) -> Result<u64, ResponseError> {
    if value.is_empty() || value.len() > 18 || !value.iter().all(u8::is_ascii_digit) {
        return Err(ResponseError::Malformed);
    }
    Ok(value.iter().fold(0, |number, byte| number * 10 + u64::from(byte - b'0')))
}

fn target(settings: &HttpClientSettings, path: &str) -> Result<Target, Error> {
    let refuse =
        |what: &str, text: &str| Err(Error::Settings(format!("{text:?} cannot stand in a request: {what}")));
    if !path.starts_with('/') || path.bytes().any(|byte| byte <= b' ' || byte == 0x7f) {
        return refuse("a path begins with / and holds neither spaces nor control characters", path);
    }
    for field in settings.fields.iter().chain([&settings.host]) {
        if field.bytes().any(|byte| byte < b' ' || byte == 0x7f) {
            return refuse("a field holds no control characters", field);
        }
    }
    if let Some(field) = settings.fields.iter().find(|field| !field.contains(':')) {
        return refuse("a field is written as Name: value", field);
    }
    let method = if settings.head { "HEAD" } else { "GET" };
    let mut request =
        format!("{method} {path} HTTP/1.1\r\nHost: {}\r\nUser-Agent: osdyno\r\n", settings.host);
    if settings.close {
        request.push_str("Connection: close\r\n");
    }
    for field in &settings.fields {
        request.push_str(field);
        request.push_str("\r\n");
    }
    request.push_str("\r\n");
    Ok(Target { request: request.into_bytes(), expected: None })
}
