//! One request and its response (RFC 9113, sections 5 and 8), and all of them on a connection.

use std::collections::VecDeque;

use super::{ErrorCode, ResponsePart};

/// One stream.
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
const OF_CONNECTIONS: [&[u8]; 5] =
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

fn parse_length(value: &[u8]) -> Option<u64> {
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
    pub(super) fn new(token: u32, request: usize, is_head: bool, send_window: i64) -> Stream {
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

    /// A part of the body.
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
    pub(super) fn open(&self) -> u32 {
        self.open
    }

    /// The number of the next stream.
    pub(super) fn next(&self) -> u32 {
        2 * (self.before + self.list.len() as u32) + 1
    }

    pub(super) fn push(&mut self, stream: Stream) {
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
