//! One request and its response (RFC 9113, sections 5 and 8), all of them on a connection, and the sending of
//! requests, as far as the server allows streams and windows for them.

use std::collections::VecDeque;
use std::rc::Rc;

use super::connection::Http2Connection;
use super::frame::{self, PAYLOAD_MAX};
use super::hpack::{Indexing, write_size};
use super::{ErrorCode, ResponsePart};

pub(super) struct Stream {
    /// The token of the request, and its number.
    pub(super) token: u32,
    pub(super) request: usize,
    /// Bytes of the request's body that have been put into the output, and that may be.
    pub(super) body_sent: usize,
    pub(super) send_window: i64,
    /// Bytes received for which the server has no new window yet.
    pub(super) received: i64,
    is_head: bool,
    response: Response,
}

/// The progress of the response.
enum Response {
    Awaited,
    /// The head, which is handed on at the end: no body may follow.
    Bodiless(Head),
    /// Bytes of the body that are left, if that is known.
    Body {
        left: Option<u64>,
    },
}

/// The fields of a response that are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Head {
    status: u16,
    length: Option<u64>,
    has_fields: bool,
    is_malformed: bool,
}

/// Fields about a connection, which HTTP/2 forbids (section 8.2.2).
pub(crate) const OF_CONNECTIONS: [&[u8]; 5] =
    [b"connection", b"keep-alive", b"proxy-connection", b"transfer-encoding", b"upgrade"];

/// The head of a response with a body, in the form of HTTP/1.1; the status is filled in.
const HEAD: &[u8; 44] = b"HTTP/1.1 000\r\nTransfer-Encoding: chunked\r\n\r\n";
const STATUS: std::ops::Range<usize> = 9..12;

impl Head {
    pub(super) fn on_field(&mut self, name: &[u8], value: &[u8]) {
        self.is_malformed |= !may_be_value(value);
        match name {
            b":status" if self.status == 0 && !self.has_fields => match *value {
                [a @ b'1'..=b'9', b @ b'0'..=b'9', c @ b'0'..=b'9'] => {
                    let digit = |byte: u8| u16::from(byte - b'0');
                    self.status = digit(a) * 100 + digit(b) * 10 + digit(c);
                }
                _ => self.is_malformed = true,
            },
            [b':', ..] | [] => self.is_malformed = true,
            b"content-length" => {
                self.has_fields = true;
                let length = parse_length(value);
                self.is_malformed |=
                    length.is_none() || self.length.is_some_and(|known| Some(known) != length);
                self.length = length;
            }
            _ => {
                self.has_fields = true;
                self.is_malformed |= !may_be_name(name) || OF_CONNECTIONS.contains(&name);
            }
        }
    }

    fn digits(&self) -> [u8; 3] {
        [self.status / 100, self.status / 10 % 10, self.status % 10].map(|digit| b'0' + digit as u8)
    }
}

/// Whether a field may be called so (section 8.2.1); pseudo-header fields are known by their names.
fn may_be_name(name: &[u8]) -> bool {
    name.iter().all(|byte| matches!(byte, 0x21..=0x7e) && !matches!(byte, b'A'..=b'Z' | b':'))
}

/// Whether a field may have that value (section 8.2.1): with an end of a line in it, one field would be two
/// for a reader of HTTP/1.1.
fn may_be_value(value: &[u8]) -> bool {
    let is_blank = |byte: Option<&u8>| matches!(byte, Some(b' ' | b'\t'));
    let is_forbidden = |byte: &u8| matches!(byte, 0 | b'\n' | b'\r');
    !is_blank(value.first()) && !is_blank(value.last()) && !value.iter().any(is_forbidden)
}

/// The length of a body: a number of at most 18 digits.
pub(crate) fn parse_length(value: &[u8]) -> Option<u64> {
    let is_number = !value.is_empty() && value.len() <= 18 && value.iter().all(u8::is_ascii_digit);
    is_number.then(|| value.iter().fold(0, |number, byte| number * 10 + u64::from(byte - b'0')))
}

/// The end of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    Open,
    Complete,
    /// It ended before its length was reached.
    Short,
}

impl Stream {
    fn new(token: u32, request: usize, is_head: bool, send_window: i64) -> Stream {
        Stream {
            token,
            request,
            body_sent: 0,
            send_window,
            received: 0,
            is_head,
            response: Response::Awaited,
        }
    }

