//! Requests files from a web server, and checks every response (RFC 9110, RFC 9112).
//!
//! The first good response for each path and status defines the length and the CRC-32 of the body; every
//! later one must be equal. `--any-body` compares no bodies, for pages that change. A status other than 2xx
//! is a failure, unless `--expect-status` names it. A response may have a length, may be chunked, or may end
//! with the connection. HTTP/2 (`--http2`, RFC 9113) has the same requests and the same checks.

mod message;

pub use self::message::{Framing, Head, head_end};

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use self::message::{Body, Seen, Statuses};
use super::{Client, ClientSettings, Endpoint, Http2Choice, Received, ResponseError, ResponseState};
use crate::Error;
use crate::http2::Requests;
use crate::options::{Content, count};

/// The requests, and the responses that are right.
#[derive(Clone, Debug, PartialEq, Eq, clap::Args, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HttpClientSettings {
    /// The value of `Host`.
    #[arg(skip = HttpClientSettings::default().host)]
    pub host: String,
    /// Another path to request, in turn with the first
    #[arg(long = "path", value_name = "PATH")]
    pub paths: Vec<String>,
    /// How often each URL and each --path is requested, in their order: 9,1
    #[arg(long, value_name = "N,…")]
    pub weights: Vec<String>,
    /// Method of the requests
    #[arg(short = 'X', long, value_name = "METHOD", visible_short_alias = 'm')]
    pub method: Option<String>,
    /// Body of the requests, which are POST without --method
    #[arg(long, value_name = "TEXT|@FILE", value_parser = Content::from_option)]
    pub body: Option<Content>,
    /// The same from a file, like --body @FILE
    #[arg(long, value_name = "FILE", value_parser = Content::from_file)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body_file: Option<Content>,
    /// Header field of the requests, as 'Name: value', or a file of them, so that no result holds
    /// credentials; replaces Host, User-Agent and others that are sent
    #[arg(short = 'H', long = "header", value_name = "FIELD|@FILE")]
    pub fields: Vec<String>,
    /// Speak HTTP/2, without asking first; with https it is announced (ALPN)
    #[arg(long)]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub http2: bool,
    /// With --http2, number of requests under way on each connection at once [default: 1]
    #[arg(long, value_name = "N", value_parser = count::<usize>())]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub streams: Option<usize>,
    /// Send HEAD requests
    #[arg(short = 'I', long)]
    pub head: bool,
    /// Do not compare bodies: for pages that differ from response to response
    #[arg(long)]
    pub any_body: bool,
    /// Statuses that are correct, such as 200,304 or 4xx [default: 2xx]
    #[arg(long, value_name = "STATUS,…")]
    pub expect_status: Vec<String>,
    /// Request a close after each response.
    #[arg(skip)]
    pub close: bool,
}

impl Default for HttpClientSettings {
    fn default() -> HttpClientSettings {
        HttpClientSettings {
            host: "localhost".to_owned(),
            paths: Vec::new(),
            weights: Vec::new(),
            method: None,
            body: None,
            body_file: None,
            fields: Vec::new(),
            http2: false,
            streams: None,
            head: false,
            any_body: false,
            expect_status: Vec::new(),
            close: false,
        }
    }
}

impl ClientSettings for HttpClientSettings {
    const NAME: &'static str = "http";
    const SOURCE: &'static str = record::page!("mod.rs");
    const SERVICE: &'static str = "http";

    type Client = HttpClient;

    fn open(&self) -> Result<HttpClient, Error> {
        let paths = self.paths();
        let target = |(number, path): (usize, &String)| {
            let request = if self.http2 {
                (number as u32).to_le_bytes().to_vec()
            } else {
                message::compose(self, path)?
            };
            Ok(Target { request, known: Vec::new() })
        };
        Ok(HttpClient {
            targets: paths.iter().enumerate().map(target).collect::<Result<_, Error>>()?,
            turns: message::turns(paths.len(), &self.weights)?,
            statuses: Statuses::parse(&self.expect_status)?,
            any_body: self.any_body,
            head_only: message::method(self)? == "HEAD",
            close: self.server_closes(),
            sessions: 0,
            known: (Vec::new(), Head::default()),
        })
    }

    fn aim(&mut self, target: &Endpoint) -> Result<(), Error> {
        if target.paths.is_empty() {
            let text = format!("--client http needs a URL, such as http://{}/", target.host);
            return Err(Error::Settings(text));
        }
        if self.body.is_some() && self.body_file.is_some() {
            let text = "--body and --body-file say the same thing; leave one of them out";
            return Err(Error::Settings(text.to_owned()));
        }
        self.body = self.body.take().or(self.body_file.take());
        self.host.clone_from(&target.host);
        self.paths.splice(0..0, target.paths.iter().cloned());
        Ok(())
    }

    fn server_closes(&self) -> bool {
        !self.http2 && (self.close || message::fields_request_close(self))
    }

    /// HTTP/2 has no way to request it.
    fn request_close(&mut self) {
        self.close = !self.http2;
    }

    fn http2(&self, is_secure: bool) -> Result<Option<Http2Choice>, Error> {
        let streams = self.streams.unwrap_or(1);
        if !self.http2 && self.streams.is_some() {
            return Err(Error::Settings("--streams is for --http2".to_owned()));
        }
        if !self.http2 {
            return Ok(None);
        }
        if !(1..=STREAMS_MAX).contains(&streams) {
            return Err(Error::Settings(format!("a connection has from 1 to {STREAMS_MAX} streams at once")));
        }
        let paths = self.paths();
        let requests = paths.iter().map(|path| message::compose_http2(self, path, is_secure));
        let requests = Requests::new(requests.collect::<Result<_, Error>>()?);
        Ok(Some(Http2Choice { streams, requests }))
    }
}

/// More than any server allows.
const STREAMS_MAX: usize = 10_000;

impl HttpClientSettings {
    fn paths(&self) -> Cow<'_, [String]> {
        if self.paths.is_empty() { vec!["/".to_owned()].into() } else { (&self.paths).into() }
    }
}

/// The client.
#[derive(Clone, Debug)]
pub struct HttpClient {
    targets: Vec<Target>,
    /// Places among the targets, in the order of the requests.
    turns: Vec<u32>,
    statuses: Statuses,
    any_body: bool,
    head_only: bool,
    close: bool,
    sessions: usize,
    /// The last head that was read, and its content: most are the same for a second.
    known: (Vec<u8>, Head),
}

#[derive(Clone, Debug)]
struct Target {
    request: Vec<u8>,
    /// The right responses so far, one of each status.
    known: Vec<Seen>,
}

/// The state of a connection.
#[derive(Clone, Debug)]
pub struct HttpSession {
    /// The turn of the next request, and of the one whose response comes next.
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
            // Another protocol was not requested.
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
        if let (true, Framing::Length(length)) = (self.head_only && !self.any_body, head.framing) {
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
        let target = &mut self.targets[self.turns[session.awaited as usize] as usize];
        session.awaited = following(session.awaited, &self.turns);
        let seen = Seen { status: session.status, body: session.body };
        let wrong = match target.known.first() {
            Some(first) if *first == seen => None,
            _ => message::compare(&mut target.known, &self.statuses, seen),
        };
        Received { taken, state: response, error: wrong, status: session.status }
    }
}

impl Client for HttpClient {
    type Session = HttpSession;

    fn session(&mut self) -> HttpSession {
        let first = (self.sessions % self.turns.len()) as u32;
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
        let target = self.turns[session.ask as usize] as usize;
        session.ask = following(session.ask, &self.turns);
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
                    let used = self.take_body(session, rest, left);
                    taken += used;
                    if used as u64 == left {
                        return Ok(self.finish(session, taken));
                    }
                    session.stage = Stage::Body { left: left - used as u64 };
                }
                Stage::UntilClose => taken += self.take_body(session, rest, u64::MAX),
                Stage::Chunk { left } => {
                    let used = self.take_body(session, rest, left);
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
    /// Takes the bytes of the head: how many there are, and the response if there is no body.
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

    /// Takes at most `left` bytes of the body.
    #[inline]
    fn take_body(&self, session: &mut HttpSession, input: &[u8], left: u64) -> usize {
        let used = usize::try_from(left).unwrap_or(usize::MAX).min(input.len());
        if self.any_body {
            return used;
        }
        let mut hasher = crc32fast::Hasher::new_with_initial(session.body.crc);
        hasher.update(&input[..used]);
        session.body.crc = hasher.finalize();
        session.body.length += used as u64;
        used
    }
}

fn following(number: u32, turns: &[u32]) -> u32 {
    if number as usize + 1 < turns.len() { number + 1 } else { 0 }
}

/// One byte of the framing of chunks (RFC 9112, section 7.1); `None` at the end of the last.
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