    /// The fields of an interim response, of the response, or behind its body.
    pub(super) fn on_head(
        &mut self,
        head: Head,
        is_end: bool,
        to: &mut impl FnMut(u32, ResponsePart<'_>),
    ) -> Result<Progress, ErrorCode> {
        let is_first = matches!(self.response, Response::Awaited);
        if head.is_malformed || (head.status == 0) == is_first || (!is_first && !is_end) {
            return Err(ErrorCode::PROTOCOL_ERROR);
        }
        if !is_first {
            return self.on_end(to);
        }
        match head.status {
            // Nobody asked for another protocol, and an interim response is not the last.
            101 => return Err(ErrorCode::PROTOCOL_ERROR),
            100..200 if is_end => return Err(ErrorCode::PROTOCOL_ERROR),
            100..200 => return Ok(Progress::Open),
            _ => {}
        }
        if self.is_head || matches!(head.status, 204 | 304) {
            self.response = Response::Bodiless(head);
        } else {
            let mut text = *HEAD;
            text[STATUS].copy_from_slice(&head.digits());
            to(self.token, ResponsePart::Bytes(&text));
            self.response = Response::Body { left: head.length };
        }
        if is_end { self.on_end(to) } else { Ok(Progress::Open) }
    }

    #[inline]
    pub(super) fn on_data(
        &mut self,
        data: &[u8],
        is_end: bool,
        to: &mut impl FnMut(u32, ResponsePart<'_>),
    ) -> Result<Progress, ErrorCode> {
        match &mut self.response {
            Response::Body { left } if !data.is_empty() => {
                if let Some(left) = left {
                    *left = left.checked_sub(data.len() as u64).ok_or(ErrorCode::PROTOCOL_ERROR)?;
                }
                let mut line = [0; 10];
                to(self.token, ResponsePart::Bytes(chunk_size(data.len(), &mut line)));
                to(self.token, ResponsePart::Bytes(data));
                to(self.token, ResponsePart::Bytes(b"\r\n"));
            }
            Response::Body { .. } => {}
            Response::Bodiless(_) if data.is_empty() => {}
            Response::Awaited | Response::Bodiless(_) => return Err(ErrorCode::PROTOCOL_ERROR),
        }
        if is_end { self.on_end(to) } else { Ok(Progress::Open) }
    }

    fn on_end(&mut self, to: &mut impl FnMut(u32, ResponsePart<'_>)) -> Result<Progress, ErrorCode> {
        match &self.response {
            Response::Awaited => return Err(ErrorCode::PROTOCOL_ERROR),
            Response::Body { left: None | Some(0) } => to(self.token, ResponsePart::Bytes(b"0\r\n\r\n")),
            Response::Body { .. } => return Ok(Progress::Short),
            Response::Bodiless(head) => {
                let length = head.length.map(|length| format!("Content-Length: {length}\r\n"));
                let text = format!("HTTP/1.1 {}\r\n{}\r\n", head.status, length.unwrap_or_default());
                to(self.token, ResponsePart::Bytes(text.as_bytes()));
            }
        }
        Ok(Progress::Complete)
    }
}

/// The line before a chunk (RFC 9112, section 7.1).
fn chunk_size(bytes: usize, line: &mut [u8; 10]) -> &[u8] {
    let mut at = line.len() - 2;
    line[at..].copy_from_slice(b"\r\n");
    let mut rest = bytes as u32;
    while rest > 0 {
        at -= 1;
        line[at] = b"0123456789abcdef"[(rest & 15) as usize];
        rest >>= 4;
    }
    &line[at..]
}

/// The streams of a connection: a client's have odd numbers, each greater than all before.
#[derive(Default)]
pub(super) struct Streams {
    /// From the oldest one that is open; `None` is a closed one.
    list: VecDeque<Option<Stream>>,
    /// How many were begun before those.
    before: u32,
    open: u32,
}

/// The stream that a number stands for.
pub(super) enum Known<'a> {
    Open(&'a mut Stream),
    Closed,
    /// It was never begun.
    Idle,
}

impl Streams {
    fn open(&self) -> u32 {
        self.open
    }

    /// The number of the next stream.
    pub(super) fn next(&self) -> u32 {
        2 * (self.before + self.list.len() as u32) + 1
    }

    fn push(&mut self, stream: Stream) {
        self.list.push_back(Some(stream));
        self.open += 1;
    }

    #[inline]
    pub(super) fn get(&mut self, number: u32) -> Known<'_> {
        if number.is_multiple_of(2) || number >= self.next() {
            return Known::Idle;
        }
        let place = (number / 2).checked_sub(self.before);
        match place.and_then(|place| self.list.get_mut(place as usize)) {
            Some(Some(stream)) => Known::Open(stream),
            _ => Known::Closed,
        }
    }

    #[inline]
    pub(super) fn remove(&mut self, number: u32) -> Option<Stream> {
        let place = (number / 2).checked_sub(self.before)?;
        let removed = self.list.get_mut(place as usize)?.take()?;
        self.open -= 1;
        while let Some(None) = self.list.front() {
            self.list.pop_front();
            self.before += 1;
        }
        Some(removed)
    }

    /// Those that are open, with their numbers.
    pub(super) fn iter(&mut self) -> impl Iterator<Item = (u32, &mut Stream)> {
        let first = 2 * self.before + 1;
        let numbered = self.list.iter_mut().enumerate();
        numbered.filter_map(move |(place, stream)| Some((first + 2 * place as u32, stream.as_mut()?)))
    }
}

/// Bodies are put into the output while it is shorter than this.
const OUTPUT_BODIES: usize = 64 << 10;

impl Http2Connection {
    /// Starts a request, or queues it until the server allows another stream.
    pub fn start(&mut self, token: u32, request: usize) {
        self.waiting.push_back((token, request));
        self.begin_waiting();
    }

    /// The response is not needed any more.
    pub fn cancel(&mut self, token: u32) {
        self.waiting.retain(|&(waiting, _)| waiting != token);
        let found = self.streams.iter().find(|(_, stream)| stream.token == token).map(|(number, _)| number);
        if let Some(number) = found {
            self.reset(number, ErrorCode::CANCEL);
        }
    }

    /// Begins as many of the requests that wait as the server allows.
    #[inline]
    pub(super) fn begin_waiting(&mut self) {
        while self.streams.open() < self.peer.streams_max
            && let Some((token, request)) = self.waiting.pop_front()
        {
            self.begin(token, request);
        }
    }

    #[inline]
    fn begin(&mut self, token: u32, request: usize) {
        let requests = Rc::clone(&self.requests);
        let Some(prepared) = requests.requests.get(request) else { return };
        let number = self.streams.next();
        let end = if prepared.body.is_empty() { frame::END_STREAM } else { 0 };
        if self.peer.table_bytes < self.table_bytes {
            self.write_resized(number, end, request);
        } else {
            let block = prepared.blocks.of_next(&mut self.indexing);
            write_block(&mut self.output, number, end, block);
        }
        self.streams.push(Stream::new(token, request, prepared.is_head, self.peer.window));
        if end == 0 {
            self.bodies.push_back(number);
        }
    }

    /// The first block after the server has made its table smaller must acknowledge that.
    #[cold]
    fn write_resized(&mut self, number: u32, end: u8, request: usize) {
        self.table_bytes = self.peer.table_bytes;
        if self.requests.table_bytes > self.table_bytes {
            self.indexing = Indexing::Never;
        }
        let mut block = Vec::new();
        write_size(&mut block, self.table_bytes);
        block.extend_from_slice(self.requests.requests[request].blocks.of_next(&mut self.indexing));
        write_block(&mut self.output, number, end, &block);
    }

    /// Puts parts of bodies into the output, in turn, as far as there are windows for them.
    pub(super) fn put_bodies(&mut self) {
        let mut blocked = 0;
        while blocked < self.bodies.len() {
            if self.send_window <= 0 || self.output.len() >= OUTPUT_BODIES {
                return;
            }
            let Some(number) = self.bodies.pop_front() else { return };
            let Known::Open(stream) = self.streams.get(number) else { continue };
            let body = &self.requests.requests[stream.request].body;
            let window = self.send_window.min(stream.send_window).max(0) as usize;
            let left = body.len() - stream.body_sent;
            let most = left.min(self.peer.payload_max).min(window).min(OUTPUT_BODIES);
            let is_last = most == left;
            if most > 0 {
                let end = if is_last { frame::END_STREAM } else { 0 };
                let part = &body[stream.body_sent..stream.body_sent + most];
                frame::write(&mut self.output, frame::DATA, end, number, part);
                stream.body_sent += most;
                stream.send_window -= most as i64;
                self.send_window -= most as i64;
            }
            if !is_last {
                self.bodies.push_back(number);
                blocked = if most > 0 { 0 } else { blocked + 1 };
            }
        }
    }

    fn reset(&mut self, number: u32, code: ErrorCode) {
        if self.streams.remove(number).is_some() {
            self.write_reset(number, code);
            self.begin_waiting();
        }
    }

    pub(super) fn write_reset(&mut self, number: u32, code: ErrorCode) {
        frame::write(&mut self.output, frame::RST_STREAM, 0, number, &code.0.to_be_bytes());
    }
}

/// A header block in as many frames as it needs.
#[inline]
fn write_block(to: &mut Vec<u8>, number: u32, end: u8, block: &[u8]) {
    let (first, mut rest) = block.split_at(block.len().min(PAYLOAD_MAX));
    let last = |rest: &[u8]| if rest.is_empty() { frame::END_HEADERS } else { 0 };
    frame::write(to, frame::HEADERS, end | last(rest), number, first);
    while !rest.is_empty() {
        let (part, behind) = rest.split_at(rest.len().min(PAYLOAD_MAX));
        frame::write(to, frame::CONTINUATION, last(behind), number, part);
        rest = behind;
    }
}
